/* The monotonic clock. */
#ifndef VOCL_BASE_CLOCK_H
#define VOCL_BASE_CLOCK_H

#include <time.h>

static inline long clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static inline long clock_us(void)
{
    return clock_ns() / 1000;
}

static inline long clock_ms(void)
{
    return clock_ns() / 1000000;
}

#endif
