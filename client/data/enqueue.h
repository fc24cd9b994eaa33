/* Commands: what all of them have in common. */
#ifndef VOCL_CLIENT_DATA_ENQUEUE_H
#define VOCL_CLIENT_DATA_ENQUEUE_H

#include "client/core/event.h"
#include "client/core/layout.h"

struct enqueue {
    cl_command_queue queue;
    struct node *node;
    /* Of a command that is recorded, not run: the front end's site, the command, and what to do with memory it uses. */
    const struct site *site;
    struct wire_buffer recorded;
    int (*record_use)(struct enqueue *e, cl_mem memory, unsigned use);
    cl_event event;                   /* NULL if nobody wants one */
    struct arrival *arrival, *behind; /* behind: the queue's when this one began */
    bool bars;                        /* what is behind it waits for it */
    uint32_t event_id, subscribe;
    cl_uint list_count;
    const cl_event *list;
    uint32_t wait_count; /* of the list, without those that are known to be over */
    uint32_t *wait;
    cl_event *held; /* of the wait list, but the library's own: they stay until the command is sent */
    unsigned held_count;
    struct written { /* coherence_after() */
        cl_mem root;
        size_t offset, size;
    } * written;
    unsigned written_count;
    struct window_use *uses; /* struct observer's uses() has been told of so far */
    unsigned use_count;
    bool hosted;     /* hostptr_before() */
    bool sent;       /* its node knows of it, and of its event */
    bool inside;     /* halt_enter() */
    bool counted;    /* by struct observer's begins() */
    bool used;       /* uses() has been told of all that it uses */
    uint64_t before; /* commands of its queue with numbers up to this were sent before it */
    uint64_t number; /* in its queue, once it counts as enqueued; from 1 on */
    uint32_t small_wait[16] __attribute__((aligned(8)));
};
/* As it begins: zero, but for small_wait. */
void enqueue_clear(struct enqueue *e, cl_command_queue queue);
/* What every command begins with, of a queue and a list that are good. On success must be followed by enqueue_finish()
 * or enqueue_fail(). */
int enqueue_open(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, bool wants_event,
                 cl_command_type type);
/* Make sure there is an event, also when the application wants none. */
int enqueue_need_event(struct enqueue *e, cl_command_type type);
/* For a command that may be blocking: it then has an event, of whose end the node is to tell (e->subscribe). */
int enqueue_subscribe(struct enqueue *e, cl_bool blocking, cl_command_type type);
/* It counts as over only after that. False: no memory. Under the lock. */
bool enqueue_arrival(struct enqueue *e, struct arrival *arrival);
/* Of the end of one whose event the program will ask about the node tells unasked (e->subscribe); its event knows what
 * it will be told of. */
void enqueue_expect(struct enqueue *e);
/* How the command ended, which has an event: waits for that. */
int enqueue_outcome(const struct enqueue *e);
/* Sends it, waits if it is blocking, and finishes it. */
int enqueue_end(struct enqueue *e, cl_bool blocking, cl_event *event);
/* status: of stream_end(), or whatever else the result is to be. Hands the event to the application. */
int enqueue_finish(struct enqueue *e, int status, cl_event *event);
/* It was sent: what follows is waiting. The node may move meanwhile; a move waits for what it knows to be enqueued, and
 * takes along what it knows to be written. */
void enqueue_sent(struct enqueue *e);
/* The same of one that is not to be waited for. */
void enqueue_leave(struct enqueue *e);
/* Nothing of it is given to anybody: the command was not sent, or it was the library's own. */
void enqueue_close(struct enqueue *e);
/* The same of one that fails; the result is error, in the caller's terms. */
int enqueue_fail(struct enqueue *e, int error);
/* A marker, a barrier, or what stands for a command of another type in its place, by the type. */
int enqueue_marker(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list, cl_event *event);
void enqueue_put_marker(struct enqueue *e, struct wire_buffer *out);
void enqueue_put_place(struct enqueue *e, struct wire_buffer *out);
void enqueue_put_barrier(struct enqueue *e, struct wire_buffer *out);
/* The same for one that the program does: it waits for the gate, and is over after that. */
int enqueue_gated(cl_command_queue queue, cl_command_type type, cl_event gate, struct arrival *done, cl_event *event);

/* A command that moves no data but has its place in the queue. */
int enqueue_nothing(struct enqueue *e, cl_bool blocking, cl_event *event);
/* The same for one after which the program overwrites memory of its own, whatever the node does meanwhile: as with a
 * blocking write only what still moves from and into the program's memory is waited for, and what is enqueued later, in
 * any queue, comes behind what came before (WIRE_ORDERS). */
int enqueue_overwriting(struct enqueue *e, cl_bool blocking, cl_event *event);

/* ---- queue.c ---- */
/* As event_wait_callbacks(), for all of a queue. */
void queue_wait_callbacks(cl_command_queue queue, uint64_t since);
/* Until all that is in it is over. */
int queue_wait_idle(cl_command_queue queue);

/* ---- host.c: commands that the program itself carries out ---- */
struct host_command {
    cl_int (*run)(struct host_command *command); /* CL_SUCCESS, or the event's error */
    void (*free)(struct host_command *command);
    cl_event gate;
    struct session *session;
    struct arrival *done;
};

/* Whether there is one that is not over; under the lock. */
bool host_command_any(void);

/* Takes over command, also when it fails. */
int host_command_enqueue(cl_command_queue queue, cl_command_type type, struct host_command *command, cl_uint count,
                         const cl_event *list, cl_event *event);

/* ---- direct.c: commands that need not be sent ---- */
/* Whether a command that moves so many bytes of memory that is here need not be sent: direct_move(), or direct_turn(),
 * what is to be done, and direct_end(), stand for it. Not if the list is not good: that is for the front end to tell.
 */
bool direct_may(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list,
                const cl_event *event);
/* The same for one that only waits; named: for the events of the list alone, if there are any. */
bool direct_sync_may(cl_command_queue queue, bool named, cl_uint count, const cl_event *list, const cl_event *event);
/* Waits until it is its turn. */
int direct_turn(cl_command_queue queue, cl_uint count, const cl_event *list);
/* The event, if one is asked for, is over; queued: device_time() when the command came. */
int direct_end(cl_command_queue queue, cl_command_type type, uint64_t queued, cl_event *event);
/* Once it is its turn: the data; nothing is waited for. times: the first is there, of the others those of the copy come
 * if there is to be an event. */
void direct_copy(cl_command_queue queue, cl_command_type type, const struct layout *to, const struct layout *from,
                 uint64_t times[4], const cl_event *event);
/* What comes then: the event, and if it blocks the functions of events since. */
int direct_copied(cl_command_queue queue, cl_command_type type, cl_bool blocking, uint64_t since,
                  const uint64_t times[4], cl_event *event);
/* Whether the memory is still the node's, too, and will be until direct_leave(): meanwhile nothing may be waited for.
 * writes: the program writes there. */
bool direct_enter(cl_mem memory, bool writes);
void direct_leave(void);
/* The turn, and both. memory: what of it is a memory object's, or NULL. -EAGAIN: that is not here any more. */
int direct_move(cl_command_queue queue, cl_mem memory, cl_command_type type, cl_bool blocking, const struct layout *to,
                const struct layout *from, cl_uint count, const cl_event *list, cl_event *event);
/* So many bytes are too many for a call that is not to block, but need not be sent either: another thread moves them
 * when their turn has come. memory: what they are of. */
bool direct_may_later(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list);
int direct_move_later(cl_command_queue queue, cl_command_type type, cl_mem memory, const struct layout *to,
                      const struct layout *from, cl_uint count, const cl_event *list, cl_event *event);

#endif
