/*
 * Messages in device memory. Their requests are MPI's own, of messages in host memory, so that all functions of MPI
 * accept them. request.c does the work that remains on completion.
 */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/device.h"

/* ---- in pieces, if xtqmpi_comm_pipeline() allows it ---- */

static int pieces_begin(struct pipe *pipe, bool sends, const void *data, MPI_Count count, MPI_Datatype datatype,
                        int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct device_operand o;
    int error = operand_open(&o, data, count, datatype, 0, comm);

    if (error)
        return device_error(comm, error, sends ? "MPI_Isend" : "MPI_Irecv");
    return sends ? pipe_isend(pipe, &o, peer, tag, comm, request) : pipe_irecv(pipe, &o, peer, tag, comm, request);
}

static int pieces_send(struct pipe *pipe, const void *data, MPI_Count count, MPI_Datatype datatype, int peer, int tag,
                       MPI_Comm comm)
{
    MPI_Request request;
    int result = pieces_begin(pipe, true, data, count, datatype, peer, tag, comm, &request);

    return result ? result : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- blocking ---- */

static int sent(struct device_operand *o, int result)
{
    operand_close(o);
    return result;
}

static int received(struct device_operand *o, int result, const MPI_Status *status, MPI_Comm comm, const char *function)
{
    int error = result ? 0 : operand_write(o, status_bytes(status));

    operand_close(o);
    return error ? device_error(comm, error, function) : result;
}

/* MPI_Recv itself is in wait.c. */
int device_recv(void *data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int result = MPI_Irecv(data, count, datatype, source, tag, comm, &request);

    return result ? result : MPI_Wait(&request, status);
}

/* MPI's functions on copies in host memory. Macros have the parameters after the datatype (TAKES), the arguments for
 * MPI (GIVES), and the work after the call (ENDS), as a list with commas cannot be an argument of a macro. */
#define NOW(function, suffix, number, kind, first)                                                                     \
    INTERCEPT MPI_##function##suffix(kind##_DATA, number count, MPI_Datatype datatype, kind##_TAKES)                   \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##function##suffix(data, count, datatype, kind##_GIVES);                                       \
        first;                                                                                                         \
        code = operand_open(&o, data, count, datatype, kind##_WAYS, kind##_COMM);                                      \
        if (code)                                                                                                      \
            return device_error(kind##_COMM, code, "MPI_" #function);                                                  \
        kind##_ENDS(PMPI_##function##suffix(o.host, count, datatype, kind##_GIVES), "MPI_" #function);                 \
    }
#define LATER(function, suffix, number, kind, first, ways, finish)                                                     \
    INTERCEPT MPI_##function##suffix(kind##_DATA, number count, MPI_Datatype datatype, kind##_TAKES,                   \
                                     MPI_Request *request)                                                             \
    {                                                                                                                  \
        struct device_pair *pair;                                                                                      \
        void *host;                                                                                                    \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##function##suffix(data, count, datatype, kind##_GIVES, request);                              \
        first;                                                                                                         \
        code = pair_open(&pair, kind##_SENDS, data, count, datatype, ways, kind##_COMM, &host);                        \
        if (code)                                                                                                      \
            return device_error(kind##_COMM, code, "MPI_" #function);                                                  \
        pair->by_status = true;                                                                                        \
        return finish(PMPI_##function##suffix(host, count, datatype, kind##_GIVES, request), request, pair);           \
    }

#define SEND_DATA const void *data
#define SEND_TAKES int peer, int tag, MPI_Comm comm
#define SEND_GIVES peer, tag, comm
#define SEND_COMM comm
#define SEND_SENDS true
#define SEND_WAYS DEVICE_SENT
#define SEND_ENDS(result, name) return sent(&o, result)

#define RECEIVE_DATA void *data
#define RECEIVE_TAKES SEND_TAKES
#define RECEIVE_GIVES SEND_GIVES
#define RECEIVE_COMM comm
#define RECEIVE_SENDS false

#define STATUS_ENDS(call, name, comm)                                                                                  \
    MPI_Status own;                                                                                                    \
                                                                                                                       \
    status = status == MPI_STATUS_IGNORE ? &own : status;                                                              \
    code = call;                                                                                                       \
    return received(&o, code, status, comm, name)
#define MATCHED_DATA void *data
#define MATCHED_TAKES MPI_Message *message, MPI_Status *status
#define MATCHED_GIVES message, status
#define MATCHED_COMM MPI_COMM_SELF
#define MATCHED_WAYS DEVICE_RECEIVED
#define MATCHED_ENDS(call, name) STATUS_ENDS(call, name, MPI_COMM_SELF)
#define MATCHED_LATER_DATA void *data
#define MATCHED_LATER_TAKES MPI_Message *message
#define MATCHED_LATER_GIVES message
#define MATCHED_LATER_COMM MPI_COMM_SELF
#define MATCHED_LATER_SENDS false

#define REPLACE_DATA void *data
#define REPLACE_TAKES int to, int tag, int from, int result_tag, MPI_Comm comm, MPI_Status *status
#define REPLACE_GIVES to, tag, from, result_tag, comm, status
#define REPLACE_COMM comm
#define REPLACE_WAYS (DEVICE_SENT | DEVICE_RECEIVED)
#define REPLACE_ENDS(call, name) STATUS_ENDS(call, name, comm)

#define BOTH(suffix, number)                                                                                           \
    INTERCEPT MPI_Sendrecv##suffix(const void *data, number count, MPI_Datatype datatype, int to, int tag,             \
                                   void *result, number most, MPI_Datatype result_datatype, int from, int result_tag,  \
                                   MPI_Comm comm, MPI_Status *status)                                                  \
    {                                                                                                                  \
        MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;                                           \
        struct device_operand out, in;                                                                                 \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_holds(data, datatype) && !device_holds(result, result_datatype))                                   \
            return PMPI_Sendrecv##suffix(data, count, datatype, to, tag, result, most, result_datatype, from,          \
                                         result_tag, comm, status);                                                    \
        code = operand_open(&out, data, count, datatype, DEVICE_SENT, comm);                                           \
        if (code)                                                                                                      \
            return device_error(comm, code, "MPI_Sendrecv");                                                           \
        code = operand_open(&in, result, most, result_datatype, DEVICE_RECEIVED, comm);                                \
        if (code) {                                                                                                    \
            operand_close(&out);                                                                                       \
            return device_error(comm, code, "MPI_Sendrecv");                                                           \
        }                                                                                                              \
        code = PMPI_Sendrecv##suffix(out.host, count, datatype, to, tag, in.host, most, result_datatype, from,         \
                                     result_tag, comm, told);                                                          \
        operand_close(&out);                                                                                           \
        return received(&in, code, told, comm, "MPI_Sendrecv");                                                        \
    }

#define IN_PIECES(call)                                                                                                \
    if (pipe_of(comm))                                                                                                 \
    return call
#define PIECES_SENT IN_PIECES(pieces_send(pipe_of(comm), data, count, datatype, peer, tag, comm))
#define PIECES_BEGUN(sends)                                                                                            \
    IN_PIECES(pieces_begin(pipe_of(comm), sends, data, count, datatype, peer, tag, comm, request))

#define ALL(suffix, number)                                                                                            \
    NOW(Send, suffix, number, SEND, PIECES_SENT)                                                                       \
    NOW(Ssend, suffix, number, SEND, )                                                                                 \
    NOW(Rsend, suffix, number, SEND, )                                                                                 \
    NOW(Bsend, suffix, number, SEND, )                                                                                 \
    NOW(Mrecv, suffix, number, MATCHED, )                                                                              \
    NOW(Sendrecv_replace, suffix, number, REPLACE, )                                                                   \
    LATER(Isend, suffix, number, SEND, PIECES_BEGUN(true), DEVICE_SENT, pair_end)                                      \
    LATER(Issend, suffix, number, SEND, , DEVICE_SENT, pair_end)                                                       \
    LATER(Irsend, suffix, number, SEND, , DEVICE_SENT, pair_end)                                                       \
    LATER(Ibsend, suffix, number, SEND, , DEVICE_SENT, pair_end)                                                       \
    LATER(Irecv, suffix, number, RECEIVE, PIECES_BEGUN(false), DEVICE_RECEIVED, pair_end)                              \
    LATER(Imrecv, suffix, number, MATCHED_LATER, , DEVICE_RECEIVED, pair_end)                                          \
    LATER(Send_init, suffix, number, SEND, , 0, pair_keep)                                                             \
    LATER(Ssend_init, suffix, number, SEND, , 0, pair_keep)                                                            \
    LATER(Rsend_init, suffix, number, SEND, , 0, pair_keep)                                                            \
    LATER(Bsend_init, suffix, number, SEND, , 0, pair_keep)                                                            \
    LATER(Recv_init, suffix, number, RECEIVE, , 0, pair_keep)                                                          \
    BOTH(suffix, number)
ALL(, int)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)
#endif

#if MPI_VERSION >= 4
INTERCEPT MPI_Recv_c(void *data, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    MPI_Request request;
    int result;

    if (!device_holds(data, datatype))
        return PMPI_Recv_c(data, count, datatype, source, tag, comm, status);
    result = MPI_Irecv_c(data, count, datatype, source, tag, comm, &request);
    return result ? result : MPI_Wait(&request, status);
}
#endif
