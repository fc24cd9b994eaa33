/*
 * Ranks of one host are neighbours: each has memory that the others map, and sees when one of them is gone. Ranks of
 * other hosts are far, and all are with VOCL_SHARE=0. Compiled for each MPI.
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
    struct memory_owner **memory; /* by rank; NULL: far. Each begins with its owner */
    size_t bytes;
    bool all;               /* no rank is far from any other */
    _Atomic bool *far_lost; /* by rank; stays so, as waits have ended with an error by then */
    _Atomic long looked_us; /* when it was last seen whether all are alive */
    _Atomic bool someone_lost;
};

/* Collective: the worst of all ranks' errors, which are negative. */
int ranks_agree(MPI_Comm comm, int error);
/* And that all have these same values: -EINVAL. */
int ranks_agree_on(MPI_Comm comm, int error, const long *values, unsigned count);

/* Collective: so many bytes of zeros for each rank, behind their owner. 0 or a negative errno, the same on all ranks;
 * neighbours_close() after failure, too. */
int neighbours_open(struct neighbours *n, MPI_Comm comm, size_t bytes);
/* By each rank for itself: what it has mapped stays until then. */
void neighbours_close(struct neighbours *n);
pid_t neighbours_process(const struct neighbours *n, int rank);
/* A far rank has been lost; true if it was not before. */
bool neighbours_lose(struct neighbours *n, int rank);
/* Whether a rank has been lost; any, which stays so, and is looked for once in 10 ms only. */
bool neighbours_lost(const struct neighbours *n, int rank);
bool neighbours_any_lost(struct neighbours *n);
/* And now, whenever it was looked for. */
bool neighbours_any_lost_now(struct neighbours *n);
#endif
