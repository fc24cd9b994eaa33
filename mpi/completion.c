/* Requests that XTQ completes: generalised requests of MPI, which all forms of MPI_Wait and MPI_Test accept. */
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/intercept.h"

struct completion {
    MPI_Request request;
    atomic_int error; /* also orders the operation before what the program does after waiting */
};

static int on_query(void *state, MPI_Status *status)
{
    struct completion *completion = state;

    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return atomic_load_explicit(&completion->error, memory_order_acquire);
}

static int on_free(void *state)
{
    free(state);
    return MPI_SUCCESS;
}

/* Requests of collectives and one-sided operations cannot be cancelled. */
static int on_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

struct completion *completion_begin(MPI_Request *request)
{
    struct completion *completion = calloc(1, sizeof(*completion));

    if (!completion)
        return NULL;
    if (PMPI_Grequest_start(on_query, on_free, on_cancel, completion, &completion->request)) {
        free(completion);
        return NULL;
    }
    *request = completion->request;
    return completion;
}

/* Completes a request. The completion is freed when the program has waited for the request. */
void completion_end(struct completion *completion, int error)
{
    atomic_store_explicit(&completion->error, error, memory_order_release);
    PMPI_Grequest_complete(completion->request);
}
