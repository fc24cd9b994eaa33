/*
 * The last thing that processes of several hosts do together, after all have met: nothing. MPICH over UCX's TCP hangs
 * in MPI_Finalize if one comes there while another still makes progress outside: the last flush of the one is answered,
 * so it goes and waits deaf in PMI's barrier, and nobody answers the other's. So for a while nobody calls MPI at all
 * (doc/xtq.md).
 */
#ifndef VOCL_BASE_LEAVE_H
#define VOCL_BASE_LEAVE_H

#include <time.h>

#define LEAVE_MS 100 /* where ranks make progress by threads of their own */

static inline void leave_quietly(long ms)
{
    const struct timespec quiet = {.tv_nsec = ms * 1000000L};

    nanosleep(&quiet, NULL);
}

#endif
