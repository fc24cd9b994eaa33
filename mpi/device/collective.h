/*
 * Collectives on device memory: the memory of each side, sent and received, is staged as one operand (stage.c), and
 * MPI's own call gets the copy in host memory. Ranks wait for each other only in that call.
 */
#ifndef XTQMPI_DEVICE_COLLECTIVE_H
#define XTQMPI_DEVICE_COLLECTIVE_H

#include "mpi/device/device.h"

/* The data that this rank sends, or receives; none if ways is 0. */
struct side {
    void *address;
    MPI_Datatype datatype;
    const MPI_Datatype *datatypes; /* of each block; NULL: all have datatype */
    unsigned ways;
    int ranks;            /* number of blocks */
    struct block *blocks; /* to be freed; NULL: none */
    size_t most;          /* received data: at most this many bytes are written back */
};

struct exchange {
    struct side in, out;
    MPI_Comm comm;
    struct device_pair *pair;
};

void sides_begin(struct exchange *x, const void *data, void *result, MPI_Comm comm);
/* The number of ranks that this one receives from, and sends to. */
struct degrees {
    int in, out;
};
/* Sets the ways of a collective with a root: gather, or else scatter or broadcast. In place, the root's own part is in
 * its place already. */
struct degrees sides_rooted(struct exchange *x, int root, bool gather);
struct degrees sides_all(struct exchange *x);
/* Likewise for neighbours. A missing neighbour sends nothing, and its block must not change: so the received side is
 * read first. */
struct degrees sides_neighbours(struct exchange *x);
/* Allocates the blocks of a side, if it is in device memory. */
struct block *side_blocks(struct side *side, MPI_Datatype datatype, int ranks);
/* Sets contiguous blocks for the ranks. */
void side_row(struct side *side, MPI_Count count, MPI_Datatype datatype, int ranks);
/* Only the first count elements of a side are a result that is written back. */
void side_first(struct side *side, MPI_Count count);
/* Stages device memory, and sets *data and *result to the copies, and *code to MPI's error code. False if there is
 * none. */
bool exchange_open(struct exchange *x, const void **data, void **result, const char *name, int *code);

#endif
