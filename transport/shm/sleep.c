/*
 * Which side sleeps, announced in the memory of a ring: only a sleeper is rung, and no message announces sleep. The
 * wake-up itself is the bell, since a sleeper may wait for much else.
 *
 * No wake-up is lost: each side writes a word and then, behind a sequentially consistent fence, reads the other's. The
 * sleeper writes `asleep` and then looks for frames, on whichever way they come; the sender writes the frame and then
 * reads `asleep`. Of two such fences one comes first, and the side with the later one sees what was written before the
 * earlier: either the frame is found or the bell is rung. `taken` and `wanted` work alike: the side that takes frames
 * writes `taken`, and rings for it only when it has nothing else to do, after the fence of lying down; the side that
 * waits writes `wanted` and then reads `taken`, and reads it again, like everything else, when it has lain down. A
 * `wanted` that is read (acquire) was written (release) after the `asleep` of a thread that slept already.
 *
 * The side that rings clears `asleep` first, so a sleep is rung for once. A sleeper that found something by itself may
 * be rung needlessly: the message waits in the socket, and ends the next sleep at once. If the last look reads it
 * there, the sleeper lies down anew (transport/core/sleep.c).
 *
 * tests/wire/sleep.pml models this, and shows what goes wrong in another order. The other side may write anything here:
 * it can keep itself asleep, or this side awake.
 */
#include "transport/shm/ring.h"

void shm_ring_lie_down(struct shm_ring *shm)
{
    atomic_store_explicit(&shm->own->asleep, 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
}

void shm_ring_get_up(struct shm_ring *shm)
{
    if (atomic_load_explicit(&shm->own->asleep, memory_order_relaxed))
        atomic_store_explicit(&shm->own->asleep, 0, memory_order_relaxed);
}

static bool wake(struct shm_ring *shm)
{
    return atomic_load_explicit(&shm->other->asleep, memory_order_relaxed) &&
           atomic_exchange_explicit(&shm->other->asleep, 0, memory_order_acq_rel);
}

bool shm_ring_must_ring(struct shm_ring *shm)
{
    atomic_thread_fence(memory_order_seq_cst);
    return wake(shm);
}

bool shm_ring_must_ring_for_taken(struct shm_ring *shm)
{
    if (shm->told == shm->took)
        return false; /* a side that set `wanted` since then has read `taken` */
    shm->told = shm->took;
    return atomic_load_explicit(&shm->other->wanted, memory_order_acquire) == shm->took && wake(shm);
}

void shm_ring_took(struct shm_ring *shm, uint32_t frames)
{
    shm->took = frames;
    atomic_store_explicit(&shm->own->taken, frames, memory_order_release);
}

uint32_t shm_ring_taken(const struct shm_ring *shm)
{
    return atomic_load_explicit(&shm->other->taken, memory_order_acquire);
}

void shm_ring_want_taken(struct shm_ring *shm, uint32_t frames)
{
    if (shm->wanted == frames)
        return; /* it is announced already */
    shm->wanted = frames;
    atomic_store_explicit(&shm->own->wanted, frames, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
}
