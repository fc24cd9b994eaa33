/*
 * What is kept at the application's host from one session to the next, so that nodes need not be asked again: how they
 * describe themselves, and what builds made. Files in VOCL_CACHE, one for each key, which are written whole or not at
 * all; one that is of another version, shortened, changed or somebody else's is none. A node confirms what was kept of
 * it, so nothing stale is used (libvocl/view.c, libvocl/promise.c).
 */
#ifndef VOCL_CLIENT_CORE_CACHE_H
#define VOCL_CLIENT_CORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_kind { CACHE_NODE = 1, CACHE_BUILD };

struct cached {
    void *file; /* to be freed by cache_free() */
    const uint8_t *bytes;
    size_t length;
};

/* What is kept under the key, all of whose bytes are compared; false: nothing, and nothing is to be freed. */
bool cache_find(enum cache_kind kind, const void *key, size_t key_length, struct cached *found);
void cache_free(struct cached *found);
/* Keep it, if that can be. */
void cache_keep(enum cache_kind kind, const void *key, size_t key_length, const void *bytes, size_t length);
/* It has turned out to be wrong. */
void cache_drop(enum cache_kind kind, const void *key, size_t key_length);

#endif
