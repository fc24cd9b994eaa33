/*
 * Messages in device memory. MPI's requests are those of messages in the host's memory, so all that MPI does with them
 * it does with these; what is left to be done when they are complete is in request.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/device.h"

/* ---- when a message is over ---- */

static int on_sent(void *argument, MPI_Status *status)
{
    (void)status;
    operand_close(argument);
    free(argument);
    return MPI_SUCCESS;
}

static int on_received(void *argument, MPI_Status *status)
{
    struct device_operand *o = argument;
    int error = operand_write(o, status_bytes(status)), result = error ? device_error(o->comm, error, "MPI_Irecv") : 0;

    operand_close(o);
    free(o);
    return result;
}

/* The operand is the request's from now on; or nobody's, if MPI's function has failed. */
static int hand_over(int result, MPI_Request *request, struct device_operand *o, pending_end *end)
{
    struct device_operand *copy = result ? NULL : malloc(sizeof(*copy));

    if (!copy && !result) {
        MPI_Status status;

        result = PMPI_Wait(request, &status);
        if (!result && end == on_received && operand_write(o, status_bytes(&status)))
            result = MPI_ERR_OTHER;
    }
    if (!copy) {
        operand_close(o);
        return result;
    }
    *copy = *o;
    return pending_add(request, end, copy);
}

/* ---- sending ---- */

#define SENDS(name, suffix, number)                                                                                    \
    INTERCEPT MPI_##name##suffix(const void *data, number count, MPI_Datatype datatype, int to, int tag,               \
                                 MPI_Comm comm)                                                                        \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##name##suffix(data, count, datatype, to, tag, comm);                                          \
        result = operand_open(&o, data, count, datatype, DEVICE_SENT, comm);                                           \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_" #name);                                                           \
        result = PMPI_##name##suffix(o.host, count, datatype, to, tag, comm);                                          \
        operand_close(&o);                                                                                             \
        return result;                                                                                                 \
    }
#define SENDS_LATER(name, suffix, number)                                                                              \
    INTERCEPT MPI_##name##suffix(const void *data, number count, MPI_Datatype datatype, int to, int tag,               \
                                 MPI_Comm comm, MPI_Request *request)                                                  \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##name##suffix(data, count, datatype, to, tag, comm, request);                                 \
        result = operand_open(&o, data, count, datatype, DEVICE_SENT, comm);                                           \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_" #name);                                                           \
        return hand_over(PMPI_##name##suffix(o.host, count, datatype, to, tag, comm, request), request, &o, on_sent);  \
    }

/* In pieces, where that was agreed upon. */
static int send_later(struct device_operand *o, int to, int tag, MPI_Comm comm, MPI_Request *request, bool *done)
{
    struct pipe *pipe = pipe_of(comm);

    *done = pipe != NULL;
    return pipe ? pipe_isend(pipe, o, to, tag, comm, request) : MPI_SUCCESS;
}

#define SENDS_IN_PIECES(suffix, number)                                                                                \
    INTERCEPT MPI_Isend##suffix(const void *data, number count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm, \
                                MPI_Request *request)                                                                  \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        bool done;                                                                                                     \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Isend##suffix(data, count, datatype, to, tag, comm, request);                                  \
        result = operand_open(&o, data, count, datatype, pipe_of(comm) ? 0 : DEVICE_SENT, comm);                       \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_Isend");                                                            \
        result = send_later(&o, to, tag, comm, request, &done);                                                        \
        return done ? result                                                                                           \
                    : hand_over(PMPI_Isend##suffix(o.host, count, datatype, to, tag, comm, request), request, &o,      \
                                on_sent);                                                                              \
    }                                                                                                                  \
    INTERCEPT MPI_Send##suffix(const void *data, number count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm)  \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Send##suffix(data, count, datatype, to, tag, comm);                                            \
        if (pipe_of(comm)) {                                                                                           \
            result = MPI_Isend##suffix(data, count, datatype, to, tag, comm, &request);                                \
            return result ? result : MPI_Wait(&request, MPI_STATUS_IGNORE);                                            \
        }                                                                                                              \
        result = operand_open(&o, data, count, datatype, DEVICE_SENT, comm);                                           \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_Send");                                                             \
        result = PMPI_Send##suffix(o.host, count, datatype, to, tag, comm);                                            \
        operand_close(&o);                                                                                             \
        return result;                                                                                                 \
    }

/* ---- receiving ---- */

/* What a blocking receive has got. */
static int received(struct device_operand *o, int result, const MPI_Status *status, MPI_Comm comm, const char *function)
{
    int error = result ? 0 : operand_write(o, status_bytes(status));

    operand_close(o);
    return error ? device_error(comm, error, function) : result;
}

#define RECEIVES(suffix, number)                                                                                       \
    INTERCEPT MPI_Irecv##suffix(void *data, number count, MPI_Datatype datatype, int from, int tag, MPI_Comm comm,     \
                                MPI_Request *request)                                                                  \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Irecv##suffix(data, count, datatype, from, tag, comm, request);                                \
        result = operand_open(&o, data, count, datatype, DEVICE_RECEIVED, comm);                                       \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_Irecv");                                                            \
        if (pipe_of(comm))                                                                                             \
            return pipe_irecv(pipe_of(comm), &o, from, tag, comm, request);                                            \
        return hand_over(PMPI_Irecv##suffix(o.host, count, datatype, from, tag, comm, request), request, &o,           \
                         on_received);                                                                                 \
    }                                                                                                                  \
    INTERCEPT MPI_Mrecv##suffix(void *data, number count, MPI_Datatype datatype, MPI_Message *message,                 \
                                MPI_Status *status)                                                                    \
    {                                                                                                                  \
        MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;                                           \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Mrecv##suffix(data, count, datatype, message, status);                                         \
        result = operand_open(&o, data, count, datatype, DEVICE_RECEIVED, MPI_COMM_SELF);                              \
        if (result)                                                                                                    \
            return device_error(MPI_COMM_SELF, result, "MPI_Mrecv");                                                   \
        result = PMPI_Mrecv##suffix(o.host, count, datatype, message, told);                                           \
        return received(&o, result, told, MPI_COMM_SELF, "MPI_Mrecv");                                                 \
    }                                                                                                                  \
    INTERCEPT MPI_Imrecv##suffix(void *data, number count, MPI_Datatype datatype, MPI_Message *message,                \
                                 MPI_Request *request)                                                                 \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Imrecv##suffix(data, count, datatype, message, request);                                       \
        result = operand_open(&o, data, count, datatype, DEVICE_RECEIVED, MPI_COMM_SELF);                              \
        if (result)                                                                                                    \
            return device_error(MPI_COMM_SELF, result, "MPI_Imrecv");                                                  \
        return hand_over(PMPI_Imrecv##suffix(o.host, count, datatype, message, request), request, &o, on_received);    \
    }

/* MPI_Recv itself is in wait.c. */
int device_recv(void *data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int result = MPI_Irecv(data, count, datatype, source, tag, comm, &request);

    return result ? result : MPI_Wait(&request, status);
}

/* ---- both ---- */

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
    }                                                                                                                  \
    INTERCEPT MPI_Sendrecv_replace##suffix(void *data, number count, MPI_Datatype datatype, int to, int tag, int from, \
                                           int result_tag, MPI_Comm comm, MPI_Status *status)                          \
    {                                                                                                                  \
        MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;                                           \
        struct device_operand o;                                                                                       \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Sendrecv_replace##suffix(data, count, datatype, to, tag, from, result_tag, comm, status);      \
        code = operand_open(&o, data, count, datatype, DEVICE_SENT | DEVICE_RECEIVED, comm);                           \
        if (code)                                                                                                      \
            return device_error(comm, code, "MPI_Sendrecv_replace");                                                   \
        code = PMPI_Sendrecv_replace##suffix(o.host, count, datatype, to, tag, from, result_tag, comm, told);          \
        return received(&o, code, told, comm, "MPI_Sendrecv_replace");                                                 \
    }

/* ---- persistent requests ---- */

static int again_read(void *argument)
{
    struct device_operand *o = argument;
    int error = operand_read(o);

    return error ? device_error(o->comm, error, "MPI_Start") : MPI_SUCCESS;
}

static int again_nothing(void *argument)
{
    (void)argument;
    return MPI_SUCCESS;
}

static int again_sent(void *argument, MPI_Status *status)
{
    (void)argument;
    (void)status;
    return MPI_SUCCESS;
}

static int again_received(void *argument, MPI_Status *status)
{
    struct device_operand *o = argument;
    int error = operand_write(o, status_bytes(status));

    return error ? device_error(o->comm, error, "a persistent receive") : MPI_SUCCESS;
}

static void again_drop(void *argument)
{
    operand_close(argument);
    free(argument);
}

static int keep(int result, MPI_Request *request, struct device_operand *o, bool sends)
{
    struct device_operand *copy = malloc(sizeof(*copy));

    if (!copy || result) {
        operand_close(o);
        free(copy);
        return result ? result : MPI_ERR_NO_MEM;
    }
    *copy = *o;
    if (!pending_keep(request, sends ? again_read : again_nothing, sends ? again_sent : again_received, again_drop,
                      copy))
        return MPI_SUCCESS;
    again_drop(copy);
    return MPI_ERR_NO_MEM;
}

#define PERSISTENTS(name, suffix, number, constant, sends)                                                             \
    INTERCEPT MPI_##name##_init##suffix(constant void *data, number count, MPI_Datatype datatype, int peer, int tag,   \
                                        MPI_Comm comm, MPI_Request *request)                                           \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##name##_init##suffix(data, count, datatype, peer, tag, comm, request);                        \
        result = operand_open(&o, data, count, datatype, 0, comm);                                                     \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_" #name "_init");                                                   \
        return keep(PMPI_##name##_init##suffix(o.host, count, datatype, peer, tag, comm, request), request, &o,        \
                    sends);                                                                                            \
    }

#define ALL(suffix, number)                                                                                            \
    SENDS(Ssend, suffix, number)                                                                                       \
    SENDS(Rsend, suffix, number)                                                                                       \
    SENDS(Bsend, suffix, number)                                                                                       \
    SENDS_LATER(Issend, suffix, number)                                                                                \
    SENDS_LATER(Irsend, suffix, number)                                                                                \
    SENDS_LATER(Ibsend, suffix, number)                                                                                \
    SENDS_IN_PIECES(suffix, number)                                                                                    \
    RECEIVES(suffix, number)                                                                                           \
    BOTH(suffix, number)                                                                                               \
    PERSISTENTS(Send, suffix, number, const, true)                                                                     \
    PERSISTENTS(Ssend, suffix, number, const, true)                                                                    \
    PERSISTENTS(Rsend, suffix, number, const, true)                                                                    \
    PERSISTENTS(Bsend, suffix, number, const, true)                                                                    \
    PERSISTENTS(Recv, suffix, number, , false)
ALL(, int)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)

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
