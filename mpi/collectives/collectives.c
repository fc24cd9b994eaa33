/* MPI_Allreduce and MPI_Reduce of large vectors, with their non-blocking and persistent forms. See intercept.h. */
#include <errno.h>
#include <pthread.h>

#include "base/settings.h"
#include "mpi/device/device.h"
#include "mpi/collectives/jobs.h"
#include "mpi/collectives/meet.h"

/* The settings, which are read once, since reading them takes as long as a small reduction. */
static unsigned long long least, most_for_all;

static void read_settings(void)
{
    least = settings_bytes(SETTING_XTQ_BYTES);
    most_for_all = settings_bytes(SETTING_XTQ_ALLREDUCE_MOST);
}

/* Whether XTQ does a reduction. All ranks decide alike, by arguments that MPI requires to be the same on all ranks. */
static bool taken(const struct device_reduction *r, struct reduction *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned long long bytes, most;

    if (r->count < 1 || !intercept_type(r->datatype, &out->type) || !intercept_op(r->op, &out->op))
        return false;
    pthread_once(&once, read_settings);
    most = r->root == DEVICE_TO_ALL ? most_for_all : 0;
    bytes = (unsigned long long)r->count * xtq_type_bytes(out->type);
    if (bytes < least || (most && bytes > most))
        return false;
    out->root = r->root == DEVICE_TO_ALL ? TO_ALL : r->root;
    out->data = r->data == MPI_IN_PLACE ? r->result : r->data;
    out->result = r->result;
    out->count = (size_t)r->count;
    return true;
}

enum when { NOW, LATER, OFTEN };

/* Does a reduction by XTQ, or with device memory, and sets *code to MPI's error code. False if MPI must do it. */
static bool done(const struct device_reduction *r, enum when when, MPI_Info info, MPI_Request *request, int *code)
{
    struct reduction what;
    struct link *link = NULL;
    int error;

    if (taken(r, &what))
        link = when == LATER ? link_if_open(r->comm) : link_of(r->comm);
    if (device_reduces(r->data, r->result) && device_reduce(r, when == OFTEN, info, request, code))
        return true;
    if (!link || (when == OFTEN && !link_threads()))
        return false;
    error = when == NOW     ? reduce_now(link, &what)
            : when == LATER ? reduce_later(link, &what, request)
                            : reduce_often(link, &what, request);
    *code = error ? MPI_ERR_OTHER : MPI_SUCCESS;
    if (error)
        PMPI_Comm_call_errhandler(r->comm, MPI_ERR_OTHER);
    return true;
}

#define TO_ALL_TAKES(number)                                                                                           \
    const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm
#define TO_ALL_GIVES data, result, count, datatype, op, comm
#define TO_ALL_ROOT DEVICE_TO_ALL
#define TO_ONE_TAKES(number)                                                                                           \
    const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm
#define TO_ONE_GIVES data, result, count, datatype, op, root, comm
#define TO_ONE_ROOT root
#define COMMA_REQUEST , MPI_Request *request
#define COMMA_INFO_REQUEST , MPI_Info info, MPI_Request *request

#define ONE(function, suffix, whom, number, more, when, info, request, otherwise)                                      \
    INTERCEPT MPI_##function##suffix(whom##_TAKES(number) more)                                                        \
    {                                                                                                                  \
        const struct device_reduction r = {data, result, count, datatype, op, whom##_ROOT, comm};                      \
        int code;                                                                                                      \
                                                                                                                       \
        return done(&r, when, info, request, &code) ? code : otherwise;                                                \
    }
#define REDUCTIONS(suffix, number)                                                                                     \
    static int allreduce##suffix(TO_ALL_TAKES(number))                                                                 \
    {                                                                                                                  \
        struct link *link;                                                                                             \
        MPI_Request request;                                                                                           \
        size_t bytes;                                                                                                  \
                                                                                                                       \
        link_open_wanted(comm);                                                                                        \
        link = link_all_serve(comm);                                                                                   \
        if (!link)                                                                                                     \
            return PMPI_Allreduce##suffix(TO_ALL_GIVES);                                                               \
        if (meet_takes(count, datatype, op, &bytes))                                                                   \
            return meet_allreduce(link, data, result, (int)count, datatype, op, bytes);                                \
        return serve_until(PMPI_Iallreduce##suffix(TO_ALL_GIVES, &request), &request);                                 \
    }                                                                                                                  \
    ONE(Allreduce, suffix, TO_ALL, number, , NOW, MPI_INFO_NULL, NULL, allreduce##suffix(TO_ALL_GIVES))                \
    ONE(Reduce, suffix, TO_ONE, number, , NOW, MPI_INFO_NULL, NULL, PMPI_Reduce##suffix(TO_ONE_GIVES))                 \
    ONE(Iallreduce, suffix, TO_ALL, number, COMMA_REQUEST, LATER, MPI_INFO_NULL, request,                              \
        PMPI_Iallreduce##suffix(TO_ALL_GIVES, request))                                                                \
    ONE(Ireduce, suffix, TO_ONE, number, COMMA_REQUEST, LATER, MPI_INFO_NULL, request,                                 \
        PMPI_Ireduce##suffix(TO_ONE_GIVES, request))
REDUCTIONS(, int)

#if MPI_VERSION >= 4
#define PERSISTENT(suffix, number)                                                                                     \
    ONE(Allreduce_init, suffix, TO_ALL, number, COMMA_INFO_REQUEST, OFTEN, info, request,                              \
        PMPI_Allreduce_init##suffix(TO_ALL_GIVES, info, request))                                                      \
    ONE(Reduce_init, suffix, TO_ONE, number, COMMA_INFO_REQUEST, OFTEN, info, request,                                 \
        PMPI_Reduce_init##suffix(TO_ONE_GIVES, info, request))
REDUCTIONS(_c, MPI_Count)
PERSISTENT(, int)
PERSISTENT(_c, MPI_Count)
#endif
