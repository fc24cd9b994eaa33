/* Sleeps of a thread that polls: it polls busily for a while after each event, and then with sleeps that grow. */
#ifndef VOCL_GROUND_NAP_H
#define VOCL_GROUND_NAP_H

#include <sched.h>
#include <time.h>

#include "base/clock.h"

#define NAP_BUSY_US 200
#define NAP_FIRST_US 20

struct nap {
    long since_us, pause_us, most_us;
};

/* Called after an event. most_us: the longest sleep. */
static inline struct nap nap_begin(long most_us)
{
    return (struct nap){clock_us(), NAP_FIRST_US, most_us};
}

/* Called after an unsuccessful poll: yields, or sleeps. */
static inline void nap_take(struct nap *nap)
{
    struct timespec time = {.tv_nsec = nap->pause_us * 1000};

    if (clock_us() - nap->since_us < NAP_BUSY_US) {
        sched_yield();
        return;
    }
    nanosleep(&time, NULL);
    nap->pause_us = nap->pause_us * 2 < nap->most_us ? nap->pause_us * 2 : nap->most_us;
}

#endif
