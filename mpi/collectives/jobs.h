/* Reductions, at once and later. Errors are negative errnos. */
#ifndef XTQMPI_COLLECTIVES_JOBS_H
#define XTQMPI_COLLECTIVES_JOBS_H

#include "mpi/intercept.h"

#define TO_ALL (-1)

struct reduction {
    int root; /* or TO_ALL */
    const void *data;
    void *result;
    size_t count;
    enum xtq_type type;
    enum xtq_op op;
};

/* Of one communicator in the order in which these are called. */
int reduce_now(struct link *link, const struct reduction *what);
int reduce_later(struct link *link, const struct reduction *what, MPI_Request *request);
/* Each time MPI_Start() says so. */
int reduce_often(struct link *link, const struct reduction *what, MPI_Request *request);

/* When all that has been started has ended. */
void jobs_close(struct link *link);
void persistents_close(void);

#endif
