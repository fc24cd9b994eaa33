/*
 * How threads wait for what other processes write: they poll for a while, and then sleep on a doze, a word in shared
 * memory that says whether somebody sleeps there. Who waits says so first, then looks for the last time, and sleeps
 * unless it has been rung since; who writes looks after having written, and rings. So nobody sleeps over what was
 * written, and who writes calls the operating system only for sleepers (tests/xtq/ring.pml,
 * tests/devcom/put_notify.pml).
 *
 * Kernels ring, too: ground_ring() in device.cl does what doze_ring() does.
 */
#ifndef VOCL_GROUND_DOZE_H
#define VOCL_GROUND_DOZE_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/crowd.h"
#include "base/futex.h"

/* The low bits say how those who wait sleep, 0: they do not. The others count how often they were rung, so one who has
 * been rung and not noticed yet is not kept asleep by another who lies down again. */
#define DOZE_HOW 3u
#define DOZE_RUNG 4u
#define DOZE_SLEEPS 1u

/* Any number of threads: look again after that, and then sleep with what it has returned. */
static inline uint32_t doze_lie_down(_Atomic uint32_t *doze)
{
    return atomic_fetch_or(doze, DOZE_SLEEPS) | DOZE_SLEEPS;
}

static inline void doze_sleep(_Atomic uint32_t *doze, uint32_t lain_down, long most_us)
{
    futex_wait(doze, lain_down, most_us);
}

/* Wake those who sleep there, if that is how they do it. Sequentially consistent, as what was written before is. */
static inline void doze_ring(_Atomic uint32_t *doze, uint32_t how)
{
    uint32_t now = atomic_load(doze);

    if ((now & DOZE_HOW) == how && atomic_compare_exchange_strong(doze, &now, (now & ~DOZE_HOW) + DOZE_RUNG))
        futex_wake(doze);
}

/* Polling before that, with looks at the clock in between only. */
struct polling {
    long since_us, seen_us; /* seen_us: when it last looked at the clock */
    unsigned polls,
        alone; /* alone: so many are made before the first look, as nobody is likely to want the processor */
};

static inline struct polling polling_begin(void)
{
    return (struct polling){.since_us = clock_us()};
}

/* Nothing has come. Whether to go on: every so many times the processor is left to others, and it is seen whether that
 * has been long enough; and, with a crowd, whether these others want it, as then nobody should poll. */
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
