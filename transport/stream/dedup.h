/*
 * Pieces of bulk data that the other side has already. Who takes keeps copies of pieces in slots that the giver
 * chooses, and the giver remembers which piece, by its SHA-256, is in which slot of which connection: so it knows what
 * is there without asking, and on one connection a piece comes before what refers to it. The taker says how many bytes
 * it keeps, and compares the hash of what is in the slot with that of what is wanted.
 */
#ifndef VOCL_TRANSPORT_STREAM_DEDUP_H
#define VOCL_TRANSPORT_STREAM_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEDUP_HASH 32
#define DEDUP_LEAST (16u << 10) /* shorter pieces are not looked for */
#define DEDUP_SLOTS 8192        /* of a connection, at most */

/* ---- the giver's ---- */
struct dedup_index;

/* room: what the taker keeps, over so many connections. NULL: no memory. */
struct dedup_index *dedup_index_open(uint64_t room, unsigned connections);
void dedup_index_close(struct dedup_index *known);
/* Where it is: the connection and the slot, from 1 on, or 0: nowhere. */
uint32_t dedup_index_find(const struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length,
                          unsigned *connection);
/* A piece is sent by this connection now: the slot that it is to be kept in, or 0: none. Others give way. */
uint32_t dedup_index_add(struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length, unsigned connection);

/* ---- the taker's ---- */
struct dedup_store;

struct dedup_store *dedup_store_open(uint64_t room, unsigned connections);
void dedup_store_close(struct dedup_store *store);
/* Keep a copy. False: it is none that can be kept, which is the giver's fault or for want of memory. */
bool dedup_store_put(struct dedup_store *store, unsigned connection, uint32_t slot, const void *bytes, size_t length);
/* What is there, or NULL. */
const void *dedup_store_get(const struct dedup_store *store, unsigned connection, uint32_t slot, size_t length);

#endif
