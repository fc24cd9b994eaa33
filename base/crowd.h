/*
 * Polling before a sleep saves the time that waking up takes, where the core is free. Where others want it,
 * sched_yield() gives it to them for a slice, which is milliseconds, while who sleeps and is woken comes first. So who
 * polls looks how long that takes, and leaves it for a while if it is long.
 */
#ifndef VOCL_BASE_CROWD_H
#define VOCL_BASE_CROWD_H

#include <sched.h>
#include <stdbool.h>

#include "base/clock.h"

#define CROWD_SLICE_NS 2000000L /* less is what a device on this CPU takes for itself */
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
