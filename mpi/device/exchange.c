/* MPI's collectives on device memory: describes the sides of each, and calls MPI on copies in host memory. */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/collective.h"

/* Defines a collective: blocking, with a request, and, since MPI 4, persistent. Macros have its parameters (TAKES), the
 * arguments for MPI (GIVES) and its sides (SIDES), as a list with commas cannot be an argument of a macro. begin: sets
 * the ways, and returns the numbers of ranks. */
#define ONE(function, call, suffix, takes, sides, begin, more, number, place, finish, end_request)                     \
    INTERCEPT MPI_##function##suffix(takes##_TAKES(number, place), MPI_Comm comm more)                                 \
    {                                                                                                                  \
        struct exchange x;                                                                                             \
        struct degrees n;                                                                                              \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_near(data) && !device_near(result))                                                                \
            return PMPI_##function##suffix call;                                                                       \
        sides_begin(&x, data, result, comm);                                                                           \
        n = begin;                                                                                                     \
        sides##_SIDES;                                                                                                 \
        if (!exchange_open(&x, &data, &result, "MPI_" #function, &code))                                               \
            return PMPI_##function##suffix call;                                                                       \
        return code ? code : finish(PMPI_##function##suffix call, end_request, x.pair);                                \
    }
#define COMMA_REQUEST , MPI_Request *request
#define BOTH(function, later, suffix, takes, number, place, sides, begin)                                              \
    ONE(function, (takes##_GIVES, comm), suffix, takes, sides, begin, , number, place, pair_end, NULL)                 \
    ONE(later, (takes##_GIVES, comm, request), suffix, takes, sides, begin, COMMA_REQUEST, number, place, pair_end,    \
        request)                                                                                                       \
    OFTEN(function, suffix, takes, number, place, sides, begin)
#if MPI_VERSION >= 4
#define COMMA_INFO_REQUEST , MPI_Info info, MPI_Request *request
#define OFTEN(function, suffix, takes, number, place, sides, begin)                                                    \
    ONE(function##_init, (takes##_GIVES, comm, info, request), suffix, takes, sides, begin, COMMA_INFO_REQUEST,        \
        number, place, pair_keep, request)
#else
#define OFTEN(function, suffix, takes, number, place, sides, begin)
#endif

/* ---- parameters and arguments ---- */

#define ROW_TAKES(number, place)                                                                                       \
    const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type
#define ROW_GIVES data, count, type, result, most, result_type
#define MANY_IN_TAKES(number, place)                                                                                   \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result, number most,       \
        MPI_Datatype result_type
#define MANY_IN_GIVES data, counts, places, type, result, most, result_type
#define MANY_OUT_TAKES(number, place)                                                                                  \
    const void *data, number count, MPI_Datatype type, void *result, const number mosts[],                             \
        const place result_places[], MPI_Datatype result_type
#define MANY_OUT_GIVES data, count, type, result, mosts, result_places, result_type
#define MANY_TAKES(number, place)                                                                                      \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,                    \
        const number mosts[], const place result_places[], MPI_Datatype result_type
#define MANY_GIVES data, counts, places, type, result, mosts, result_places, result_type
#define TYPES_TAKES(number, place)                                                                                     \
    const void *data, const number counts[], const place places[], const MPI_Datatype types[], void *result,           \
        const number mosts[], const place result_places[], const MPI_Datatype result_types[]
#define TYPES_GIVES data, counts, places, types, result, mosts, result_places, result_types
#define BLOCK_TAKES(number, place) const void *data, void *result, number count, MPI_Datatype type, MPI_Op op
#define BLOCK_GIVES data, result, count, type, op
#define PARTS_TAKES(number, place) const void *data, void *result, const number counts[], MPI_Datatype type, MPI_Op op
#define PARTS_GIVES data, result, counts, type, op
#define ROW_ROOT_TAKES(number, place) ROW_TAKES(number, place), int root
#define ROW_ROOT_GIVES ROW_GIVES, root
#define MANY_IN_ROOT_TAKES(number, place) MANY_IN_TAKES(number, place), int root
#define MANY_IN_ROOT_GIVES MANY_IN_GIVES, root
#define MANY_OUT_ROOT_TAKES(number, place) MANY_OUT_TAKES(number, place), int root
#define MANY_OUT_ROOT_GIVES MANY_OUT_GIVES, root

/* ---- the sides ---- */

#define FILL(side, counts, places, type, ranks)                                                                        \
    for (int i = 0, have = side_blocks(&(side), type, ranks) != NULL; have && i < (ranks); i++)                        \
        (side).blocks[i] = (struct block)                                                                              \
        {                                                                                                              \
            counts[i], places[i]                                                                                       \
        }
#define GATHER_SIDES                                                                                                   \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, most, result_type, n.in)
#define SCATTER_SIDES                                                                                                  \
    side_row(&x.in, count, type, n.out);                                                                               \
    side_row(&x.out, most, result_type, 1)
#define ALLTOALL_SIDES                                                                                                 \
    side_row(&x.in, count, type, n.out);                                                                               \
    side_row(&x.out, most, result_type, n.in)
#define GATHERV_SIDES                                                                                                  \
    side_row(&x.in, count, type, 1);                                                                                   \
    FILL(x.out, mosts, result_places, result_type, n.in)
#define SCATTERV_SIDES                                                                                                 \
    FILL(x.in, counts, places, type, n.out);                                                                           \
    side_row(&x.out, most, result_type, 1)
#define ALLTOALLV_SIDES                                                                                                \
    FILL(x.in, counts, places, type, n.out);                                                                           \
    FILL(x.out, mosts, result_places, result_type, n.in)
#define ALLTOALLW_SIDES                                                                                                \
    x.in.datatypes = types;                                                                                            \
    x.out.datatypes = result_types;                                                                                    \
    FILL(x.in, counts, places, MPI_BYTE, n.out);                                                                       \
    FILL(x.out, mosts, result_places, MPI_BYTE, n.in)

/* Returns the number of ranks of this group, which have the parts, also in an intercommunicator. */
static int own_ranks(MPI_Comm comm, int *rank)
{
    int ranks = 0;

    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, rank);
    return ranks;
}

static void sides_reduced(struct exchange *x, MPI_Datatype type, MPI_Count all, MPI_Count own)
{
    side_row(&x->in, all, type, 1);
    side_row(&x->out, x->in.ways ? own : all, type, 1);
    side_first(&x->out, own);
}
#define BLOCK_SIDES                                                                                                    \
    n.in = own_ranks(comm, &n.out);                                                                                    \
    sides_reduced(&x, type, (MPI_Count)count *n.in, count)
#define PARTS_SIDES                                                                                                    \
    MPI_Count all = 0;                                                                                                 \
    n.in = own_ranks(comm, &n.out);                                                                                    \
    for (int i = 0; i < n.in; i++)                                                                                     \
        all += counts[i];                                                                                              \
    sides_reduced(&x, type, all, counts[n.out])
#define SCAN_SIDES                                                                                                     \
    (void)n;                                                                                                           \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, count, type, 1)
/* The first rank gets no result. */
#define EXSCAN_SIDES                                                                                                   \
    own_ranks(comm, &n.out);                                                                                           \
    SCAN_SIDES;                                                                                                        \
    x.out.most = n.out ? SIZE_MAX : 0

/* ---- MPI's functions ---- */

#define EXCHANGES(suffix, number, place)                                                                               \
    BOTH(Gather, Igather, suffix, ROW_ROOT, number, place, GATHER, sides_rooted(&x, root, true))                       \
    BOTH(Scatter, Iscatter, suffix, ROW_ROOT, number, place, SCATTER, sides_rooted(&x, root, false))                   \
    BOTH(Allgather, Iallgather, suffix, ROW, number, place, GATHER, sides_all(&x))                                     \
    BOTH(Alltoall, Ialltoall, suffix, ROW, number, place, ALLTOALL, sides_all(&x))                                     \
    BOTH(Gatherv, Igatherv, suffix, MANY_OUT_ROOT, number, place, GATHERV, sides_rooted(&x, root, true))               \
    BOTH(Scatterv, Iscatterv, suffix, MANY_IN_ROOT, number, place, SCATTERV, sides_rooted(&x, root, false))            \
    BOTH(Allgatherv, Iallgatherv, suffix, MANY_OUT, number, place, GATHERV, sides_all(&x))                             \
    BOTH(Alltoallv, Ialltoallv, suffix, MANY, number, place, ALLTOALLV, sides_all(&x))                                 \
    BOTH(Alltoallw, Ialltoallw, suffix, TYPES, number, place, ALLTOALLW, sides_all(&x))                                \
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, suffix, BLOCK, number, place, BLOCK, sides_all(&x))              \
    BOTH(Reduce_scatter, Ireduce_scatter, suffix, PARTS, number, place, PARTS, sides_all(&x))                          \
    BOTH(Scan, Iscan, suffix, BLOCK, number, place, SCAN, sides_all(&x))                                               \
    BOTH(Exscan, Iexscan, suffix, BLOCK, number, place, EXSCAN, sides_all(&x))                                         \
    BOTH(Neighbor_allgather, Ineighbor_allgather, suffix, ROW, number, place, GATHER, sides_neighbours(&x))            \
    BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, suffix, MANY_OUT, number, place, GATHERV, sides_neighbours(&x))    \
    BOTH(Neighbor_alltoall, Ineighbor_alltoall, suffix, ROW, number, place, ALLTOALL, sides_neighbours(&x))            \
    BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, suffix, MANY, number, place, ALLTOALLV, sides_neighbours(&x))        \
    BOTH(Neighbor_alltoallw, Ineighbor_alltoallw, suffix, TYPES, number, MPI_Aint, ALLTOALLW, sides_neighbours(&x))
EXCHANGES(, int, int)
#if MPI_VERSION >= 4
EXCHANGES(_c, MPI_Count, MPI_Aint)
#endif

/* ---- broadcast ---- */

/* Stages a broadcast's memory if it is a device's, and sets *data to the copy. */
static bool broadcast_open(struct exchange *x, void **data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                           const char *name, int *code)
{
    const void *sent = *data;
    bool has;

    sides_begin(x, sent, *data, comm);
    sides_rooted(x, root, false);
    x->out.ways = x->in.ways ? 0 : x->out.ways;
    side_row(&x->in, count, type, 1);
    side_row(&x->out, count, type, 1);
    has = exchange_open(x, &sent, data, name, code);
    if (has && x->in.ways)
        *data = (void *)(uintptr_t)sent;
    return has;
}

#define BROADCAST(function, suffix, number, more, call, finish, end_request)                                           \
    INTERCEPT MPI_##function##suffix(void *data, number count, MPI_Datatype type, int root, MPI_Comm comm more)        \
    {                                                                                                                  \
        struct exchange x;                                                                                             \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_near(data) || !broadcast_open(&x, &data, count, type, root, comm, "MPI_" #function, &code))        \
            return PMPI_##function##suffix call;                                                                       \
        return code ? code : finish(PMPI_##function##suffix call, end_request, x.pair);                                \
    }
#define BROADCASTS(suffix, number)                                                                                     \
    BROADCAST(Bcast, suffix, number, , (data, count, type, root, comm), pair_end, NULL)                                \
    BROADCAST(Ibcast, suffix, number, COMMA_REQUEST, (data, count, type, root, comm, request), pair_end, request)
BROADCASTS(, int)
#if MPI_VERSION >= 4
#define BROADCASTS_OFTEN(suffix, number)                                                                               \
    BROADCAST(Bcast_init, suffix, number, COMMA_INFO_REQUEST, (data, count, type, root, comm, info, request),          \
              pair_keep, request)
BROADCASTS(_c, MPI_Count)
BROADCASTS_OFTEN(, int)
BROADCASTS_OFTEN(_c, MPI_Count)
#endif

/* ---- reductions ---- */

/* Does a reduction on host memory, by XTQ or MPI. */
static int reduce(const struct device_reduction *r, bool often, const void *data, void *result, MPI_Info info,
                  MPI_Request *request)
{
#if MPI_VERSION >= 4
    const MPI_Count count = r->count;
#define OF_COUNT(name) name##_c

    if (often)
        return r->root == DEVICE_TO_ALL
                   ? MPI_Allreduce_init_c(data, result, count, r->datatype, r->op, r->comm, info, request)
                   : MPI_Reduce_init_c(data, result, count, r->datatype, r->op, r->root, r->comm, info, request);
#else
    const int count = (int)r->count;
#define OF_COUNT(name) name

    (void)often;
    (void)info;
#endif
    if (r->root == DEVICE_TO_ALL)
        return request ? OF_COUNT(MPI_Iallreduce)(data, result, count, r->datatype, r->op, r->comm, request)
                       : OF_COUNT(MPI_Allreduce)(data, result, count, r->datatype, r->op, r->comm);
    return request ? OF_COUNT(MPI_Ireduce)(data, result, count, r->datatype, r->op, r->root, r->comm, request)
                   : OF_COUNT(MPI_Reduce)(data, result, count, r->datatype, r->op, r->root, r->comm);
}

bool device_reduce(const struct device_reduction *r, bool often, MPI_Info info, MPI_Request *request, int *code)
{
    const void *data = r->data;
    void *result = r->result;
    struct exchange x;

    sides_begin(&x, r->data, r->result, r->comm);
    if (r->root == DEVICE_TO_ALL)
        sides_all(&x);
    else
        sides_rooted(&x, r->root, true);
    side_row(&x.in, r->count, r->datatype, 1);
    side_row(&x.out, r->count, r->datatype, 1);
    if (!exchange_open(&x, &data, &result, "a reduction", code))
        return false;
    if (!*code) {
        int reduced = reduce(r, often, data, result, info, request);

        *code = often ? pair_keep(reduced, request, x.pair) : pair_end(reduced, request, x.pair);
    }
    return true;
}
