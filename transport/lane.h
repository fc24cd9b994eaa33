/* Frames of one host's session through memory: lane.c. */
#ifndef VOCL_TRANSPORT_LANE_H
#define VOCL_TRANSPORT_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define LANE_FRAME 2032          /* bytes that a frame may have */
#define LANE_NONSENSE UINT32_MAX /* kind of what cannot be */

struct lane_memory;

struct lane {
    int fd;
    struct lane_memory *memory;
    uint8_t *copy;             /* of the frame that has been received last */
    int out;                   /* which direction is this side's */
    bool open;                 /* the other side has it, too */
    uint64_t head, done, tail; /* positions: what was written, how far the other side is known to be, what was read */
};

/* 0 or a negative errno: no lane then. */
int lane_offer(struct lane *lane, struct memory_address *offer);
int lane_accept(struct lane *lane, const struct memory_address *offer);
/* The other side has accepted it. */
void lane_confirm(struct lane *lane);
void lane_close(struct lane *lane);
/* The frame of that number, counted from 0, as all that are sent. False: it has to go another way. */
bool lane_send(struct lane *lane, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes, size_t length);
/* Whether the frame of that number is there. */
bool lane_waits(struct lane *lane, uint32_t number);
/* It: a copy, which the next call overwrites; NULL: it is not there. Of what cannot be, the kind is LANE_NONSENSE. */
const uint8_t *lane_receive(struct lane *lane, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length);

#endif
