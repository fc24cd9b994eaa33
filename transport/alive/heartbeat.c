/* The thread that sends a session's heartbeats: see heartbeat.h. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "transport/alive/bell.h"
#include "transport/alive/heartbeat.h"

#define MOST_SILENT 8

struct heartbeat {
    pthread_t thread;
    pthread_mutex_t lock; /* for the members below; no thread blocks while it holds the lock */
    pthread_cond_t changed;
    bool stop, for_program;
    long tick_ms, timeout_ms;
    struct beat *beats;
    atomic_long judged_ms; /* when the owner listened last, 0: not yet */
};

/* ---- sending ---- */

/* A peer that reads nothing is not sent heartbeats for ever. */
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
    if (said != beat->said_before) { /* the peer was sent another message */
        beat->said_before = said;
        return;
    }
    if (clock_ms() < atomic_load(&beat->quiet_ms))
        return;
    fd = stored_fd(beat->bell);
    if (fd >= 0)
        bell_beat(fd, false);
}

/* The owner has not listened for long, so it would not notice the end of the program. */
static void look_for_program(const struct heartbeat *heartbeat)
{
    const struct beat *beat = heartbeat->beats;
    struct pollfd program = {.events = POLLRDHUP};

    if (!beat || clock_ms() - atomic_load(&heartbeat->judged_ms) < heartbeat->timeout_ms)
        return;
    program.fd = beat->bell->fd;
    if (beat->carry ? !atomic_load(&beat->gone) : poll(&program, 1, 0) <= 0)
        return;
    vocl_log(LOG_INFO, "the application has ended while this worker was blocked in a call");
    _exit(1);
}

static void *run(void *argument)
{
    struct heartbeat *heartbeat = argument;
    struct timespec until;

    pthread_mutex_lock(&heartbeat->lock);
    while (!heartbeat->stop) {
        for (struct beat *beat = heartbeat->beats; beat; beat = beat->next)
            say(beat);
        if (heartbeat->for_program)
            look_for_program(heartbeat);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += heartbeat->tick_ms % 1000 * 1000000;
        until.tv_sec += heartbeat->tick_ms / 1000 + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&heartbeat->changed, &heartbeat->lock, &until);
    }
    pthread_mutex_unlock(&heartbeat->lock);
    return NULL;
}

struct heartbeat *heartbeat_start(bool for_program)
{
    struct heartbeat *heartbeat = settings_peer_ms() ? calloc(1, sizeof(*heartbeat)) : NULL;
    pthread_condattr_t clock;
    int error;

    if (!heartbeat)
        return NULL;
    heartbeat->for_program = for_program;
    heartbeat->timeout_ms = settings_peer_ms();
    heartbeat->tick_ms = settings_tick_ms();
    pthread_mutex_init(&heartbeat->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeat->changed, &clock);
    error = thread_start(&heartbeat->thread, run, heartbeat);
    if (!error)
        return heartbeat;
    vocl_log(LOG_ERROR, "the heartbeat thread cannot be started: %s", strerror(error));
    free(heartbeat);
    return NULL;
}

/* The memory stays: the owner may still read it. */
void heartbeat_stop(struct heartbeat *heartbeat)
{
    if (!heartbeat)
        return;
    pthread_mutex_lock(&heartbeat->lock);
    heartbeat->stop = true;
    pthread_cond_signal(&heartbeat->changed);
    pthread_mutex_unlock(&heartbeat->lock);
    pthread_join(heartbeat->thread, NULL);
}

/* Appends: the first bell is the program's. */
void heartbeat_add(struct heartbeat *heartbeat, struct beat *beat, struct stored_fd *bell)
{
    struct beat **last;

    beat->bell = bell;
    beat->heard_ms = clock_ms();
    atomic_store(&beat->on, true);
    if (!heartbeat)
        return;
    pthread_mutex_lock(&heartbeat->lock);
    for (last = &heartbeat->beats; *last;)
        last = &(*last)->next;
    *last = beat;
    pthread_mutex_unlock(&heartbeat->lock);
}

void heartbeat_remove(struct heartbeat *heartbeat, struct beat *beat)
{
    struct beat **at;

    if (!heartbeat)
        return;
    pthread_mutex_lock(&heartbeat->lock);
    for (at = &heartbeat->beats; *at && *at != beat;)
        at = &(*at)->next;
    if (*at)
        *at = beat->next;
    pthread_mutex_unlock(&heartbeat->lock);
}

void heartbeat_listened(struct heartbeat *heartbeat, long now)
{
    atomic_store(&heartbeat->judged_ms, now);
}
