/*
 * Suspended sessions, which use nothing of any node. vocl-join, which represents the program, reports the session to
 * one daemon (proxy/launch/suspend.c), which lists it in the pool as long as the connection exists. If that daemon is
 * lost, vocl-join reports to another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/node/internal.h"

struct suspension {
    struct suspension *next;
    struct daemon *daemon;
    char id[SESSION_ID], program[64], job[64];
    unsigned devices;
    double since;
    bool resumed;
    struct connection *client, *asker;
};

static struct suspension *find(const struct daemon *d, const char *id)
{
    struct suspension *r = d->suspended;

    while (r && strcmp(r->id, id))
        r = r->next;
    return r;
}

/* why NULL: there is none to tell. */
static void note(const struct suspension *r, const char *kind, const char *why)
{
    event_note(r->daemon, kind, NULL,
               message_pack("{s:s, s:s, s:s, s:s*, s:s*}", "session", r->id, "user", r->client->peer.name, "program",
                            r->program, "job", *r->job ? r->job : NULL, "why", why));
}

/* ---- requests to resume ---- */

static void asker_closed(struct connection *c)
{
    struct suspension *r = c->argument;

    r->asker = NULL;
}

static const struct connection_owner asker = {.closed = asker_closed};

/* why NULL: it resumes. */
static void answer(struct suspension *r, const char *why)
{
    connection_answer(&r->asker, why ? message_error(why) : message_pack("{s:s}", "resumed", r->id));
}

static bool is_of(const struct suspension *r, struct connection *c)
{
    return r->client->peer.uid == c->peer.uid || c->user.admin;
}

void resume_session(struct connection *c, const json_t *message)
{
    struct suspension *r = find(c->daemon, message_text(message, "session", ""));

    if (!r || !is_of(r, c)) {
        connection_fail(c, "no such session is suspended here that you may resume");
    } else if (r->asker) {
        connection_fail(c, "it was already asked to resume");
    } else {
        r->asker = c;
        connection_own(c, &asker, r);
        connection_send(r->client, message_pack("{s:s}", "resume", c->peer.name));
    }
}

bool suspend_kill(struct connection *c, const char *id, const char *why)
{
    struct suspension *r = find(c->daemon, id);

    if (!r || !is_of(r, c))
        return false;
    daemon_log("notice", "session %s will not resume: %s", r->id, why);
    connection_send(r->client, message_pack("{s:s}", "end", why));
    return true;
}

/* ---- the vocl-join of a suspended session ---- */

static void client_closed(struct connection *c)
{
    struct suspension *r = c->argument, **at = &r->daemon->suspended;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    answer(r, "its program has gone");
    if (!r->resumed)
        note(r, "session-end", "its program has gone, while it was suspended");
    daemon_changed(r->daemon);
    free(r);
}

static void client_message(struct connection *c, json_t *message)
{
    const char *what = message_text(message, "do", ""), *text = message_text(message, "text", "");
    struct suspension *r = c->argument;

    if (!strcmp(what, "resumed")) {
        daemon_log("notice", "session %s goes on: user=%s", r->id, c->peer.name);
        r->resumed = true;
        note(r, "session-resume", NULL);
        answer(r, NULL);
        connection_close(c);
    } else if (!strcmp(what, "stays")) {
        answer(r, text);
    } else {
        connection_fail(c, "there is no such request of a suspended session");
    }
}

static const struct connection_owner client = {.message = client_message, .closed = client_closed};

void suspend_take(struct connection *c, const json_t *message)
{
    const char *id = message_text(message, "session", ""), *user = c->peer.name;
    struct daemon *d = c->daemon;
    struct suspension *r;

    if (!message_is_id(id) || find(d, id) || !(r = calloc(1, sizeof(*r)))) {
        connection_fail(c, "no such session of yours can be suspended here");
        return;
    }
    *r = (struct suspension){.next = d->suspended, .daemon = d, .since = wall_seconds(), .client = c};
    text_print(r->id, sizeof(r->id), "%s", id);
    text_print(r->program, sizeof(r->program), "%s", message_text(message, "program", ""));
    text_print(r->job, sizeof(r->job), "%s", message_text(message, "job", ""));
    r->devices = (unsigned)message_number(message, "devices", 0);
    d->suspended = r;
    connection_own(c, &client, r);
    daemon_log("notice", "session %s is suspended: user=%s program=%s", r->id, user, r->program);
    note(r, "session-suspend", NULL);
    daemon_changed(d);
}

bool suspend_is_of(const struct daemon *d, const char *id, const struct auth_peer *peer)
{
    const struct suspension *r = find(d, id);

    return r && r->client->peer.uid == peer->uid;
}

struct told_session *suspended_describe(const struct daemon *d, unsigned *count)
{
    struct told_session *list;

    *count = 0;
    for (const struct suspension *r = d->suspended; r; r = r->next)
        ++*count;
    list = calloc(*count + 1, sizeof(*list));
    *count = 0;
    for (const struct suspension *r = d->suspended; list && r; r = r->next)
        list[(*count)++] = (struct told_session){.id = r->id,
                                                 .user = r->client->peer.name,
                                                 .program = r->program,
                                                 .job = r->job,
                                                 .from = r->client->remote,
                                                 .state = "suspended",
                                                 .device_count = r->devices,
                                                 .began = r->since};
    return list;
}

/* ---- requests to suspend ---- */

static void suspender_closed(struct connection *c)
{
    struct session *s = c->argument;

    s->mover = NULL;
}

static const struct connection_owner suspender = {.closed = suspender_closed};

void suspend_ask(struct session *s, struct connection *c)
{
    const char *why;

    if (!move_may_ask(s, &why)) {
        if (c)
            connection_fail(c, why);
        return;
    }
    s->mover = c;
    s->asked_ms = clock_ms();
    if (c)
        connection_own(c, &suspender, s);
    daemon_log("notice", "session %s is to be suspended: asked by %s", s->of, c ? c->peer.name : "waiting requests");
    connection_send(s->client, message_pack("{s:s, s:b}", "suspend", s->id, "shows", c != NULL));
    daemon_changed(s->daemon);
}
