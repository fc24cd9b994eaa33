/*
 * libxtqmpi: replaces some functions of MPI in a program that preloads it, through MPI's profiling interface. All other
 * calls go to MPI.
 *
 * intercept.c: start, end, and XTQ on communicators; wait.c: waits in MPI that also run other ranks' operations;
 * completion.c: requests that XTQ completes; pieces.c: the layout of datatypes.
 * rma/: MPI_Accumulate and all operations that are atomic with it, by XTQ (section V-C). accumulate.c chooses and sends
 * them, window.c has the epochs, target.c does the operations, layout.c has the layout of their elements. collectives/:
 * MPI_Allreduce and MPI_Reduce of large vectors, by XTQ (collectives.c, jobs.c), and collectives of ranks with windows,
 * by messages of their own (meet.c). device/: device memory in calls of MPI, which does not use XTQ (device.h).
 */
#ifndef XTQMPI_INTERCEPT_H
#define XTQMPI_INTERCEPT_H

#include "xtq.h"

#define WINDOWS 64 /* windows of a communicator at a time; further ones are left to MPI */
#define WINDOW_QUEUE 0
#define REDUCE_QUEUE 1
#define REPLY_QUEUE 2
#define FIRST_WINDOW_INDEX 40 /* function indices after those of collectives: WINDOWS, and one for replies */

/* Declares a function of MPI that is to be found in this library first. */
#define INTERCEPT __attribute__((visibility("default"))) int

/* XTQ on the ranks of a communicator. It exists until the communicator and all windows made on it have been freed. */
struct link {
    struct link *next;
    struct xtq *x;
    struct xtq_collectives *c;
    struct fetches *fetches; /* NULL: no windows yet */
    struct jobs *jobs;       /* NULL: no reductions with requests yet */
    bool opened, wanted;     /* opening was tried, so that there may be x and c; it should be opened */
    unsigned users;          /* the communicator and the windows */
    uint64_t exposed;        /* the numbers in use by windows: a bit for each */
    MPI_Comm meeting;        /* for meet.c; MPI_COMM_NULL: no windows yet */
};

/* Collective. Returns the link of a communicator, and opens it first if needed. NULL: no rank has one. */
struct link *link_of(MPI_Comm comm);
/* Likewise, but does not wait for other ranks: returns NULL also if the link is not open yet. link_open_wanted(), which
 * is collective, then opens it. */
struct link *link_if_open(MPI_Comm comm);
void link_open_wanted(MPI_Comm comm);
/* Whether threads other than the program's may call MPI. */
bool link_threads(void);
void link_keep(struct link *link);
/* Collective if this is the last user. */
void link_release(struct link *link);
/* Whether this rank has windows of XTQ. link_progress() runs the operations that have arrived for them. */
bool link_serves(void);
/* Returns the link if all ranks of the communicator have windows on it, so that all of them can wait for each other in
 * the same way; otherwise NULL. */
struct link *link_all_serve(MPI_Comm comm);
void link_windows(int change); /* counts windows: one more, or one less */
void link_progress(void);
void link_count_collective(void);
void link_count_accumulate(void);

/* Wait for requests of MPI, and run other ranks' operations meanwhile (wait.c). started: MPI's result of starting them.
 * Return MPI's error code. */
int serve_until(int started, MPI_Request *request);
int serve_until_all(int count, MPI_Request *requests);

/* A request of MPI that completion_end() completes, with an error code of MPI. completion_begin() returns NULL if
 * memory is exhausted. */
struct completion;
struct completion *completion_begin(MPI_Request *request);
void completion_end(struct completion *completion, int error);

bool intercept_type(MPI_Datatype datatype, enum xtq_type *type);
bool intercept_op(MPI_Op mpi_op, enum xtq_op *op);

#endif
