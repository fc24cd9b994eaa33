/* Bulk data, directly from and into the owner's memory, by the provider of each pair. This file cuts them into pieces.
 * See transport.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/timeline.h"
#include "transport/core/link.h"
#include "wire/frame.h"

#define ACTIVE_NS 2000000        /* polling continues for so long after bulk data have moved, */
#define ACTIVE_MOST_NS 100000000 /* or for a few times as long as the last piece took, at most so long */
#define NAP_US 400               /* us between polls while bulk data move: sockets can buffer as much meanwhile */
#define LONG_NAP_US 20000
#define EAGER_PIECES 4
#define LATELY_NS 1000000000

static void bulk_end(struct transport *t, struct bulk *bulk, int status)
{
    TAILQ_REMOVE(&t->bulks, bulk, all);
    if (bulk->is_over)
        TAILQ_REMOVE(&t->over, bulk, over);
    t->polled_bulks -= bulk->polled;
    t->near_bulks -= bulk->near;
    if (bulk->began && timeline_wanted())
        timeline_count(TIMELINE_BULK, bulk->peer, !bulk->take, bulk->began, bulk->length);
    bulk->done(bulk->argument, status);
    free(bulk);
}

void bulk_over(struct transport *t, struct bulk *bulk)
{
    if (bulk->is_over)
        return;
    bulk->is_over = true;
    TAILQ_INSERT_TAIL(&t->over, bulk, over);
}

/* The tag as both sides know it, with a bit set for data from or for the local member that do not go to the
 * application. */
static uint32_t tag_of(bool local, uint32_t tag)
{
    return (local ? 0x800000u : 0) | (tag & WIRE_TAG_CHUNKED ? 0x400000u : 0) | (tag & WIRE_TAG_NUMBERS);
}

/* A whole operation, in pieces. Both sides cut it alike, by the tag or by the provider. */
struct whole {
    struct transport *t;
    unsigned peer;
    bool local, half, take; /* local: for the local member; half: its own, with the application */
    uint32_t tag;
    uint8_t *memory;
    size_t length, begun, piece;
    unsigned under_way, at_once;
    int status;
    transport_done *done;
    void *argument;
};

static int cannot_start(const struct whole *w)
{
    return link_give_up(&w->t->peers[w->peer], "a data transfer with it cannot be started");
}

/* Starts one piece. */
static int piece_start(const struct whole *w, size_t length, transport_done *done, void *argument)
{
    struct transport *t = w->t;
    const bool first = !w->begun, last = w->begun + length == w->length;
    const struct provider *provider;
    struct bulk *bulk;
    int error;

    if (w->half)
        return loop_bulk(t, w->take, tag_of(false, w->tag), w->memory + w->begun, length, done, argument);
    if (!link_is_usable(t, w->peer))
        return -ECONNRESET;
    provider = t->peers[w->peer].provider;
    bulk = calloc(1, sizeof(*bulk));
    if (!bulk)
        return cannot_start(w);
    *bulk = (struct bulk){.peer = w->peer,
                          .take = w->take,
                          .last = last,
                          .polled = provider->polled,
                          .tag = tag_of(w->local, w->tag),
                          .memory = w->memory + w->begun,
                          .length = length,
                          .done = done,
                          .argument = argument,
                          .began = timeline_wanted() ? (uint64_t)clock_ns() : 0};
    error = provider->bulk_start(t, bulk);
    if (error) {
        free(bulk);
        return error == -ECONNRESET ? error : cannot_start(w);
    }
    TAILQ_INSERT_TAIL(&t->bulks, bulk, all);
    t->polled_bulks += bulk->polled;
    *(w->take ? &t->peers[w->peer].bytes_in : &t->peers[w->peer].bytes_out) += length;
    if (first && (bulk->polled || bulk->near)) {
        t->last_moved = clock_ns();
        t->active_ns = ACTIVE_NS;
        t->bulk_nap_us = 0;
    }
    if (!provider->polled || !first)
        return 0; /* otherwise the data that it sends wake the other side, and data that arrive wake this one */
    link_hear(t, w->peer);
    link_ring(&t->peers[w->peer]);
    return 0;
}

static void piece_over(void *argument, int status);

/* Starts the next pieces, in order, as many as may be under way. */
static int pieces_start(struct whole *w)
{
    int error = 0;

    while (!error && w->begun < w->length && w->under_way < w->at_once) {
        const size_t left = w->length - w->begun, length = left < w->piece ? left : w->piece;

        error = piece_start(w, length, piece_over, w);
        w->begun += error ? 0 : length;
        w->under_way += !error;
    }
    return error;
}

static void piece_over(void *argument, int status)
{
    struct whole *w = argument;

    w->under_way--;
    if (!w->status)
        w->status = status ? status : pieces_start(w);
    if (w->under_way)
        return;
    w->done(w->argument, w->status);
    free(w);
}

static int whole_start(struct whole w)
{
    const struct provider *provider = w.half ? NULL : w.t->peers[w.peer].provider;
    struct whole *kept;
    int error;

    w.piece = w.tag & WIRE_TAG_CHUNKED ? WIRE_CHUNK : w.length;
    w.at_once = provider && provider->most_bulk ? w.t->pieces_at_once : UINT_MAX;
    if (provider && provider->most_bulk && provider->most_bulk < w.piece)
        w.piece = provider->most_bulk;
    if (provider && w.length <= EAGER_PIECES * provider->most_eager) {
        w.piece = provider->most_eager;
        w.at_once = EAGER_PIECES;
    }
    if (w.length <= w.piece)
        return piece_start(&w, w.length, w.done, w.argument);
    kept = malloc(sizeof(*kept));
    if (!kept)
        return w.half ? -ENOMEM : cannot_start(&w);
    *kept = w;
    error = pieces_start(kept);
    if (kept->under_way) {
        kept->status = error; /* the operation ends when the pieces under way have */
        return 0;
    }
    free(kept);
    return error;
}

static int bulk(struct transport *t, unsigned peer, bool local, uint32_t tag, void *memory, size_t length, bool take,
                transport_done *done, void *argument)
{
    return whole_start((struct whole){.t = t,
                                      .peer = peer,
                                      .local = local,
                                      .half = local && t->client && !peer,
                                      .take = take,
                                      .tag = tag,
                                      .memory = memory,
                                      .length = length,
                                      .done = done,
                                      .argument = argument});
}

/* A worker reaches the local member through the program. */
static int peer_bulk(struct transport *t, unsigned peer, uint32_t tag, void *memory, size_t length, bool take,
                     transport_done *done, void *argument)
{
    const bool through = !t->client && peer == link_local(t);

    return bulk(t, through ? 0 : peer, through, tag, memory, length, take, done, argument);
}

int transport_give(struct transport *t, unsigned peer, uint32_t tag, const void *memory, size_t length,
                   transport_done *done, void *argument)
{
    return peer_bulk(t, peer, tag, (void *)(uintptr_t)memory, length, false, done, argument);
}

int transport_take(struct transport *t, unsigned peer, uint32_t tag, void *memory, size_t length, transport_done *done,
                   void *argument)
{
    return peer_bulk(t, peer, tag, memory, length, true, done, argument);
}

int transport_local_give(struct transport *t, unsigned peer, uint32_t tag, const void *memory, size_t length,
                         transport_done *done, void *argument)
{
    return bulk(t, peer, true, tag, (void *)(uintptr_t)memory, length, false, done, argument);
}

int transport_local_take(struct transport *t, unsigned peer, uint32_t tag, void *memory, size_t length,
                         transport_done *done, void *argument)
{
    return bulk(t, peer, true, tag, memory, length, true, done, argument);
}

bool transport_bulk_pending(const struct transport *t)
{
    return (t->polled_bulks || t->near_bulks) && clock_ns() - t->last_moved < t->active_ns;
}

static void moved(struct transport *t)
{
    long now = clock_ns(), took = 4 * (now - t->last_moved);

    t->active_ns = took < ACTIVE_NS ? ACTIVE_NS : took > ACTIVE_MOST_NS ? ACTIVE_MOST_NS : took;
    t->last_moved = now;
    t->bulk_nap_us = 0;
}

/* Polls the operations that make progress only when polled. */
static int look(struct transport *t)
{
    struct bulk *bulk;
    int count = 0;

    TAILQ_FOREACH (bulk, &t->bulks, all) {
        if (!bulk->polled || bulk->is_over || !link_is_usable(t, bulk->peer))
            continue;
        count += t->peers[bulk->peer].provider->bulk_move(t, bulk);
        if (bulk->complete || bulk->broken)
            bulk_over(t, bulk);
    }
    return count;
}

/* done() may start other operations, and may not lose a peer: so one is taken at a time, from the front. */
int bulk_poll(struct transport *t)
{
    int count = t->polled_bulks ? look(t) : 0;
    struct bulk *bulk;

    while ((bulk = TAILQ_FIRST(&t->over)) && !bulk->broken) {
        count++;
        if (bulk->take && bulk->last && bulk->polled && link_is_usable(t, bulk->peer)) {
            link_hear(t, bulk->peer); /* the giver gets its memory back when it polls */
            link_ring(&t->peers[bulk->peer]);
        }
        bulk_end(t, bulk, 0);
    }
    if (bulk) {
        count++;
        vocl_log(LOG_ERROR, "bulk data of peer %u does not have the agreed length", bulk->peer);
        link_lose(t, bulk->peer, "its bulk data violates the protocol");
    }
    if (count)
        moved(t);
    return count;
}

void bulk_lose(struct transport *t, unsigned peer)
{
    struct bulk *bulk = TAILQ_FIRST(&t->bulks);

    while (bulk) {
        if (bulk->peer != peer) {
            bulk = TAILQ_NEXT(bulk, all);
            continue;
        }
        if (t->peers[peer].provider->bulk_drop)
            t->peers[peer].provider->bulk_drop(t, bulk);
        bulk_end(t, bulk, -ECONNRESET);
        bulk = TAILQ_FIRST(&t->bulks); /* done() may have started others */
    }
}

/* Operations that are polled are polled less and less often. */
long bulk_nap(struct transport *t)
{
    const long most = clock_ns() - t->last_moved < LATELY_NS ? NAP_US : LONG_NAP_US;

    if (!t->polled_bulks)
        return BULK_SLEEPS;
    t->bulk_nap_us = t->bulk_nap_us ? t->bulk_nap_us * 2 : NAP_US / 8;
    if (t->bulk_nap_us > most)
        t->bulk_nap_us = most;
    return t->bulk_nap_us;
}
