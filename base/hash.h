/* A hash of bytes, to see whether they are others than before: not against anybody who wants them to look alike. */
#ifndef VOCL_BASE_HASH_H
#define VOCL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);

#endif
