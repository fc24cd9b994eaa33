/* A hash of bytes, to find out whether they have changed. Not cryptographic: it does not resist forgery. */
#ifndef VOCL_BASE_HASH_H
#define VOCL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);

#endif
