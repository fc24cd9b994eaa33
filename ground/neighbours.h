/*
 * Ranks of one host are neighbours: each has memory that the others map, and sees when another's process has ended.
 * Ranks of other hosts are "far"; with VOCL_SHARE=0 all are. Compiled for each MPI.
 */
#ifndef VOCL_GROUND_NEIGHBOURS_H
#define VOCL_GROUND_NEIGHBOURS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"

struct neighbours {
    int rank, size;
    struct memory_owner **memory; /* by rank; NULL: far. Each begins with the description of its owner */
    size_t bytes;
    bool all;               /* no rank is far from any other */
    _Atomic bool *far_lost; /* by rank; never reset, as waits may have ended with an error */
    _Atomic long looked_us; /* when it was last checked whether all are alive */
    _Atomic bool someone_lost;
};

/* Collective. Returns the least of all ranks' errors: 0 or a negative errno. */
int ranks_agree(MPI_Comm comm, int error);
/* Likewise; returns -EINVAL if the ranks have different values. */
int ranks_agree_on(MPI_Comm comm, int error, const long *values, unsigned count);

/* Collective. Makes memory of that many bytes for each rank, which begins with its owner and is otherwise zero. Returns
 * 0 or a negative errno, the same on all ranks. neighbours_close() must be called after failure, too. */
int neighbours_open(struct neighbours *n, MPI_Comm comm, size_t bytes);
/* Unmaps all ranks' memory in this process. Local. */
void neighbours_close(struct neighbours *n);
pid_t neighbours_process(const struct neighbours *n, int rank);
/* Marks a far rank as lost. True if it was not before. */
bool neighbours_lose(struct neighbours *n, int rank);
/* Whether a rank has been lost; whether any has, which is never reset and is checked at most every 10 ms. */
bool neighbours_lost(const struct neighbours *n, int rank);
bool neighbours_any_lost(struct neighbours *n);
/* Likewise, but checks now. */
bool neighbours_any_lost_now(struct neighbours *n);
#endif
