/* Frames of one host's session through memory: lane.c. */
#ifndef VOCL_TRANSPORT_SHM_LANE_H
#define VOCL_TRANSPORT_SHM_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define LANE_FRAME 17392         /* bytes that a frame may have: with WIRE_MAX_INLINE of data */
#define LANE_NONSENSE UINT32_MAX /* kind of what cannot be */

struct lane_memory;

/* What a side says of itself, in a line of the shared memory: sleep.c. */
struct lane_side {
    _Atomic uint32_t taken;  /* frames of the other side, by whichever way they came */
    _Atomic uint32_t asleep; /* it sleeps, and is to be rung: taken back by who rings */
    _Atomic uint32_t wanted; /* and also when the other side has taken exactly so many */
} __attribute__((aligned(64)));

struct lane {
    int fd;
    struct lane_memory *memory;
    struct lane_side *own, *other;
    uint32_t took, told, wanted; /* own->taken; what it was when the other side was rung for it; own->wanted */
    uint8_t *copy;               /* of the frame that has been received last */
    int out;                     /* which direction is this side's */
    bool open;                   /* the other side has it, too */
    uint64_t head, done, tail;   /* positions: what was written, how far the other side is known to be, what was read */
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

/* ---- sleep.c: who sleeps ---- */
/* This side is about to sleep: it has to look once more for whatever can come, and sleeps if there is nothing. */
void lane_lie_down(struct lane *lane);
void lane_get_up(struct lane *lane);
/* After something has been sent: whether the other side sleeps, and is this one's to ring. */
bool lane_must_ring(struct lane *lane);
/* Having lain down: the same, if it waits for this side to have taken what it has. */
bool lane_must_ring_for_taken(struct lane *lane);
/* So many frames of the other side have been taken. */
void lane_took(struct lane *lane, uint32_t frames);
/* What the other side has taken, by what it says: not checked. */
uint32_t lane_taken(const struct lane *lane);
/* This side, when it sleeps, is to be rung when that is so many: to be looked at once more after it has been said. */
void lane_want_taken(struct lane *lane, uint32_t frames);

#endif
