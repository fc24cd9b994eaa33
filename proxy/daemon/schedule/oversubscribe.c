/*
 * More sessions than fit: where others wait, sessions that do nothing are put to rest (suspended.c), the one first that
 * has done nothing for longest, of all nodes whose configuration has it so. Each daemon looks at what all have told,
 * and asks its own sessions. One at a time goes: when it has, the place is given out before another is asked.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/daemon/schedule/internal.h"

#define SETTLED_SECONDS 1 /* until a place that has become free is somebody's */
#define LOOK_US 250000    /* while somebody waits */

/* A place is just becoming free, or has. */
static bool any_goes(const json_t *directory)
{
    const json_t *node, *session;
    size_t i, j;

    json_array_foreach(directory, i, node)
    {
        const double now = json_number_value(json_object_get(node, "time"));

        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            if (json_is_true(json_object_get(session, "asked")) ||
                !strcmp(message_text(session, "state", ""), "ending") ||
                !strcmp(message_text(session, "state", ""), "reserved"))
                return true;
        }
        json_array_foreach(json_object_get(node, "resting"), j, session)
        {
            if (now - json_number_value(json_object_get(session, "began")) < SETTLED_SECONDS)
                return true;
        }
    }
    return false;
}

/* Whether one of the session's devices would do for who waits, were it not for the session. */
static bool would_do(const json_t *node, const json_t *session, const json_t *wish)
{
    const json_t *mine = json_object_get(session, "devices"), *unfit = json_object_get(wish, "unfit"), *device;
    const char *name = message_text(wish, "name", ""), *type = message_text(wish, "type", "");
    size_t i, j;

    json_array_foreach(json_object_get(node, "devices"), i, device)
    {
        bool own = false;

        for (j = 0; j < json_array_size(mine); j++)
            own |= json_integer_value(json_array_get(mine, j)) == message_number(device, "index", -1);
        if (own &&
            !request_is_unfit(unfit, message_text(node, "name", ""), (unsigned)message_number(device, "index", 0)) &&
            (!*name || !fnmatch(name, message_text(device, "name", ""), FNM_CASEFOLD)) &&
            (!*type || !strcmp(type, message_text(device, "type", ""))) &&
            message_number(device, "limit", 0) >= message_number(wish, "memory", 0))
            return true;
    }
    return false;
}

/* The one that has been idle for longest; its node's name. */
static const json_t *find_idle(struct daemon *d, const json_t *directory, const json_t *wish, const char **where)
{
    const json_t *node, *session, *found = NULL, *barred = json_object_get(wish, "barred");
    double longest = -1;
    size_t i, j;

    json_array_foreach(directory, i, node)
    {
        if (strcmp(message_text(node, "state", ""), "up") || json_object_get(barred, message_text(node, "name", "")))
            continue;
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            const double idle =
                json_number_value(json_object_get(session, "idle")) + peer_seconds(d, message_text(node, "name", ""));

            if (!json_is_true(json_object_get(session, "may rest")) || idle <= longest ||
                !would_do(node, session, wish))
                continue;
            longest = idle;
            found = session;
            *where = message_text(node, "name", "");
        }
    }
    return found;
}

static void look_again(evutil_socket_t fd, short what, void *argument)
{
    struct daemon *d = argument;

    (void)fd;
    (void)what;
    d->looks_again = false;
    oversubscribe_review(d);
}

void oversubscribe_review(struct daemon *d)
{
    const struct timeval soon = {0, LOOK_US};
    json_t *directory, *queue, *wish;
    const char *where = "";
    size_t i;

    if (!d->config->oversubscribe)
        return;
    queue = queue_of_pool(d);
    directory = json_array_size(queue) ? peers_directory(d) : NULL;
    json_array_foreach(queue, i, wish)
    {
        const json_t *found = NULL;
        struct session *s;

        if (any_goes(directory))
            break;
        if (!json_is_true(json_object_get(wish, "held")))
            found = find_idle(d, directory, wish, &where);
        s = found && !strcmp(where, d->config->name) ? session_find(d, message_text(found, "part", "")) : NULL;
        if (s)
            rest_ask(s, NULL);
        if (found)
            break;
    }
    if (directory && !d->looks_again)
        d->looks_again = !event_base_once(d->base, -1, EV_TIMEOUT, look_again, d, &soon);
    json_decref(directory);
    json_decref(queue);
}
