/* A collective under way, for collective.c, which begins and ends it, and collective_reduce.c, which knows the methods.
 */
#ifndef DEVCOM_COLLECTIVE_H
#define DEVCOM_COLLECTIVE_H

#include "devcom/internal.h"

#define SLOT ((size_t)64 << 10) /* what a rank may write to another at a time */

enum kind { BARRIER = 1, BROADCAST, REDUCE };

/* Everything a call says, to recognise it by. */
struct call {
    enum kind kind;
    int root; /* -1: all have the result */
    unsigned segment;
    size_t offset, count;
    enum devcom_type type;
    enum devcom_op op;
    enum devcom_method method;
};

struct collective {
    struct devcom *d;
    struct call call; /* kind is 0 when none is to be resumed */
    unsigned at, done;
    long until_us;
    int64_t barriers;
    int64_t *heard; /* by rank: events that have been waited for */
    struct segment *segment;
    uint8_t *mine, *sum;
};

/* Whether the step that begins here has been done by an earlier call. */
bool collective_passed(struct collective *c);
/* The step ends: it need not be done again unless there was an error, which is the result. */
int collective_did(struct collective *c, int error);
/* Until the time-out, in microseconds, or DEVCOM_BLOCK. */
long collective_time_left(const struct collective *c);

/* From that rank to all, by a tree; and what c->call says of a reduction. */
int collective_cast(struct collective *c, int root, size_t offset, size_t bytes);
int collective_reduce(struct collective *c);

#endif
