/* The index of the giver, and the taker's store: see dedup.h. */
#include "transport/stream/dedup.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct piece {
    uint8_t hash[DEDUP_HASH];
    struct piece *next; /* of the same bucket */
    uint32_t length, slot;
    unsigned connection;
};

struct dedup_index {
    struct piece *buckets[BUCKETS];
    uint64_t room; /* of each connection */
    uint64_t seed;
    unsigned count;
    struct lot {
        struct piece *pieces[DEDUP_SLOTS + 1];
        uint32_t used[DEDUP_SLOTS], used_count; /* slots with pieces */
        uint32_t at[DEDUP_SLOTS + 1];           /* by slot: its index in `used` */
        uint64_t bytes;
    } lots[];
};

struct dedup_index *dedup_index_open(uint64_t room, unsigned connections)
{
    struct dedup_index *known = calloc(1, sizeof(*known) + connections * sizeof(struct lot));

    if (!known)
        return NULL;
    known->room = room / connections;
    known->count = connections;
    known->seed = UINT64_C(0x9e3779b97f4a7c15);
    return known;
}

static struct piece **bucket_of(const struct dedup_index *known, const uint8_t *hash)
{
    uint32_t word;

    memcpy(&word, hash, sizeof(word));
    return (struct piece **)&known->buckets[word % BUCKETS];
}

static void forget(struct dedup_index *known, struct piece *piece)
{
    struct lot *lot = &known->lots[piece->connection];
    struct piece **at = bucket_of(known, piece->hash);
    const uint32_t last = lot->used[--lot->used_count];

    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    lot->used[lot->at[piece->slot]] = last;
    lot->at[last] = lot->at[piece->slot];
    lot->pieces[piece->slot] = NULL;
    lot->bytes -= piece->length;
    free(piece);
}

void dedup_index_close(struct dedup_index *known)
{
    if (!known)
        return;
    for (unsigned i = 0; i < known->count; i++) {
        while (known->lots[i].used_count)
            forget(known, known->lots[i].pieces[known->lots[i].used[0]]);
    }
    free(known);
}

uint32_t dedup_index_find(const struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length,
                          unsigned *connection)
{
    const struct piece *piece = *bucket_of(known, hash);

    while (piece && (piece->length != length || memcmp(piece->hash, hash, DEDUP_HASH)))
        piece = piece->next;
    if (!piece)
        return 0;
    *connection = piece->connection;
    return piece->slot;
}

/* Chooses a random piece to give up: if more than fits is uploaded again and again, some of it is found, while giving
 * up the oldest would leave nothing. */
static struct piece *victim(struct dedup_index *known, const struct lot *lot)
{
    known->seed ^= known->seed << 13;
    known->seed ^= known->seed >> 7;
    known->seed ^= known->seed << 17;
    return lot->pieces[lot->used[known->seed % lot->used_count]];
}

uint32_t dedup_index_add(struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length, unsigned connection)
{
    struct lot *lot = &known->lots[connection];
    struct piece *piece, *gone, **at = bucket_of(known, hash);
    uint32_t slot = lot->used_count + 1;

    if (length > known->room || !(piece = malloc(sizeof(*piece))))
        return 0;
    /* the taker frees a piece when its slot is used anew: so exactly one is given up, and the new one gets its slot */
    if (lot->used_count && (lot->bytes + length > known->room || lot->used_count == DEDUP_SLOTS)) {
        gone = victim(known, lot);
        if (lot->bytes - gone->length + length > known->room) {
            free(piece);
            return 0;
        }
        slot = gone->slot;
        forget(known, gone);
    }
    *piece = (struct piece){.next = *at, .length = (uint32_t)length, .slot = slot, .connection = connection};
    memcpy(piece->hash, hash, DEDUP_HASH);
    *at = piece;
    lot->pieces[slot] = piece;
    lot->at[slot] = lot->used_count;
    lot->used[lot->used_count++] = slot;
    lot->bytes += length;
    return slot;
}

/* ---- the taker's side ---- */

struct dedup_store {
    uint64_t room;
    unsigned count;
    struct row {
        uint64_t bytes;
        struct {
            uint8_t *bytes;
            size_t length;
        } slots[DEDUP_SLOTS + 1];
    } rows[];
};

struct dedup_store *dedup_store_open(uint64_t room, unsigned connections)
{
    struct dedup_store *store = calloc(1, sizeof(*store) + connections * sizeof(struct row));

    if (!store)
        return NULL;
    store->room = room / connections;
    store->count = connections;
    return store;
}

void dedup_store_close(struct dedup_store *store)
{
    if (!store)
        return;
    for (unsigned i = 0; i < store->count; i++) {
        for (unsigned slot = 0; slot <= DEDUP_SLOTS; slot++)
            free(store->rows[i].slots[slot].bytes);
    }
    free(store);
}

bool dedup_store_put(struct dedup_store *store, unsigned connection, uint32_t slot, const void *bytes, size_t length)
{
    struct row *row = &store->rows[connection];
    uint8_t *copy;

    if (!slot || slot > DEDUP_SLOTS || row->bytes - row->slots[slot].length + length > store->room)
        return false;
    copy = malloc(length);
    if (!copy)
        return false;
    memcpy(copy, bytes, length);
    row->bytes += length - row->slots[slot].length;
    free(row->slots[slot].bytes);
    row->slots[slot].bytes = copy;
    row->slots[slot].length = length;
    return true;
}

const void *dedup_store_get(const struct dedup_store *store, unsigned connection, uint32_t slot, size_t length)
{
    if (slot > DEDUP_SLOTS || store->rows[connection].slots[slot].length != length)
        return NULL;
    return store->rows[connection].slots[slot].bytes;
}
