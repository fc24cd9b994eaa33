/*
 * What the daemons of a large pool pass on of each other. With a connection between each two, a thousand daemons would
 * have a million connections. So each watches those that are 1, 2, 4, 8... places after it in the pool file, which
 * announce all that they know: first, which version they have of which node ("have"); a watcher with an older one asks
 * for it ("want"), once, and is sent it ("record"). A new state reaches all nodes after as many steps as the number of
 * nodes has bits, and is sent to each about once. Every daemon announces all its versions from time to time, in case
 * one was missed.
 *
 * A version is a time in ms, and higher than the one before: a time of the node's own, or, for a node that was lost,
 * one more than the last known version. A node that hears that it is lost, or that there is a newer version of it than
 * its own, announces a newer one.
 *
 * What matters to placement is announced when it changes. What changes all the time, how much sessions have used, is
 * announced less often the larger the pool is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "proxy/daemon/pool/internal.h"

#define FLUSH_MS 5
#define REPEAT_MS 2000      /* between announcements of what changes all the time, in a pool of up to REPEAT_NODES */
#define REPEAT_NODES 64     /* in larger pools proportionally less often */
#define EVERYTHING_MS 15000 /* all versions are announced again */
#define ANSWER_MS 1000      /* without an answer, another daemon is asked */
#define REPLACE_MS 3000     /* a daemon that cannot be reached is replaced by one after it */
#define MOST_REPLACED 16
#define AHEAD_MS 86400000 /* clocks differ by less */

struct gossip {
    json_t *fresh;     /* name: version, for the watchers */
    json_t *state;     /* this node's state, as sent last */
    char *matters;     /* the part of it that matters, as text */
    long long version; /* of this node's state */
    long told_ms, everything_ms;
    bool repeat; /* the state is sent again, whether it has changed or not */
    struct timer flush;
    struct peer **positions; /* the peers by position in the pool file */
    unsigned position_count;
};

static struct gossip *gossip_of(struct daemon *d)
{
    if (!d->gossip) {
        d->gossip = calloc(1, sizeof(*d->gossip));
        if (d->gossip)
            d->gossip->fresh = json_object();
    }
    return d->gossip;
}

bool gossip_is_on(const struct daemon *d)
{
    return d->pool.count > d->config->mesh;
}

void gossip_close(struct daemon *d)
{
    struct gossip *gossip = d->gossip;

    if (!gossip)
        return;
    timer_stop(&gossip->flush);
    json_decref(gossip->fresh);
    json_decref(gossip->state);
    free(gossip->matters);
    free(gossip->positions);
    free(gossip);
    d->gossip = NULL;
}

/* ---- choosing the peers to watch ---- */

/* Chooses the peer at a distance of a power of two, and while that is unreachable one after it that is not. */
static void choose_from(const struct gossip *gossip, unsigned position)
{
    struct peer *nominal = gossip->positions[position % gossip->position_count], *other;

    if (nominal)
        nominal->near = true;
    if (nominal && (nominal->open || clock_ms() - nominal->heard_ms < REPLACE_MS))
        return;
    for (unsigned i = 1; i <= MOST_REPLACED; i++) {
        other = gossip->positions[(position + i) % gossip->position_count];
        if (other && other->told && !other->near) {
            other->near = true;
            return;
        }
    }
}

static void index_positions(struct daemon *d, struct gossip *gossip)
{
    free(gossip->positions);
    gossip->position_count = d->pool.count;
    gossip->positions = calloc(gossip->position_count + 1, sizeof(struct peer *));
    for (struct peer *peer = d->peers; gossip->positions && peer; peer = peer->next)
        gossip->positions[peer->position] = peer;
}

void gossip_choose(struct daemon *d)
{
    struct gossip *gossip = gossip_is_on(d) ? gossip_of(d) : NULL;

    for (struct peer *peer = d->peers; peer; peer = peer->next)
        peer->near = !gossip;
    if (!gossip)
        return;
    index_positions(d, gossip);
    for (unsigned step = 1; gossip->positions && step < gossip->position_count; step *= 2)
        choose_from(gossip, d->own_position + step);
}

/* ---- announcements ---- */

static const struct connection_owner watching, talking;
static json_t *telling; /* what flush() announces */

static void tell_one(struct connection *c)
{
    connection_send(c, message_pack("{s:O}", "have", telling));
}

static void flush(void *argument)
{
    struct daemon *d = argument;

    telling = d->gossip->fresh;
    d->gossip->fresh = json_object();
    connections_each(d, &watching, tell_one);
    json_decref(telling);
}

static long long version_of(const struct daemon *d, const char *name)
{
    const struct peer *peer;

    if (!strcmp(name, d->config->name))
        return d->gossip->version;
    peer = peer_find(d, name);
    return peer ? peer->version : 0;
}

void gossip_note(struct daemon *d, const char *name)
{
    struct gossip *gossip = gossip_of(d);

    if (!gossip)
        return;
    json_object_set_new(gossip->fresh, name, json_integer(version_of(d, name)));
    if (timer_left_ms(&gossip->flush) < 0)
        timer_set(&gossip->flush, d, flush, d, FLUSH_MS);
}

static json_t *everything(struct daemon *d)
{
    json_t *all = json_object();

    if (d->gossip->version)
        message_set(&all, d->config->name, json_integer(d->gossip->version));
    for (const struct peer *peer = d->peers; peer; peer = peer->next) {
        if (peer->version)
            message_set(&all, peer->name, json_integer(peer->version));
    }
    return all;
}

static void renew(struct daemon *d, long long above)
{
    const long long now = (long long)(wall_seconds() * 1e3);

    d->gossip->version = now > above ? now : above + 1;
    gossip_note(d, d->config->name);
}

void gossip_repeat(struct daemon *d)
{
    if (d->gossip)
        d->gossip->repeat = true;
}

/* Renews this node's state if it has changed, or was last sent long ago. */
static void look_at_oneself(struct daemon *d)
{
    const long every = REPEAT_MS * (1 + (long)(d->pool.count / REPEAT_NODES));
    struct gossip *gossip = d->gossip;
    struct told_node *own = node_describe(d);
    char *matters = own ? told_matters(own) : NULL;
    const bool differs = !gossip->matters || !matters || strcmp(matters, gossip->matters) != 0;

    if (differs || gossip->repeat || clock_ms() - gossip->told_ms >= every) {
        json_decref(gossip->state);
        gossip->state = own ? told_print(own) : NULL;
        gossip->told_ms = clock_ms();
        gossip->repeat = false;
        renew(d, gossip->version);
    }
    free(gossip->matters);
    gossip->matters = matters;
    told_free(own);
}

void gossip_tick(struct daemon *d)
{
    struct gossip *gossip = gossip_is_on(d) ? gossip_of(d) : NULL;

    if (!gossip)
        return;
    look_at_oneself(d);
    gossip_choose(d);
    if (clock_ms() - gossip->everything_ms >= EVERYTHING_MS) {
        gossip->everything_ms = clock_ms();
        json_decref(gossip->fresh);
        gossip->fresh = everything(d);
    }
    flush(d);
}

/* ---- the daemons that watch this one ---- */

static uint64_t tree_hash(const char *text)
{
    return text ? hash_bytes(text, strlen(text)) >> 12 : 0; /* fits a JSON integer, and is above 0 */
}

/* Sends what is known of a node. */
static void send_record(struct connection *c, const char *name)
{
    struct daemon *d = c->daemon;
    const bool own = !strcmp(name, d->config->name);
    const struct peer *peer = own ? NULL : peer_find(d, name);
    json_t *state = own ? d->gossip->state : peer && peer->told ? peer->told->json : NULL;

    if (own ? !state : !peer || !peer->version) /* a node that has not looked at itself yet is not lost */
        return;
    connection_send(c, message_pack("{s:s, s:I, s:I, s:I, s:O*, s:s*}", "record", name, "version",
                                    (json_int_t)version_of(d, name), "age",
                                    (json_int_t)(clock_ms() - (own ? d->gossip->told_ms : peer->told_ms)), "tree",
                                    (json_int_t)tree_hash(own ? d->tree : peer->tree_text), "state", state, "why",
                                    !state && !own && *peer->why ? peer->why : NULL));
}

static void send_tree(struct connection *c, const char *name)
{
    const struct daemon *d = c->daemon;
    const struct peer *peer = peer_find(d, name);
    const char *text = !strcmp(name, d->config->name) ? d->tree : peer ? peer->tree_text : NULL;

    if (text)
        connection_send(c, message_pack("{s:s, s:s}", "tree", text, "node", name));
}

static void on_message(struct connection *c, json_t *message)
{
    const char *what = message_text(message, "do", ""), *name;
    json_t *value;

    if (!strcmp(what, "want") && c->daemon->gossip) {
        json_object_foreach(json_object_get(message, "nodes"), name, value)
        {
            send_record(c, name);
        }
    } else if (!strcmp(what, "tree")) {
        send_tree(c, message_text(message, "node", ""));
    } else if (!strcmp(what, "watch")) {
        gossip_watched(c, !strcmp(message_text(message, "news", ""), "all"));
    } else if (!watchers_take(c, message)) {
        connection_fail(c, "there is no such request of a daemon");
    }
}

static const struct connection_owner watching = {.message = on_message, .closed = watcher_gone},
                                     talking = {.message = on_message, .closed = watcher_gone};

void gossip_watched(struct connection *c, bool all)
{
    struct daemon *d = c->daemon;

    connection_own(c, all ? &watching : &talking, NULL);
    if (all && gossip_of(d))
        connection_send(c, message_pack("{s:o}", "have", everything(d)));
}

/* ---- the daemons that this one watches ---- */

static bool is_sane(long long version)
{
    return version > 0 && version < (long long)(wall_seconds() * 1e3) + AHEAD_MS;
}

/* The node's messages are ignored, or its version would stay the newest for ever. */
static void note_clock(struct peer *peer, long long version)
{
    char why[sizeof(peer->why)];

    text_print(why, sizeof(why), "the clock of %s is %lld seconds ahead", peer->name,
               version / 1000 - (long long)wall_seconds());
    peer_note_why(peer, why);
}

static void hear_versions(struct peer *from, json_t *have)
{
    struct daemon *d = from->daemon;
    json_t *wanted = json_object(), *value;
    const long now = clock_ms();
    const char *name;

    json_object_foreach(have, name, value)
    {
        const long long version = json_integer_value(value);
        struct peer *peer = peer_find(d, name);

        if (!is_sane(version) && !strcmp(name, from->name))
            note_clock(from, version);
        if (!is_sane(version))
            continue;
        if (!strcmp(name, d->config->name) && version > d->gossip->version)
            renew(d, version);
        if (!peer || version <= peer->version || (version <= peer->wanted_version && now - peer->wanted_ms < ANSWER_MS))
            continue;
        peer->wanted_version = version;
        peer->wanted_ms = now;
        json_object_set_new(wanted, name, json_integer(version));
    }
    if (json_object_size(wanted))
        connection_send(from->connection, message_pack("{s:s, s:O}", "do", "want", "nodes", wanted));
    json_decref(wanted);
}

static void hear_record(struct peer *from, const json_t *record)
{
    const char *name = message_text(record, "record", "");
    const long long version = message_number(record, "version", 0), age = message_number(record, "age", 0);
    const long long tree = message_number(record, "tree", 0);
    struct peer *peer = peer_find(from->daemon, name);
    json_t *state = json_object_get(record, "state");

    if (!peer || !is_sane(version) || version <= peer->version || age < 0 || age > AHEAD_MS)
        return;
    if (state && strcmp(message_text(state, "name", ""), name))
        return;
    peer->version = version;
    if (state)
        peer_take_state(peer, state, (long)age);
    else
        peer_lose(peer, message_text(record, "why", ""));
    if (!state && *message_text(record, "why", ""))
        peer_note_why(peer, message_text(record, "why", ""));
    if (tree && tree != (long long)tree_hash(peer->tree_text))
        connection_send(from->connection, message_pack("{s:s, s:s}", "do", "tree", "node", name));
    gossip_note(from->daemon, name);
}

bool gossip_hear(struct peer *peer, const json_t *message)
{
    struct peer *other;

    if (!gossip_is_on(peer->daemon) || !gossip_of(peer->daemon))
        return false;
    if (json_is_object(json_object_get(message, "have"))) {
        hear_versions(peer, json_object_get(message, "have"));
    } else if (json_object_get(message, "record")) {
        hear_record(peer, message);
    } else if (json_object_get(message, "tree") && json_object_get(message, "node")) {
        other = peer_find(peer->daemon, message_text(message, "node", ""));
        if (other)
            peer_take_tree(other, message_text(message, "tree", ""));
    } else if (json_is_object(json_object_get(message, "state"))) { /* of a daemon that passes on nothing */
        peer->version = (long long)(wall_seconds() * 1e3);
        gossip_note(peer->daemon, peer->name);
        return false;
    } else {
        return false;
    }
    return true;
}
