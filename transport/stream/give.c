/*
 * Bulk data over streams, the giver's side: which piece a connection sends next, and how. On a slow link a piece that
 * the other side has is only referred to, and one that compresses is packed (pace.h, dedup.h, transport/plugin/pack.h).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/timeline.h"
#include "transport/stream/stream.h"

#define TURNS 64                                /* chunks of an operation before later operations go first */
#define LEAST (16u << 10)                       /* bytes of a chunk, if there are more */
#define AT_ONCE (1u << 20)                      /* bytes of a connection, before the next one's turn */
#define WORTH(length) ((length) - (length) / 8) /* the most that packed bytes may be */

/* ---- one chunk ---- */

/* The header and the first bytes share a TLS record. */
static void load(struct streams *streams, struct pipe *pipe, struct bulk *bulk, const struct chunk *chunk,
                 const uint8_t *bytes, size_t length)
{
    const size_t beside = sizeof(pipe->first) - sizeof(*chunk), first = length < beside ? length : beside;

    pipe->giving = bulk;
    memcpy(pipe->first, chunk, sizeof(*chunk));
    pipe->first_at = 0;
    pipe->first_end = sizeof(*chunk) + first;
    if (first)
        memcpy(pipe->first + sizeof(*chunk), bytes, first);
    pipe->rest = bytes + first;
    pipe->rest_length = length - first;
    streams->carried += length;
}

static void begun(struct streams *streams, struct bulk *bulk, size_t length)
{
    bulk->tls.offered = true;
    bulk->tls.begun += length;
    bulk->tls.chunks++;
    bulk->tls.turns++;
    streams->given += length;
    if (bulk->tls.begun == bulk->length)
        bulk_list(bulk, NULL);
}

static bool is_there(uint8_t **bytes)
{
    if (!*bytes)
        *bytes = malloc(CHUNK);
    return *bytes != NULL;
}

/* Has the connection of the slot send the chunk; the offer itself goes by this one, without bytes. */
static bool refer(struct streams *streams, struct pipe *pipe, struct bulk *bulk, struct chunk chunk,
                  unsigned connection, const uint8_t *hash)
{
    struct pipe *other = &streams->pipes[connection];
    struct reference *reference = malloc(sizeof(*reference));
    const size_t length = (size_t)chunk.length;
    const bool offer = chunk.kind == CHUNK_OFFER;

    if (!reference)
        return false;
    chunk.kind = CHUNK_DATA;
    *reference = (struct reference){.chunk = chunk, .bulk = bulk};
    memcpy(reference->hash, hash, DEDUP_HASH);
    if (!other->references)
        other->references_last = &other->references;
    *other->references_last = reference;
    other->references_last = &reference->next;
    if (offer) {
        chunk = (struct chunk){
            .kind = CHUNK_OFFER, .id = chunk.id, .tag = chunk.tag, .whole = chunk.whole, .turn = chunk.turn};
        load(streams, pipe, bulk, &chunk, bulk->memory, 0);
        begun(streams, bulk, 0);
    }
    begun(streams, bulk, length);
    return true;
}

/* Handles a piece that the other side has, or is to keep. The bytes are copied first: the hashed bytes are those that
 * are sent, even if the program changes the memory. Returns 1: a reference is sent; 0: the piece has to be sent, with
 * chunk->slot. */
static int look_for(struct streams *streams, struct pipe *pipe, struct bulk *bulk, struct chunk *chunk,
                    const uint8_t **bytes)
{
    const size_t length = (size_t)chunk->length;
    unsigned connection, number = (unsigned)(pipe - streams->pipes);
    uint8_t hash[DEDUP_HASH];
    struct chunk known = *chunk;

    if (!streams->known || length < DEDUP_LEAST || !pace_is_slow(&streams->pace, streams->given) ||
        !is_there(&pipe->piece))
        return 0;
    memcpy(pipe->piece, *bytes, length);
    if (!tls_plugin->digest(pipe->piece, length, hash))
        return 0;
    *bytes = pipe->piece;
    known.slot = dedup_index_find(streams->known, hash, length, &connection);
    if (!known.slot) {
        chunk->slot = dedup_index_add(streams->known, hash, length, number);
        return 0;
    }
    known.how = CHUNK_KNOWN;
    known.carried = DEDUP_HASH;
    if (connection != number)
        return refer(streams, pipe, bulk, known, connection, hash);
    load(streams, pipe, bulk, &known, hash, DEDUP_HASH);
    begun(streams, bulk, length);
    return 1;
}

/* The thread's CPU time: other processes' use of the processor says nothing about packing. */
static long worked_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

/* Returns the packed length, or 0: the piece is sent as it is. */
static size_t pack(struct streams *streams, struct pipe *pipe, const uint8_t *bytes, size_t length)
{
    const struct pack_plugin *packing =
        streams->packing && streams->other.unpacks && streams->pace.rate ? able_packing(streams) : NULL;
    const size_t sample = packing ? pace_try(&streams->pace, length) : 0;
    const bool hard = pace_is_crawling(&streams->pace);
    size_t made;
    long began;

    if (!sample || !is_there(&pipe->packed))
        return 0;
    for (size_t tried = sample;; tried = length) {
        const uint64_t since = timeline_wanted() ? (uint64_t)clock_ns() : 0;

        began = worked_ns();
        made = packing->pack(streams->packer, bytes, tried, pipe->packed, WORTH(tried), hard);
        if (since)
            timeline_count(TIMELINE_PACK, pipe->stream.peer, true, since, tried);
        if (!pace_tried(&streams->pace, tried, made ? made : tried, worked_ns() - began))
            return 0;
        if (tried == length)
            return made;
    }
}

static void begin_chunk(struct streams *streams, struct pipe *pipe, struct bulk *bulk, size_t length)
{
    struct chunk chunk = {.kind = bulk->tls.offered ? CHUNK_DATA : CHUNK_OFFER,
                          .id = bulk->tls.id,
                          .tag = bulk->tag,
                          .whole = bulk->length,
                          .offset = bulk->tls.begun,
                          .length = length};
    const uint8_t *bytes = bulk->memory + bulk->tls.begun;
    size_t packed;

    if (chunk.kind == CHUNK_OFFER)
        chunk.turn = bulk->tls.turn;
    if (look_for(streams, pipe, bulk, &chunk, &bytes))
        return;
    packed = pack(streams, pipe, bytes, length);
    if (packed) {
        chunk.how = CHUNK_PACKED;
        chunk.carried = (uint32_t)packed;
        bytes = pipe->packed;
    }
    load(streams, pipe, bulk, &chunk, bytes, packed ? packed : length);
    begun(streams, bulk, length);
}

void references_drop(struct pipe *pipe, const struct bulk *bulk)
{
    struct reference **at = &pipe->references;

    while (*at) {
        struct reference *reference = *at;

        if (bulk && reference->bulk != bulk) {
            at = &reference->next;
            continue;
        }
        *at = reference->next;
        free(reference);
    }
    pipe->references_last = at;
}

static void begin_aside(struct streams *streams, struct pipe *pipe)
{
    struct aside *aside = TAILQ_FIRST(&streams->asides);
    const struct chunk chunk = {.kind = CHUNK_FRAME, .id = aside->id, .whole = aside->length, .length = aside->length};

    load(streams, pipe, NULL, &chunk, aside->bytes, aside->length);
    streams->carried -= aside->length; /* it is no bulk data */
    TAILQ_REMOVE(&streams->asides, aside, in);
    pipe->going_aside = aside;
}

static void begin_reference(struct streams *streams, struct pipe *pipe)
{
    struct reference *reference = pipe->references;

    pipe->references = reference->next;
    load(streams, pipe, reference->bulk, &reference->chunk, reference->hash, DEDUP_HASH);
    free(reference);
}

/* ---- choosing the next chunk ---- */

/* The length of the next chunk. Over long distances each connection has a limit of bytes under way: so an operation is
 * divided among them, if the pieces are not too small, and there are no other operations for them. If pieces are looked
 * for that the other side has, the cuts are always at the same places, however many bytes go with the offer. */
static size_t chunk_of(const struct streams *streams, const struct bulk *bulk)
{
    const bool looks = streams->known && pace_is_slow(&streams->pace, streams->given),
               alone = looks || streams->gives <= streams->used;
    const size_t share = alone ? bulk->length / (looks ? streams->pipe_count : streams->used) : CHUNK;
    const size_t most = share < LEAST ? LEAST : share < CHUNK ? share : CHUNK;
    const size_t first = most < FIRST ? most : FIRST;

    return bulk->tls.begun < first ? first - bulk->tls.begun : most - bulk->tls.begun % most;
}

static bool has_window(const struct streams *streams, size_t length)
{
    return streams->given - streams->given_taken + length <= streams->window;
}

/* Returns how many bytes of an operation may go next, or -1 for none; an offer may go without bytes. full: the window
 * has no room for an earlier operation. Then it has none for this one: otherwise later, smaller pieces would keep the
 * earlier one waiting. */
static ssize_t next_length(const struct streams *streams, const struct bulk *bulk, bool *full)
{
    const size_t left = bulk->length - bulk->tls.begun, most = chunk_of(streams, bulk);
    const size_t length = left < most ? left : most;

    *full |= left && !bulk->tls.wanted && !has_window(streams, length);
    if (!bulk->tls.offered)
        return *full ? 0 : (ssize_t)length;
    return left && (bulk->tls.wanted || !*full) ? (ssize_t)length : -1;
}

/* Chooses the next operation: in order, but after many chunks a long one lets others go first every other time. */
static struct bulk *choose(struct streams *streams, size_t *length)
{
    const bool in_order = streams->choices++ & 1;
    struct bulk *best = NULL, *bulk;
    bool full = false;

    TAILQ_FOREACH (bulk, &streams->giving, tls.entry) {
        ssize_t next;

        if (best && (best->tls.turns < TURNS || in_order))
            break;
        next = next_length(streams, bulk, &full);
        if (next < 0 || (best && bulk->tls.turns / TURNS >= best->tls.turns / TURNS))
            continue;
        best = bulk;
        *length = (size_t)next;
    }
    return best;
}

/* Whether the connection gets new chunks. */
static bool is_used(const struct streams *streams, const struct pipe *pipe)
{
    return pipe < streams->pipes + streams->used;
}

static bool next_chunk(struct streams *streams, struct pipe *pipe)
{
    if (is_used(streams, pipe) && !TAILQ_EMPTY(&streams->asides)) {
        begin_aside(streams, pipe);
        return true;
    }
    if (pipe->references) {
        begin_reference(streams, pipe);
        return true;
    }
    while (is_used(streams, pipe) && !pipe->giving) { /* a piece in another connection's slot is sent by that one */
        size_t length = 0;
        struct bulk *bulk = choose(streams, &length);

        if (!bulk)
            return false;
        begin_chunk(streams, pipe, bulk, length);
    }
    return pipe->giving;
}

/* ---- a connection's turn ---- */

static bool is_sending(const struct pipe *pipe)
{
    return pipe->first_at < pipe->first_end || pipe->rest_length;
}

/* True: the connection has taken the whole chunk. */
static bool write_chunk(struct pipe *pipe, ssize_t *error, size_t *moved)
{
    while (is_sending(pipe)) {
        const bool first = pipe->first_at < pipe->first_end;
        const uint8_t *bytes = first ? pipe->first + pipe->first_at : pipe->rest;
        ssize_t taken =
            stream_write(&pipe->stream, bytes, first ? pipe->first_end - pipe->first_at : pipe->rest_length);

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

static void chunk_sent(struct transport *t, unsigned peer, struct pipe *pipe)
{
    struct bulk *bulk = pipe->giving;

    if (!bulk) /* an empty chunk */
        return;
    pipe->giving = NULL;
    bulk->tls.chunks--;
    bulk->complete = !bulk->tls.chunks && bulk->tls.begun == bulk->length;
    if (!bulk->complete)
        return;
    bulk_over(t, bulk);
    streams_of(t, peer)->gives--;
}

int tls_give(struct transport *t, unsigned peer, struct pipe *pipe)
{
    struct streams *streams = streams_of(t, peer);
    const size_t most = streams->pipe_count > 2 ? 1 : AT_ONCE; /* with many connections: in turns */
    ssize_t error = 0;
    size_t moved = 0;
    int count = 0;

    while (moved < most && (is_sending(pipe) || next_chunk(streams, pipe))) {
        if (!write_chunk(pipe, &error, &moved))
            break;
        if (pipe->going_aside)
            aside_sent(streams, pipe);
        else
            chunk_sent(t, peer, pipe);
        count++;
    }
    if (!error)
        error = pipe->stream.by->flush(pipe->stream.tls);
    pipe->said |= moved != 0;
    pipe->stream.blocked = is_sending(pipe) || pipe->references ||
                           (is_used(streams, pipe) && !TAILQ_EMPTY(&streams->asides)) ||
                           pipe->stream.by->waits(pipe->stream.tls);
    if (error < 0)
        streams_break(streams, &t->peers[peer], "a connection to it has ended");
    return count + (moved != 0);
}

void tls_give_nothing(struct transport *t, unsigned peer, struct pipe *pipe)
{
    static const struct chunk nothing = {.kind = CHUNK_NOTHING};
    struct streams *streams = streams_of(t, peer);
    ssize_t error = 0;
    size_t moved = 0;

    load(streams, pipe, NULL, &nothing, pipe->first, 0);
    if (write_chunk(pipe, &error, &moved))
        error = pipe->stream.by->flush(pipe->stream.tls);
    pipe->said = !moved;
    if (moved && is_sending(pipe)) { /* only a part was taken */
        pipe->stream.blocked = true;
        streams->pipes_blocked = true;
    } else {
        pipe->first_at = pipe->first_end;
    }
    if (error < 0)
        streams_break(streams, &t->peers[peer], "a connection to it has ended");
}
