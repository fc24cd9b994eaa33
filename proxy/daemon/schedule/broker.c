/*
 * Requests for devices, which any daemon accepts. It places a request by the last state of the nodes (choose.c), behind
 * requests that have waited longer anywhere in the pool (queue.c), and reserves each part at its node. If a node no
 * longer has the devices it refuses, and the request is placed again.
 */
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define MOST_WAIT 1000000 /* seconds */
#define ANSWER_SECONDS 5
#define OUTDATED_MS 2000 /* within which a node that refused sends its new state */

static void unlink_request(struct request *r)
{
    struct daemon *d = r->daemon;
    struct request **at = &d->requests;

    while (*at && *at != r)
        at = &(*at)->next;
    if (*at) {
        *at = r->next;
        if (d->requests_last == &r->next)
            d->requests_last = at;
    }
}

static void request_free(struct request *r)
{
    unlink_request(r);
    daemon_changed(r->daemon);
    timer_stop(&r->timer);
    json_decref(r->barred);
    json_decref(r->unfit);
    free(r->parts);
    free(r);
}

void request_bar(struct request *r, const char *node, const char *why)
{
    json_object_set_new(r->barred, node, json_string(why));
}

/* nodes: where it has its devices, or NULL; takes ownership. */
static void note(const struct request *r, const char *kind, const char *why, json_t *nodes)
{
    event_note(r->daemon, kind, NULL,
               message_pack("{s:s, s:s*, s:s, s:s, s:s*, s:i, s:o*, s:f, s:s*}", "request", r->ticket, "session",
                            nodes ? *r->of ? r->of : r->id : NULL, "user", r->client->peer.name, "program", r->program,
                            "job", *r->job ? r->job : NULL, "devices", (int)r->wish.count, "nodes", nodes, "waited",
                            (double)(clock_ms() - r->since_ms) / 1000, "why", why));
}

static void answer(struct daemon *d, const char *node, const json_t *answer);

static void answered_here(struct daemon *d, struct connection *asker, json_t *message)
{
    (void)asker;
    answer(d, d->config->name, message);
}

/* Asks a part's node to reserve or release it. */
static bool send_part(struct request *r, const struct part *part, const char *what)
{
    const bool reserves = !strcmp(what, "reserve");
    const struct auth_peer *peer = &r->client->peer;
    json_t *message;
    bool good = true;

    message = message_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:o, s:I, s:b, s:i, s:s*, s:s*, s:s, s:s*}", "do", what, "session",
        part->id, "user", peer->name, "uid", (json_int_t)peer->uid, "gid", (json_int_t)peer->gid, "program", r->program,
        "job", r->job, "from", *r->move.part ? r->move.from : r->client->remote, "devices",
        message_list(part->devices, part->count), "memory", (json_int_t)r->wish.memory, "exclusive", r->wish.exclusive,
        "share", (int)r->share, "replaces", *r->move.part ? r->move.part : NULL, "within",
        *r->within ? r->within : NULL, "of", *r->of ? r->of : r->id, "account", *r->limit.name ? r->limit.name : NULL);
    if (!message)
        return false;
    if (strcmp(part->node, r->daemon->config->name))
        return reserves ? peer_send(r->daemon, part->node, message) : peer_release(r->daemon, part->node, message);
    if (reserves)
        good = session_reserve(r->daemon, NULL, message, answered_here);
    else
        session_release(r->daemon, part->id);
    json_decref(message);
    return good;
}

/* Also releases parts without an answer: a daemon that was stopped may read the request later. */
static void give_back(struct request *r)
{
    for (unsigned i = 0; i < r->part_count; i++) {
        if (r->parts[i].state != PART_REFUSED && r->client)
            send_part(r, &r->parts[i], "release");
    }
    free(r->parts);
    r->parts = NULL;
    r->part_count = 0;
}

static void refuse(struct request *r, const char *why)
{
    struct connection *c = r->client;

    give_back(r);
    note(r, "request-refused", why, NULL);
    connection_own(c, NULL, NULL);
    connection_fail(c, why); /* before request_free(), because why may be the request's own */
    request_free(r);
}

/* The client may wait, or have been granted its devices: what it has not started is released. */
static void client_closed(struct connection *c)
{
    struct request *r = c->argument;

    give_back(r);
    if (!r->granted)
        note(r, "request-gone", NULL, NULL);
    request_free(r);
}

static const struct connection_owner asking = {.closed = client_closed};

static void finish(struct request *r);
static void consider(struct request *r);

static void draw_name(char name[SESSION_ID])
{
    uint8_t bytes[(SESSION_ID - 1) / 2];

    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2hex(name, SESSION_ID, bytes, sizeof(bytes));
}

static void reserve_parts(struct request *r)
{
    r->tries++;
    draw_name(r->id);
    for (unsigned i = 0; i < r->part_count; i++) {
        struct part *part = &r->parts[i];

        if (i)
            draw_name(part->id);
        else
            text_print(part->id, sizeof(part->id), "%s", r->id);
        part->state = send_part(r, part, "reserve") ? PART_ASKED : PART_REFUSED;
        if (part->state == PART_REFUSED)
            text_print(r->why, sizeof(r->why), "%s cannot be asked now", part->node);
    }
    finish(r);
}

/* Describes the request for another such place. */
static json_t *describe_wish(const struct request *r, const struct part *part)
{
    return message_pack("{s:s, s:i, s:I, s:b, s:i, s:s, s:s, s:s, s:s, s:s}", "do", "request", "count",
                        (int)part->count, "memory", (json_int_t)r->wish.memory, "exclusive", r->wish.exclusive, "share",
                        (int)r->share, "name", part->name, "type", part->type, "policy", policy_name(r->policy),
                        "program", r->program, "job", r->job);
}

static void grant(struct request *r)
{
    json_t *nodes = json_array(), *names = json_array();

    timer_stop(&r->timer);
    for (unsigned i = 0; i < r->part_count; i++) {
        message_append(&names, json_string(r->parts[i].node));
        message_append(&nodes,
                       message_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "name", r->parts[i].node, "part", r->parts[i].id,
                                    "address", r->parts[i].address, "devices", (int)r->parts[i].count, "indices",
                                    message_list(r->parts[i].devices, r->parts[i].count), "wish",
                                    describe_wish(r, &r->parts[i])));
    }
    r->granted = true;
    note(r, "request-granted", NULL, names);
    unlink_request(r);
    daemon_changed(r->daemon); /* so that others know that it no longer waits */
    connection_send(r->client, message_pack("{s:s, s:o, s:s}", "granted", r->id, "nodes", nodes, "network",
                                            r->daemon->config->network));
}

static void on_timer(void *argument);

static void wait_in_queue(struct request *r)
{
    const unsigned position = queue_position(r->daemon, r->ticket);
    long left = r->until_ms - clock_ms();

    if ((r->outdated || r->yields_ms) && left <= 0)
        left = r->since_ms + OUTDATED_MS - clock_ms();
    if (left <= 0) {
        refuse(r, *r->why ? r->why : "no devices are free");
        return;
    }
    if (position != r->position_sent)
        connection_send(r->client,
                        message_pack("{s:i, s:s, s:s}", "queued", (int)position, "why", r->why, "ticket", r->ticket));
    if (!r->position_sent) {
        note(r, "request-queued", r->why, NULL);
        daemon_changed(r->daemon); /* so that others know that it waits */
    }
    r->position_sent = position;
    timer_set(&r->timer, r->daemon, on_timer, r, left < 2000 ? left : 2000);
}

/* Continues when all parts are answered. */
static void finish(struct request *r)
{
    bool bad = false;

    for (unsigned i = 0; i < r->part_count; i++) {
        if (r->parts[i].state == PART_ASKED) {
            timer_set(&r->timer, r->daemon, on_timer, r, ANSWER_SECONDS * 1000);
            return;
        }
        bad |= r->parts[i].state != PART_GOOD;
    }
    if (!bad) {
        grant(r);
        return;
    }
    give_back(r);
    if (r->tries > 100)
        refuse(r, r->why);
    else
        consider(r); /* by the state known now */
}

static void consider(struct request *r)
{
    switch (request_place(r)) {
    case OUTCOME_TRYING:
        reserve_parts(r);
        return;
    case OUTCOME_WAIT:
        wait_in_queue(r);
        return;
    case OUTCOME_NEVER:
        refuse(r, r->why);
    }
}

static void on_timer(void *argument)
{
    struct request *r = argument;

    for (unsigned i = 0; i < r->part_count; i++) {
        if (r->parts[i].state != PART_ASKED)
            continue;
        r->parts[i].state = PART_SILENT;
        text_print(r->why, sizeof(r->why), "%s does not answer", r->parts[i].node);
        peer_outdate(r->daemon, r->parts[i].node); /* other devices are preferred until its next state */
    }
    if (r->part_count)
        finish(r);
    else
        consider(r);
}

static void review(struct daemon *d)
{
    struct request *next;

    for (struct request *r = d->requests; r; r = next) {
        next = r->next;
        if (!r->part_count)
            consider(r);
    }
}

static void answer(struct daemon *d, const char *node, const json_t *answer)
{
    const char *id = answer ? message_text(answer, "reserved", "") : NULL;
    struct request *next;

    for (struct request *r = d->requests; r; r = next) {
        bool changed = false;

        next = r->next;
        for (unsigned i = 0; i < r->part_count; i++) {
            struct part *part = &r->parts[i];

            if (strcmp(part->node, node) || part->state != PART_ASKED || (id && strcmp(id, part->id)))
                continue;
            part->state = !answer                                         ? PART_SILENT
                          : json_is_true(json_object_get(answer, "good")) ? PART_GOOD
                                                                          : PART_REFUSED;
            if (part->state != PART_GOOD)
                text_print(r->why, sizeof(r->why), "%s: %s", node,
                           answer ? message_text(answer, "why", "refused") : "lost");
            if (answer && json_is_true(json_object_get(answer, "never")))
                request_bar(r, node, message_text(answer, "why", "refused"));
            else if (part->state == PART_REFUSED)
                r->outdated = peer_outdate(d, node);
            changed = true;
        }
        if (changed)
            finish(r);
    }
}

/* ---- clients' requests ---- */

static unsigned queue_length(const struct daemon *d)
{
    unsigned count = 0;

    for (const struct request *r = d->requests; r; r = r->next)
        count++;
    return count;
}

/* By the configuration of now, also for as long as it waits. */
static void take_limit(struct request *r)
{
    const struct config *config = r->daemon->config;
    const struct limit *limit =
        r->client->user.limit < config->limit_count ? &config->limits[r->client->user.limit] : NULL;

    r->limit.sessions = limit ? limit->sessions : config->sessions_per_user;
    r->limit.devices = limit ? limit->devices : config->devices_per_user;
    r->limit.together = limit ? limit->together : 0;
    r->limit.priority = limit ? limit->priority : 0;
    text_print(r->limit.name, sizeof(r->limit.name), "%s", limit ? limit->name : "");
}

/* This node's refusal of the user applies before there is a place, too: the request does not wait for its devices. */
static void bar_own(struct request *r)
{
    char why[256];

    if (!user_may_have_devices(r->daemon, &r->client->user, why, sizeof(why)))
        request_bar(r, r->daemon->config->name, why);
}

static const struct field asked[] = {FIELD(struct request, wish.name, "name"),
                                     FIELD(struct request, wish.type, "type"),
                                     FIELD(struct request, wish.exclusive, "exclusive"),
                                     FIELD(struct request, program, "program"),
                                     FIELD(struct request, job, "job"),
                                     FIELD(struct request, within, "within"),
                                     FIELD_END};

void broker_request(struct connection *c, const json_t *message)
{
    struct daemon *d = c->daemon;
    long long count = message_number(message, "count", 1), wait = message_number(message, "wait", 0);
    long long share = message_number(message, "share", 100), memory = message_number(message, "memory", 0);
    const struct {
        const char *name;
        long long value, least, most;
    } limits[] = {{"devices", count, 1, MOST_WISHED},
                  {"seconds of waiting", wait, 0, MOST_WAIT},
                  {"a share", share, 1, 10000},
                  {"bytes of memory", memory, 0, LLONG_MAX}};
    struct request *r;
    char why[128];

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        if (limits[i].value >= limits[i].least && limits[i].value <= limits[i].most)
            continue;
        text_print(why, sizeof(why), "%s: %lld to %lld, not %lld", limits[i].name, limits[i].least, limits[i].most,
                   limits[i].value);
        connection_fail(c, why);
        return;
    }
    if (queue_length(d) >= d->config->queue_limit) {
        connection_fail(c, "the queue is full");
        return;
    }
    r = calloc(1, sizeof(*r));
    if (!r) {
        connection_fail(c, "it has no memory for a request");
        return;
    }
    *r = (struct request){.daemon = d, .client = c, .policy = d->config->policy, .since_ms = clock_ms()};
    r->wish = (struct placement_wish){.count = (unsigned)count, .memory = (uint64_t)memory};
    fields_read(asked, NULL, message, r);
    if (*c->peer.hold) {
        text_print(r->within, sizeof(r->within), "%s", c->peer.hold);
        text_print(r->job, sizeof(r->job), "%s", c->peer.hold + 1);
    }
    policy_read(message_text(message, "policy", ""), &r->policy);
    r->share = (unsigned)share;
    r->until_ms = r->since_ms + (*r->within ? 0 : (long)wait * 1000); /* a hold is not waited for */
    r->since_ms -= queue_age(d, message_text(message, "ticket", ""), c->peer.name);
    draw_name(r->ticket);
    r->barred = json_object();
    r->unfit = request_take_unfit(message);
    *d->requests_last = r;
    d->requests_last = &r->next;
    connection_own(c, &asking, r);
    bar_own(r);
    take_limit(r);
    if ((json_object_get(message, "move") && !request_take_move(r, message)) ||
        (json_object_get(message, "suspended") && !request_take_suspended(r, message)) ||
        (json_object_get(message, "instead") && !request_take_loss(r, message)))
        refuse(r, r->why);
    else
        consider(r);
}

static struct told_wait *queue(const struct daemon *d, unsigned *count)
{
    struct told_wait *list = calloc(queue_length(d) + 1, sizeof(*list));

    *count = 0;
    for (const struct request *r = d->requests; list && r; r = r->next)
        list[(*count)++] = (struct told_wait){.user = r->client->peer.name,
                                              .count = r->wish.count,
                                              .waited = (double)(clock_ms() - r->since_ms) / 1000,
                                              .why = r->why,
                                              .broker = d->config->name,
                                              .ticket = r->ticket,
                                              .memory = r->wish.memory,
                                              .exclusive = r->wish.exclusive,
                                              .name = r->wish.name,
                                              .type = r->wish.type,
                                              .policy = policy_name(r->policy),
                                              .limited = r->limited,
                                              .ahead = r->ahead_ms / 1000,
                                              .barred = r->barred,
                                              .unfit = r->unfit};
    return list;
}

const struct scheduler scheduler = {queue, review, answer};
