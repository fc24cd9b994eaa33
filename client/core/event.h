/* Events, the data that must have arrived before an event is complete, and waiting for queues. */
#ifndef VOCL_CLIENT_CORE_EVENT_H
#define VOCL_CLIENT_CORE_EVENT_H

#include <time.h>

#include "client/core/handle.h"
#include "client/core/objects.h"

/* ---- event.c ---- */
/* Checks a wait list. Returns -EINVAL if it is none, -EXDEV if an event is of another context. */
int event_check(cl_context context, cl_uint count, const cl_event *list);
/* Returns the IDs of the *left events of a list that are not known to be complete, and makes these events known to the
 * node. */
uint32_t *event_ids(struct node *node, cl_uint count, const cl_event *list, uint32_t *small, size_t small_count,
                    uint32_t *left);
/* Returns an event's ID, and makes the event known to the node, even if it is complete. */
uint32_t event_id(struct node *node, cl_event event);
cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type);
/* Notes that the event's command was not sent: no node knows the event. */
void event_unsent(cl_event event);
/* Returns a complete event, for a command that no node knows. times: used if the queue has profiling. */
cl_event event_over(cl_command_queue queue, cl_command_type type, const uint64_t times[4]);
/* Sets the command's number in its queue. It is known once the command is sent, and may be complete by then. */
void event_number(cl_event event, uint64_t number);
/* Takes the status, and the times, that the event's node reports. */
void event_set_status(cl_event event, cl_int status, uint32_t time_count, const uint64_t *times);
/* Sets the status, and calls the callbacks for it: on the calling thread if here is set. Under the lock. */
void event_become(cl_event event, cl_int status, bool here);
/* Registers a callback, which a thread of the library calls. */
int event_call(cl_event event, cl_int status, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data);
void event_lose(struct node *node);
/* Create a user event, and set its status: only once, then -EALREADY. */
int user_event_new(cl_context context, cl_event *out);
int user_event_set(cl_event event, cl_int status);
extern const struct kind event_kind;

/* Notes that the queue's commands up to number have ended. well: they have not failed, but for those whose status is
 * known. */
void queue_finished(cl_command_queue queue, uint64_t number, bool well);
/* Asks nodes to report the end of all events that have not ended yet. Returns how many there are. Under the lock. */
unsigned event_ask_all(void);
/* Whether a command waits for a user event that the program has not set. */
bool event_any_open(void);
/* Moves the node's events to another member: user events that are not set are created there. Under the lock. */
void event_move(struct node *node, struct node *target);

/* ---- event_wait.c ---- */
/* Waits until the event has ended. Returns its status. */
cl_int event_wait(cl_event event);
/* The same for an event whose end the node was asked to report: traced as a wait even if it has ended already. since:
 * timeline_now(). */
cl_int event_wait_asked(cl_event event, uint64_t since);
/* Waits for the callbacks that the application's wait has to wait for. since: deliver_now_begun() when it began. */
void event_wait_callbacks(cl_event event, uint64_t since);
/* Asks the event's node to report these statuses, and the end of later commands of its sort; event_ask(): only the end
 * of this event. Under the lock. */
void event_subscribe(cl_event event, uint32_t mask);
void event_ask(cl_event event);
/* A bit for launches, and one for all other commands. A program that asks about one event of a sort is expected to ask
 * about others. */
unsigned event_sort(cl_command_type type);
/* Waits for all events, for the application. Returns false if one has failed. */
bool event_wait_all(cl_uint count, const cl_event *list);
/* Return the status that the application may see. event_known() returns what is known here, and does not ask the
 * node. */
cl_int event_status(cl_event event);
cl_int event_known(cl_event event);

/* Called when the program may look at its memory, as commands that were under way may have ended: the function in
 * event_shows copies contents there from the nodes. Not under the session's lock. */
typedef void event_shower(void);
extern event_shower *_Atomic event_shows __attribute__((visibility("hidden")));
static inline void event_show(void)
{
    event_shower *shows = atomic_load_explicit(&event_shows, memory_order_relaxed);

    if (shows)
        shows();
}

/* ---- times.c ---- */
/* Reads a clock of this host, in ns: CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC. */
uint64_t times_read(clockid_t clock);
/* Learns by which clock of this host a device's times are: a command is enqueued natively after its event is made here,
 * and ends before its end is known here. If that is true by only one of the clocks, it is that one. */
void times_learn(cl_device_id device, const uint64_t made[2], const uint64_t times[4]);
/* Returns the time by the clock of the device's events, or 0 if that is not known to be a clock of this host. */
uint64_t device_time(cl_device_id device);

/* ---- arrival.c: under the session's lock ---- */
struct arrival; /* NULL: there is nothing to wait for */
/* Returns an arrival of which one part is missing. NULL: no memory. */
struct arrival *arrival_new(void);
struct arrival *arrival_use(struct arrival *arrival);
void arrival_drop(struct arrival *arrival);
void arrival_part_over(struct arrival *arrival);
bool arrival_is_over(const struct arrival *arrival);
/* Replaces *to by an arrival that is over when both are; the reference is replaced with it. False: no memory. */
bool arrival_join(struct arrival **to, struct arrival *more);
/* Calls run() now, or when the arrival is over. */
void arrival_then(struct arrival *arrival, struct arrival_waiter *waiter, void (*run)(void *), void *argument);
/* These are called without the lock. */
bool arrival_any(void); /* whether an arrival is not over */
void arrival_wait(struct session *session, struct arrival *arrival);
/* Frees the memory when the arrival is over. */
void arrival_free(struct session *session, struct arrival *arrival, void *memory);

#endif
