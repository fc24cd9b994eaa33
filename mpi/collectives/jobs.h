/* Reductions by XTQ: blocking, with requests, and persistent. Errors are negative errnos. */
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

/* Reductions of one communicator are done in the order of these calls. */
int reduce_now(struct link *link, const struct reduction *what);
int reduce_later(struct link *link, const struct reduction *what, MPI_Request *request);
/* A persistent reduction, done at each MPI_Start(). */
int reduce_often(struct link *link, const struct reduction *what, MPI_Request *request);

/* Ends the thread of a link's reductions, after all that were started have ended. */
void jobs_close(struct link *link);
void persistents_close(void);

#endif
