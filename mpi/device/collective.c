/* Collectives on device memory: with the host's in its place. Whose memory is what kind is each rank's own affair. */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/device.h"

/* ---- broadcast ---- */

static int on_over(void *argument, MPI_Status *status)
{
    struct device_operand *o = argument;
    int error = operand_write(o, o->bytes), result = error ? device_error(o->comm, error, "MPI_Ibcast") : MPI_SUCCESS;

    (void)status;
    operand_close(o);
    free(o);
    return result;
}

static int on_over_unchanged(void *argument, MPI_Status *status)
{
    (void)status;
    operand_close(argument);
    free(argument);
    return MPI_SUCCESS;
}

static int later(int result, MPI_Request *request, struct device_operand *o, pending_end *end)
{
    struct device_operand *copy = result ? NULL : malloc(sizeof(*copy));

    if (copy) {
        *copy = *o;
        return pending_add(request, end, copy);
    }
    if (!result) {
        result = PMPI_Wait(request, MPI_STATUS_IGNORE);
        if (end == on_over && operand_write(o, o->bytes))
            result = MPI_ERR_OTHER;
    }
    operand_close(o);
    return result;
}

static unsigned root_sends(int root, MPI_Comm comm)
{
    int rank = -1, inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &rank);
    return (inter && root == MPI_ROOT) || (!inter && rank == root) ? DEVICE_SENT : DEVICE_RECEIVED;
}

#define BROADCASTS(suffix, number)                                                                                     \
    INTERCEPT MPI_Bcast##suffix(void *data, number count, MPI_Datatype datatype, int root, MPI_Comm comm)              \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        unsigned way;                                                                                                  \
        int result, error = 0;                                                                                         \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Bcast##suffix(data, count, datatype, root, comm);                                              \
        way = root_sends(root, comm);                                                                                  \
        result = operand_open(&o, data, count, datatype, way, comm);                                                   \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_Bcast");                                                            \
        result = PMPI_Bcast##suffix(o.host, count, datatype, root, comm);                                              \
        if (!result && way == DEVICE_RECEIVED)                                                                         \
            error = operand_write(&o, o.bytes);                                                                        \
        operand_close(&o);                                                                                             \
        return error ? device_error(comm, error, "MPI_Bcast") : result;                                                \
    }                                                                                                                  \
    INTERCEPT MPI_Ibcast##suffix(void *data, number count, MPI_Datatype datatype, int root, MPI_Comm comm,             \
                                 MPI_Request *request)                                                                 \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        unsigned way;                                                                                                  \
        int result;                                                                                                    \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Ibcast##suffix(data, count, datatype, root, comm, request);                                    \
        way = root_sends(root, comm);                                                                                  \
        result = operand_open(&o, data, count, datatype, way, comm);                                                   \
        if (result)                                                                                                    \
            return device_error(comm, result, "MPI_Ibcast");                                                           \
        return later(PMPI_Ibcast##suffix(o.host, count, datatype, root, comm, request), request, &o,                   \
                     way == DEVICE_RECEIVED ? on_over : on_over_unchanged);                                            \
    }
BROADCASTS(, int)
#if MPI_VERSION >= 4
BROADCASTS(_c, MPI_Count)
#endif

/* ---- reductions ---- */

/* With both in the host's memory: XTQ's or MPI's. */
static int reduce(const struct device_reduction *r, const void *data, void *result, MPI_Request *request)
{
#if MPI_VERSION >= 4
    const MPI_Count count = r->count;
#define OF_COUNT(name) name##_c
#else
    const int count = (int)r->count;
#define OF_COUNT(name) name
#endif

    if (r->root == DEVICE_TO_ALL)
        return request ? OF_COUNT(MPI_Iallreduce)(data, result, count, r->datatype, r->op, r->comm, request)
                       : OF_COUNT(MPI_Allreduce)(data, result, count, r->datatype, r->op, r->comm);
    return request ? OF_COUNT(MPI_Ireduce)(data, result, count, r->datatype, r->op, r->root, r->comm, request)
                   : OF_COUNT(MPI_Reduce)(data, result, count, r->datatype, r->op, r->root, r->comm);
}

void pair_free(struct device_pair *pair)
{
    operand_close(&pair->in);
    operand_close(&pair->out);
    free(pair);
}

static int pair_write(struct device_pair *pair)
{
    struct device_operand *out = &pair->out;
    int error = operand_write(out, pair->most < out->bytes ? pair->most : out->bytes);

    return error ? device_error(out->comm, error, "a collective operation") : MPI_SUCCESS;
}

static int on_pair(void *argument, MPI_Status *status)
{
    int result = pair_write(argument);

    (void)status;
    pair_free(argument);
    return result;
}

int pair_end(int result, MPI_Request *request, struct device_pair *pair)
{
    if (!result)
        return request ? pending_add(request, on_pair, pair) : on_pair(pair, NULL);
    pair_free(pair);
    return result;
}

/* ---- those that are started again and again ---- */

static int on_start(void *argument)
{
    struct device_pair *pair = argument;
    int error = operand_read(&pair->in);

    if (!error && pair->out_sent)
        error = operand_read(&pair->out);
    return error ? device_error(pair->in.comm, error, "MPI_Start") : MPI_SUCCESS;
}

static int on_round(void *argument, MPI_Status *status)
{
    (void)status;
    return pair_write(argument);
}

static void on_drop(void *argument)
{
    pair_free(argument);
}

int pair_keep(int result, MPI_Request *request, struct device_pair *pair)
{
    if (!result && pending_keep(request, on_start, on_round, on_drop, pair))
        result = MPI_ERR_NO_MEM;
    if (result)
        pair_free(pair);
    return result;
}

/* ---- reductions ---- */

/* Whether this rank has a result; elsewhere MPI does not look at where it would be. */
static bool has_result(const struct device_reduction *r)
{
    return r->root == DEVICE_TO_ALL || root_sends(r->root, r->comm) == DEVICE_SENT;
}

static int reducing_open(const struct device_reduction *r, struct device_pair *both)
{
    const bool in_place = r->data == MPI_IN_PLACE;
    /* between groups: no data of this rank's */
    const bool nothing = r->root == MPI_ROOT || r->root == MPI_PROC_NULL;
    int error = 0;

    both->most = SIZE_MAX;
    both->out_sent = in_place;
    both->in.comm = r->comm;
    both->in.host = (void *)(uintptr_t)r->data;
    both->out.host = r->result;
    if (!in_place && !nothing)
        error = operand_open(&both->in, r->data, r->count, r->datatype, DEVICE_SENT, r->comm);
    if (!error && has_result(r))
        error = operand_open(&both->out, r->result, r->count, r->datatype,
                             in_place ? DEVICE_SENT | DEVICE_RECEIVED : DEVICE_RECEIVED, r->comm);
    return error;
}

/* Whether there is device memory in it; *both: staged, NULL after an error, which *code is then. */
static bool reduction_open(const struct device_reduction *r, struct device_pair **both, int *code)
{
    int error;

    *both = NULL;
    if (!device_holds(r->data == MPI_IN_PLACE ? r->result : r->data, r->datatype) &&
        !(device_holds(r->result, r->datatype) && has_result(r)))
        return false;
    *both = calloc(1, sizeof(**both));
    error = *both ? reducing_open(r, *both) : -ENOMEM;
    if (error) {
        if (*both)
            pair_free(*both);
        *both = NULL;
        *code = device_error(r->comm, error, "a reduction");
    }
    return true;
}

bool device_reduce(const struct device_reduction *r, MPI_Request *request, int *code)
{
    struct device_pair *both;

    if (!reduction_open(r, &both, code))
        return false;
    if (both)
        *code = pair_end(reduce(r, both->in.host, both->out.host, request), request, both);
    return true;
}

#if MPI_VERSION >= 4
static int reduce_often(const struct device_reduction *r, const void *data, void *result, MPI_Info info,
                        MPI_Request *request)
{
    return r->root == DEVICE_TO_ALL
               ? MPI_Allreduce_init_c(data, result, r->count, r->datatype, r->op, r->comm, info, request)
               : MPI_Reduce_init_c(data, result, r->count, r->datatype, r->op, r->root, r->comm, info, request);
}

bool device_reduce_often(const struct device_reduction *r, MPI_Info info, MPI_Request *request, int *code)
{
    struct device_pair *both;

    if (!reduction_open(r, &both, code))
        return false;
    if (both)
        *code = pair_keep(reduce_often(r, both->in.host, both->out.host, info, request), request, both);
    return true;
}

#define BROADCAST_OFTEN(suffix, number)                                                                                \
    INTERCEPT MPI_Bcast_init##suffix(void *data, number count, MPI_Datatype datatype, int root, MPI_Comm comm,         \
                                     MPI_Info info, MPI_Request *request)                                              \
    {                                                                                                                  \
        struct device_pair *pair;                                                                                      \
        struct device_operand *o;                                                                                      \
        unsigned way;                                                                                                  \
        int error;                                                                                                     \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_Bcast_init##suffix(data, count, datatype, root, comm, info, request);                          \
        way = root_sends(root, comm);                                                                                  \
        pair = calloc(1, sizeof(*pair));                                                                               \
        if (!pair)                                                                                                     \
            return device_error(comm, -ENOMEM, "MPI_Bcast_init");                                                      \
        pair->most = SIZE_MAX;                                                                                         \
        pair->in.comm = comm;                                                                                          \
        o = way == DEVICE_SENT ? &pair->in : &pair->out;                                                               \
        error = operand_open(o, data, count, datatype, way, comm);                                                     \
        if (error) {                                                                                                   \
            free(pair);                                                                                                \
            return device_error(comm, error, "MPI_Bcast_init");                                                        \
        }                                                                                                              \
        return pair_keep(PMPI_Bcast_init##suffix(o->host, count, datatype, root, comm, info, request), request, pair); \
    }
BROADCAST_OFTEN(, int)
BROADCAST_OFTEN(_c, MPI_Count)
#endif
