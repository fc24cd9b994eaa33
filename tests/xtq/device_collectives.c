/*
 * Gather, scatter and their like on device memory give what they give on the host's: each is done with each kind of
 * memory on both sides, with the same counts for all ranks and with others, at once and with a request, and in place.
 */
#include <stdio.h>
#include <string.h>

#include "device_mpi.h"

enum { GATHER, SCATTER, ALLGATHER, ALLTOALL, GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, BLOCK, PARTS, OPERATIONS };
static const char *const operations[] = {"gather",        "scatter",   "allgather",
                                         "alltoall",      "gatherv",   "scatterv",
                                         "allgatherv",    "alltoallv", "reduce_scatter_block",
                                         "reduce_scatter"};
enum { MOST_RANKS = 8, EACH = 3, GAP = 2 };

/* What a rank has for another, or from it: more for higher numbers, with gaps between. */
static int counts[MOST_RANKS], places[MOST_RANKS], mutual[MOST_RANKS], mutual_places[MOST_RANKS];

#define CALL(name, later, ...) (with_request ? MPI_##later(__VA_ARGS__, comm, &request) : MPI_##name(__VA_ARGS__, comm))

static void operate(int which, const void *in, void *out, bool with_request)
{
    const int root = size - 1;
    MPI_Request request;
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
    case BLOCK:
        result = CALL(Reduce_scatter_block, Ireduce_scatter_block, in, out, EACH, MPI_INT, MPI_SUM);
        break;
    default:
        result = CALL(Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM);
    }
    expect(operations[which], result, 0);
    if (!result && with_request)
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* In place it is the result's side that has the data, or, of a scatter, the root's own part stays where it is. */
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

/* What MPI leaves alone has to be as it was; after a reduce-scatter in place the rest may be anything. */
static void same(int which, const char *how, const struct memory *m, const int *expected, size_t bytes)
{
    get(m, other, m->bytes);
    if (memcmp(other, expected, bytes) && wrong++ < 20)
        fprintf(stderr, "rank %d: %s %s, %s: not what it gives on the host's memory\n", rank, operations[which], how,
                names[m->kind]);
}

static void check_operation(int which, enum kind from, enum kind to)
{
    static int data[1 << 12], expected[1 << 12];
    struct memory in = memory_make(from, sizeof(data)), out = memory_make(to, sizeof(data));

    for (int way = 0; way < 2; way++) {
        fill(&in, rank, which);
        fill(&out, rank, 50);
        pattern((unsigned char *)data, sizeof(data), rank, which);
        pattern((unsigned char *)expected, sizeof(expected), rank, 50);
        operate(which, data, expected, false);
        operate(which, in.address, out.address, way);
        same(which, way ? "with a request" : "at once", &out, expected, sizeof(expected));
        same(which, "(what was sent)", &in, data, sizeof(data));
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

int main(int count, char **words)
{
    begin(&count, &words);
    if (size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 99);
    for (int i = 0, at = 0, mutual_at = 1; i < size; i++) {
        counts[i] = i * 2; /* of the first: nothing */
        places[i] = at;
        at += counts[i] + GAP;
        mutual[i] = rank + i;
        mutual_places[i] = mutual_at;
        mutual_at += mutual[i] + GAP;
    }
    for (int which = 0; which < OPERATIONS; which++) {
        for (int from = 0; from < KINDS; from++) {
            for (int to = 0; to < KINDS; to++)
                check_operation(which, (enum kind)from, (enum kind)to);
        }
    }
    return end();
}
