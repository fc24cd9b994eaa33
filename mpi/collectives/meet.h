/* Barrier and small allreduces of the ranks of a communicator with windows, by messages of their own. */
#ifndef XTQMPI_MEET_H
#define XTQMPI_MEET_H

#include "mpi/intercept.h"

/* Collective. Makes the communicator that the others use. These functions return MPI's error codes. */
int meet_open(struct link *link, MPI_Comm comm);
void meet_close(struct link *link);
int meet_barrier(struct link *link);
/* Whether meet_allreduce() can do such a reduction. Sets *bytes to its size. */
bool meet_takes(MPI_Count count, MPI_Datatype datatype, MPI_Op op, size_t *bytes);
int meet_allreduce(struct link *link, const void *data, void *result, int count, MPI_Datatype datatype, MPI_Op op,
                   size_t bytes);

#endif
