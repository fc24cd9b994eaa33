/*
 * Windows whose accumulates XTQ carries, and how an operation gets to its target and its result back (target.c).
 */
#ifndef XTQMPI_RMA_WINDOW_H
#define XTQMPI_RMA_WINDOW_H

#include "mpi/rma/layout.h"

/* What this rank knows of a target. */
struct target {
    bool locked;                 /* in an epoch of MPI_Win_lock or MPI_Win_lock_all */
    bool opened;                 /* in an epoch of MPI_Win_start */
    bool unsure;                 /* a lock that MPI may not have got yet, or a target that may not have posted */
    uint64_t errors;             /* how many it has refused */
    struct xtq_signal *fetching; /* how many of this rank's operations have results yet to come */
};

struct window {
    struct link *link;
    MPI_Comm comm;   /* for ranks to meet on */
    unsigned number; /* function index of its operations, from 0 */
    int size;
    bool started; /* between MPI_Win_start and MPI_Win_complete */
    bool fenced;  /* after MPI_Win_fence that may begin an epoch */
    struct target *targets;
    MPI_Aint *units; /* by rank: bytes of a displacement */
};

/* NULL: it is MPI's alone. */
struct window *window_of(MPI_Win win);
/* Before the first put of an epoch: until the target lets this rank in. 0, or an error of MPI's. */
int window_enter(struct window *window, MPI_Win win, int target);
/* After MPI_Win_post: tell the group, as MPI_Win_start may return before. 0, or an error of MPI's. */
int window_posted(MPI_Win win, MPI_Group group);

/* Beside enum xtq_op, what windows know. */
enum {
    OP_BAND = XTQ_REPLACE + 1,
    OP_BOR,
    OP_BXOR,
    OP_LAND,
    OP_LOR,
    OP_LXOR,
    OP_NONE, /* without payload */
    OP_SWAP, /* the payload is two elements: the first in place of the target's, if that is as the second */
    OPS,
};

bool window_op_fits(enum xtq_type type, unsigned op);

/* So many elements beside each other, from an offset in bytes. */
struct run {
    int64_t offset;
    uint64_t count;
};

/* An operation, or a part of one, in the arguments of its put; as many runs follow. */
struct window_arguments {
    uint64_t token; /* of fetch_begin(); 0: what was there is not asked for */
    uint64_t place; /* in the result, in bytes */
    uint32_t type, op, run_count, unused;
};
#define MOST_RUNS 256
#define MOST_PAYLOAD ((size_t)64 << 10) /* bytes: large operations are sent and done at the same time */

/* Collective, once for each link: have its queues served. */
int windows_open(struct link *link);
void windows_close(struct link *link);
/* Let others' operations come for a window. */
int windows_expose(struct link *link, unsigned number, void *memory, size_t bytes);
void windows_hide(struct link *link, unsigned number);
/* A packet for it. */
struct xtq_function_packet windows_packet(unsigned number);

/* An operation whose result is yet to come, in as many parts as fetch_expect() says, and one for who sends it. */
struct fetch {
    uint64_t token;
    int target, error;
    unsigned parts;
    uint8_t *elements; /* where they come to: bytes of them */
    size_t bytes;
    struct layout *layout; /* NULL: elements is the program's own memory */
    size_t count;
    void *result;
    struct xtq_signal *fetching;
    struct completion *completion; /* or NULL */
};
/* The fetch is taken over if there is no error. */
int fetch_begin(struct link *link, struct fetch *fetch);
void fetch_expect(struct link *link, struct fetch *fetch);
/* A part has come, or never will. */
void fetch_part(struct link *link, struct fetch *fetch, int error);

#endif
