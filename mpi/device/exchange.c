/*
 * Collectives on device memory in which each rank has something for each, or for its neighbours: gather, scatter, what
 * is made of them, and scans. Each side's memory is staged whole, as one operand (stage.c), and MPI's own
 * call gets the host's; nobody waits for anybody but in that.
 */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/device.h"

/* What this rank sends, or receives: nothing without ways. */
struct side {
    void *address;
    MPI_Datatype datatype;
    const MPI_Datatype *datatypes; /* of each block; NULL: all have the one */
    unsigned ways;
    int ranks;            /* how many blocks */
    struct block *blocks; /* to be freed; NULL: there are none */
    size_t most;          /* of what is received, so many bytes are written back */
};

struct exchange {
    struct side in, out;
    MPI_Comm comm;
    struct device_pair *pair;
};

enum role { AT_ROOT, WITH_ROOT, APART };

static enum role role_of(int root, MPI_Comm comm)
{
    int rank = -1, inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &rank);
    if (inter)
        return root == MPI_ROOT ? AT_ROOT : root == MPI_PROC_NULL ? APART : WITH_ROOT;
    return rank == root ? AT_ROOT : WITH_ROOT;
}

/* How many this rank has something for. */
static int ranks_of(MPI_Comm comm)
{
    int inter = 0, ranks = 0;

    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &ranks);
    else
        PMPI_Comm_size(comm, &ranks);
    return ranks;
}

/* ---- what the sides are ---- */

static void sides_begin(struct exchange *x, const void *data, void *result, MPI_Comm comm)
{
    *x = (struct exchange){.in = {.address = (void *)(uintptr_t)data}, .out = {.address = result}, .comm = comm};
    x->out.most = SIZE_MAX;
}

/* From one to all: gather's result, and scatter's data. In place, the root's own part is there, or stays there. */
static void sides_rooted(struct exchange *x, int root, bool gather)
{
    const enum role role = role_of(root, x->comm);
    struct side *many = gather ? &x->out : &x->in, *one = gather ? &x->in : &x->out;
    const unsigned many_way = gather ? DEVICE_RECEIVED : DEVICE_SENT, one_way = gather ? DEVICE_SENT : DEVICE_RECEIVED;
    const bool alone = role == AT_ROOT && one->address == MPI_IN_PLACE;
    int inter = 0;

    PMPI_Comm_test_inter(x->comm, &inter);
    many->ways = role == AT_ROOT ? many_way | (gather && alone ? DEVICE_SENT : 0) : 0;
    one->ways = role == APART || alone || (inter && role == AT_ROOT) ? 0 : one_way;
}

static void sides_all(struct exchange *x)
{
    const bool in_place = x->in.address == MPI_IN_PLACE;

    x->in.ways = in_place ? 0 : DEVICE_SENT;
    x->out.ways = DEVICE_RECEIVED | (in_place ? DEVICE_SENT : 0);
}

/* Room for so many blocks, if the side has any. */
static struct block *side_blocks(struct side *side, MPI_Datatype datatype, int ranks)
{
    side->datatype = datatype;
    side->ranks = ranks;
    side->blocks = side->ways && device_near(side->address) ? calloc((size_t)ranks + 1, sizeof(*side->blocks)) : NULL;
    return side->blocks;
}

/* One block for each rank, one after the other; or one. */
static void side_row(struct side *side, MPI_Count count, MPI_Datatype datatype, int ranks)
{
    struct block *blocks = side_blocks(side, datatype, 1);

    if (blocks)
        blocks[0].count = count * ranks;
}

/* In which MPI has put result, only the first block is one. */
static void side_first(struct side *side, MPI_Count count)
{
    MPI_Count bytes = 0;

    if (side->blocks)
        PMPI_Type_size_x(side->datatype, &bytes);
    side->most = (size_t)(bytes * count);
}

/* How many neighbours this rank has. */
struct degrees {
    int in, out;
};

/* Of a neighbour that is none nothing comes, and what is there stays: so it is read first. */
static struct degrees sides_neighbours(struct exchange *x)
{
    struct degrees degrees = {0, 0};
    int topology = MPI_UNDEFINED, rank = 0, weighted;

    x->in.ways = DEVICE_SENT;
    x->out.ways = DEVICE_SENT | DEVICE_RECEIVED;
    PMPI_Topo_test(x->comm, &topology);
    PMPI_Comm_rank(x->comm, &rank);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(x->comm, &degrees.in);
        degrees.in *= 2;
        degrees.out = degrees.in;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(x->comm, rank, &degrees.in);
        degrees.out = degrees.in;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(x->comm, &degrees.in, &degrees.out, &weighted);
    }
    return degrees;
}

/* ---- the exchange ---- */

static int side_open(const struct side *side, struct device_operand *o, MPI_Comm comm)
{
    if (side->ways && device_near(side->address) && !side->blocks)
        return -ENOMEM;
    if (side->blocks && side->datatypes)
        return operand_open_typed(o, side->address, side->blocks, side->ranks, side->datatypes, side->ways, comm);
    if (side->blocks)
        return operand_open_blocks(o, side->address, side->blocks, side->ranks, side->datatype, side->ways, comm);
    *o = (struct device_operand){.host = side->address, .comm = comm};
    return 0;
}

static bool side_has(const struct side *side)
{
    bool has = false;

    if (!side->ways || !device_near(side->address))
        return false;
    if (!side->datatypes)
        return device_holds(side->address, side->datatype);
    if (!side->blocks)
        return true;
    for (int i = 0; i < side->ranks && !has; i++)
        has = side->blocks[i].count && device_holds(place_at(side->address, side->blocks[i].place), side->datatypes[i]);
    return has;
}

/* Whether there is device memory in it, which is staged then: *data and *result are where. *code: MPI's error code. */
static bool exchange_open(struct exchange *x, const void **data, void **result, const char *name, int *code)
{
    const bool has = side_has(&x->in) || side_has(&x->out);
    int error = 0;

    if (has) {
        x->pair = calloc(1, sizeof(*x->pair));
        error = x->pair ? side_open(&x->in, &x->pair->in, x->comm) : -ENOMEM;
        if (!error)
            error = side_open(&x->out, &x->pair->out, x->comm);
    }
    free(x->in.blocks);
    free(x->out.blocks);
    if (error) {
        if (x->pair)
            pair_free(x->pair);
        *code = device_error(x->comm, error, name);
    } else if (has) {
        x->pair->most = x->out.most;
        x->pair->out_sent = x->out.ways & DEVICE_SENT;
        x->pair->in.comm = x->comm;
        *data = x->pair->in.host;
        *result = x->pair->out.host;
        *code = MPI_SUCCESS;
    }
    return has;
}

/* A collective operation, at once, with a request, and, since MPI 4, as one that is started again and again. Its
 * parameters and its sides are in macros, as a list with commas is no argument of one. */
#define ONE(function, call, suffix, takes, more, number, place, finish, end_request)                                   \
    INTERCEPT MPI_##function##suffix(takes##_TAKES(number, place), MPI_Comm comm more)                                 \
    {                                                                                                                  \
        struct exchange x;                                                                                             \
        int code;                                                                                                      \
                                                                                                                       \
        if (!device_near(data) && !device_near(result))                                                                \
            return PMPI_##function##suffix call;                                                                       \
        sides_begin(&x, data, result, comm);                                                                           \
        takes##_SIDES;                                                                                                 \
        if (!exchange_open(&x, &data, &result, "MPI_" #function, &code))                                               \
            return PMPI_##function##suffix call;                                                                       \
        return code ? code : finish(PMPI_##function##suffix call, end_request, x.pair);                                \
    }
#define COMMA_REQUEST , MPI_Request *request
#define BOTH(function, later, suffix, takes, number, place)                                                            \
    ONE(function, (takes##_GIVES, comm), suffix, takes, , number, place, pair_end, NULL)                               \
    ONE(later, (takes##_GIVES, comm, request), suffix, takes, COMMA_REQUEST, number, place, pair_end, request)         \
    OFTEN(function, suffix, takes, number, place)
#if MPI_VERSION >= 4
#define COMMA_INFO_REQUEST , MPI_Info info, MPI_Request *request
#define OFTEN(function, suffix, takes, number, place)                                                                  \
    ONE(function##_init, (takes##_GIVES, comm, info, request), suffix, takes, COMMA_INFO_REQUEST, number, place,       \
        pair_keep, request)
#else
#define OFTEN(function, suffix, takes, number, place)
#endif

#define FILL(side, counts, places, type, ranks)                                                                        \
    for (int i = 0, n = (ranks), have = side_blocks(&(side), type, n) != NULL; have && i < n; i++)                     \
        (side).blocks[i] = (struct block)                                                                              \
        {                                                                                                              \
            counts[i], places[i]                                                                                       \
        }

#define ROW_TAKES(number, place)                                                                                       \
    const void *data, number count, MPI_Datatype type, void *result, number most, MPI_Datatype result_type
#define ROW_GIVES data, count, type, result, most, result_type
#define GATHER_TAKES(number, place) ROW_TAKES(number, place), int root
#define GATHER_GIVES ROW_GIVES, root
#define GATHER_SIDES                                                                                                   \
    sides_rooted(&x, root, true);                                                                                      \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, most, result_type, ranks_of(comm))
#define SCATTER_TAKES GATHER_TAKES
#define SCATTER_GIVES GATHER_GIVES
#define SCATTER_SIDES                                                                                                  \
    sides_rooted(&x, root, false);                                                                                     \
    side_row(&x.in, count, type, ranks_of(comm));                                                                      \
    side_row(&x.out, most, result_type, 1)
#define ALLGATHER_TAKES ROW_TAKES
#define ALLGATHER_GIVES ROW_GIVES
#define ALLGATHER_SIDES                                                                                                \
    sides_all(&x);                                                                                                     \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, most, result_type, ranks_of(comm))
#define ALLTOALL_TAKES ROW_TAKES
#define ALLTOALL_GIVES ROW_GIVES
#define ALLTOALL_SIDES                                                                                                 \
    sides_all(&x);                                                                                                     \
    side_row(&x.in, count, type, ranks_of(comm));                                                                      \
    side_row(&x.out, most, result_type, ranks_of(comm))
#define ALLGATHERV_TAKES(number, place)                                                                                \
    const void *data, number count, MPI_Datatype type, void *result, const number mosts[], const place places[],       \
        MPI_Datatype result_type
#define ALLGATHERV_GIVES data, count, type, result, mosts, places, result_type
#define ALLGATHERV_SIDES                                                                                               \
    sides_all(&x);                                                                                                     \
    side_row(&x.in, count, type, 1);                                                                                   \
    FILL(x.out, mosts, places, result_type, ranks_of(comm))
#define GATHERV_TAKES(number, place) ALLGATHERV_TAKES(number, place), int root
#define GATHERV_GIVES ALLGATHERV_GIVES, root
#define GATHERV_SIDES                                                                                                  \
    sides_rooted(&x, root, true);                                                                                      \
    side_row(&x.in, count, type, 1);                                                                                   \
    FILL(x.out, mosts, places, result_type, ranks_of(comm))
#define SCATTERV_TAKES(number, place)                                                                                  \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result, number most,       \
        MPI_Datatype result_type, int root
#define SCATTERV_GIVES data, counts, places, type, result, most, result_type, root
#define SCATTERV_SIDES                                                                                                 \
    sides_rooted(&x, root, false);                                                                                     \
    FILL(x.in, counts, places, type, ranks_of(comm));                                                                  \
    side_row(&x.out, most, result_type, 1)
#define ALLTOALLV_TAKES(number, place)                                                                                 \
    const void *data, const number counts[], const place places[], MPI_Datatype type, void *result,                    \
        const number mosts[], const place result_places[], MPI_Datatype result_type
#define ALLTOALLV_GIVES data, counts, places, type, result, mosts, result_places, result_type
#define ALLTOALLV_SIDES                                                                                                \
    sides_all(&x);                                                                                                     \
    FILL(x.in, counts, places, type, ranks_of(comm));                                                                  \
    FILL(x.out, mosts, result_places, result_type, ranks_of(comm))

#define TYPES_TAKES(number, place)                                                                                     \
    const void *data, const number counts[], const place places[], const MPI_Datatype types[], void *result,           \
        const number mosts[], const place result_places[], const MPI_Datatype result_types[]
#define TYPES_GIVES data, counts, places, types, result, mosts, result_places, result_types
#define TYPES_SIDES(targets, sources)                                                                                  \
    x.in.datatypes = types;                                                                                            \
    x.out.datatypes = result_types;                                                                                    \
    FILL(x.in, counts, places, MPI_BYTE, targets);                                                                     \
    FILL(x.out, mosts, result_places, MPI_BYTE, sources)
#define ALLTOALLW_TAKES TYPES_TAKES
#define ALLTOALLW_GIVES TYPES_GIVES
#define ALLTOALLW_SIDES                                                                                                \
    sides_all(&x);                                                                                                     \
    TYPES_SIDES(ranks_of(comm), ranks_of(comm))

#define BESIDE_SIDES const struct degrees degrees = sides_neighbours(&x)
#define BESIDE_ALLGATHER_TAKES ROW_TAKES
#define BESIDE_ALLGATHER_GIVES ROW_GIVES
#define BESIDE_ALLGATHER_SIDES                                                                                         \
    BESIDE_SIDES;                                                                                                      \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, most, result_type, degrees.in)
#define BESIDE_ALLTOALL_TAKES ROW_TAKES
#define BESIDE_ALLTOALL_GIVES ROW_GIVES
#define BESIDE_ALLTOALL_SIDES                                                                                          \
    BESIDE_SIDES;                                                                                                      \
    side_row(&x.in, count, type, degrees.out);                                                                         \
    side_row(&x.out, most, result_type, degrees.in)
#define BESIDE_ALLGATHERV_TAKES ALLGATHERV_TAKES
#define BESIDE_ALLGATHERV_GIVES ALLGATHERV_GIVES
#define BESIDE_ALLGATHERV_SIDES                                                                                        \
    BESIDE_SIDES;                                                                                                      \
    side_row(&x.in, count, type, 1);                                                                                   \
    FILL(x.out, mosts, places, result_type, degrees.in)
#define BESIDE_ALLTOALLV_TAKES ALLTOALLV_TAKES
#define BESIDE_ALLTOALLV_GIVES ALLTOALLV_GIVES
#define BESIDE_ALLTOALLV_SIDES                                                                                         \
    BESIDE_SIDES;                                                                                                      \
    FILL(x.in, counts, places, type, degrees.out);                                                                     \
    FILL(x.out, mosts, result_places, result_type, degrees.in)
#define BESIDE_ALLTOALLW_TAKES TYPES_TAKES
#define BESIDE_ALLTOALLW_GIVES TYPES_GIVES
#define BESIDE_ALLTOALLW_SIDES                                                                                         \
    BESIDE_SIDES;                                                                                                      \
    TYPES_SIDES(degrees.out, degrees.in)

/* The parts are of the ranks of this group, also between groups. */
static int own_ranks(MPI_Comm comm, int *rank)
{
    int ranks = 0;

    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, rank);
    return ranks;
}

static void sides_reduced(struct exchange *x, MPI_Datatype type, MPI_Count all, MPI_Count own)
{
    sides_all(x);
    side_row(&x->in, all, type, 1);
    side_row(&x->out, x->in.ways ? own : all, type, 1);
    side_first(&x->out, own);
}
#define BLOCK_TAKES(number, place) const void *data, void *result, number count, MPI_Datatype type, MPI_Op op
#define BLOCK_GIVES data, result, count, type, op
#define BLOCK_SIDES                                                                                                    \
    int rank, ranks = own_ranks(comm, &rank);                                                                          \
    sides_reduced(&x, type, (MPI_Count)count *ranks, count)
#define PARTS_TAKES(number, place) const void *data, void *result, const number counts[], MPI_Datatype type, MPI_Op op
#define PARTS_GIVES data, result, counts, type, op
#define PARTS_SIDES                                                                                                    \
    MPI_Count all = 0;                                                                                                 \
    int rank, ranks = own_ranks(comm, &rank);                                                                          \
    for (int i = 0; i < ranks; i++)                                                                                    \
        all += counts[i];                                                                                              \
    sides_reduced(&x, type, all, counts[rank])

#define SCAN_TAKES BLOCK_TAKES
#define SCAN_GIVES BLOCK_GIVES
#define SCAN_SIDES                                                                                                     \
    sides_all(&x);                                                                                                     \
    side_row(&x.in, count, type, 1);                                                                                   \
    side_row(&x.out, count, type, 1)
/* The first rank has no result. */
#define EXSCAN_TAKES BLOCK_TAKES
#define EXSCAN_GIVES BLOCK_GIVES
#define EXSCAN_SIDES                                                                                                   \
    int rank;                                                                                                          \
    own_ranks(comm, &rank);                                                                                            \
    SCAN_SIDES;                                                                                                        \
    x.out.most = rank ? SIZE_MAX : 0

#define EXCHANGES(suffix, number, place)                                                                               \
    BOTH(Gather, Igather, suffix, GATHER, number, place)                                                               \
    BOTH(Scatter, Iscatter, suffix, SCATTER, number, place)                                                            \
    BOTH(Allgather, Iallgather, suffix, ALLGATHER, number, place)                                                      \
    BOTH(Alltoall, Ialltoall, suffix, ALLTOALL, number, place)                                                         \
    BOTH(Gatherv, Igatherv, suffix, GATHERV, number, place)                                                            \
    BOTH(Scatterv, Iscatterv, suffix, SCATTERV, number, place)                                                         \
    BOTH(Allgatherv, Iallgatherv, suffix, ALLGATHERV, number, place)                                                   \
    BOTH(Alltoallv, Ialltoallv, suffix, ALLTOALLV, number, place)                                                      \
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, suffix, BLOCK, number, place)                                    \
    BOTH(Reduce_scatter, Ireduce_scatter, suffix, PARTS, number, place)                                                \
    BOTH(Alltoallw, Ialltoallw, suffix, ALLTOALLW, number, place)                                                      \
    BOTH(Scan, Iscan, suffix, SCAN, number, place)                                                                     \
    BOTH(Exscan, Iexscan, suffix, EXSCAN, number, place)                                                               \
    BOTH(Neighbor_allgather, Ineighbor_allgather, suffix, BESIDE_ALLGATHER, number, place)                             \
    BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, suffix, BESIDE_ALLGATHERV, number, place)                          \
    BOTH(Neighbor_alltoall, Ineighbor_alltoall, suffix, BESIDE_ALLTOALL, number, place)                                \
    BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, suffix, BESIDE_ALLTOALLV, number, place)                             \
    BOTH(Neighbor_alltoallw, Ineighbor_alltoallw, suffix, BESIDE_ALLTOALLW, number, MPI_Aint)
EXCHANGES(, int, int)
#if MPI_VERSION >= 4
EXCHANGES(_c, MPI_Count, MPI_Aint)
#endif
