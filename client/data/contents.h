/*
 * Contents that move between a member and this host, outside of the member's queues: they are taken from a device, and
 * brought to another. They go in pieces, some of which are under way at once.
 */
#ifndef VOCL_CLIENT_DATA_CONTENTS_H
#define VOCL_CLIENT_DATA_CONTENTS_H

#include "client/core/objects.h"

struct transfer;

/* A part of a memory object, or, if memory is 0, of memory that the member knows by its address. */
struct extent {
    uint32_t memory;
    uint64_t address;
    struct wire_region part; /* WIRE_PIECE or WIRE_IMAGE; for an address, a piece of the memory there */
};
/* The extent of a root from start to end; of an image, which is one piece, 0 to 1. */
struct extent extent_of(cl_mem whole, size_t start, size_t end);
/* All of a root. */
struct extent extent_whole(cl_mem whole);
struct extent extent_at(uint64_t address, size_t size);
/* Returns the piece of a region that begins `at` bytes into it, as large as is sent at a time. An image is sent at
 * once. */
#define CONTENTS_PIECE ((size_t)16 << 20)
struct wire_region region_piece(const struct wire_region *whole, size_t at);

/* To be initialized with zeros, except the member and moved(). */
#define CONTENTS_UNDER_WAY 4
struct contents {
    struct node *member;
    struct transfer *under_way[CONTENTS_UNDER_WAY];
    size_t sizes[CONTENTS_UNDER_WAY];
    unsigned next;
    void (*moved)(void *argument, size_t bytes); /* called when so many bytes have been moved; or NULL */
    void *argument;
};
/* Take the contents from the member, or bring them there. Return 0, a negative errno value, or native OpenCL's error of
 * an earlier piece. bytes are used until contents_end(). */
int contents_take(struct contents *c, const struct extent *extent, uint8_t *bytes);
int contents_bring(struct contents *c, const struct extent *extent, const uint8_t *bytes);
/* Waits for the piece that began CONTENTS_UNDER_WAY pieces ago: its bytes are not used any more. */
int contents_wait(struct contents *c);
/* Waits for all pieces. Returns error, or, if that is 0, the first error of a piece. */
int contents_end(struct contents *c, int error);

#endif
