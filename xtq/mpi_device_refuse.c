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

/* A collective operation, at once, with a request, and, since MPI 4, with one that is started again and again. What it
 * takes is in two macros, as a list with commas is no argument of one. */
#define TWICE(name, later, suffix, takes, number, place)                                                               \
    REFUSED(name##suffix, comm, data, result, (takes##_TAKES(number, place), MPI_Comm comm), (takes##_GIVES, comm))    \
    REFUSED(later##suffix, comm, data, result, (takes##_TAKES(number, place), MPI_Comm comm, MPI_Request * request),   \
            (takes##_GIVES, comm, request))
#if MPI_VERSION >= 4
#define PERSISTENT(name, suffix, takes, number, place)                                                                 \
    REFUSED(name##_init##suffix, comm, data, result,                                                                   \
            (takes##_TAKES(number, place), MPI_Comm comm, MPI_Info info, MPI_Request * request),                       \
            (takes##_GIVES, comm, info, request))
#else
#define PERSISTENT(name, suffix, takes, number, place)
#endif
#define COLLECTIVE(name, later, suffix, takes, number, place)                                                          \
    TWICE(name, later, suffix, takes, number, place)                                                                   \
    PERSISTENT(name, suffix, takes, number, place)

#define FROM_TO_TAKES(number, place)                                                                                   \
    const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type
#define FROM_TO_GIVES data, count, type, result, most, result_type
#define ROOT_TAKES(number, place) FROM_TO_TAKES(number, place), int root
#define ROOT_GIVES FROM_TO_GIVES, root
#define GATHER_TAKES(number, place)                                                                                    \
    const void *data, number count, MPI_Datatype type, void *result, const number mosts[], const place places[],       \
        MPI_Datatype result_type
#define GATHER_GIVES data, count, type, result, mosts, places, result_type
#define GATHER_ROOT_TAKES(number, place) GATHER_TAKES(number, place), int root
#define GATHER_ROOT_GIVES GATHER_GIVES, root
#define SCATTER_ROOT_TAKES(number, place)                                                                              \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result, number most,       \
        MPI_Datatype result_type, int root
#define SCATTER_ROOT_GIVES data, counts, places, type, result, most, result_type, root
#define ALL_TAKES(number, place)                                                                                       \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,                    \
        const number mosts[], const place result_places[], MPI_Datatype result_type
#define ALL_GIVES data, counts, places, type, result, mosts, result_places, result_type
#define TYPES_TAKES(number, place)                                                                                     \
    const void *data, const number counts[], const place places[], const MPI_Datatype types[], void *result,           \
        const number mosts[], const place result_places[], const MPI_Datatype result_types[]
#define TYPES_GIVES data, counts, places, types, result, mosts, result_places, result_types
#define SUM_TAKES(number, place) const void *data, void *result, number count, MPI_Datatype type, MPI_Op op
#define SUM_GIVES data, result, count, type, op
#define PARTS_TAKES(number, place) const void *data, void *result, const number counts[], MPI_Datatype type, MPI_Op op
#define PARTS_GIVES data, result, counts, type, op

#define COLLECTIVES(suffix, number, place)                                                                             \
    PERSISTENT(Gather, suffix, ROOT, number, place)                                                                    \
    PERSISTENT(Scatter, suffix, ROOT, number, place)                                                                   \
    PERSISTENT(Allgather, suffix, FROM_TO, number, place)                                                              \
    PERSISTENT(Alltoall, suffix, FROM_TO, number, place)                                                               \
    COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, suffix, FROM_TO, number, place)                                \
    COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, suffix, FROM_TO, number, place)                                  \
    PERSISTENT(Gatherv, suffix, GATHER_ROOT, number, place)                                                            \
    PERSISTENT(Scatterv, suffix, SCATTER_ROOT, number, place)                                                          \
    PERSISTENT(Allgatherv, suffix, GATHER, number, place)                                                              \
    COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, suffix, GATHER, number, place)                               \
    PERSISTENT(Alltoallv, suffix, ALL, number, place)                                                                  \
    COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, suffix, ALL, number, place)                                    \
    COLLECTIVE(Alltoallw, Ialltoallw, suffix, TYPES, number, place)                                                    \
    COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, suffix, TYPES, number, MPI_Aint)                               \
    COLLECTIVE(Scan, Iscan, suffix, SUM, number, place)                                                                \
    COLLECTIVE(Exscan, Iexscan, suffix, SUM, number, place)                                                            \
    PERSISTENT(Reduce_scatter_block, suffix, SUM, number, place)                                                       \
    PERSISTENT(Reduce_scatter, suffix, PARTS, number, place)                                                           \
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
COLLECTIVES(, int, int)
#define EXTERNALS(suffix, number, bytes_number)                                                                        \
    REFUSED(Pack_external##suffix, MPI_COMM_SELF, data, packed,                                                        \
            (const char *form, const void *data, number count, MPI_Datatype type, void *packed, bytes_number bytes,    \
             bytes_number *at),                                                                                        \
            (form, data, count, type, packed, bytes, at))                                                              \
    REFUSED(Unpack_external##suffix, MPI_COMM_SELF, packed, data,                                                      \
            (const char *form, const void *packed, bytes_number bytes, bytes_number *at, void *data, number count,     \
             MPI_Datatype type),                                                                                       \
            (form, packed, bytes, at, data, count, type))
EXTERNALS(, int, MPI_Aint)
#if MPI_VERSION >= 4
COLLECTIVES(_c, MPI_Count, MPI_Aint)
EXTERNALS(_c, MPI_Count, MPI_Count)

#define OTHERS(suffix, number)                                                                                         \
    REFUSED(                                                                                                           \
        Bcast_init##suffix, comm, data, NULL,                                                                          \
        (void *data, number count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request),   \
        (data, count, type, root, comm, info, request))                                                                \
    REFUSED(Isendrecv##suffix, comm, data, result,                                                                     \
            (const void *data, number count, MPI_Datatype type, int to, int tag, void *result, number most,            \
             MPI_Datatype result_type, int from, int result_tag, MPI_Comm comm, MPI_Request *request),                 \
            (data, count, type, to, tag, result, most, result_type, from, result_tag, comm, request))                  \
    REFUSED(Isendrecv_replace##suffix, comm, data, NULL,                                                               \
            (void *data, number count, MPI_Datatype type, int to, int tag, int from, int result_tag, MPI_Comm comm,    \
             MPI_Request *request),                                                                                    \
            (data, count, type, to, tag, from, result_tag, comm, request))
OTHERS(, int)
OTHERS(_c, MPI_Count)
REFUSED(Psend_init, comm, data, NULL,
        (const void *data, int parts, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Info info,
         MPI_Request *request),
        (data, parts, count, type, to, tag, comm, info, request))
REFUSED(Precv_init, comm, data, NULL,
        (void *data, int parts, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Info info,
         MPI_Request *request),
        (data, parts, count, type, from, tag, comm, info, request))
#endif

/* ---- files and dynamic windows ---- */

static int file_error(MPI_File file, const char *function)
{
    vocl_log(LOG_ERROR, "xtqmpi: %s: not for device memory", function);
    PMPI_File_call_errhandler(file, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

#define FILES(name, suffix, number, constant, answer)                                                                  \
    INTERCEPT MPI_File_##name##suffix(MPI_File file, constant void *data, number count, MPI_Datatype type,             \
                                      answer *out)                                                                     \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name)                                      \
                                            : PMPI_File_##name##suffix(file, data, count, type, out);                  \
    }
#define FILES_AT(name, suffix, number, constant, answer)                                                               \
    INTERCEPT MPI_File_##name##suffix(MPI_File file, MPI_Offset at, constant void *data, number count,                 \
                                      MPI_Datatype type, answer *out)                                                  \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name)                                      \
                                            : PMPI_File_##name##suffix(file, at, data, count, type, out);              \
    }
#define FILES_BEGIN(name, suffix, number, constant)                                                                    \
    INTERCEPT MPI_File_##name##_begin##suffix(MPI_File file, constant void *data, number count, MPI_Datatype type)     \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name "_begin")                             \
                                            : PMPI_File_##name##_begin##suffix(file, data, count, type);               \
    }
#define FILES_AT_BEGIN(name, suffix, number, constant)                                                                 \
    INTERCEPT MPI_File_##name##_begin##suffix(MPI_File file, MPI_Offset at, constant void *data, number count,         \
                                              MPI_Datatype type)                                                       \
    {                                                                                                                  \
        return device_holds(data, MPI_BYTE) ? file_error(file, "MPI_File_" #name "_begin")                             \
                                            : PMPI_File_##name##_begin##suffix(file, at, data, count, type);           \
    }
#define ONE_WAY(way, suffix, number, constant)                                                                         \
    FILES(way, suffix, number, constant, MPI_Status)                                                                   \
    FILES(way##_all, suffix, number, constant, MPI_Status)                                                             \
    FILES(way##_shared, suffix, number, constant, MPI_Status)                                                          \
    FILES(way##_ordered, suffix, number, constant, MPI_Status)                                                         \
    FILES(i##way, suffix, number, constant, MPI_Request)                                                               \
    FILES(i##way##_all, suffix, number, constant, MPI_Request)                                                         \
    FILES(i##way##_shared, suffix, number, constant, MPI_Request)                                                      \
    FILES_AT(way##_at, suffix, number, constant, MPI_Status)                                                           \
    FILES_AT(way##_at_all, suffix, number, constant, MPI_Status)                                                       \
    FILES_AT(i##way##_at, suffix, number, constant, MPI_Request)                                                       \
    FILES_AT(i##way##_at_all, suffix, number, constant, MPI_Request)                                                   \
    FILES_BEGIN(way##_all, suffix, number, constant)                                                                   \
    FILES_BEGIN(way##_ordered, suffix, number, constant)                                                               \
    FILES_AT_BEGIN(way##_at_all, suffix, number, constant)
ONE_WAY(read, , int, )
ONE_WAY(write, , int, const)
#if MPI_VERSION >= 4
ONE_WAY(read, _c, MPI_Count, )
ONE_WAY(write, _c, MPI_Count, const)
#endif

INTERCEPT MPI_Win_attach(MPI_Win win, void *base, MPI_Aint bytes)
{
    return device_holds(base, MPI_BYTE) ? device_win_error(win, -ENOSYS, "MPI_Win_attach")
                                        : PMPI_Win_attach(win, base, bytes);
}
