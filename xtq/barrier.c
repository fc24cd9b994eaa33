/*
 * The barrier: waits until no put is pending on any rank, although tasks may put, and the tasks of these puts again.
 * That this rank's puts have completed says nothing about puts that tasks make here for other ranks. So the ranks count
 * (F. Mattern, "Algorithms for distributed termination detection", 1987, the four-counter method): at each meeting they
 * add up the bytes that all have sent, and the bytes that have completed. If no more has been sent by now than had
 * completed at the previous meeting, then nothing was pending at that time, and no task was left that could have put
 * since. tests/xtq/quiescence.pml is the model for spin.
 */
#include <errno.h>

#include "xtq/internal.h"

/* Waits for a collective of MPI, unless a rank is lost. */
static int meet(struct xtq *x, MPI_Request *request)
{
    struct waiting waiting;
    int done = 0;

    waiting_begin(&waiting, &x->waits, -1, -1);
    while (PMPI_Test(request, &done, MPI_STATUS_IGNORE) ? waiting_fail(&waiting, -EIO)
                                                        : !done && waiting_step(&waiting))
        ;
    return waiting_end(&waiting);
}

int barrier_meet(struct xtq *x)
{
    MPI_Request request;

    return PMPI_Ibarrier(x->comm, &request) ? -EIO : meet(x, &request);
}

/* Finds out whether nothing was pending at the previous meeting of all ranks. */
static int count_together(struct xtq *x, bool *quiet)
{
    /* Not on the stack: MPI may still write to the result if the call is given up because a rank is lost. */
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
            int waited = xtq_quiet(x, target);

            error = error ? error : waited;
        }
        if (!error)
            error = count_together(x, &quiet);
    }
    return error;
}
