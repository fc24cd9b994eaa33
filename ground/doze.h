/*
 * How threads wait for data that other processes write: they poll for a while, and then sleep on a "doze", a word in
 * shared memory that says whether a thread sleeps on it. A waiting thread first sets the word, then checks the data
 * once more, and sleeps unless the doze has been rung since. A writer checks the word after it has written, and rings.
 * So no thread sleeps although data have been written, and writers make system calls only for sleepers
 * (tests/xtq/ring.pml, tests/devcom/put_notify.pml).
 *
 * Kernels ring, too: ground_ring() in device.cl does the same as doze_ring().
 */
#ifndef VOCL_GROUND_DOZE_H
#define VOCL_GROUND_DOZE_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/crowd.h"
#include "base/futex.h"

/* The low bits say how waiting threads sleep; 0: none does. The other bits count the rings, so that a thread that has
 * been rung and has not noticed yet does not sleep on because another thread has fallen asleep again. */
#define DOZE_HOW 3u
#define DOZE_RUNG 4u
#define DOZE_SLEEPS 1u

/* Announces that this thread will sleep. It must then check its data again, and pass the result to doze_sleep(). Any
 * number of threads may sleep on a doze. */
static inline uint32_t doze_lie_down(_Atomic uint32_t *doze)
{
    return atomic_fetch_or(doze, DOZE_SLEEPS) | DOZE_SLEEPS;
}

static inline void doze_sleep(_Atomic uint32_t *doze, uint32_t lain_down, long most_us)
{
    futex_wait(doze, lain_down, most_us);
}

/* Wakes the threads that sleep on the doze, if they sleep in this way. Sequentially consistent, as the write before
 * must be. */
static inline void doze_ring(_Atomic uint32_t *doze, uint32_t how)
{
    uint32_t now = atomic_load(doze);

    if ((now & DOZE_HOW) == how && atomic_compare_exchange_strong(doze, &now, (now & ~DOZE_HOW) + DOZE_RUNG))
        futex_wake(doze);
}

/* Polling before sleeping; the clock is read only now and then. */
struct polling {
    long since_us, seen_us; /* seen_us: when the clock was last read */
    unsigned polls, alone; /* alone: polls before the first yield, as no other thread is likely to want the processor */
};

static inline struct polling polling_begin(void)
{
    return (struct polling){.since_us = clock_us()};
}

/* Called after an unsuccessful poll. Whether to continue polling. Every yield_every polls it yields the processor, and
 * ends polling after most_us, or, with a crowd, if other threads want the processor. */
static inline bool polling_on(struct polling *polling, unsigned yield_every, long most_us, struct crowd *crowd)
{
    if (++polling->polls % yield_every || polling->polls < polling->alone)
        return true;
    if (crowd)
        crowd_yield(crowd);
    else
        sched_yield();
    polling->seen_us = clock_us();
    return polling->seen_us - polling->since_us < most_us && !(crowd && crowd_here(crowd));
}

#endif
