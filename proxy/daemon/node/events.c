/*
 * What has happened here, for `vocl pool events`: the last MOST_EVENTS events. Each has a number, the time in ms or one
 * more than the last, so that numbers grow over a restart of the daemon, too. A client asks for the events after a
 * number and gets one answer, at once or when there are some. So a client that reads slowly keeps nobody waiting, and
 * this memory does not grow; the answer says if the client has missed events.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy/daemon/node/internal.h"

#define MOST_EVENTS 512
#define MOST_AT_ONCE 128 /* in an answer, which has to fit in a record */
#define FLUSH_MS 10

struct event_of {
    long long number;
    json_t *event;
};

struct events {
    struct event_of ring[MOST_EVENTS];
    unsigned first, count;
    long long last, dropped; /* the numbers of the newest event, and of the newest one that is no longer here */
    struct timer flush;
};

/* A client that waits for the events after a number. */
struct follower {
    long long after;
};

static struct events *events_of(struct daemon *d)
{
    if (!d->events)
        d->events = calloc(1, sizeof(*d->events));
    return d->events;
}

/* ---- answers ---- */

/* Returns the event as this client may see it, as a new reference: the reasons of another user's sessions and requests
 * are for administrators, as in their history. */
static json_t *shown_to(const struct connection *c, json_t *event)
{
    const char *user = message_text(event, "user", NULL);
    json_t *copy;

    if (!user || c->user.admin || !strcmp(user, c->peer.name) || !json_object_get(event, "why"))
        return json_incref(event);
    copy = json_copy(event);
    if (copy)
        json_object_del(copy, "why");
    return copy;
}

static void answer(struct connection *c, long long after)
{
    const struct events *events = c->daemon->events;
    json_t *list = json_array();
    long long last = after;
    unsigned sent = 0;

    for (unsigned i = 0; i < events->count && sent < MOST_AT_ONCE; i++) {
        const struct event_of *of = &events->ring[(events->first + i) % MOST_EVENTS];

        if (of->number <= after)
            continue;
        message_append(&list, shown_to(c, of->event));
        last = of->number;
        sent++;
    }
    connection_send(c, message_pack("{s:o, s:I, s:b, s:b}", "events", list, "last", (json_int_t)last, "more",
                                    last < events->last, "missed", after && after < events->dropped));
}

static void follower_closed(struct connection *c)
{
    free(c->argument);
}

static const struct connection_owner follower = {.closed = follower_closed};

static void tell(struct connection *c)
{
    struct follower *f = c->argument;
    const long long after = f->after;

    free(f);
    connection_own(c, NULL, NULL);
    answer(c, after);
}

static void flush(void *argument)
{
    connections_each(argument, &follower, tell);
}

void events_ask(struct connection *c, const json_t *question)
{
    const struct events *events = events_of(c->daemon);
    long long after = message_number(question, "after", 0);
    struct follower *f;

    if (!events) {
        connection_fail(c, "it has no memory for events");
        return;
    }
    if (after < 0) { /* from now on */
        connection_send(c, message_pack("{s:[], s:I, s:b}", "events", "last", (json_int_t)events->last, "more", 0));
        return;
    }
    if (after > events->last) /* the clock was set back while there was no daemon */
        after = 0;
    if (!json_is_true(json_object_get(question, "follow")) || after < events->last) {
        answer(c, after);
        return;
    }
    f = malloc(sizeof(*f));
    if (!f) {
        connection_fail(c, "it has no memory for one more who follows");
        return;
    }
    f->after = after;
    connection_own(c, &follower, f);
}

/* ---- events ---- */

static void drop_oldest(struct events *events)
{
    struct event_of *oldest = &events->ring[events->first];

    events->dropped = oldest->number;
    json_decref(oldest->event);
    events->first = (events->first + 1) % MOST_EVENTS;
    events->count--;
}

void event_note(struct daemon *d, const char *kind, const char *node, json_t *details)
{
    struct events *events = events_of(d);
    json_t *event = message_pack("{s:f, s:s, s:s, s:s}", "time", wall_seconds(), "event", kind, "node",
                                 node ? node : d->config->name, "daemon", d->config->name);
    const long long now = (long long)(wall_seconds() * 1e3);

    if (!events || !event || !details || json_object_update(event, details)) {
        json_decref(event);
        json_decref(details);
        return;
    }
    json_decref(details);
    if (events->count == MOST_EVENTS)
        drop_oldest(events);
    events->last = now > events->last ? now : events->last + 1;
    events->ring[(events->first + events->count++) % MOST_EVENTS] = (struct event_of){events->last, event};
    if (timer_left_ms(&events->flush) < 0)
        timer_set(&events->flush, d, flush, d, FLUSH_MS);
}

void event_note_session(const struct session *s, const char *kind, json_t *details)
{
    json_t *all =
        message_pack("{s:s, s:s, s:s*, s:s, s:s, s:s*, s:s, s:o}", "session", s->of, "part", s->id, "replaces",
                     *s->replaces ? s->replaces : NULL, "user", s->user, "program", s->program, "job",
                     *s->job ? s->job : NULL, "from", s->from, "devices", message_list(s->devices, s->device_count));

    if (all && details && json_object_update(all, details)) {
        json_decref(all);
        all = NULL;
    }
    json_decref(details);
    event_note(s->daemon, kind, NULL, all);
}

static void forget(struct connection *c)
{
    free(c->argument);
    connection_own(c, NULL, NULL);
}

void events_close(struct daemon *d)
{
    if (!d->events)
        return;
    connections_each(d, &follower, forget);
    timer_stop(&d->events->flush);
    while (d->events->count)
        drop_oldest(d->events);
    free(d->events);
    d->events = NULL;
}
