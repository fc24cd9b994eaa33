/*
 * libxtqmpi: what an MPI program that preloads it has done by XTQ (section V-C), through MPI's profiling interface:
 * MPI_Allreduce and MPI_Reduce of large vectors (mpi_collectives.c) and MPI_Accumulate (mpi_accumulate.c), of basic
 * types and SUM, PROD, MIN and MAX. Everything else is MPI's.
 */
#ifndef XTQ_MPI_INTERCEPT_H
#define XTQ_MPI_INTERCEPT_H

#include "xtq.h"

#define WINDOWS 64 /* of a communicator at a time; further ones are MPI's alone */

/* A function of MPI that the program is to find here first. */
#define INTERCEPT __attribute__((visibility("default"))) int

/* XTQ on the ranks of a communicator; it lives until the communicator and all windows made on it have been freed. */
struct link {
    struct link *next;
    struct xtq *x;
    struct xtq_collectives *c;
    unsigned users;   /* the communicator and the windows */
    uint64_t exposed; /* numbers of xtq_expose() that windows have: a bit for each */
};

/* Collective. NULL: there is none, on any of the ranks. */
struct link *link_of(MPI_Comm comm);
void link_keep(struct link *link);
/* Collective if it is the last. */
void link_release(struct link *link);
/* Whether this rank has windows that others put into; run what they have put. */
bool link_serves(void);
void link_windows(int change); /* one more, or one less */
void link_progress(void);
void link_count_collective(void);
void link_count_accumulate(void);

bool intercept_type(MPI_Datatype datatype, enum xtq_type *type);
bool intercept_op(MPI_Op mpi_op, enum xtq_op *op);

#endif
