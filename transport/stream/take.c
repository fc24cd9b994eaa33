/* Bulk data over streams, the taker's side: see bulk.c. Offers, their bytes, and where these belong. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/timeline.h"
#include "transport/stream/stream.h"

#define TOLD (1u << 20) /* bytes taken, after which a message reports it */
#define MOST_OFFERS (1u << 20)
#define AT_ONCE (1u << 20) /* bytes of a connection, before the next one's turn */

static void offer_free(struct streams *streams, struct offer *offer)
{
    TAILQ_REMOVE(&streams->offers[bucket(offer->id)], offer, by_id);
    if (offer->offered)
        TAILQ_REMOVE(&streams->offered[bucket(offer->tag)], offer, by_tag);
    else if (offer->early)
        TAILQ_REMOVE(&streams->early[bucket(offer->tag)], offer, by_tag);
    streams->offer_count--;
    while (offer->kept) {
        struct kept_bytes *kept = offer->kept;

        offer->kept = kept->next;
        free(kept);
    }
    free(offer);
}

void offers_free(struct streams *streams)
{
    struct offer *offer;

    for (unsigned i = 0; i < WAY_BUCKETS; i++) {
        while ((offer = TAILQ_FIRST(&streams->offers[i])))
            offer_free(streams, offer);
    }
}

static void complete(struct transport *t, struct bulk *bulk)
{
    bulk->complete = true;
    bulk_list(bulk, NULL);
    bulk_over(t, bulk);
    streams_of(t, bulk->peer)->takes--;
}

/* Counts bytes that have reached their memory, and reports them to the other side from time to time. */
static void have_taken(struct transport *t, unsigned peer, uint64_t bytes)
{
    struct streams *streams = streams_of(t, peer);

    streams->taken += bytes;
    if (streams->taken - streams->confirmed >= TOLD)
        streams_want(t, peer, 0);
}

/* Moves kept bytes, and those that are just arriving, to the taker's memory. */
static void move_kept(struct streams *streams, struct bulk *bulk, struct offer *offer)
{
    for (struct kept_bytes *kept = offer->kept; kept; kept = kept->next) {
        memcpy(bulk->memory + kept->offset, kept->bytes, kept->got);
        bulk->tls.arrived += kept->got;
        streams->kept -= kept->length;
        for (unsigned i = 0; i < streams->pipe_count; i++) {
            if (streams->pipes[i].keeping != kept)
                continue;
            streams->pipes[i].keeping = NULL;
            streams->pipes[i].taking = bulk;
            streams->pipes[i].into = bulk->memory + kept->offset + kept->got;
        }
    }
}

/* False: the take has another length. */
static bool bind_offer(struct transport *t, struct bulk *bulk, struct offer *offer)
{
    struct streams *streams = streams_of(t, bulk->peer);

    if (offer->length != bulk->length) { /* the peer is lost for it, and the offer freed then */
        bulk->broken = true;
        bulk_over(t, bulk);
        return false;
    }
    bulk->tls.id = offer->id;
    if (offer->there) {
        bulk->tls.place = offer->place;
        bulk_list(bulk, &streams->cross_memory.taking);
        offer_free(streams, offer);
        return true;
    }
    bulk->tls.promised = offer->promised;
    bulk_list(bulk, &streams->taking[bucket(offer->id)]);
    move_kept(streams, bulk, offer);
    if (bulk->tls.arrived == bulk->length) {
        complete(t, bulk);
        have_taken(t, bulk->peer, bulk->length);
    } else {
        streams->taken += bulk->tls.arrived;
        streams_want(t, bulk->peer, offer->id);
    }
    offer_free(streams, offer);
    return true;
}

static struct bulk *find_taker(struct streams *streams, uint32_t tag)
{
    struct bulk *bulk;

    TAILQ_FOREACH (bulk, &streams->takers[bucket(tag)], tls.entry) {
        if (bulk->tag == tag)
            return bulk;
    }
    return NULL;
}

static struct bulk *find_taking(struct streams *streams, uint32_t id)
{
    struct bulk *bulk;

    TAILQ_FOREACH (bulk, &streams->taking[bucket(id)], tls.entry) {
        if (bulk->tls.id == id)
            return bulk;
    }
    return NULL;
}

/* Finds the offer of a chunk, or makes a new one. NULL: memory is exhausted, or there are too many. */
static struct offer *find_offer(struct streams *streams, const struct chunk *chunk)
{
    struct offers *list = &streams->offers[bucket(chunk->id)];
    struct offer *offer;

    TAILQ_FOREACH (offer, list, by_id) {
        if (offer->id == chunk->id)
            return offer;
    }
    offer = streams->offer_count < MOST_OFFERS ? malloc(sizeof(*offer)) : NULL;
    if (!offer)
        return NULL;
    *offer = (struct offer){.id = chunk->id, .tag = chunk->tag, .length = chunk->whole};
    TAILQ_INSERT_TAIL(list, offer, by_id);
    streams->offer_count++;
    return offer;
}

static bool keep(struct streams *streams, struct pipe *pipe, struct offer *offer)
{
    const struct chunk *chunk = &pipe->chunk;
    struct kept_bytes *kept;

    if (chunk->length > offer->length - offer->promised || streams->kept + chunk->length > WINDOW_MOST)
        return false;
    if (!chunk->length)
        return true;
    kept = malloc(sizeof(*kept) + (size_t)chunk->length);
    if (!kept)
        return false;
    *kept = (struct kept_bytes){.next = offer->kept, .offset = chunk->offset, .length = (size_t)chunk->length};
    offer->kept = kept;
    offer->promised += chunk->length;
    streams->kept += chunk->length;
    pipe->keeping = kept;
    return true;
}

static bool take_data(struct transport *t, unsigned peer, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct streams *streams = streams_of(t, peer);
    struct bulk *bulk = find_taking(streams, chunk->id);
    struct offer *offer;

    if (!chunk->length)
        return false;
    if (bulk) {
        if (chunk->whole != bulk->length || chunk->length > bulk->length - bulk->tls.promised)
            return false;
        bulk->tls.promised += chunk->length; /* at most the whole: complete only when no more can arrive */
        pipe->taking = bulk;
        pipe->into = bulk->memory + chunk->offset;
        return true;
    }
    offer = find_offer(streams, chunk);
    return offer && offer->length == chunk->whole && offer->tag == chunk->tag && keep(streams, pipe, offer);
}

/* Finds the bucket's offer whose turn it is, or NULL, and gives it to its take. False: the lengths differ. */
static bool offer_in_turn(struct transport *t, unsigned peer, uint32_t tag, struct offer **out)
{
    struct streams *streams = streams_of(t, peer);
    struct offers *early = &streams->early[bucket(tag)];
    struct offer *offer;
    struct bulk *bulk;

    TAILQ_FOREACH (offer, early, by_tag) {
        if (offer->turn == streams->turns_taken[bucket(tag)])
            break;
    }
    *out = offer;
    if (!offer)
        return true;
    streams->turns_taken[bucket(tag)]++;
    TAILQ_REMOVE(early, offer, by_tag);
    offer->early = false;
    /* The offers of a tag are in the order of their turns, in whatever order their chunks arrived. */
    offer->offered = true;
    TAILQ_INSERT_TAIL(&streams->offered[bucket(tag)], offer, by_tag);
    bulk = find_taker(streams, offer->tag);
    return !bulk || bind_offer(t, bulk, offer);
}

/* Whether this chunk may be the offer's first. */
static bool is_new(const struct streams *streams, const struct offer *offer, const struct chunk *chunk)
{
    return !offer->offered && !offer->early && chunk->turn - streams->turns_taken[bucket(chunk->tag)] <= MOST_OFFERS &&
           offer->length == chunk->whole && offer->tag == chunk->tag;
}

static bool offer_comes(struct transport *t, unsigned peer, struct offer *offer, uint32_t turn)
{
    struct streams *streams = streams_of(t, peer);
    const uint32_t tag = offer->tag;

    offer->turn = turn;
    offer->early = true;
    TAILQ_INSERT_TAIL(&streams->early[bucket(tag)], offer, by_tag);
    while (offer) {
        if (!offer_in_turn(t, peer, tag, &offer))
            return false;
    }
    return true;
}

static bool take_offer(struct transport *t, unsigned peer, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct streams *streams = streams_of(t, peer);
    struct offer *offer = find_taking(streams, chunk->id) ? NULL : find_offer(streams, chunk);

    if (!offer || !is_new(streams, offer, chunk) || !keep(streams, pipe, offer))
        return false;
    return offer_comes(t, peer, offer, chunk->turn);
}

bool tls_bulk_offered(struct transport *t, unsigned peer, const struct cross_memory_offer *said)
{
    const struct chunk chunk = {.id = said->id, .tag = said->tag, .whole = said->length, .turn = said->turn};
    struct streams *streams = streams_of(t, peer);
    struct offer *offer =
        chunk.id && chunk.whole && !find_taking(streams, chunk.id) ? find_offer(streams, &chunk) : NULL;

    if (!offer || !is_new(streams, offer, &chunk) || offer->kept)
        return false;
    offer->there = true;
    offer->place = said->place;
    /* If the lengths differ the operation is broken, and bulk_poll() reports it. */
    offer_comes(t, peer, offer, chunk.turn);
    return true;
}

void tls_bulk_took(struct transport *t, struct bulk *bulk, bool failed)
{
    if (!failed) {
        complete(t, bulk);
        return;
    }
    bulk->tls.arrived = bulk->tls.promised = bulk->tls.begun = 0;
    bulk_list(bulk, &streams_of(t, bulk->peer)->taking[bucket(bulk->tls.id)]);
}

/* Whether a chunk is valid. */
static bool is_possible(const struct streams *streams, const struct chunk *chunk)
{
    switch (chunk->how) {
    case CHUNK_PLAIN:
        if (chunk->carried)
            return false;
        break;
    case CHUNK_PACKED:
        if (!streams->able.unpacks || !chunk->carried || chunk->carried >= chunk->length)
            return false;
        break;
    case CHUNK_KNOWN:
        if (chunk->carried != DEDUP_HASH || !chunk->slot || !chunk->length)
            return false;
        break;
    default:
        return false;
    }
    if (chunk->slot && (!streams->able.room || !chunk->length))
        return false;
    return chunk->id && chunk->whole && chunk->length <= CHUNK && chunk->length <= chunk->whole &&
           chunk->offset <= chunk->whole - chunk->length;
}

static void forget_chunk(struct pipe *pipe)
{
    pipe->keeping = NULL;
    pipe->arriving = NULL;
    pipe->taking = NULL;
}

static bool begin_taking(struct transport *t, unsigned peer, struct pipe *pipe)
{
    pipe->chunk_got = 0;
    pipe->carried_got = 0;
    forget_chunk(pipe);
    if (pipe->chunk.kind == CHUNK_NOTHING)
        return !pipe->chunk.length;
    if (pipe->chunk.kind == CHUNK_FRAME)
        return aside_begins(streams_of(t, peer), pipe);
    if (!is_possible(streams_of(t, peer), &pipe->chunk))
        return false;
    if (pipe->chunk.carried && !pipe->carried && !(pipe->carried = malloc(CHUNK)))
        return false;
    if (pipe->chunk.kind == CHUNK_OFFER)
        return take_offer(t, peer, pipe);
    return pipe->chunk.kind == CHUNK_DATA && take_data(t, peer, pipe);
}

static void arrived(struct transport *t, unsigned peer, struct pipe *pipe, size_t length)
{
    struct bulk *bulk = pipe->taking;

    pipe->chunk_got += length;
    if (!bulk) {
        *(pipe->arriving ? &pipe->arriving->got : &pipe->keeping->got) += length;
        return;
    }
    pipe->into += length;
    bulk->tls.arrived += length;
    have_taken(t, peer, length);
    if (bulk->tls.arrived < bulk->length)
        return;
    complete(t, bulk);
}

/* Copies the bytes of a slot, if they have the wanted hash. */
static bool expand_known(struct streams *streams, unsigned number, const struct chunk *chunk, const uint8_t *hash,
                         uint8_t *into)
{
    const void *bytes =
        streams->store ? dedup_store_get(streams->store, number, chunk->slot, (size_t)chunk->length) : NULL;
    uint8_t there[DEDUP_HASH];

    if (!bytes || !tls_plugin->digest(bytes, (size_t)chunk->length, there) || memcmp(there, hash, DEDUP_HASH))
        return false;
    memcpy(into, bytes, (size_t)chunk->length);
    return true;
}

/* Unpacks or looks up content that is complete and not plain. */
static bool expand(struct transport *t, unsigned peer, struct pipe *pipe)
{
    struct streams *streams = streams_of(t, peer);
    const struct chunk *chunk = &pipe->chunk;
    uint8_t *into = pipe->taking ? pipe->into : pipe->keeping->bytes;
    const struct pack_plugin *packing;
    uint64_t since;
    bool good;

    if (chunk->how == CHUNK_KNOWN)
        return expand_known(streams, (unsigned)(pipe - streams->pipes), chunk, pipe->carried, into);
    packing = able_packing(streams);
    since = timeline_wanted() ? (uint64_t)clock_ns() : 0;
    good = packing && packing->unpack(streams->packer, pipe->carried, chunk->carried, into, (size_t)chunk->length);
    if (since && good)
        timeline_count(TIMELINE_PACK, peer, false, since, chunk->length);
    return good;
}

/* Keeps a copy of a complete chunk. Its memory is not the owner's before done() is called. */
static bool keep_copy(struct streams *streams, struct pipe *pipe)
{
    const size_t length = (size_t)pipe->chunk.length;
    const uint8_t *bytes = pipe->taking ? pipe->into - length : pipe->keeping->bytes;

    if (!streams->store)
        streams->store = dedup_store_open(streams->able.room, streams->pipe_count);
    return streams->store &&
           dedup_store_put(streams->store, (unsigned)(pipe - streams->pipes), pipe->chunk.slot, bytes, length);
}

/* Returns the place for the chunk's next plain bytes. */
static uint8_t *place_of(const struct pipe *pipe)
{
    if (pipe->taking)
        return pipe->into;
    return pipe->arriving ? pipe->arriving->bytes + pipe->chunk_got : pipe->keeping->bytes + pipe->chunk_got;
}

/* Receives content of a chunk. Returns the number of bytes, 0, or a negative errno. */
static ssize_t take_bytes(struct transport *t, unsigned peer, struct pipe *pipe)
{
    const bool plain = pipe->chunk.how == CHUNK_PLAIN;
    const size_t length = plain ? (size_t)pipe->chunk.length : pipe->chunk.carried;
    const size_t before = plain ? pipe->chunk_got : pipe->carried_got;
    uint8_t *into = !plain ? pipe->carried + before : place_of(pipe);
    ssize_t got = stream_read(&pipe->stream, into, length - before);

    if (got <= 0)
        return got;
    if (plain) {
        arrived(t, peer, pipe, (size_t)got);
    } else {
        pipe->carried_got += (size_t)got;
        if (pipe->carried_got < length)
            return got;
        if (!expand(t, peer, pipe))
            return -EPROTO;
        arrived(t, peer, pipe, (size_t)pipe->chunk.length);
    }
    if (pipe->chunk_got == pipe->chunk.length && pipe->chunk.slot && pipe->chunk.how != CHUNK_KNOWN &&
        !keep_copy(streams_of(t, peer), pipe))
        return -EPROTO;
    return got;
}

/* Receives a header or content. Returns the number of bytes, 0, or a negative errno. */
static ssize_t take_some(struct transport *t, unsigned peer, struct pipe *pipe)
{
    ssize_t got;

    if (pipe->header_got < sizeof(pipe->chunk)) {
        got = stream_read(&pipe->stream, (uint8_t *)&pipe->chunk + pipe->header_got,
                          sizeof(pipe->chunk) - pipe->header_got);
        if (got <= 0)
            return got;
        pipe->header_got += (size_t)got;
        if (pipe->header_got == sizeof(pipe->chunk) && !begin_taking(t, peer, pipe))
            return -EPROTO;
    } else if (pipe->taking || pipe->keeping || pipe->arriving) {
        got = take_bytes(t, peer, pipe);
        if (got <= 0)
            return got;
    } else {
        return -EPROTO;
    }
    if (pipe->header_got == sizeof(pipe->chunk) && pipe->chunk_got == pipe->chunk.length) {
        pipe->header_got = 0;
        forget_chunk(pipe);
    }
    return got;
}

int tls_take(struct transport *t, unsigned peer, struct pipe *pipe)
{
    size_t moved = 0;
    ssize_t got = 1;

    while (moved < AT_ONCE && (got = take_some(t, peer, pipe)) > 0)
        moved += (size_t)got;
    if (got < 0)
        streams_break(streams_of(t, peer), &t->peers[peer],
                      got == -EPROTO ? "its bulk data violates the protocol" : "a connection to it has ended");
    return moved != 0;
}

void take_expect(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);
    struct offer *offer;

    TAILQ_FOREACH (offer, &streams->offered[bucket(bulk->tag)], by_tag) {
        if (offer->tag == bulk->tag) {
            bind_offer(t, bulk, offer);
            return;
        }
    }
}
