/* By which of this host's clocks, if any, the times of a device's events are. */
#include <time.h>

#include "client/core/event.h"

uint64_t times_read(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void times_learn(cl_device_id device, const uint64_t made[2], const uint64_t times[4])
{
    const bool raw = made[0] <= times[0] && times[3] <= times_read(CLOCK_MONOTONIC_RAW);
    const bool steady = made[1] <= times[0] && times[3] <= times_read(CLOCK_MONOTONIC);
    const int known = atomic_load(&device->clock);

    if (!times[0] || times[0] > times[3]) /* Intel's markers are queued at time 0; that shows no clock */
        return;
    if ((!raw && !steady) || (known == CLOCK_RAW && !raw) || (known == CLOCK_STEADY && !steady))
        atomic_store(&device->clock, CLOCK_OTHER);
    else if (raw != steady && known == CLOCK_UNKNOWN)
        atomic_store(&device->clock, raw ? CLOCK_RAW : CLOCK_STEADY);
}

uint64_t device_time(cl_device_id device)
{
    switch (atomic_load(&device->clock)) {
    case CLOCK_RAW:
        return times_read(CLOCK_MONOTONIC_RAW);
    case CLOCK_STEADY:
        return times_read(CLOCK_MONOTONIC);
    }
    return 0;
}
