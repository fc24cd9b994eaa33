/* The end of all that was enqueued so far: a marker behind it in each queue that is not idle. */
#ifndef VOCL_CLIENT_SURVIVE_ENDS_H
#define VOCL_CLIENT_SURVIVE_ENDS_H

#include "client/core/objects.h"

#define GATED_NS 50000000 /* longest wait while commands may depend on a user event that is not set */

/* The end of what was enqueued in one queue. */
struct end {
    cl_command_queue queue;
    cl_event event;
    uint64_t number;
};

/* All zero: empty. */
struct ends {
    struct end *list;
    unsigned count, room;
    bool failed; /* a marker could not be allocated or sent */
};

/* Collects the queues that are not idle, without markers. Returns whether there are any. */
bool ends_find(struct ends *ends, struct session *session);
/* Enqueues a marker behind all commands in each queue; says whether all markers are reached (lock held); releases them,
 * reached or not. */
void ends_put(struct ends *ends, struct session *session);
bool ends_reached(const struct ends *ends);
void ends_drop(struct ends *ends);
/* Waits, while the program runs, until all markers are reached, and drops them. Returns false if that takes longer than
 * patience ns or may depend on a user event, or if the node is lost. */
bool ends_wait(struct ends *ends, const struct node *node, long patience);
/* Whether unfinished commands may wait for a user event that the program has yet to set. */
bool ends_may_be_gated(void);
void ends_free(struct ends *ends);

#endif
