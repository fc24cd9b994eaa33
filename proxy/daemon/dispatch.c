/* The requests of clients and other daemons. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/internal.h"
#include "proxy/daemon/schedule/schedule.h"

static void tell_status(struct connection *c, const json_t *message)
{
    (void)message;
    connection_send(c, message_pack("{s:s, s:o, s:o}", "answered by", c->daemon->config->name, "nodes",
                                    peers_directory(c->daemon), "queue", queue_print(c->daemon)));
}

/* A client with the key of a hold has only the sessions in it. */
static bool is_own(const struct connection *c, const struct session *s)
{
    return s->uid == c->peer.uid && (!*c->peer.hold || !strcmp(c->peer.hold, s->within));
}

static void start(struct connection *c, const json_t *message)
{
    struct session *s = session_find(c->daemon, message_text(message, "session", ""));
    char why[256] = "";

    if (!s || !is_own(c, s))
        connection_fail(c, "there is no such session of yours here");
    else if (session_start(s, c, message, why, sizeof(why)))
        connection_fail(c, why);
}

/* Holds what was reserved, instead of starting a worker. */
static void hold(struct connection *c, const json_t *message)
{
    struct session *s = session_find(c->daemon, message_text(message, "session", ""));

    if (s && is_own(c, s) && hold_begin(s, c, message_number(message, "keep", 0)))
        connection_send(c, message_pack("{s:s}", "held", s->id));
    else
        connection_fail(c, "there is no such reservation of yours here");
}

/* The client that represented a session's program connects again, to this daemon or its successor. */
static void attach(struct connection *c, const json_t *message)
{
    struct session *s = session_find(c->daemon, message_text(message, "session", ""));

    if (!s || s->state != SESSION_RUNNING || !is_own(c, s)) {
        connection_fail(c, "there is no such session of yours here");
        return;
    }
    session_attach(s, c);
    connection_send(c, message_pack("{s:s}", "attached", s->id));
}

/* The owner of the drain is the name that the client gives, or the user's. */
static void drain(struct connection *c, const json_t *message)
{
    const bool begins = !strcmp(message_text(message, "do", ""), "drain");
    const char *user = c->peer.name, *owner = message_text(message, "owner", user);
    const char *reason = message_text(message, "reason", "");
    const double from = json_number_value(json_object_get(message, "from"));
    const double until = json_number_value(json_object_get(message, "until"));
    struct daemon *d = c->daemon;
    char why[256] = "";

    if (!c->user.admin)
        text_print(why, sizeof(why), "only administrators of the pool may do this");
    else if (until && until <= (from > wall_seconds() ? from : wall_seconds()))
        text_print(why, sizeof(why), "the end of the time is before its beginning, or over");
    else if (!*owner || strlen(owner) > 32 || strlen(reason) > 128)
        text_print(why, sizeof(why), "an owner has 1 to 32 letters, a reason at most 128");
    else if (begins ? drain_add(d, owner, user, reason, from, until, why, sizeof(why))
                    : drain_lift(d, owner, why, sizeof(why)))
        daemon_log("warning", "cannot %s the node, for %s (owner %s): %s", begins ? "drain" : "resume", user, owner,
                   why);
    else
        daemon_log("notice", "%s by %s for %s%s%s", begins ? "drained" : "resumed", user, owner, *reason ? ": " : "",
                   reason);
    if (*why) {
        connection_fail(c, why);
        return;
    }
    event_note(
        d, begins ? "node-drain" : "node-resume", NULL,
        message_pack("{s:s, s:s, s:s, s:b}", "owner", owner, "by", user, "reason", reason, "draining", is_draining(d)));
    connection_send(c, message_pack("{s:b}", "draining", is_draining(d)));
}

static void reload(struct connection *c, const json_t *message)
{
    char why[512];
    bool restart;

    (void)message;
    if (!c->user.admin) {
        connection_fail(c, "only administrators of the pool may do this");
        return;
    }
    daemon_log("notice", "reads its files again: asked by %s", c->peer.name);
    if (daemon_reload(c->daemon, &restart, why, sizeof(why)))
        connection_send(c, message_pack("{s:s, s:b}", "reloaded", c->daemon->config->path, "restart", restart));
    else
        connection_fail(c, why);
}

/* Returns the first part here of the session of that name, or the part of that name; NULL unless the client may change
 * it. */
static struct session *session_part(struct connection *c, const char *name)
{
    struct session *s = c->daemon->sessions;

    while (s && strcmp(s->of, name) && strcmp(s->id, name))
        s = s->next;
    return s && (s->uid == c->peer.uid || c->user.admin) ? s : NULL;
}

static void kill_session(struct connection *c, const json_t *message)
{
    const char *id = message_text(message, "session", "");
    struct session *s = session_part(c, id), *next;
    char why[128];

    text_print(why, sizeof(why), "ended by %s", c->peer.name);
    if (!s && !suspend_kill(c, id, why)) {
        connection_fail(c, "there is no such session here that you may end");
        return;
    }
    connection_send(c, message_pack("{s:s}", "killed", id));
    for (; s; s = next) { /* also the part that it moves to */
        next = s->next;
        if (!strcmp(s->of, id))
            session_end(s, why);
    }
}

static void suspend_session(struct connection *c, const json_t *message)
{
    struct session *s = session_part(c, message_text(message, "session", ""));

    if (s)
        suspend_ask(s, c);
    else
        connection_fail(c, "there is no such session here that you may suspend");
}

static void move_session(struct connection *c, const json_t *message)
{
    struct session *s = session_part(c, message_text(message, "session", ""));

    if (!s)
        connection_fail(c, "there is no such session here that you may move");
    else
        move_ask(s, c, message);
}

static void session_suspended(struct connection *c, const json_t *message)
{
    if (peers_have_anothers(c->daemon, message_text(message, "session", ""), c->peer.name))
        connection_fail(c, "no such session of yours can be suspended here");
    else
        suspend_take(c, message);
}

/* Users see their own history, administrators all. */
static void history(struct connection *c, const json_t *message)
{
    connection_send(c, history_part(c->daemon, message, c->user.admin ? NULL : c->peer.name));
}

static void watch(struct connection *c, const json_t *message)
{
    const char *news = message_text(message, "news", NULL);

    if (!c->peer.is_daemon)
        connection_fail(c, "there is no such request");
    else if (news)
        gossip_watched(c, !strcmp(news, "all"));
    else
        watchers_add(c);
}

/* What a client with the key of a hold may ask for: sessions in it that are neither moved nor resumed, because that
 * takes other devices. */
static bool is_for_hold(const char *what, const json_t *message)
{
    if (!strcmp(what, "request"))
        return !json_object_get(message, "move") && !json_object_get(message, "suspended") &&
               !json_object_get(message, "instead");
    return !strcmp(what, "start") || !strcmp(what, "attach");
}

void dispatch_take(struct connection *c, json_t *message)
{
    static const struct {
        const char *what;
        void (*take)(struct connection *c, const json_t *message);
    } commands[] = {{"request", broker_request}, /* each node decides for itself */
                    {"status", tell_status},
                    {"start", start},
                    {"hold", hold},
                    {"attach", attach},
                    {"drain", drain},
                    {"resume", drain},
                    {"reload", reload},
                    {"history", history},
                    {"events", events_ask},
                    {"kill", kill_session},
                    {"move", move_session},
                    {"suspend", suspend_session},
                    {"suspended", session_suspended},
                    {"resume session", resume_session},
                    {"watch", watch}};
    const size_t count = sizeof(commands) / sizeof(*commands);
    const char *what = message_text(message, "do", "");
    size_t i = 0;

    while (i < count && strcmp(commands[i].what, what) != 0)
        i++;
    if (*c->peer.hold && !is_for_hold(what, message)) {
        connection_fail(c, "the key of a hold is for sessions in that hold alone");
    } else if (i && !c->peer.is_daemon && !c->user.allowed && !c->user.admin) {
        daemon_log("warning", "%s (%s) may not use this node", c->peer.name, c->remote);
        connection_fail(c, "you may not use this node");
    } else if (i < count) {
        commands[i].take(c, message);
    } else {
        connection_fail(c, "there is no such request");
    }
}
