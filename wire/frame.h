/* What transports of frames need to know of the wire: the version that they carry, and the tags of bulk data. */
#ifndef VOCL_WIRE_FRAME_H
#define VOCL_WIRE_FRAME_H

#include <stdint.h>

#define WIRE_VERSION 18

/* A tag of bulk data: a number other than 0, and a flag that says whether the data go in pieces of WIRE_CHUNK bytes. */
#define WIRE_TAG_NUMBERS 0x3fffffu
#define WIRE_TAG_CHUNKED 0x80000000u
#define WIRE_CHUNK (1u << 20)

/* Returns the number of the next tag, after `count` tags. */
static inline uint32_t wire_tag(uint32_t count)
{
    return count % WIRE_TAG_NUMBERS + 1;
}

#endif
