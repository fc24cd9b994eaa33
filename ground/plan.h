/*
 * The plan of a reduction: a rank's steps, in order, each of which says what it sends to and receives from which rank.
 * How data are sent, and how ranks know that they may write to each other, is up to the callers: xtq/reduction.c,
 * devcom/collective_reduce.c, mpi/collectives/meet.c.
 */
#ifndef VOCL_GROUND_PLAN_H
#define VOCL_GROUND_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* A step: sends elements to a peer, and receives elements from it; either may be none. */
struct plan_step {
    int peer;
    size_t send_first, send_count, receive_first, receive_count;
    bool result; /* the elements received are the result; otherwise they are combined with this rank's */
};

#define PLAN_STEPS 40 /* enough for ranks that are ints */

struct plan {
    unsigned count;
    struct plan_step steps[PLAN_STEPS];
    int parts, part; /* the number of parts of the result after all steps; the part that this rank has, or -1 */
};

/* Up a binomial tree: the root gets the result. */
void plan_tree(struct plan *plan, int rank, int size, int root, size_t elements);
/* Down the same tree: the root's elements are the result. */
void plan_cast(struct plan *plan, int rank, int size, int root, size_t elements);
/* Recursive doubling: exchanges of all elements, each of which doubles the number of ranks that have the same. Both
 * peers compute the same if the operation does not depend on the order of its operands. */
void plan_doubling(struct plan *plan, int rank, int size, size_t elements);
/* Recursive halving: a reduce-scatter (R. Thakur et al.). */
void plan_halving(struct plan *plan, int rank, int size, size_t elements);
/* Returns the elements of a part. */
void plan_part(int parts, int part, size_t elements, size_t *first, size_t *count);

#endif
