/* Events, what has to be there before one is complete, and waiting for queues. */
#ifndef VOCL_CLIENT_CORE_EVENT_H
#define VOCL_CLIENT_CORE_EVENT_H

#include <time.h>

#include "client/core/handle.h"
#include "client/core/objects.h"

/* ---- event.c ---- */
/* -EINVAL: it is no list of events; -EXDEV: one is of another context. */
int event_check(cl_context context, cl_uint count, const cl_event *list);
/* The numbers of the events of a list that are not known to be over, in ids[*left]; the node then knows these. */
uint32_t *event_ids(struct node *node, cl_uint count, const cl_event *list, uint32_t *small, size_t small_count,
                    uint32_t *left);
/* That of one, of which the node then knows in any case. */
uint32_t event_id(struct node *node, cl_event event);
cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type);
/* Of a command that was not sent: its node does not know of it. */
void event_unsent(cl_event event);
/* The event of a command of which no node knows: it is over. times: where the queue has profiling. */
cl_event event_over(cl_command_queue queue, cl_command_type type, const uint64_t times[4]);
/* Its place in its queue: known when it has been sent, by when it may be over. */
void event_number(cl_event event, uint64_t number);
/* What its node tells of. */
void event_set_status(cl_event event, cl_int status, uint32_t time_count, const uint64_t *times);
/* It is known to be that, and functions are called that wait for it; here: by the program itself. Under the lock. */
void event_become(cl_event event, cl_int status, bool here);
/* A function that is called by a thread of the library. */
int event_call(cl_event event, cl_int status, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data);
void event_lose(struct node *node);
/* An event of the application's own, and its status, which can be set once: then -EALREADY. */
int user_event_new(cl_context context, cl_event *out);
int user_event_set(cl_event event, cl_int status);
extern const struct kind event_kind;

/* Commands up to that number are over; well: those of which nothing else is known have not failed. */
void queue_finished(cl_command_queue queue, uint64_t number, bool well);
/* The node is to tell of all that it has not told of yet: of how many. Under the lock. */
unsigned event_ask_all(void);
/* Whether the program has a user event that is not set, and for which commands wait. */
bool event_any_open(void);
/* The node's events go to another member: those that are not over are made there. Under the lock. */
void event_move(struct node *node, struct node *target);

/* ---- event_wait.c ---- */
/* Wait until the event is complete; its status. */
cl_int event_wait(cl_event event);
/* The same of one that its node was asked to tell of: a round trip also if it is over already. since: timeline_now().
 */
cl_int event_wait_asked(cl_event event, uint64_t since);
/* What the application's wait ends with; since: deliver_now_begun() when it began. */
void event_wait_callbacks(cl_event event, uint64_t since);
/* Its node is to tell of these statuses of it; event_ask(): of its end, and nothing of others. Under the lock. */
void event_subscribe(cl_event event, uint32_t mask);
void event_ask(cl_event event);
/* Launches, or what is no launch: a bit. Who asks of an event of one sort asks of others. */
unsigned event_sort(cl_command_type type);
/* Until all are complete, as the application waits for them; false: one has failed. */
bool event_wait_all(cl_uint count, const cl_event *list);
/* The status as the application may see it; event_known(): what of it is known here, without asking. */
cl_int event_status(cl_event event);
cl_int event_known(cl_event event);

/* The program may look at its memory now, for commands that were under way may be over: whoever set event_shows brings
 * contents there that nodes have. Not under the session's lock. */
typedef void event_shower(void);
extern event_shower *_Atomic event_shows __attribute__((visibility("hidden")));
static inline void event_show(void)
{
    event_shower *shows = atomic_load_explicit(&event_shows, memory_order_relaxed);

    if (shows)
        shows();
}

/* ---- times.c ---- */
/* A clock of this host's, in ns: CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC. */
uint64_t times_read(clockid_t clock);
/* A command was enqueued natively after its event was made here, and was over before this is known here. The clock of
 * its times is the one of this host's of which that is true, if it is true of only one. */
void times_learn(cl_device_id device, const uint64_t made[2], const uint64_t times[4]);
/* This host's time by the clock of the device's events, or 0 if that is not known to be this host's. */
uint64_t device_time(cl_device_id device);

/* ---- arrival.c: under the session's lock ---- */
struct arrival; /* NULL: there is nothing to wait for */
/* One part of it is missing. NULL: no memory. */
struct arrival *arrival_new(void);
struct arrival *arrival_use(struct arrival *arrival);
void arrival_drop(struct arrival *arrival);
void arrival_part_over(struct arrival *arrival);
bool arrival_is_over(const struct arrival *arrival);
/* Both have to be over: *to gives up its use for one of what it becomes. False: no memory. */
bool arrival_join(struct arrival **to, struct arrival *more);
/* Now, or when it is over. */
void arrival_then(struct arrival *arrival, struct arrival_waiter *waiter, void (*run)(void *), void *argument);
/* Without the lock. */
bool arrival_any(void); /* whether there is one that is not over */
void arrival_wait(struct session *session, struct arrival *arrival);
void arrival_free(struct session *session, struct arrival *arrival, void *memory); /* when it is over */

#endif
