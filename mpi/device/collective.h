/*
 * Collectives on device memory: each side's memory is staged whole, as one operand (stage.c), and MPI's own call gets
 * the host's; nobody waits for anybody but in that.
 */
#ifndef XTQMPI_DEVICE_COLLECTIVE_H
#define XTQMPI_DEVICE_COLLECTIVE_H

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

void sides_begin(struct exchange *x, const void *data, void *result, MPI_Comm comm);
/* From how many ranks this one receives something, and how many it has something for. */
struct degrees {
    int in, out;
};
/* From one to all: gather's result, and scatter's and broadcast's data. In place, the root's own part is there, or
 * stays there. */
struct degrees sides_rooted(struct exchange *x, int root, bool gather);
struct degrees sides_all(struct exchange *x);
/* Of a neighbour that is none nothing comes, and what is there stays: so it is read first. */
struct degrees sides_neighbours(struct exchange *x);
/* Room for so many blocks, if the side has any. */
struct block *side_blocks(struct side *side, MPI_Datatype datatype, int ranks);
/* One block for each rank, one after the other; or one. */
void side_row(struct side *side, MPI_Count count, MPI_Datatype datatype, int ranks);
/* In which MPI has put result, only the first block is one. */
void side_first(struct side *side, MPI_Count count);
/* Whether there is device memory in it, which is staged then: *data and *result are where. *code: MPI's error code. */
bool exchange_open(struct exchange *x, const void **data, void **result, const char *name, int *code);

#endif
