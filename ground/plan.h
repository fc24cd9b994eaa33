/*
 * Who sends what to whom in a reduction: a rank's steps, in their order. What carries them, and how ranks know that
 * they may write to each other, is the callers': xtq/reduction.c, devcom/collective_reduce.c, mpi/collectives/meet.c.
 */
#ifndef VOCL_GROUND_PLAN_H
#define VOCL_GROUND_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Send some elements to a peer, and receive some from it, either of which may be none. */
struct plan_step {
    int peer;
    size_t send_first, send_count, receive_first, receive_count;
    bool result; /* what is received is that already; else it is combined with what is here */
};

#define PLAN_STEPS 40 /* ranks are ints */

struct plan {
    unsigned count;
    struct plan_step steps[PLAN_STEPS];
    int parts, part; /* in how many parts ranks have the result when all steps are done; which this rank has, or -1 */
};

/* Up a binomial tree: the root has the result. */
void plan_tree(struct plan *plan, int rank, int size, int root, size_t elements);
/* Down the same tree: the root's elements are the result. */
void plan_cast(struct plan *plan, int rank, int size, int root, size_t elements);
/* Recursive doubling: exchanges of everything, after each of which all of twice as many ranks have the same. Each two
 * compute the same, as long as the operation does not mind which operand comes first. */
void plan_doubling(struct plan *plan, int rank, int size, size_t elements);
/* Recursive halving: a reduce-scatter (R. Thakur et al.). */
void plan_halving(struct plan *plan, int rank, int size, size_t elements);
/* The elements of a part. */
void plan_part(int parts, int part, size_t elements, size_t *first, size_t *count);

#endif
