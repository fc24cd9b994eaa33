/*
 * Polling before a sleep saves the time of a wake-up if the core is free. If other threads want the core, sched_yield()
 * gives it to them for a scheduler's slice, which is milliseconds, while a thread that sleeps and is woken runs first.
 * So a polling thread measures how long sched_yield() takes, and stops polling for a while if that is long.
 */
#ifndef VOCL_BASE_CROWD_H
#define VOCL_BASE_CROWD_H

#include <sched.h>
#include <stdbool.h>

#include "base/clock.h"

#define CROWD_SLICE_NS 2000000L /* a device on this CPU takes less than that */
#define CROWD_LEAST_NS 20000000L
#define CROWD_MOST_NS 500000000L

struct crowd {
    long until, span;
};

static inline bool crowd_here(const struct crowd *crowd)
{
    return crowd->until && clock_ns() < crowd->until;
}

static inline void crowd_yield(struct crowd *crowd)
{
    const long before = clock_ns();
    long now;

    sched_yield();
    now = clock_ns();
    if (now - before < CROWD_SLICE_NS) {
        if (now > crowd->until)
            *crowd = (struct crowd){0, 0};
        return;
    }
    crowd->span = crowd->span ? 2 * crowd->span : CROWD_LEAST_NS;
    if (crowd->span > CROWD_MOST_NS)
        crowd->span = CROWD_MOST_NS;
    crowd->until = now + crowd->span;
}

#endif
