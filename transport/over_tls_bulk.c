/*
 * Bulk data over TLS, straight from and into the owner's memory. Who gives offers it, and sends a little of it at once;
 * the rest goes when the other side, which has somewhere to put it then, wants it: in chunks, by whichever connection
 * has room, so that several go side by side. What comes before it is taken is kept, and there is a bound for that. An
 * offer and what it is compared with, the takes of the same tag, are in order because a tag's offers go by one
 * connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/over_tls.h"

#define EARLY_EACH (256u << 10) /* bytes sent before they are asked for */
#define EARLY_MOST (4u << 20)   /* and of all that is offered */
#define EARLY_TOLD (1u << 20)   /* so much of it taken is worth a message */
#define CHUNK (256u << 10)
#define MOST_OFFERS (1u << 20)
#define AT_ONCE (1u << 20) /* bytes of a connection, and then it is the next one's turn */

static struct tls_way *way_of(const struct transport *t, unsigned peer)
{
    return t->peers[peer].way;
}

/* ---- giving ---- */

/* The header and the first bytes make a record together. */
static void begin_chunk(struct pipe *pipe, struct bulk *bulk, enum chunk_kind kind, size_t length)
{
    const struct chunk chunk = {kind,  bulk->tls.id, bulk->tag, 0, kind == CHUNK_OFFER ? bulk->length : bulk->tls.begun,
                                length};
    const uint8_t *bytes = bulk->memory + bulk->tls.begun;
    const size_t beside = sizeof(pipe->first) - sizeof(chunk);

    pipe->giving = bulk;
    memcpy(pipe->first, &chunk, sizeof(chunk));
    pipe->first_at = 0;
    pipe->first_end = sizeof(chunk) + (length < beside ? length : beside);
    memcpy(pipe->first + sizeof(chunk), bytes, pipe->first_end - sizeof(chunk));
    pipe->rest = bytes + (pipe->first_end - sizeof(chunk));
    pipe->rest_length = length - (pipe->first_end - sizeof(chunk));
    bulk->tls.begun += length;
    bulk->tls.chunks++;
}

static void offer_it(struct tls_way *way, struct pipe *pipe, struct bulk *bulk)
{
    const uint64_t out = way->early_given - way->early_given_taken;
    size_t early = bulk->length < EARLY_EACH ? bulk->length : EARLY_EACH;

    if (out + early > EARLY_MOST)
        early = 0;
    way->early_given += early;
    bulk->tls.offered = true;
    bulk->tls.wanted = early == bulk->length;
    begin_chunk(pipe, bulk, CHUNK_OFFER, early);
}

/* What this connection is to send next. */
static bool next_chunk(struct transport *t, unsigned peer, struct pipe *pipe)
{
    struct tls_way *way = way_of(t, peer);
    struct bulk *best = NULL;

    for (struct bulk *bulk = t->bulks; bulk; bulk = bulk->next) {
        if (bulk->take || bulk->peer != peer || !bulk->length)
            continue;
        if (!bulk->tls.offered) {
            if (&way->pipes[bulk->tag % way->pipe_count] != pipe)
                continue;
            offer_it(way, pipe, bulk);
            return true;
        }
        /* of those that may go on the one that has had the least of turns */
        if (bulk->tls.wanted && bulk->tls.begun < bulk->length && (!best || bulk->tls.turns < best->tls.turns))
            best = bulk;
    }
    if (!best)
        return false;
    best->tls.turns++;
    begin_chunk(pipe, best, CHUNK_DATA,
                best->length - best->tls.begun < CHUNK ? best->length - best->tls.begun : CHUNK);
    return true;
}

/* True: the chunk is all with the connection. */
static bool write_chunk(struct pipe *pipe, ssize_t *error, size_t *moved)
{
    while (pipe->first_at < pipe->first_end || pipe->rest_length) {
        const bool first = pipe->first_at < pipe->first_end;
        const uint8_t *bytes = first ? pipe->first + pipe->first_at : pipe->rest;
        ssize_t taken =
            pipe->stream.by->write(pipe->stream.tls, bytes, first ? pipe->first_end - pipe->first_at : pipe->rest_length);

        if (taken <= 0) {
            *error = taken;
            return false;
        }
        if (first) {
            pipe->first_at += (size_t)taken;
        } else {
            pipe->rest += taken;
            pipe->rest_length -= (size_t)taken;
        }
        *moved += (size_t)taken;
    }
    return true;
}

static int give(struct transport *t, unsigned peer, struct pipe *pipe)
{
    ssize_t error = 0;
    size_t moved = 0;
    int count = 0;

    while (moved < AT_ONCE && (pipe->giving || next_chunk(t, peer, pipe))) {
        struct bulk *bulk = pipe->giving;

        if (!write_chunk(pipe, &error, &moved))
            break;
        pipe->giving = NULL;
        bulk->tls.chunks--;
        bulk->complete = !bulk->tls.chunks && bulk->tls.begun == bulk->length;
        if (bulk->complete)
            way_of(t, peer)->gives--;
        count++;
    }
    if (!error)
        error = pipe->stream.by->flush(pipe->stream.tls);
    pipe->said |= moved != 0;
    pipe->stream.blocked = pipe->giving || pipe->stream.by->waits(pipe->stream.tls);
    if (error < 0)
        way_break(way_of(t, peer), &t->peers[peer], "a connection to it has ended");
    return count + (moved != 0);
}

bool tls_bulk_wanted(struct transport *t, unsigned peer, const struct want *want)
{
    struct tls_way *way = way_of(t, peer);
    struct bulk *bulk = t->bulks;

    if (want->early_taken > way->early_given || want->early_taken < way->early_given_taken)
        return false;
    way->early_given_taken = want->early_taken;
    if (!want->id)
        return true;
    while (bulk && (bulk->take || bulk->peer != peer || bulk->tls.id != want->id))
        bulk = bulk->next;
    if (!bulk || !bulk->tls.offered || bulk->tls.wanted)
        return false;
    bulk->tls.wanted = true;
    return true;
}

/* ---- taking ---- */

/* The bytes that were kept are the taker's now; false: he has agreed to another length. */
static bool bind_offer(struct transport *t, struct bulk *bulk, struct offer **at)
{
    struct tls_way *way = way_of(t, bulk->peer);
    struct offer *offer = *at;
    const bool same = offer->length == bulk->length;

    bulk->broken = !same;
    *at = offer->next;
    if (way->offers_last == &offer->next)
        way->offers_last = at;
    way->offer_count--;
    bulk->tls.id = offer->id;
    bulk->tls.bound = same;
    for (unsigned i = 0; i < way->pipe_count; i++) {
        if (way->pipes[i].offer != offer)
            continue;
        way->pipes[i].offer = NULL;
        way->pipes[i].taking = bulk;
        way->pipes[i].into = bulk->memory + offer->got;
    }
    if (same) {
        if (offer->got)
            memcpy(bulk->memory, offer->bytes, offer->got);
        bulk->tls.promised = offer->early;
        bulk->tls.arrived = offer->got;
        bulk->complete = bulk->tls.arrived == bulk->length;
        way->takes -= bulk->complete;
        way->early_taken += offer->early;
        if (offer->early < offer->length)
            way_want(t, bulk->peer, offer->id);
        else if (way->early_taken - way->early_confirmed >= EARLY_TOLD)
            way_want(t, bulk->peer, 0);
    }
    free(offer->bytes);
    free(offer);
    return same;
}

static struct bulk *find_taker(const struct transport *t, unsigned peer, uint32_t tag)
{
    for (struct bulk *bulk = t->bulks; bulk; bulk = bulk->next) {
        if (bulk->take && bulk->peer == peer && !bulk->tls.bound && bulk->tag == tag && bulk->length)
            return bulk;
    }
    return NULL;
}

static bool take_offer(struct transport *t, unsigned peer, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct tls_way *way = way_of(t, peer);
    struct bulk *bulk = find_taker(t, peer, chunk->tag);
    struct offer *offer, **at = way->offers_last;
    uint64_t kept = 0;

    for (const struct offer *other = way->offers; other; other = other->next)
        kept += other->early;
    if (!chunk->id || !chunk->offset || chunk->length > chunk->offset || chunk->length > EARLY_EACH ||
        kept + chunk->length > EARLY_MOST || way->offer_count == MOST_OFFERS)
        return false;
    offer = calloc(1, sizeof(*offer));
    if (!offer)
        return false;
    *offer =
        (struct offer){.id = chunk->id, .tag = chunk->tag, .length = chunk->offset, .early = (size_t)chunk->length};
    *at = offer;
    way->offers_last = &offer->next;
    way->offer_count++;
    pipe->offer = offer;
    if (bulk)
        return bind_offer(t, bulk, at);
    offer->bytes = offer->early ? malloc(offer->early) : NULL;
    return !offer->early || offer->bytes;
}

static bool take_data(struct transport *t, unsigned peer, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct bulk *bulk = t->bulks;

    while (bulk && (!bulk->take || bulk->peer != peer || !bulk->tls.bound || bulk->tls.id != chunk->id))
        bulk = bulk->next;
    if (!bulk || !chunk->length || chunk->length > bulk->length - bulk->tls.promised ||
        chunk->offset > bulk->length - chunk->length)
        return false;
    bulk->tls.promised += chunk->length; /* never more than all: so it is complete only when nothing more can come */
    pipe->taking = bulk;
    pipe->into = bulk->memory + chunk->offset;
    return true;
}

static bool begin_taking(struct transport *t, unsigned peer, struct pipe *pipe)
{
    pipe->chunk_got = 0;
    pipe->offer = NULL;
    pipe->taking = NULL;
    if (pipe->chunk.kind == CHUNK_NOTHING)
        return !pipe->chunk.length;
    if (pipe->chunk.kind == CHUNK_OFFER)
        return take_offer(t, peer, pipe);
    return pipe->chunk.kind == CHUNK_DATA && take_data(t, peer, pipe);
}

static void arrived(struct transport *t, unsigned peer, struct pipe *pipe, size_t length)
{
    struct bulk *bulk = pipe->taking;

    pipe->chunk_got += length;
    if (!bulk) {
        pipe->offer->got += length;
        return;
    }
    pipe->into += length;
    bulk->tls.arrived += length;
    if (bulk->tls.arrived < bulk->length)
        return;
    bulk->complete = true;
    way_of(t, peer)->takes--;
}

/* A header or bytes: how much, or 0, or negative errno. */
static ssize_t take_some(struct transport *t, unsigned peer, struct pipe *pipe)
{
    ssize_t got;

    if (pipe->header_got < sizeof(pipe->chunk)) {
        got = pipe->stream.by->read(pipe->stream.tls, (uint8_t *)&pipe->chunk + pipe->header_got,
                               sizeof(pipe->chunk) - pipe->header_got);
        if (got <= 0)
            return got;
        pipe->header_got += (size_t)got;
        if (pipe->header_got == sizeof(pipe->chunk) && !begin_taking(t, peer, pipe))
            return -EPROTO;
    } else if (pipe->taking || pipe->offer) {
        uint8_t *into = pipe->taking ? pipe->into : pipe->offer->bytes + pipe->offer->got;

        got = pipe->stream.by->read(pipe->stream.tls, into, (size_t)pipe->chunk.length - pipe->chunk_got);
        if (got <= 0)
            return got;
        arrived(t, peer, pipe, (size_t)got);
    } else {
        return -EPROTO;
    }
    if (pipe->header_got == sizeof(pipe->chunk) && pipe->chunk_got == pipe->chunk.length) {
        pipe->header_got = 0;
        pipe->offer = NULL;
        pipe->taking = NULL;
    }
    return got;
}

static int take(struct transport *t, unsigned peer, struct pipe *pipe)
{
    size_t moved = 0;
    ssize_t got = 1;

    while (moved < AT_ONCE && way_of(t, peer)->takes && (got = take_some(t, peer, pipe)) > 0)
        moved += (size_t)got;
    if (got < 0)
        way_break(way_of(t, peer), &t->peers[peer],
                  got == -EPROTO ? "its bulk data is not what was agreed" : "a connection to it has ended");
    return moved != 0;
}

/* ---- the provider's ---- */

void tls_bulk_follow(struct transport *t, unsigned peer)
{
    static const struct chunk nothing = {.kind = CHUNK_NOTHING};
    struct tls_way *way = way_of(t, peer);

    for (unsigned i = 0; i < way->pipe_count && !way->broken; i++) {
        struct pipe *pipe = &way->pipes[i];
        ssize_t taken;

        if (!pipe->said || pipe->giving || !stream_ready(&pipe->stream))
            continue;
        taken = pipe->stream.by->write(pipe->stream.tls, &nothing, sizeof(nothing));
        if (!taken)
            continue;
        pipe->said = false;
        if (taken != sizeof(nothing) || pipe->stream.by->flush(pipe->stream.tls) < 0)
            way_break(way, &t->peers[peer], "a connection to it has ended");
    }
}

/* A take looks whether it was offered: it is the last of its tag, and those before it have looked. */
static void look_for_offer(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    for (struct offer **at = &way->offers; *at; at = &(*at)->next) {
        if ((*at)->tag == bulk->tag) {
            bind_offer(t, bulk, at);
            return;
        }
    }
}

int tls_bulk_start(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    if (way->broken)
        return -ECONNRESET;
    bulk->complete = !bulk->length;
    if (bulk->complete)
        return 0;
    if (bulk->take) {
        way->takes++;
        look_for_offer(t, bulk);
    } else {
        way->gives++;
        bulk->tls.id = ++way->last_id ? way->last_id : ++way->last_id;
    }
    way_wake(t);
    return 0;
}

/* It moves with its connection: tls_bulk_poll(). */
int tls_bulk_move(struct transport *t, struct bulk *bulk)
{
    (void)t, (void)bulk;
    return 0;
}

void tls_bulk_drop(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    for (unsigned i = 0; i < way->pipe_count; i++) {
        if (way->pipes[i].taking == bulk)
            way->pipes[i].taking = NULL;
        if (way->pipes[i].giving == bulk)
            way->pipes[i].giving = NULL;
    }
}

int tls_bulk_poll(struct transport *t, unsigned peer)
{
    struct tls_way *way = way_of(t, peer);
    int count = 0;

    way->pipes_blocked = false;
    for (unsigned i = 0; i < way->pipe_count && !way->broken; i++) {
        struct pipe *pipe = &way->pipes[i];

        if (!stream_ready(&pipe->stream)) {
            way_break(way, &t->peers[peer], "the program has closed descriptors that are not its own");
            break;
        }
        if (way->gives || pipe->stream.blocked)
            count += give(t, peer, pipe);
        if (way->takes && !way->broken)
            count += take(t, peer, pipe);
        way->pipes_blocked |= pipe->stream.blocked;
    }
    return count;
}
