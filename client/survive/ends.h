/* What was enqueued so far: a marker behind it in each queue that is not idle. */
#ifndef VOCL_CLIENT_SURVIVE_ENDS_H
#define VOCL_CLIENT_SURVIVE_ENDS_H

#include "client/core/objects.h"

#define GATED_NS 50000000 /* is waited for an end while the program has a user event that it may have to set first */

/* What was enqueued in a queue ends with this. */
struct end {
    cl_command_queue queue;
    cl_event event;
    uint64_t number;
};

/* All zero: nothing. */
struct ends {
    struct end *list;
    unsigned count, room;
    bool failed; /* there was no memory for one, or it could not be sent */
};

/* Where something is under way: whether that is anywhere. */
bool ends_find(struct ends *ends, struct session *session);
/* A marker behind what is in each queue; whether all are reached (under the lock); after that, or without. */
void ends_put(struct ends *ends, struct session *session);
bool ends_reached(const struct ends *ends);
void ends_drop(struct ends *ends);
/* Until all are, while the program goes on, and they are dropped: true, or it takes longer than that, or may be waiting
 * for a user event, or the node is lost. */
bool ends_wait(struct ends *ends, const struct node *node, long patience);
/* What does not end may wait for a user event that the program has yet to set. */
bool ends_may_be_gated(void);
void ends_free(struct ends *ends);

#endif
