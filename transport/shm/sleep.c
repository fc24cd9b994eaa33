/*
 * Who sleeps, said in the memory of a ring, so that only who sleeps is woken, and nobody has to be told that somebody
 * does. What wakes is the bell, for a sleeper may wait for much else.
 *
 * No wake-up is lost: each side writes a word and then, behind a sequentially consistent fence, reads the other's. Who
 * sleeps writes asleep and then looks for frames, in whatever carries them; who sends writes the frame and then looks
 * at asleep. Of two such fences one comes first, and who has the later one sees what was written before the earlier:
 * either the frame is found or the bell is rung. Of taken and wanted the same: who takes frames says so, and rings for
 * it only when it has nothing else to do, after the fence of lying down; who waits for that says so and then looks at
 * taken, and looks again, as at everything, when it has lain down. A wanted that is read (acquire) was written
 * (release) after the asleep of a thread that slept already.
 *
 * Who rings takes asleep back first, so a sleep is rung for once. A sleeper who found something by himself may be rung
 * for nothing: that waits in the socket, and ends the next sleep at once.
 *
 * tests/wire/sleep.pml is this, and what goes wrong in another order. The other side may write anything here: it can
 * keep itself asleep, or this side awake.
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
        return false; /* who wants it since then has seen it */
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
        return; /* it stays said */
    shm->wanted = frames;
    atomic_store_explicit(&shm->own->wanted, frames, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
}
