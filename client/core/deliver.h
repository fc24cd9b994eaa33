/* Callbacks: functions of the application that the library calls. */
#ifndef VOCL_CLIENT_CORE_DELIVER_H
#define VOCL_CLIENT_CORE_DELIVER_H

#include "client/core/objects.h"

/* Notes that a callback is registered for a command of the queue, or that it has returned or never will be called. */
void deliver_registered(cl_command_queue queue);
void deliver_returned(cl_command_queue queue);
/* Queues a due callback, of the queue or of no queue in particular (NULL). Under the lock. */
void deliver(struct session *session, cl_command_queue queue, struct callback *callback);
/* Runs the callback in the calling thread. Under the lock, which is released meanwhile. */
void deliver_here(struct session *session, struct callback *callback);
/* The callbacks that a wait waits for: those of the queue's commands up to number, and of commands that these wait for.
 * event, if not 0: in an out-of-order queue, only those of that event. queue NULL: those of that user event. Callbacks
 * that had begun before the wait are excepted. */
struct due {
    cl_command_queue queue;
    uint64_t number;
    uint32_t event;
    uint64_t since; /* deliver_now_begun() when the wait began */
    bool well;      /* event: it is complete, and so are the commands that it waited for */
};
uint64_t deliver_now_begun(void);
bool deliver_done(struct session *session, const struct due *due);
/* Waits until the callbacks have returned. */
void deliver_wait(struct session *session, const struct due *due);
/* Notes that the queue's next command waits for these events. */
void deliver_behind(cl_command_queue queue, cl_uint count, const cl_event *list);
/* Called around a sleep, under the lock: if the thread runs a callback, the next one of its queue may run meanwhile. */
void deliver_away(struct session *session);
void deliver_back(void);
/* Called when the process ends, under the lock: deliver_stop() waits for due callbacks, but not for long; then
 * deliver_wake() wakes all threads. */
void deliver_stop(struct session *session);
void deliver_wake(void);
/* Whether the calling thread runs callbacks. */
bool deliver_runs(void);
void deliver_after_fork(void);

#endif
