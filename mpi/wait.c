/*
 * Waits in MPI. While a rank waits, other ranks may accumulate into its windows. The waiting thread runs their
 * operations itself, as MPI does with its own, so that no thread has to be woken. Without windows these calls are MPI's
 * own.
 */
#include <sched.h>

#include "mpi/collectives/meet.h"
#include "mpi/device/device.h"

#define YIELD_EVERY 64 /* there may be more ranks than cores */

static void serve(void)
{
    static _Thread_local unsigned spins;

    link_progress();
    if (++spins % YIELD_EVERY == 0)
        sched_yield();
}

static int wait_for(MPI_Request *request, MPI_Status *status)
{
    int result, done = 0;

    if (!link_serves())
        return PMPI_Wait(request, status);
    while ((result = PMPI_Test(request, &done, status)) == MPI_SUCCESS && !done)
        serve();
    return result;
}

int serve_until(int started, MPI_Request *request)
{
    return started ? started : wait_for(request, MPI_STATUS_IGNORE);
}

INTERCEPT MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return device_pending() ? device_wait(request, status, wait_for) : wait_for(request, status);
}

static int wait_for_all(int count, MPI_Request *requests, MPI_Status *statuses)
{
    int result, done = 0;

    if (!link_serves())
        return PMPI_Waitall(count, requests, statuses);
    while ((result = PMPI_Testall(count, requests, &done, statuses)) == MPI_SUCCESS && !done)
        serve();
    return result;
}

int serve_until_all(int count, MPI_Request *requests)
{
    MPI_Status statuses[count]; /* not MPI_STATUSES_IGNORE: gcc takes MPICH's for an array that is too small */

    return wait_for_all(count, requests, statuses);
}

INTERCEPT MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    return device_pending() ? device_waitall(count, requests, statuses, wait_for_all)
                            : wait_for_all(count, requests, statuses);
}

INTERCEPT MPI_Recv(void *data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int result;

    if (device_holds(data, datatype))
        return device_recv(data, count, datatype, source, tag, comm, status);
    if (!link_serves())
        return PMPI_Recv(data, count, datatype, source, tag, comm, status);
    result = PMPI_Irecv(data, count, datatype, source, tag, comm, &request);
    return result ? result : MPI_Wait(&request, status);
}

/* A barrier makes all ranks wait for each other, so XTQ is opened here for operations that must not wait for that. */
INTERCEPT MPI_Barrier(MPI_Comm comm)
{
    struct link *link;

    link_open_wanted(comm);
    link = link_all_serve(comm);
    return link ? meet_barrier(link) : PMPI_Barrier(comm);
}
