/* Functions of the application that are called back. */
#ifndef VOCL_CLIENT_CORE_DELIVER_H
#define VOCL_CLIENT_CORE_DELIVER_H

#include "client/core/objects.h"

/* A function is registered for a command of the queue; it has returned, or never will be called. */
void deliver_registered(cl_command_queue queue);
void deliver_returned(cl_command_queue queue);
/* A function of the queue, or of no queue in particular (NULL), is due. Under the lock. */
void deliver(struct session *session, cl_command_queue queue, struct callback *callback);
/* The calling thread runs it. Under the lock, which is let go meanwhile. */
void deliver_here(struct session *session, struct callback *callback);
/* What a wait is for: functions of the queue's commands up to a number, and what these are behind; where event is not 0
 * and order does not say the rest, of that event alone. queue NULL: of that user event. Not those that had begun. */
struct due {
    cl_command_queue queue;
    uint64_t number;
    uint32_t event;
    uint64_t since; /* deliver_now_begun() when the wait began */
    bool well;      /* event: it is complete, and so is what it was behind */
};
uint64_t deliver_now_begun(void);
bool deliver_done(struct session *session, const struct due *due);
/* Wait until they have returned. */
void deliver_wait(struct session *session, const struct due *due);
/* The queue's next command is behind these events. */
void deliver_behind(cl_command_queue queue, cl_uint count, const cl_event *list);
/* Around a sleep, under the lock: what this thread's function keeps from running may run. */
void deliver_away(struct session *session);
void deliver_back(void);
/* The process ends, under the lock: what is due is run, but not waited for for long; then all wake up. */
void deliver_stop(struct session *session);
void deliver_wake(void);
/* Whether this thread is in such a function. */
bool deliver_runs(void);
void deliver_after_fork(void);

#endif
