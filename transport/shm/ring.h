/* Frames between two processes of one host through shared memory: ring.c. */
#ifndef VOCL_TRANSPORT_SHM_RING_H
#define VOCL_TRANSPORT_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "transport/alive/fd_store.h"

#define SHM_RING_FRAME 17392         /* most bytes of a frame: with WIRE_MAX_INLINE of data */
#define SHM_RING_NONSENSE UINT32_MAX /* the kind of a record that cannot be valid */

struct shm_ring_memory;

/* One side's words for the other, in a cache line of the shared memory: sleep.c. */
struct shm_ring_side {
    _Atomic uint32_t taken;  /* frames of the other side that it has taken, on whichever way they came */
    _Atomic uint32_t asleep; /* it sleeps, and is to be rung; cleared by the side that rings */
    _Atomic uint32_t wanted; /* it is also to be rung when the other side has taken exactly so many frames */
} __attribute__((aligned(64)));

struct shm_ring {
    struct stored_fd fd; /* until the other side has the memory, too: the program may close it, and reuse its number */
    struct shm_ring_memory *memory;
    struct shm_ring_side *own, *other;
    /* took: own->taken; told: its value when the other side was rung for it; wanted: own->wanted */
    uint32_t took, told, wanted;
    uint8_t *copy; /* of the frame received last */
    int out;       /* the index of this side's direction */
    bool open;     /* the other side has the memory, too */
    /* Positions: end of what was written; how far the other side is known to have read; end of what was read. */
    uint64_t head, done, tail;
};

/* Return 0 or a negative errno: there is no ring then. */
int shm_ring_offer(struct shm_ring *shm, struct memory_address *offer);
int shm_ring_accept(struct shm_ring *shm, const struct memory_address *offer);
/* Records that the other side has accepted the ring. */
void shm_ring_confirm(struct shm_ring *shm);
void shm_ring_close(struct shm_ring *shm);
/* Sends the frame of that number; all frames of a pair are counted, from 0. False: another provider has to send it. */
bool shm_ring_send(struct shm_ring *shm, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes,
                   size_t length);
/* Whether the frame of that number has arrived. */
bool shm_ring_waits(struct shm_ring *shm, uint32_t number);
/* Returns a copy of that frame, which the next call overwrites; NULL: it has not arrived. If the record cannot be
 * valid, *kind is SHM_RING_NONSENSE. */
const uint8_t *shm_ring_receive(struct shm_ring *shm, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length);

/* ---- sleep.c: which side sleeps ---- */
/* Announces that this side is about to sleep: it has to look once more for everything that can arrive, and sleeps if
 * there is nothing. */
void shm_ring_lie_down(struct shm_ring *shm);
void shm_ring_get_up(struct shm_ring *shm);
/* Called after something was sent. Whether the other side sleeps, and this side has to ring. */
bool shm_ring_must_ring(struct shm_ring *shm);
/* Called after shm_ring_lie_down(). The same, if the other side waits for this one to have taken what it has taken. */
bool shm_ring_must_ring_for_taken(struct shm_ring *shm);
/* Announces how many frames of the other side have been taken. */
void shm_ring_took(struct shm_ring *shm, uint32_t frames);
/* Returns how many frames the other side says that it has taken: not checked. */
uint32_t shm_ring_taken(const struct shm_ring *shm);
/* Asks to be rung, if this side sleeps, when the other has taken so many frames. The caller looks once more
 * afterwards. */
void shm_ring_want_taken(struct shm_ring *shm, uint32_t frames);

#endif
