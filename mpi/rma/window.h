/*
 * Windows whose accumulates XTQ does (window.c), and how operations get to their targets and results back (target.c).
 */
#ifndef XTQMPI_RMA_WINDOW_H
#define XTQMPI_RMA_WINDOW_H

#include "mpi/rma/layout.h"

/* This rank's state of a target. */
struct target {
    bool locked;                 /* in an epoch of MPI_Win_lock or MPI_Win_lock_all */
    bool opened;                 /* in an epoch of MPI_Win_start */
    bool unsure;                 /* MPI may not have got the lock yet, or the target may not have posted */
    uint64_t errors;             /* operations that it has refused */
    struct xtq_signal *fetching; /* number of this rank's operations whose results have not arrived */
};

struct window {
    struct link *link;
    MPI_Comm comm;   /* for barriers and posts */
    unsigned number; /* function index of its operations, from 0 */
    int size;
    bool started; /* between MPI_Win_start and MPI_Win_complete */
    bool fenced;  /* after MPI_Win_fence that may begin an epoch */
    struct target *targets;
    MPI_Aint *units; /* by rank: size of a displacement, in bytes */
};

/* Returns the state of a window, or NULL if its operations are left to MPI. */
struct window *window_of(MPI_Win win);
/* Waits, before the first put of an epoch, until the target allows access. Returns MPI's error code. */
int window_enter(struct window *window, MPI_Win win, int target);
/* Notifies the group after MPI_Win_post, as MPI_Win_start may return before that. Returns MPI's error code. */
int window_posted(MPI_Win win, MPI_Group group);

/* Operations of windows beside those of enum xtq_op. */
enum {
    OP_BAND = XTQ_REPLACE + 1,
    OP_BOR,
    OP_BXOR,
    OP_LAND,
    OP_LOR,
    OP_LXOR,
    OP_NONE, /* without payload */
    OP_SWAP, /* the payload is two elements: the first replaces the target's element if that equals the second */
    OPS,
};

bool window_op_fits(enum xtq_type type, unsigned op);

/* Contiguous elements, from an offset in bytes on. */
struct run {
    int64_t offset;
    uint64_t count;
};

/* The arguments of a put: an operation, or a part of one. The runs follow it. */
struct window_arguments {
    uint64_t token; /* of fetch_begin(); 0: no result is wanted */
    uint64_t place; /* offset in the result, in bytes */
    uint32_t type, op, run_count, unused;
};
#define MOST_RUNS 256
#define MOST_PAYLOAD ((size_t)64 << 10) /* bytes of a message: large operations are sent and done at the same time */

/* Collective. Opens the queues of a link's windows, if they are not open. */
int windows_open(struct link *link);
void windows_close(struct link *link);
/* Accepts operations for a window; windows_hide() ends that. */
int windows_expose(struct link *link, unsigned number, void *memory, size_t bytes);
void windows_hide(struct link *link, unsigned number);
/* Returns the packet of an operation on a window. */
struct xtq_function_packet windows_packet(unsigned number);

/* An operation whose result has not arrived. It has a part for each fetch_expect(), and one for the sending thread. */
struct fetch {
    uint64_t token;
    int target, error;
    unsigned parts;
    uint8_t *elements; /* receives the result, of that many bytes */
    size_t bytes;
    struct layout *layout; /* NULL: elements is the program's own memory */
    size_t count;
    void *result;
    struct xtq_signal *fetching;
    struct completion *completion; /* or NULL */
};
/* Begins a fetch, and takes it over unless there is an error. */
int fetch_begin(struct link *link, struct fetch *fetch);
void fetch_expect(struct link *link, struct fetch *fetch);
/* Ends a part: its data have arrived, or never will. */
void fetch_part(struct link *link, struct fetch *fetch, int error);

#endif
