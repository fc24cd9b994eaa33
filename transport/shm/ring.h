/* Frames of one host's session through memory: ring.c. */
#ifndef VOCL_TRANSPORT_SHM_RING_H
#define VOCL_TRANSPORT_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define SHM_RING_FRAME 17392         /* bytes that a frame may have: with WIRE_MAX_INLINE of data */
#define SHM_RING_NONSENSE UINT32_MAX /* kind of what cannot be */

struct shm_ring_memory;

/* What a side says of itself, in a line of the shared memory: sleep.c. */
struct shm_ring_side {
    _Atomic uint32_t taken;  /* frames of the other side, by whichever way they came */
    _Atomic uint32_t asleep; /* it sleeps, and is to be rung: taken back by who rings */
    _Atomic uint32_t wanted; /* and also when the other side has taken exactly so many */
} __attribute__((aligned(64)));

struct shm_ring {
    int fd;
    struct shm_ring_memory *memory;
    struct shm_ring_side *own, *other;
    uint32_t took, told, wanted; /* own->taken; what it was when the other side was rung for it; own->wanted */
    uint8_t *copy;               /* of the frame that has been received last */
    int out;                     /* which direction is this side's */
    bool open;                   /* the other side has it, too */
    uint64_t head, done, tail;   /* positions: what was written, how far the other side is known to be, what was read */
};

/* 0 or a negative errno: no ring then. */
int shm_ring_offer(struct shm_ring *shm, struct memory_address *offer);
int shm_ring_accept(struct shm_ring *shm, const struct memory_address *offer);
/* The other side has accepted it. */
void shm_ring_confirm(struct shm_ring *shm);
void shm_ring_close(struct shm_ring *shm);
/* The frame of that number, counted from 0, as all that are sent. False: it has to go another way. */
bool shm_ring_send(struct shm_ring *shm, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes,
                   size_t length);
/* Whether the frame of that number is there. */
bool shm_ring_waits(struct shm_ring *shm, uint32_t number);
/* It: a copy, which the next call overwrites; NULL: it is not there. Of what cannot be, the kind is SHM_RING_NONSENSE.
 */
const uint8_t *shm_ring_receive(struct shm_ring *shm, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length);

/* ---- sleep.c: who sleeps ---- */
/* This side is about to sleep: it has to look once more for whatever can come, and sleeps if there is nothing. */
void shm_ring_lie_down(struct shm_ring *shm);
void shm_ring_get_up(struct shm_ring *shm);
/* After something has been sent: whether the other side sleeps, and is this one's to ring. */
bool shm_ring_must_ring(struct shm_ring *shm);
/* Having lain down: the same, if it waits for this side to have taken what it has. */
bool shm_ring_must_ring_for_taken(struct shm_ring *shm);
/* So many frames of the other side have been taken. */
void shm_ring_took(struct shm_ring *shm, uint32_t frames);
/* What the other side has taken, by what it says: not checked. */
uint32_t shm_ring_taken(const struct shm_ring *shm);
/* This side, when it sleeps, is to be rung when that is so many: to be looked at once more after it has been said. */
void shm_ring_want_taken(struct shm_ring *shm, uint32_t frames);

#endif
