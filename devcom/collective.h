/* The state of a pending collective, shared by collective.c, which begins and ends it, and collective_reduce.c, which
 * has the methods. */
#ifndef DEVCOM_COLLECTIVE_H
#define DEVCOM_COLLECTIVE_H

#include "devcom/internal.h"

#define SLOT ((size_t)64 << 10) /* the most that a rank writes to another at a time */

enum kind { BARRIER = 1, BROADCAST, REDUCE };

/* The arguments of a call, by which it is recognised when it is resumed. */
struct call {
    enum kind kind;
    int root; /* -1: all ranks get the result */
    unsigned segment;
    size_t offset, count;
    enum devcom_type type;
    enum devcom_op op;
    enum devcom_method method;
};

struct collective {
    struct devcom *d;
    struct call call; /* kind is 0 if no collective has to be resumed */
    unsigned at, done;
    int error; /* of the call; the steps after it are skipped */
    long until_us;
    int64_t barriers;
    int64_t *heard; /* by rank: number of events of the rank that have been waited for */
    struct segment *segment;
    uint8_t *mine, *sum;
};

/* Whether the step that begins here is to be done: no earlier call has done it, and this call has not failed. */
bool collective_begins(struct collective *c);
/* Ends a step. It is not repeated unless there was an error. */
void collective_did(struct collective *c, int error);
/* Returns the time until the time-out, in microseconds, or DEVCOM_BLOCK. */
long collective_time_left(const struct collective *c);

/* Copies data from the root to all ranks, by a tree; does the reduction that c->call describes. */
void collective_cast(struct collective *c, int root, size_t offset, size_t bytes);
void collective_reduce(struct collective *c);

#endif
