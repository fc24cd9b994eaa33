/*
 * All ranks meet when nothing is under way any more, though tasks may put, and theirs again. That this rank's puts have
 * completed says nothing of those that tasks make here for others. So the ranks count (F. Mattern, "Algorithms for
 * distributed termination detection", 1987, the four-counter method): each time they meet they add up what all have
 * sent and what has completed. If all that has been sent until now is no more than what had completed when they met
 * before, then at that time nothing was under way, and nobody was left who could have put since.
 * tests/xtq/quiescence.pml is this for spin.
 */
#include <errno.h>

#include "xtq/internal.h"

/* Wait for a collective of MPI, unless somebody is missing. */
static int meet(struct xtq *x, MPI_Request *request)
{
    struct waiting waiting;
    int done = 0, error = 0;

    waiting_begin(&waiting, &x->waits, -1);
    while (!done && !error) {
        if (PMPI_Test(request, &done, MPI_STATUS_IGNORE))
            error = -EIO;
        else if (!done)
            error = waiting_step(&waiting);
    }
    waiting_end(&waiting);
    return error;
}

int barrier_meet(struct xtq *x)
{
    MPI_Request request;

    return PMPI_Ibarrier(x->comm, &request) ? -EIO : meet(x, &request);
}

/* Whether nothing was under way when all ranks had met before. */
static int count_together(struct xtq *x, bool *quiet)
{
    /* Not on the stack: into what is given up, because somebody is missing, MPI may still write. */
    static _Thread_local uint64_t mine[2], all[2];
    MPI_Request request;
    int error;

    put_count(x, &mine[0], &mine[1]);
    if (PMPI_Iallreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, x->comm, &request))
        return -EIO;
    error = meet(x, &request);
    if (error)
        return error;
    *quiet = all[0] == x->completed;
    x->completed = all[1];
    return 0;
}

int xtq_barrier(struct xtq *x)
{
    bool quiet = false;
    int error = !x ? -EINVAL : server_inside() ? -EDEADLK : 0;

    while (!quiet && !error) {
        for (int target = 0; target < x->size; target++) {
            int fenced = xtq_fence(x, target);

            error = error ? error : fenced;
        }
        if (!error)
            error = count_together(x, &quiet);
    }
    return error;
}
