/*
 * What is not done on device memory: given such an address it is refused, and MPI does not see it. xtqmpi.h says what
 * is done.
 */
#include <errno.h>

#include "base/log.h"
#include "xtq/mpi_device.h"

static bool any(const void *first, const void *second)
{
    return device_holds(first, MPI_BYTE) || device_holds(second, MPI_BYTE);
}

/* A function with two addresses; parameters and arguments are in brackets. */
#define REFUSED(name, comm, first, second, parameters, arguments)                                                      \
    INTERCEPT MPI_##name parameters                                                                                    \
    {                                                                                                                  \
        return any(first, second) ? device_error(comm, -ENOSYS, "MPI_" #name) : PMPI_##name arguments;                 \
    }

/* Collectives by what they take; with a request, too. */
#define FROM_TO(name, later, suffix, number)                                                                           \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type,   \
             MPI_Comm comm),                                                                                           \
            (data, count, type, result, most, result_type, comm))                                                      \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type,   \
             MPI_Comm comm, MPI_Request *request),                                                                     \
            (data, count, type, result, most, result_type, comm, request))
#define FROM_TO_ROOT(name, later, suffix, number)                                                                      \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type,   \
             int root, MPI_Comm comm),                                                                                 \
            (data, count, type, result, most, result_type, root, comm))                                                \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type,   \
             int root, MPI_Comm comm, MPI_Request *request),                                                           \
            (data, count, type, result, most, result_type, root, comm, request))
#define GATHER_V(name, later, suffix, number, place)                                                                   \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, number count, MPI_Datatype type, void *result, const number counts[],                   \
             const place places[], MPI_Datatype result_type, MPI_Comm comm),                                           \
            (data, count, type, result, counts, places, result_type, comm))                                            \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, number count, MPI_Datatype type, void *result, const number counts[],                   \
             const place places[], MPI_Datatype result_type, MPI_Comm comm, MPI_Request *request),                     \
            (data, count, type, result, counts, places, result_type, comm, request))
#define GATHER_V_ROOT(suffix, number, place)                                                                           \
    REFUSED(Gatherv##suffix, comm, data, result,                                                                       \
            (const void *data, number count, MPI_Datatype type, void *result, const number counts[],                   \
             const place places[], MPI_Datatype result_type, int root, MPI_Comm comm),                                 \
            (data, count, type, result, counts, places, result_type, root, comm))                                      \
    REFUSED(Igatherv##suffix, comm, data, result,                                                                      \
            (const void *data, number count, MPI_Datatype type, void *result, const number counts[],                   \
             const place places[], MPI_Datatype result_type, int root, MPI_Comm comm, MPI_Request *request),           \
            (data, count, type, result, counts, places, result_type, root, comm, request))                             \
    REFUSED(Scatterv##suffix, comm, data, result,                                                                      \
            (const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,           \
             number count, MPI_Datatype result_type, int root, MPI_Comm comm),                                         \
            (data, counts, places, type, result, count, result_type, root, comm))                                      \
    REFUSED(Iscatterv##suffix, comm, data, result,                                                                     \
            (const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,           \
             number count, MPI_Datatype result_type, int root, MPI_Comm comm, MPI_Request *request),                   \
            (data, counts, places, type, result, count, result_type, root, comm, request))
#define ALL_V(name, later, suffix, number, place)                                                                      \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,           \
             const number mosts[], const place result_places[], MPI_Datatype result_type, MPI_Comm comm),              \
            (data, counts, places, type, result, mosts, result_places, result_type, comm))                             \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,           \
             const number mosts[], const place result_places[], MPI_Datatype result_type, MPI_Comm comm,               \
             MPI_Request *request),                                                                                    \
            (data, counts, places, type, result, mosts, result_places, result_type, comm, request))
#define ALL_W(name, later, suffix, number, place)                                                                      \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, const number counts[], const place places[], const MPI_Datatype types[], void *result,  \
             const number mosts[], const place result_places[], const MPI_Datatype result_types[], MPI_Comm comm),     \
            (data, counts, places, types, result, mosts, result_places, result_types, comm))                           \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, const number counts[], const place places[], const MPI_Datatype types[], void *result,  \
             const number mosts[], const place result_places[], const MPI_Datatype result_types[], MPI_Comm comm,      \
             MPI_Request *request),                                                                                    \
            (data, counts, places, types, result, mosts, result_places, result_types, comm, request))
#define COMBINING(name, later, suffix, number, numbers)                                                                \
    REFUSED(name##suffix, comm, data, result,                                                                          \
            (const void *data, void *result, numbers count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),              \
            (data, result, count, type, op, comm))                                                                     \
    REFUSED(later##suffix, comm, data, result,                                                                         \
            (const void *data, void *result, numbers count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,               \
             MPI_Request *request),                                                                                    \
            (data, result, count, type, op, comm, request))
#define PACKING(suffix, number)                                                                                        \
    REFUSED(                                                                                                           \
        Pack##suffix, comm, data, packed,                                                                              \
        (const void *data, number count, MPI_Datatype type, void *packed, number bytes, number *at, MPI_Comm comm),    \
        (data, count, type, packed, bytes, at, comm))                                                                  \
    REFUSED(                                                                                                           \
        Unpack##suffix, comm, packed, data,                                                                            \
        (const void *packed, number bytes, number *at, void *data, number count, MPI_Datatype type, MPI_Comm comm),    \
        (packed, bytes, at, data, count, type, comm))                                                                  \
    REFUSED(Reduce_local##suffix, MPI_COMM_SELF, data, result,                                                         \
            (const void *data, void *result, number count, MPI_Datatype type, MPI_Op op),                              \
            (data, result, count, type, op))

#define ALL(suffix, number, numbers, place)                                                                            \
    FROM_TO_ROOT(Gather, Igather, suffix, number)                                                                      \
    FROM_TO_ROOT(Scatter, Iscatter, suffix, number)                                                                    \
    FROM_TO(Allgather, Iallgather, suffix, number)                                                                     \
    FROM_TO(Alltoall, Ialltoall, suffix, number)                                                                       \
    FROM_TO(Neighbor_allgather, Ineighbor_allgather, suffix, number)                                                   \
    FROM_TO(Neighbor_alltoall, Ineighbor_alltoall, suffix, number)                                                     \
    GATHER_V_ROOT(suffix, number, place)                                                                               \
    GATHER_V(Allgatherv, Iallgatherv, suffix, number, place)                                                           \
    GATHER_V(Neighbor_allgatherv, Ineighbor_allgatherv, suffix, number, place)                                         \
    ALL_V(Alltoallv, Ialltoallv, suffix, number, place)                                                                \
    ALL_V(Neighbor_alltoallv, Ineighbor_alltoallv, suffix, number, place)                                              \
    ALL_W(Alltoallw, Ialltoallw, suffix, number, place)                                                                \
    ALL_W(Neighbor_alltoallw, Ineighbor_alltoallw, suffix, number, MPI_Aint)                                           \
    COMBINING(Scan, Iscan, suffix, number, number)                                                                     \
    COMBINING(Exscan, Iexscan, suffix, number, number)                                                                 \
    COMBINING(Reduce_scatter_block, Ireduce_scatter_block, suffix, number, number)                                     \
    COMBINING(Reduce_scatter, Ireduce_scatter, suffix, number, numbers)                                                \
    PACKING(suffix, number)
ALL(, int, const int *, int)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count, const MPI_Count *, MPI_Aint)
#endif

/* ---- files and dynamic windows ---- */

static int file_error(MPI_File file, const char *function)
{
    vocl_log(LOG_ERROR, "xtqmpi: %s: not for device memory", function);
    PMPI_File_call_errhandler(file, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

#define FILES(name, constant, answer)                                                                                  \
    INTERCEPT MPI_File_##name(MPI_File file, constant void *data, int count, MPI_Datatype type, answer *out)           \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name)                                      \
                                            : PMPI_File_##name(file, data, count, type, out);                          \
    }
#define FILES_AT(name, constant, answer)                                                                               \
    INTERCEPT MPI_File_##name(MPI_File file, MPI_Offset at, constant void *data, int count, MPI_Datatype type,         \
                              answer *out)                                                                             \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name)                                      \
                                            : PMPI_File_##name(file, at, data, count, type, out);                      \
    }
FILES(read, , MPI_Status)
FILES(read_all, , MPI_Status)
FILES(read_shared, , MPI_Status)
FILES(read_ordered, , MPI_Status)
FILES(write, const, MPI_Status)
FILES(write_all, const, MPI_Status)
FILES(write_shared, const, MPI_Status)
FILES(write_ordered, const, MPI_Status)
FILES(iread, , MPI_Request)
FILES(iwrite, const, MPI_Request)
FILES_AT(read_at, , MPI_Status)
FILES_AT(read_at_all, , MPI_Status)
FILES_AT(write_at, const, MPI_Status)
FILES_AT(write_at_all, const, MPI_Status)
FILES_AT(iread_at, , MPI_Request)
FILES_AT(iwrite_at, const, MPI_Request)

INTERCEPT MPI_Win_attach(MPI_Win win, void *base, MPI_Aint bytes)
{
    return device_holds(base, MPI_BYTE) ? device_win_error(win, -ENOSYS, "MPI_Win_attach")
                                        : PMPI_Win_attach(win, base, bytes);
}
