/*
 * More sessions than fit: while requests wait, idle sessions are suspended (suspended.c), first the one that has been
 * idle for longest, among all nodes whose configuration allows it. Each daemon looks at the state of all nodes, and
 * asks its own sessions. One session at a time is suspended: its place is granted before another is asked.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/daemon/schedule/internal.h"

#define SETTLED_SECONDS 1 /* until a place that has become free is granted */
#define LOOK_MS 250       /* while a request waits */

/* Whether a place is becoming free, or has just become free. */
static bool any_goes(const struct pool_view *view)
{
    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; k < node->session_count; k++) {
            const struct told_session *session = &node->sessions[k];

            if (session->asked || !strcmp(session->state, "ending") || !strcmp(session->state, "reserved"))
                return true;
        }
        for (unsigned k = 0; k < node->suspended_count; k++) {
            if (node->time - node->suspended[k].began < SETTLED_SECONDS)
                return true;
        }
    }
    return false;
}

/* Whether one of the session's devices would suit the request, without the session. */
static bool would_do(const struct told_node *node, const struct told_session *session, const struct told_wait *wait)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct told_device *device = &node->devices[i];

        if (told_uses(session, device->index) &&
            !is_out_of_question(wait->barred, wait->unfit, node->name, device->index) &&
            (!*wait->name || !fnmatch(wait->name, device->name, FNM_CASEFOLD)) &&
            (!*wait->type || !strcmp(wait->type, device->type)) && device->limit >= wait->memory)
            return true;
    }
    return false;
}

/* Returns the session that has been idle for longest, and its node. */
static const struct told_session *find_idle(struct daemon *d, const struct pool_view *view,
                                            const struct told_wait *wait, const struct told_node **where)
{
    const struct told_session *found = NULL;
    double longest = -1;

    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; !strcmp(node->state, "up") && k < node->session_count; k++) {
            const struct told_session *session = &node->sessions[k];
            const double idle = session->idle + peer_seconds(d, node->name);

            if (!session->may_be_suspended || idle <= longest || !would_do(node, session, wait))
                continue;
            longest = idle;
            found = session;
            *where = node;
        }
    }
    return found;
}

/* Finds a session for the first waiting request for which there is one, and asks it if it is of this node. */
static void ask_one(struct daemon *d, const struct pool_view *view, const struct told_wait *queue, unsigned count)
{
    const struct told_session *found = NULL;
    const struct told_node *where = NULL;
    struct session *s;

    for (unsigned i = 0; !found && i < count; i++) {
        if (!queue[i].limited)
            found = find_idle(d, view, &queue[i], &where);
    }
    s = found && where == view->own ? session_find(d, found->part) : NULL;
    if (s)
        suspend_ask(s, NULL);
}

static void look_again(void *argument)
{
    oversubscribe_review(argument);
}

void oversubscribe_review(struct daemon *d)
{
    struct told_wait *queue;
    struct pool_view *view;
    unsigned count;

    if (!d->config->oversubscribe)
        return;
    queue = queue_of_pool(d, &count);
    view = count ? peers_view(d) : NULL;
    if (view && !any_goes(view))
        ask_one(d, view, queue, count);
    if (view && timer_left_ms(&d->looks_again) < 0)
        timer_set(&d->looks_again, d, look_again, d, LOOK_MS);
    view_free(view);
    free(queue);
}
