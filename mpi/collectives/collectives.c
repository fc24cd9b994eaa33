/* MPI_Allreduce and MPI_Reduce of large vectors, with their non-blocking and persistent forms. See intercept.h. */
#include <errno.h>
#include <pthread.h>

#include "base/settings.h"
#include "mpi/device/device.h"
#include "mpi/collectives/jobs.h"
#include "mpi/collectives/meet.h"

/* Settings are read once: reading takes as long as a small reduction. */
static unsigned long long least, most_for_all;

static void read_settings(void)
{
    least = settings_bytes(SETTING_XTQ_BYTES);
    most_for_all = settings_bytes(SETTING_XTQ_ALLREDUCE_MOST);
}

/* Whether a reduction is XTQ's. Decided alike by all ranks: by what must be the same on all of them. */
static bool taken(const void *data, void *result, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                  struct reduction *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned long long bytes, most;

    if (count < 1 || !intercept_type(datatype, &out->type) || !intercept_op(op, &out->op))
        return false;
    pthread_once(&once, read_settings);
    most = root == TO_ALL ? most_for_all : 0;
    bytes = (unsigned long long)count * xtq_type_bytes(out->type);
    if (bytes < least || (most && bytes > most))
        return false;
    out->root = root;
    out->data = data == MPI_IN_PLACE ? result : data;
    out->result = result;
    out->count = (size_t)count;
    return true;
}

static int result_of(MPI_Comm comm, int error)
{
    if (!error)
        return MPI_SUCCESS;
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* One with device memory in it. */
static bool on_device(const void *data, void *result, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                      MPI_Comm comm, MPI_Request *request, int *code)
{
    const struct device_reduction r = {data, result, count, datatype, op, root, comm};

    return device_reduces(data, result) && device_reduce(&r, request, code);
}

#define REDUCTIONS(suffix, number)                                                                                     \
    INTERCEPT MPI_Allreduce##suffix(const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op,    \
                                    MPI_Comm comm)                                                                     \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, TO_ALL, &what) ? link_of(comm) : NULL;            \
        MPI_Request request;                                                                                           \
        size_t bytes;                                                                                                  \
                                                                                                                       \
        if (on_device(data, result, count, datatype, op, DEVICE_TO_ALL, comm, NULL, &code))                            \
            return code;                                                                                               \
        if (link)                                                                                                      \
            return result_of(comm, reduce_now(link, &what));                                                           \
        link_open_wanted(comm);                                                                                        \
        link = link_all_serve(comm);                                                                                   \
        if (!link)                                                                                                     \
            return PMPI_Allreduce##suffix(data, result, count, datatype, op, comm);                                    \
        if (meet_takes(count, datatype, op, &bytes))                                                                   \
            return meet_allreduce(link, data, result, (int)count, datatype, op, bytes);                                \
        return serve_until(PMPI_Iallreduce##suffix(data, result, count, datatype, op, comm, &request), &request);      \
    }                                                                                                                  \
    INTERCEPT MPI_Reduce##suffix(const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op,       \
                                 int root, MPI_Comm comm)                                                              \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, root, &what) ? link_of(comm) : NULL;              \
                                                                                                                       \
        if (on_device(data, result, count, datatype, op, root, comm, NULL, &code))                                     \
            return code;                                                                                               \
        if (link)                                                                                                      \
            return result_of(comm, reduce_now(link, &what));                                                           \
        return PMPI_Reduce##suffix(data, result, count, datatype, op, root, comm);                                     \
    }                                                                                                                  \
    INTERCEPT MPI_Iallreduce##suffix(const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op,   \
                                     MPI_Comm comm, MPI_Request *request)                                              \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, TO_ALL, &what) ? link_if_open(comm) : NULL;       \
                                                                                                                       \
        if (on_device(data, result, count, datatype, op, DEVICE_TO_ALL, comm, request, &code))                         \
            return code;                                                                                               \
        return link ? result_of(comm, reduce_later(link, &what, request))                                              \
                    : PMPI_Iallreduce##suffix(data, result, count, datatype, op, comm, request);                       \
    }                                                                                                                  \
    INTERCEPT MPI_Ireduce##suffix(const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op,      \
                                  int root, MPI_Comm comm, MPI_Request *request)                                       \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, root, &what) ? link_if_open(comm) : NULL;         \
                                                                                                                       \
        if (on_device(data, result, count, datatype, op, root, comm, request, &code))                                  \
            return code;                                                                                               \
        return link ? result_of(comm, reduce_later(link, &what, request))                                              \
                    : PMPI_Ireduce##suffix(data, result, count, datatype, op, root, comm, request);                    \
    }
REDUCTIONS(, int)

#if MPI_VERSION >= 4
#define PERSISTENT(suffix, number)                                                                                     \
    INTERCEPT MPI_Allreduce_init##suffix(const void *data, void *result, number count, MPI_Datatype datatype,          \
                                         MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)                \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, TO_ALL, &what) ? link_of(comm) : NULL;            \
                                                                                                                       \
        if (device_reduces(data, result) &&                                                                            \
            device_reduce_often(&(struct device_reduction){data, result, count, datatype, op, DEVICE_TO_ALL, comm},    \
                                info, request, &code))                                                                 \
            return code;                                                                                               \
        return link && link_threads()                                                                                  \
                   ? result_of(comm, reduce_often(link, &what, request))                                               \
                   : PMPI_Allreduce_init##suffix(data, result, count, datatype, op, comm, info, request);              \
    }                                                                                                                  \
    INTERCEPT MPI_Reduce_init##suffix(const void *data, void *result, number count, MPI_Datatype datatype, MPI_Op op,  \
                                      int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)                    \
    {                                                                                                                  \
        struct reduction what;                                                                                         \
        int code;                                                                                                      \
        struct link *link = taken(data, result, count, datatype, op, root, &what) ? link_of(comm) : NULL;              \
                                                                                                                       \
        if (device_reduces(data, result) &&                                                                            \
            device_reduce_often(&(struct device_reduction){data, result, count, datatype, op, root, comm}, info,       \
                                request, &code))                                                                       \
            return code;                                                                                               \
        return link && link_threads()                                                                                  \
                   ? result_of(comm, reduce_often(link, &what, request))                                               \
                   : PMPI_Reduce_init##suffix(data, result, count, datatype, op, root, comm, info, request);           \
    }
REDUCTIONS(_c, MPI_Count)
PERSISTENT(, int)
PERSISTENT(_c, MPI_Count)
#endif
