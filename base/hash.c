/* Four independent lanes; each step is invertible, so a difference in one word always changes the hash. */
#include "base/hash.h"

#include <string.h>

#define LANES 4
#define ODD UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * ODD;
    return hash ^ hash >> 29;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = at + size;
    uint64_t lanes[LANES] = {size, 1, 2, 3}, words[LANES];

    for (; end - at >= (ptrdiff_t)sizeof(words); at += sizeof(words)) {
        memcpy(words, at, sizeof(words));
        for (int i = 0; i < LANES; i++)
            lanes[i] = mix(lanes[i], words[i]);
    }
    memset(words, 0, sizeof(words));
    memcpy(words, at, (size_t)(end - at));
    for (int i = 0; i < LANES; i++)
        lanes[i] = mix(lanes[i], words[i]);
    for (int i = 1; i < LANES; i++)
        lanes[0] = mix(lanes[0], lanes[i]);
    return lanes[0];
}
