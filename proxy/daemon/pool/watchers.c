/* Other daemons, which are sent every change of this node, and request reservations. */
#include <string.h>

#include "proxy/daemon/pool/internal.h"

void watcher_gone(struct connection *c)
{
    reservings_end(c);
}

static void watcher_closed(struct connection *c)
{
    c->daemon->watchers--;
    watcher_gone(c);
}

/* A daemon that is refused considers its state of this node outdated. */
static void answer(struct daemon *d, struct connection *asker, json_t *answer)
{
    connection_send(asker, json_incref(answer));
    if (!json_is_true(json_object_get(answer, "good")) && !json_is_true(json_object_get(answer, "never")))
        gossip_repeat(d);
}

static void release(struct connection *c, const json_t *message)
{
    session_release(c->daemon, message_text(message, "session", ""));
}

bool watchers_take(struct connection *c, json_t *message)
{
    const char *what = message_text(message, "do", "");

    if (!strcmp(what, "reserve"))
        session_reserve(c->daemon, c, message, answer);
    else if (!strcmp(what, "release"))
        release(c, message);
    else
        return false;
    return true;
}

static void watcher_message(struct connection *c, json_t *message)
{
    if (!watchers_take(c, message))
        connection_fail(c, "there is no such request of a daemon");
}

static const struct connection_owner watcher = {.message = watcher_message, .closed = watcher_closed};

static void tell(struct connection *c)
{
    connection_send(c, message_pack("{s:o}", "state", node_print(c->daemon)));
}

void watchers_add(struct connection *c)
{
    const struct daemon *d = c->daemon;

    c->daemon->watchers++;
    connection_own(c, &watcher, NULL);
    if (d->tree) /* once, since it does not change */
        connection_send(c, message_pack("{s:s}", "tree", d->tree));
    tell(c);
}

void watchers_tell(struct daemon *d)
{
    connections_each(d, &watcher, tell);
}
