/* A lock that is cheaper than a mutex when nobody else wants it; who must wait yields the processor, as the holder may
 * be at some work. */
#ifndef VOCL_BASE_SPIN_H
#define VOCL_BASE_SPIN_H

#include <sched.h>
#include <stdatomic.h>

struct spin {
    atomic_int held;
};

static inline void spin_lock(struct spin *spin)
{
    while (atomic_exchange_explicit(&spin->held, 1, memory_order_acquire))
        sched_yield();
}

static inline void spin_unlock(struct spin *spin)
{
    atomic_store_explicit(&spin->held, 0, memory_order_release);
}

#endif
