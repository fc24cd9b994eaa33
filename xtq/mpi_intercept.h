/*
 * libxtqmpi: what an MPI program that preloads it has done by XTQ (section V-C), through MPI's profiling interface:
 * MPI_Allreduce and MPI_Reduce of large vectors (mpi_collectives.c), and MPI_Accumulate and all that is atomic with it
 * (mpi_accumulate.c). Everything else is MPI's.
 */
#ifndef XTQ_MPI_INTERCEPT_H
#define XTQ_MPI_INTERCEPT_H

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
    MPI_Comm meeting;        /* of mpi_meet.c; MPI_COMM_NULL: no windows yet */
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

/* The status of having started what MPI does with *request: wait for it and serve meanwhile (mpi_wait.c). */
int serve_until(int started, MPI_Request *request);
int serve_until_all(int count, MPI_Request *requests);

/* A request that is complete when XTQ says so, by MPI's error code. NULL: there is no memory. */
struct completion;
struct completion *completion_begin(MPI_Request *request);
void completion_end(struct completion *completion, int error);

bool intercept_type(MPI_Datatype datatype, enum xtq_type *type);
bool intercept_op(MPI_Op mpi_op, enum xtq_op *op);

/* ---- mpi_meet.c ---- */

/* Collective: what the others need. MPI's error codes. */
int meet_open(struct link *link, MPI_Comm comm);
void meet_close(struct link *link);
int meet_barrier(struct link *link);
/* Whether meet_allreduce() does such a reduction, and of how many bytes it is. */
bool meet_takes(MPI_Count count, MPI_Datatype datatype, MPI_Op op, size_t *bytes);
int meet_allreduce(struct link *link, const void *data, void *result, int count, MPI_Datatype datatype, MPI_Op op,
                   size_t bytes);

#endif
