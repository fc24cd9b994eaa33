/*
 * Gather, scatter and similar collectives on device memory, scans, and neighbourhood collectives give the same as on
 * host memory: with each kind of memory on both sides, with equal and with different counts per rank, blocking, with a
 * request, with a persistent request, and in place.
 */
#include <stdio.h>
#include <string.h>

#include "device_mpi.h"

enum {
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
    SCAN,
    EXSCAN,
    REDUCE,
    ALLREDUCE,
    BCAST,
    BLOCK,
    PARTS,
    BESIDE_ALLGATHER,
    BESIDE_ALLGATHERV,
    BESIDE_ALLTOALL,
    BESIDE_ALLTOALLV,
    BESIDE_ALLTOALLW,
    OPERATIONS
};
static const char *const operations[] = {"gather",
                                         "scatter",
                                         "allgather",
                                         "alltoall",
                                         "gatherv",
                                         "scatterv",
                                         "allgatherv",
                                         "alltoallv",
                                         "alltoallw",
                                         "scan",
                                         "exscan",
                                         "reduce",
                                         "allreduce",
                                         "bcast",
                                         "reduce_scatter_block",
                                         "reduce_scatter",
                                         "neighbor_allgather",
                                         "neighbor_allgatherv",
                                         "neighbor_alltoall",
                                         "neighbor_alltoallv",
                                         "neighbor_alltoallw"};
enum way { AT_ONCE, WITH_REQUEST, AGAIN, WAYS = MPI_VERSION >= 4 ? AGAIN + 1 : AGAIN };
enum { MOST_RANKS = 8, EACH = 3, GAP = 2 };

/* Counts and displacements between this rank and another: larger for higher ranks, with gaps between. */
static int counts[MOST_RANKS], places[MOST_RANKS], mutual[MOST_RANKS], mutual_places[MOST_RANKS];

/* For alltoallw: in bytes, and with different datatypes. */
static int byte_places[MOST_RANKS];
static MPI_Datatype apart, kinds[MOST_RANKS];

/* A row of ranks, whose ends have one neighbour only, and a ring. */
static MPI_Comm row, ring;
static const int to_beside[] = {2, 3}, from_beside[] = {3, 2}, beside[] = {1, 9};
static const MPI_Aint bytes_beside[] = {4, 40};

#if MPI_VERSION >= 4
#define CALL_AGAIN(name, on, ...) MPI_##name##_init(__VA_ARGS__, on, MPI_INFO_NULL, request)
#else
#define CALL_AGAIN(name, on, ...) MPI_ERR_OTHER
#endif
#define CALL_ON(on, name, later, ...)                                                                                  \
    (way == AT_ONCE        ? MPI_##name(__VA_ARGS__, on)                                                               \
     : way == WITH_REQUEST ? MPI_##later(__VA_ARGS__, on, request)                                                     \
                           : CALL_AGAIN(name, on, __VA_ARGS__))
#define CALL(name, later, ...) CALL_ON(comm, name, later, __VA_ARGS__)

static int operate_beside(int which, const void *in, void *out, enum way way, MPI_Request *request)
{
    const MPI_Datatype both[] = {MPI_INT, apart};

    switch (which) {
    case BESIDE_ALLGATHER:
        return CALL_ON(ring, Neighbor_allgather, Ineighbor_allgather, in, EACH, MPI_INT, out, EACH, MPI_INT);
    case BESIDE_ALLGATHERV: {
        static const int each[] = {EACH, EACH};

        return CALL_ON(row, Neighbor_allgatherv, Ineighbor_allgatherv, in, EACH, MPI_INT, out, each, beside, MPI_INT);
    }
    case BESIDE_ALLTOALL:
        return CALL_ON(row, Neighbor_alltoall, Ineighbor_alltoall, in, EACH, MPI_INT, out, EACH, MPI_INT);
    case BESIDE_ALLTOALLV:
        return CALL_ON(row, Neighbor_alltoallv, Ineighbor_alltoallv, in, to_beside, beside, MPI_INT, out, from_beside,
                       beside, MPI_INT);
    default: {
        static MPI_Datatype types[2];

        memcpy(types, both, sizeof(types));
        return CALL_ON(row, Neighbor_alltoallw, Ineighbor_alltoallw, in, to_beside, bytes_beside, types, out,
                       from_beside, bytes_beside, types);
    }
    }
}

/* Starts the operation, or makes a persistent request of it. */
static void begin_operation(int which, const void *in, void *out, enum way way, MPI_Request *request)
{
    const int root = size - 1;
    int result = 0;

    switch (which) {
    case GATHER:
        result = CALL(Gather, Igather, in, EACH, MPI_INT, rank == root ? out : NULL, EACH, MPI_INT, root);
        break;
    case SCATTER:
        result = CALL(Scatter, Iscatter, rank == root ? in : NULL, EACH, MPI_INT, out, EACH, MPI_INT, root);
        break;
    case ALLGATHER:
        result = CALL(Allgather, Iallgather, in, EACH, MPI_INT, out, EACH, MPI_INT);
        break;
    case ALLTOALL:
        result = CALL(Alltoall, Ialltoall, in, EACH, MPI_INT, out, EACH, MPI_INT);
        break;
    case GATHERV:
        result = CALL(Gatherv, Igatherv, in, counts[rank], MPI_INT, rank == root ? out : NULL,
                      rank == root ? counts : NULL, rank == root ? places : NULL, MPI_INT, root);
        break;
    case SCATTERV:
        result = CALL(Scatterv, Iscatterv, rank == root ? in : NULL, rank == root ? counts : NULL,
                      rank == root ? places : NULL, MPI_INT, out, counts[rank], MPI_INT, root);
        break;
    case ALLGATHERV:
        result = CALL(Allgatherv, Iallgatherv, in, counts[rank], MPI_INT, out, counts, places, MPI_INT);
        break;
    case ALLTOALLV:
        result = CALL(Alltoallv, Ialltoallv, in, mutual, mutual_places, MPI_INT, out, mutual, mutual_places, MPI_INT);
        break;
    case ALLTOALLW:
        result = CALL(Alltoallw, Ialltoallw, in, mutual, byte_places, kinds, out, mutual, byte_places, kinds);
        break;
    case SCAN:
        result = CALL(Scan, Iscan, in, out, EACH, MPI_INT, MPI_SUM);
        break;
    case EXSCAN:
        result = CALL(Exscan, Iexscan, in, out, EACH, MPI_INT, MPI_SUM);
        break;
    case REDUCE:
        result =
            CALL(Reduce, Ireduce, rank != root && in == MPI_IN_PLACE ? out : in, out, EACH, MPI_INT, MPI_SUM, root);
        break;
    case ALLREDUCE:
        result = CALL(Allreduce, Iallreduce, in, out, EACH, MPI_INT, MPI_SUM);
        break;
    case BCAST:
        result = CALL(Bcast, Ibcast, out, EACH, MPI_INT, root);
        break;
    case BLOCK:
        result = CALL(Reduce_scatter_block, Ireduce_scatter_block, in, out, EACH, MPI_INT, MPI_SUM);
        break;
    case PARTS:
        result = CALL(Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM);
        break;
    default:
        result = operate_beside(which, in, out, way, request);
    }
    expect(operations[which], result, 0);
    if (result)
        *request = MPI_REQUEST_NULL;
}

static void operate(int which, const void *in, void *out, bool with_request)
{
    MPI_Request request = MPI_REQUEST_NULL;

    begin_operation(which, in, out, with_request ? WITH_REQUEST : AT_ONCE, &request);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* In place, the receive buffer has the data, or, in a scatter, the root's own part stays in the send buffer. */
static void in_place(int which, void *memory, void *aside)
{
    const bool root = rank == size - 1;

    if (which == SCATTER || which == SCATTERV)
        operate(which, root ? memory : aside, root ? MPI_IN_PLACE : memory, false);
    else if (which == GATHER || which == GATHERV)
        operate(which, root ? MPI_IN_PLACE : memory, root ? memory : aside, false);
    else
        operate(which, MPI_IN_PLACE, memory, false);
}

/* Expects that bytes which MPI leaves alone are unchanged; a reduce-scatter in place may change the rest. */
static void same(int which, const char *how, const struct memory *m, const int *expected, size_t bytes)
{
    get(m, other, m->bytes);
    if (memcmp(other, expected, bytes) && wrong++ < 20)
        fprintf(stderr, "rank %d: %s %s, %s: not what it gives on the host's memory\n", rank, operations[which], how,
                names[m->kind]);
}

/* MPICH 4.0.2's persistent gather, scatter and allgather give wrong results on host memory, too, from the second start
 * on. */
static bool is_right_again(int which)
{
    return which == ALLTOALL || (which >= SCAN && which <= BLOCK);
}

static void check_operation(int which, enum kind from, enum kind to)
{
    static int data[1 << 12], expected[1 << 12];
    struct memory in = memory_make(from, sizeof(data)), out = memory_make(to, sizeof(data));

    for (int way = 0; way < (is_right_again(which) ? WAYS : AGAIN); way++) {
        MPI_Request request = MPI_REQUEST_NULL;

        fill(&out, rank, 50);
        if (way == AGAIN)
            begin_operation(which, in.address, out.address, AGAIN, &request);
        for (int round = 0; round < (way == AGAIN ? 3 : 1); round++) {
            fill(&in, rank, which + round);
            fill(&out, rank, 50 + round);
            pattern((unsigned char *)data, sizeof(data), rank, which + round);
            pattern((unsigned char *)expected, sizeof(expected), rank, 50 + round);
            operate(which, data, expected, false);
            if (way == AGAIN) {
                MUST(MPI_Start(&request));
                MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                operate(which, in.address, out.address, way);
            }
            same(which, way == AGAIN ? "again" : way ? "with a request" : "at once", &out, expected, sizeof(expected));
            same(which, "(what was sent)", &in, data, sizeof(data));
        }
        if (request != MPI_REQUEST_NULL)
            MUST(MPI_Request_free(&request));
    }
    if (which >= BESIDE_ALLGATHER || which == BCAST) { /* these have no in-place form */
        memory_free(&in);
        memory_free(&out);
        return;
    }
    fill(&out, rank, which);
    pattern((unsigned char *)expected, sizeof(expected), rank, which);
    in_place(which, expected, data);
    in_place(which, out.address, in.address);
    same(which, "in place", &out, expected,
         which < BLOCK ? sizeof(expected) : (size_t)(which == BLOCK ? EACH : counts[rank]) * 4);
    memory_free(&in);
    memory_free(&out);
}

static void topologies(void)
{
    const int one = 1, last = (rank + size - 1) % size, next[] = {(rank + 1) % size};

    MUST(MPI_Type_create_resized(MPI_INT, 0, 8, &apart));
    MUST(MPI_Type_commit(&apart));
    for (int i = 0; i < size; i++)
        kinds[i] = (rank + i) % 2 ? apart : MPI_INT;
    MUST(MPI_Cart_create(comm, 1, &size, (const int[]){0}, 0, &row));
    MUST(MPI_Dist_graph_create_adjacent(comm, one, &last, &one, one, next, &one, MPI_INFO_NULL, 0, &ring));
}

int main(int count, char **words)
{
    begin(&count, &words);
    if (size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 99);
    for (int i = 0, at = 0, mutual_at = 1; i < size; i++) {
        counts[i] = i * 2; /* none for rank 0 */
        places[i] = at;
        at += counts[i] + GAP;
        mutual[i] = rank + i;
        mutual_places[i] = mutual_at;
        byte_places[i] = mutual_places[i] * 8;
        mutual_at += mutual[i] + GAP;
    }
    topologies();
    for (int which = 0; which < OPERATIONS; which++) {
        for (int from = 0; from < KINDS; from++) {
            for (int to = 0; to < KINDS; to++)
                check_operation(which, (enum kind)from, (enum kind)to);
        }
    }
    MPI_Type_free(&apart);
    MPI_Comm_free(&row);
    MPI_Comm_free(&ring);
    return end();
}
