/*
 * A cache at the application's host, from one session to the next, of what nodes would be asked again: their
 * descriptions, and results of builds. Files in VOCL_CACHE, one for each key, are written whole or not at all. A file
 * of another version, truncated, modified or owned by another user is ignored. A node confirms its cached description,
 * so nothing stale is used (libvocl/view.c, libvocl/promise.c).
 */
#ifndef VOCL_CLIENT_CORE_CACHE_H
#define VOCL_CLIENT_CORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_kind { CACHE_NODE = 1, CACHE_BUILD };

struct cached {
    void *file; /* freed by cache_free() */
    const uint8_t *bytes;
    size_t length;
};

/* Finds the entry of the key, all of whose bytes are compared. If it returns false there is nothing to be freed. */
bool cache_find(enum cache_kind kind, const void *key, size_t key_length, struct cached *found);
void cache_free(struct cached *found);
/* Stores an entry, if possible. */
void cache_keep(enum cache_kind kind, const void *key, size_t key_length, const void *bytes, size_t length);
/* Removes an entry that has turned out to be wrong. */
void cache_drop(enum cache_kind kind, const void *key, size_t key_length);

#endif
