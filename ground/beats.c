/* See beats.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/settings.h"
#include "ground/beats.h"

int beats_open(struct beats *beats, int ranks)
{
    *beats = (struct beats){.silence_us = settings_peer_ms() * 1000, .tick_us = settings_tick_ms() * 1000};
    beats->heard_us = calloc((size_t)ranks, sizeof(*beats->heard_us));
    beats->lost = calloc((size_t)ranks, sizeof(*beats->lost));
    if (!beats->heard_us || !beats->lost)
        return -ENOMEM;
    for (int rank = 0; rank < ranks; rank++)
        beats_heard(beats, rank);
    return 0;
}

void beats_close(struct beats *beats)
{
    free(beats->heard_us);
    free(beats->lost);
}

void beats_heard(struct beats *beats, int rank)
{
    atomic_store(&beats->heard_us[rank], clock_us());
}

bool beats_due(struct beats *beats, bool *stood_still)
{
    long now = clock_us(), last = atomic_load(&beats->beat_us);

    *stood_still = last && now - last > beats->silence_us / 2;
    return now - last >= beats->tick_us && atomic_compare_exchange_strong(&beats->beat_us, &last, now);
}

bool beats_silent(const struct beats *beats, int rank)
{
    return beats->silence_us && clock_us() - atomic_load(&beats->heard_us[rank]) >= beats->silence_us;
}

bool beats_lose(struct beats *beats, int rank)
{
    return !atomic_exchange(&beats->lost[rank], true);
}

bool beats_lost(const struct beats *beats, int rank)
{
    return atomic_load(&beats->lost[rank]);
}
