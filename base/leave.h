/*
 * The last step that processes of several hosts take together, after a barrier: they do nothing. MPICH over UCX's TCP
 * hangs in MPI_Finalize if one process enters it while another still makes progress outside: the last flush of the
 * first is answered, so it continues and waits in PMI's barrier without progress, and nobody answers the flush of the
 * other. So for a while no process calls MPI at all (doc/internals/xtq.md).
 */
#ifndef VOCL_BASE_LEAVE_H
#define VOCL_BASE_LEAVE_H

#include <time.h>

#define LEAVE_MS 100 /* if ranks make progress by threads of their own */

static inline void leave_quietly(long ms)
{
    const struct timespec quiet = {.tv_nsec = ms * 1000000L};

    nanosleep(&quiet, NULL);
}

#endif
