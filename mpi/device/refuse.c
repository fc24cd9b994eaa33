/*
 * Functions that are not supported on device memory: a call with such an address is refused, and not passed to MPI.
 * xtqmpi.h lists the supported functions.
 */
#include <errno.h>

#include "base/log.h"
#include "mpi/device/device.h"

static bool any(const void *first, const void *second)
{
    return device_holds(first, MPI_BYTE) || device_holds(second, MPI_BYTE);
}

/* Defines a function with two addresses. Its parameters and arguments are in brackets. */
#define REFUSED(name, comm, first, second, parameters, arguments)                                                      \
    INTERCEPT MPI_##name parameters                                                                                    \
    {                                                                                                                  \
        return any(first, second) ? device_error(comm, -ENOSYS, "MPI_" #name) : PMPI_##name arguments;                 \
    }

#define LOCAL(suffix, number)                                                                                          \
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
LOCAL(, int)
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
LOCAL(_c, MPI_Count)
EXTERNALS(_c, MPI_Count, MPI_Count)

#define OTHERS(suffix, number)                                                                                         \
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
    vocl_log(LOG_ERROR, "xtqmpi: %s does not support device memory", function);
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
