/*
 * Contents that go between a member and this host, outside of the member's queues: what a device has is taken, and
 * brought to another. As large as they are, in pieces, of which some are under way at once.
 */
#ifndef VOCL_CLIENT_DATA_CONTENTS_H
#define VOCL_CLIENT_DATA_CONTENTS_H

#include "client/core/objects.h"

struct transfer;

/* What of a memory object, or, if that is 0, of what the member knows by its address. */
struct extent {
    uint32_t memory;
    uint64_t address;
    struct wire_region part; /* WIRE_PIECE or WIRE_IMAGE; of an address a piece of what begins there */
};
/* From start to end of a whole; of an image, which is one piece, 0 to 1. */
struct extent extent_of(cl_mem whole, size_t start, size_t end);
/* All of it. */
struct extent extent_whole(cl_mem whole);
struct extent extent_at(uint64_t address, size_t size);
/* Of a region that piece which begins so many bytes into it, as large as what goes at a time; an image goes at once. */
#define CONTENTS_PIECE ((size_t)16 << 20)
struct wire_region region_piece(const struct wire_region *whole, size_t at);

/* All zero but for the member: nothing is under way. */
#define CONTENTS_UNDER_WAY 4
struct contents {
    struct node *member;
    struct transfer *under_way[CONTENTS_UNDER_WAY];
    unsigned next;
};
/* It comes here, or goes there: 0, a negative errno value, or what native OpenCL said to a piece before it. bytes are
 * used until contents_end(). */
int contents_take(struct contents *c, const struct extent *extent, uint8_t *bytes);
int contents_bring(struct contents *c, const struct extent *extent, const uint8_t *bytes);
/* The piece is over that was under way so many pieces ago: its bytes are not used any more. */
int contents_wait(struct contents *c);
/* All is over: error, or, if that is 0, the first that came of it. */
int contents_end(struct contents *c, int error);

#endif
