/*
 * Deduplication of bulk data: pieces that the other side has already are not sent again. The taker keeps copies of
 * pieces in slots that the giver chooses, and the giver remembers which piece, by its SHA-256, is in which slot of
 * which connection. So it knows the taker's pieces without asking, and on one connection a piece arrives before a
 * reference to it. The taker says how many bytes it keeps, and compares the hash of the slot's piece with the wanted
 * one.
 */
#ifndef VOCL_TRANSPORT_STREAM_DEDUP_H
#define VOCL_TRANSPORT_STREAM_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEDUP_HASH 32
#define DEDUP_LEAST (16u << 10) /* bytes; shorter pieces are always sent */
#define DEDUP_SLOTS 8192        /* of a connection, at most */

/* ---- the giver's side ---- */
struct dedup_index;

/* Returns an empty index, or NULL if memory is exhausted. room: bytes that the taker keeps, for all connections
 * together. */
struct dedup_index *dedup_index_open(uint64_t room, unsigned connections);
void dedup_index_close(struct dedup_index *known);
/* Finds a piece: returns its slot, from 1 on, and the connection; or 0 if the taker does not have it. */
uint32_t dedup_index_find(const struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length,
                          unsigned *connection);
/* Adds a piece that is sent by this connection: returns the slot for it, in place of another piece if need be, or 0 for
 * none. */
uint32_t dedup_index_add(struct dedup_index *known, const uint8_t hash[DEDUP_HASH], size_t length, unsigned connection);

/* ---- the taker's side ---- */
struct dedup_store;

struct dedup_store *dedup_store_open(uint64_t room, unsigned connections);
void dedup_store_close(struct dedup_store *store);
/* Keeps a copy. False: the piece must not be kept, which is the giver's fault, or memory is exhausted. */
bool dedup_store_put(struct dedup_store *store, unsigned connection, uint32_t slot, const void *bytes, size_t length);
/* Returns the piece in a slot, or NULL. */
const void *dedup_store_get(const struct dedup_store *store, unsigned connection, uint32_t slot, size_t length);

#endif
