/* The pulse of a session: see pulse.h. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "transport/internal.h"

#define MOST_SILENT 8

struct pulse {
    pthread_t thread;
    pthread_mutex_t lock; /* of what is below; nothing waits while it is held */
    pthread_cond_t changed;
    bool stop, for_program;
    long tick_ms, timeout_ms;
    struct beat *beats;
    atomic_long judged_ms; /* when the owner last listened, 0: not yet */
};

/* ---- saying it ---- */

/* Who does not take it in is not told it for ever. */
static void carry(struct beat *beat)
{
    const unsigned carried = atomic_load(&beat->carried);

    beat->silent = carried == beat->carried_before ? beat->silent + 1 : 0;
    beat->carried_before = carried;
    beat->carry(beat, beat->silent < MOST_SILENT);
}

static void say(struct beat *beat)
{
    const unsigned said = atomic_load_explicit(&beat->said, memory_order_relaxed);
    int fd;

    if (!atomic_load(&beat->on))
        return;
    if (beat->carry) {
        carry(beat);
        return;
    }
    if (said != beat->said_before) { /* it has heard something else of us */
        beat->said_before = said;
        return;
    }
    if (clock_ms() < atomic_load(&beat->quiet_ms))
        return;
    fd = kept_fd(beat->bell);
    if (fd >= 0)
        bell_beat(fd, false);
}

/* The owner has not listened for long, and does not see that what it works for is gone. */
static void look_for_program(const struct pulse *pulse)
{
    const struct beat *beat = pulse->beats;
    struct pollfd program = {.events = POLLRDHUP};

    if (!beat || clock_ms() - atomic_load(&pulse->judged_ms) < pulse->timeout_ms)
        return;
    program.fd = beat->bell->fd;
    if (beat->carry ? !atomic_load(&beat->gone) : poll(&program, 1, 0) <= 0)
        return;
    vocl_log(LOG_INFO, "the application is gone, while this worker waits for something else");
    _exit(1);
}

static void *run(void *argument)
{
    struct pulse *pulse = argument;
    struct timespec until;

    pthread_mutex_lock(&pulse->lock);
    while (!pulse->stop) {
        for (struct beat *beat = pulse->beats; beat; beat = beat->next)
            say(beat);
        if (pulse->for_program)
            look_for_program(pulse);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += pulse->tick_ms % 1000 * 1000000;
        until.tv_sec += pulse->tick_ms / 1000 + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&pulse->changed, &pulse->lock, &until);
    }
    pthread_mutex_unlock(&pulse->lock);
    return NULL;
}

struct pulse *pulse_start(bool for_program)
{
    struct pulse *pulse = settings_peer_ms() ? calloc(1, sizeof(*pulse)) : NULL;
    pthread_condattr_t clock;
    int error;

    if (!pulse)
        return NULL;
    pulse->for_program = for_program;
    pulse->timeout_ms = settings_peer_ms();
    pulse->tick_ms = settings_tick_ms();
    pthread_mutex_init(&pulse->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&pulse->changed, &clock);
    error = thread_start(&pulse->thread, run, pulse);
    if (!error)
        return pulse;
    vocl_log(LOG_ERROR, "no thread to answer the others with: %s", strerror(error));
    free(pulse);
    return NULL;
}

/* Its memory stays: the owner's may still be asked for. */
void pulse_stop(struct pulse *pulse)
{
    if (!pulse)
        return;
    pthread_mutex_lock(&pulse->lock);
    pulse->stop = true;
    pthread_cond_signal(&pulse->changed);
    pthread_mutex_unlock(&pulse->lock);
    pthread_join(pulse->thread, NULL);
}

/* At the end: the first is the program's. */
void pulse_add(struct pulse *pulse, struct beat *beat, struct kept *bell)
{
    struct beat **last;

    beat->bell = bell;
    beat->heard_ms = clock_ms();
    atomic_store(&beat->on, true);
    if (!pulse)
        return;
    pthread_mutex_lock(&pulse->lock);
    for (last = &pulse->beats; *last;)
        last = &(*last)->next;
    *last = beat;
    pthread_mutex_unlock(&pulse->lock);
}

void pulse_remove(struct pulse *pulse, struct beat *beat)
{
    struct beat **at;

    if (!pulse)
        return;
    pthread_mutex_lock(&pulse->lock);
    for (at = &pulse->beats; *at && *at != beat;)
        at = &(*at)->next;
    if (*at)
        *at = beat->next;
    pthread_mutex_unlock(&pulse->lock);
}

void pulse_listened(struct pulse *pulse, long now)
{
    atomic_store(&pulse->judged_ms, now);
}
