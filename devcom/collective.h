/* The state of a pending collective, shared by collective.c, which begins and ends it, and collective_reduce.c, which
 * has the methods. */
#ifndef DEVCOM_COLLECTIVE_H
#define DEVCOM_COLLECTIVE_H

#include "devcom/internal.h"

#define SLOT ((size_t)64 << 10) /* the most that a rank writes to another at a time */

enum kind { COMMIT = 1, BARRIER, BROADCAST, REDUCE };

/* The arguments of a call, by which it is recognised when it is resumed. */
struct call {
    enum kind kind;
    int root; /* the member that has the data, or gets the result; -1: all get it */
    unsigned segment;
    size_t offset, count;
    enum devcom_type type;
    enum devcom_op op;
    enum devcom_method method;
};

/* The collectives of some ranks: of all, or of a group (group.c). A member is the index of a rank among them; they are
 * in ascending order. */
struct collective {
    struct devcom *d;
    int *ranks; /* by member */
    int size, self;
    unsigned words;   /* the signal of the first member's events; those of the others follow it */
    unsigned scratch; /* the segment that has a slot for each member */
    struct waits waits;
    struct call call; /* kind is 0 if no collective has to be resumed */
    unsigned at, done;
    int error; /* of the call; the steps after it are skipped */
    long until_us;
    int64_t *heard; /* by member: number of events of the member that have been waited for */
    struct segment *segment;
    uint8_t *mine, *sum;
    void (*commit)(struct collective *c); /* of a group: the steps of COMMIT */
};

#define EACH_OTHER(c, m)                                                                                               \
    for (int m = 0; m < (c)->size; m++)                                                                                \
        if (m != (c)->self)

/* Prepares the collectives of size ranks, the self-th of which is this one; words and scratch are the caller's to set.
 * collective_drop() must be called after failure, too. Returns 0; -ENOMEM. */
int collective_prepare(struct collective *c, struct devcom *d, const int *ranks, int size, int self);
void collective_drop(struct collective *c);
/* Begins or resumes a collective, whose arguments have been checked. */
int collective_run(struct collective *c, const struct call *call, long timeout_us);
/* Checks the arguments of a broadcast or a reduction, all but the root, and runs it. */
int collective_broadcast(struct collective *c, const struct call *call, long timeout_us);
int collective_reduction(struct collective *c, const struct call *call, long timeout_us);

/* Whether the step that begins here is to be done: no earlier call has done it, and this call has not failed. */
bool collective_begins(struct collective *c);
/* Ends a step. It is not repeated unless there was an error. */
void collective_did(struct collective *c, int error);
/* Returns the time until the time-out, in microseconds, or DEVCOM_BLOCK. */
long collective_time_left(const struct collective *c);

/* Sends a member an event; waits for the next event of a member. Steps. */
void collective_tell(struct collective *c, int member);
void collective_hear(struct collective *c, int member);
/* Waits until a signal of this rank is at least value, a member is lost, or the time-out. */
int collective_wait(struct collective *c, unsigned signal, int64_t value, int64_t *out);

/* Copies data from the root to all ranks, by a tree; does the reduction that c->call describes. */
void collective_cast(struct collective *c, int root, size_t offset, size_t bytes);
void collective_reduce(struct collective *c);

#endif
