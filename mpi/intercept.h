/*
 * libxtqmpi: what an MPI program that preloads it has done otherwise, through MPI's profiling interface. Everything
 * else is MPI's.
 *
 * intercept.c: start, end, and XTQ on communicators; wait.c: waiting for MPI while others' operations are run;
 * completion.c: requests that are complete when XTQ says so; pieces.c: what datatypes mean.
 * rma/: MPI_Accumulate and all that is atomic with it, by XTQ (section V-C). accumulate.c says which, window.c has the
 * epochs, target.c does them, layout.c knows datatypes. collectives/: MPI_Allreduce and MPI_Reduce of large vectors, by
 * XTQ (collectives.c, jobs.c), and what ranks with windows do together by messages of their own (meet.c). device/:
 * device memory in MPI's calls, which has nothing to do with XTQ (device.h).
 */
#ifndef XTQMPI_INTERCEPT_H
#define XTQMPI_INTERCEPT_H

#include "xtq.h"

#define WINDOWS 64 /* of a communicator at a time; further ones are MPI's alone */
#define WINDOW_QUEUE 0
#define REDUCE_QUEUE 1
#define REPLY_QUEUE 2
#define FIRST_WINDOW_INDEX 40 /* of functions, after those of struct xtq_collectives; WINDOWS, and one for replies */

/* A function of MPI that the program is to find here first. */
#define INTERCEPT __attribute__((visibility("default"))) int

/* XTQ on the ranks of a communicator; it lives until the communicator and all windows made on it have been freed. */
struct link {
    struct link *next;
    struct xtq *x;
    struct xtq_collectives *c;
    struct fetches *fetches; /* NULL: no windows yet */
    struct jobs *jobs;       /* NULL: no reductions with requests yet */
    bool opened, wanted;     /* whether there may be x and c; whether there should be */
    unsigned users;          /* the communicator and the windows */
    uint64_t exposed;        /* numbers that windows have: a bit for each */
    MPI_Comm meeting;        /* of meet.c; MPI_COMM_NULL: no windows yet */
};

/* Collective, and opens what is not open. NULL: there is none, on any of the ranks. */
struct link *link_of(MPI_Comm comm);
/* Likewise, but does not wait for others: NULL as well if it is not open yet; then link_open_wanted(), collective,
 * opens it. */
struct link *link_if_open(MPI_Comm comm);
void link_open_wanted(MPI_Comm comm);
/* Whether other threads than the program's may call MPI. */
bool link_threads(void);
void link_keep(struct link *link);
/* Collective if it is the last. */
void link_release(struct link *link);
/* Whether this rank has windows that others put into; run what they have put. */
bool link_serves(void);
/* If all ranks of this communicator have windows on it: how they wait for each other must be the same on all. Or NULL.
 */
struct link *link_all_serve(MPI_Comm comm);
void link_windows(int change); /* one more, or one less */
void link_progress(void);
void link_count_collective(void);
void link_count_accumulate(void);

/* The status of having started what MPI does with *request: wait for it and serve meanwhile (wait.c). */
int serve_until(int started, MPI_Request *request);
int serve_until_all(int count, MPI_Request *requests);

/* A request that is complete when XTQ says so, by MPI's error code. NULL: there is no memory. */
struct completion;
struct completion *completion_begin(MPI_Request *request);
void completion_end(struct completion *completion, int error);

bool intercept_type(MPI_Datatype datatype, enum xtq_type *type);
bool intercept_op(MPI_Op mpi_op, enum xtq_op *op);

#endif
