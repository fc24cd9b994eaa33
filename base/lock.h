/* A lock that is cheaper than a mutex when uncontended; waiters sleep. All zero, it is free. */
#ifndef VOCL_BASE_LOCK_H
#define VOCL_BASE_LOCK_H

#include "base/futex.h"
#include "base/rank.h"

enum { LOCK_FREE, LOCK_HELD, LOCK_WANTED };

struct lock {
    _Atomic uint32_t state;
    struct rank rank;
};

/* Initializers of a static lock, and of one in an object that is all zero. */
#define LOCK(number)                                                                                                   \
    {                                                                                                                  \
        LOCK_FREE, RANK(number)                                                                                        \
    }
#define lock_init(lock, number) ((lock)->rank = (struct rank)RANK(number))

static inline void lock_hold(struct lock *lock)
{
    uint32_t state = LOCK_FREE;

    rank_take(&lock->rank);
    if (atomic_compare_exchange_strong_explicit(&lock->state, &state, LOCK_HELD, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&lock->state, LOCK_WANTED, memory_order_acquire) != LOCK_FREE)
        futex_wait(&lock->state, LOCK_WANTED, 1000000);
}

static inline void lock_release(struct lock *lock)
{
    rank_release(&lock->rank);
    if (atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_release) == LOCK_WANTED)
        futex_wake(&lock->state);
}

#endif
