/* Reports a driver that does not return from a call. The call cannot be cancelled. */
#include <time.h>

#include "base/log.h"
#include "executor/internal.h"

#define STALL_S 10

/* Only one thread writes. */
static void count(struct executor *x)
{
    atomic_store_explicit(&x->entered, atomic_load_explicit(&x->entered, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void stall_enter(struct executor *x)
{
    if (!x->inside++)
        count(x);
}

void stall_leave(struct executor *x)
{
    if (!--x->inside)
        count(x);
}

/* An odd number in entered: the loop's thread is in the driver, or about to be. */
static void *stall_thread(void *argument)
{
    struct executor *x = argument;
    unsigned seen = 0, told = 0;

    for (;;) {
        const struct timespec pause = {.tv_sec = STALL_S};
        const unsigned now = atomic_load_explicit(&x->entered, memory_order_relaxed);

        if (now & 1 && now == seen && now != told) {
            told = now;
            vocl_log(LOG_ERROR, "the OpenCL driver has not returned for %d s; the last command was %s", STALL_S,
                     atomic_load_explicit(&x->command, memory_order_relaxed));
        }
        seen = now;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int stall_start(struct executor *x)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, stall_thread, x))
        return -EAGAIN;
    pthread_detach(thread);
    return 0;
}
