/* Commands: what all of them have in common when they are enqueued. */
#ifndef VOCL_CLIENT_DATA_ENQUEUE_H
#define VOCL_CLIENT_DATA_ENQUEUE_H

#include "client/core/event.h"
#include "client/core/layout.h"

struct enqueue {
    cl_command_queue queue;
    struct node *node;
    /* For a command that is recorded, not run: the front end's site, the encoded command, and what to do with memory
     * that it uses. */
    const struct site *site;
    struct wire_buffer recorded;
    int (*record_use)(struct enqueue *e, cl_mem memory, unsigned use);
    cl_event event;                   /* NULL if none is needed */
    struct arrival *arrival, *behind; /* behind: the queue's arrival when this command began */
    bool bars;                        /* it is a barrier: later commands wait for it */
    uint32_t event_id, subscribe;
    cl_uint list_count;
    const cl_event *list;
    uint32_t wait_count; /* the list's events without those known to be complete */
    uint32_t *wait;
    cl_event *held; /* the library's own events in wait: they are held until the command is sent */
    unsigned held_count;
    struct written { /* coherence_after() */
        cl_mem root;
        size_t offset, size;
    } * written;
    unsigned written_count;
    struct epoch_use *uses; /* uses for which struct observer's uses() was called */
    unsigned use_count;
    bool hosted;     /* hostptr_before() */
    bool unmaps;     /* it writes what the buffer's shadow contains */
    bool sent;       /* its node knows the command and its event */
    bool inside;     /* halt_enter() */
    bool counted;    /* struct observer's begins() was called, ends() was not */
    bool used;       /* uses() was called for all memory that it uses */
    uint64_t before; /* commands of its queue with numbers up to this were sent before it */
    uint64_t number; /* in its queue, from 1 on; set when it counts as enqueued */
    uint32_t small_wait[16] __attribute__((aligned(8)));
};
/* Begins a command: all fields zero, except small_wait. */
void enqueue_clear(struct enqueue *e, cl_command_queue queue);
/* Begins a command, on a queue and a wait list that have been checked. On success enqueue_finish() or enqueue_fail()
 * must follow. */
int enqueue_open(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, bool wants_event,
                 cl_command_type type);
/* Makes sure that there is an event, also when the application wants none. */
int enqueue_need_event(struct enqueue *e, cl_command_type type);
/* For a command that may be blocking: if it is, gives it an event whose end the node reports (e->subscribe). */
int enqueue_subscribe(struct enqueue *e, cl_bool blocking, cl_command_type type);
/* Makes the command wait for the arrival before it counts as ended. False: no memory. Under the lock. */
bool enqueue_arrival(struct enqueue *e, struct arrival *arrival);
/* If the program is expected to ask about the event, makes the node report its end unasked (e->subscribe). The event
 * notes what the node reports. */
void enqueue_expect(struct enqueue *e);
/* Waits for the end of a command that has an event. Returns how it went. */
int enqueue_outcome(const struct enqueue *e);
/* Sends the command, waits for it if it is blocking, and finishes it. */
int enqueue_end(struct enqueue *e, cl_bool blocking, cl_event *event);
/* Finishes a command, and hands its event to the application. status: what stream_end() returned, or another result,
 * which is returned. */
int enqueue_finish(struct enqueue *e, int status, cl_event *event);
/* Notes that the command was sent; what follows is waiting. The node may move meanwhile: a move waits for commands that
 * count as enqueued, and takes along what counts as written. */
void enqueue_sent(struct enqueue *e);
/* The same for a command that a move need not wait for. */
void enqueue_leave(struct enqueue *e);
/* Ends a command without a result: it was not sent, or was the library's own. */
void enqueue_close(struct enqueue *e);
/* The same for a command that fails. Returns error, in the caller's terms. */
int enqueue_fail(struct enqueue *e, int error);
/* Enqueues a marker, a barrier, or a command that stands in the place of one of another type. */
int enqueue_marker(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list, cl_event *event);
void enqueue_put_marker(struct enqueue *e, struct wire_buffer *out);
void enqueue_put_place(struct enqueue *e, struct wire_buffer *out);
void enqueue_put_barrier(struct enqueue *e, struct wire_buffer *out);
/* The same for a command that the program carries out: it waits for the gate, and ends when done is over, too. */
int enqueue_gated(cl_command_queue queue, cl_command_type type, cl_event gate, struct arrival *done, cl_event *event);

/* Enqueues a command that moves no data but has its place in the queue. */
int enqueue_nothing(struct enqueue *e, cl_bool blocking, cl_event *event);
/* The same for a command after which the program overwrites its own memory, whatever the node does meanwhile. As for a
 * blocking write, only data that still move from and to the program's memory are waited for; commands that are enqueued
 * later, in any queue, come after what was enqueued before (WIRE_ORDERS). */
int enqueue_overwriting(struct enqueue *e, cl_bool blocking, cl_event *event);

/* ---- queue.c ---- */
/* As event_wait_callbacks(), for all commands of a queue. */
void queue_wait_callbacks(cl_command_queue queue, uint64_t since);
/* Waits until all commands of the queue have ended. */
int queue_wait_idle(cl_command_queue queue);

/* ---- host.c: commands that the program itself carries out ---- */
struct host_command {
    cl_int (*run)(struct host_command *command); /* CL_SUCCESS, or the event's error */
    void (*free)(struct host_command *command);
    cl_event gate;
    struct session *session;
    struct arrival *done;
};

/* Whether one of them has not ended. Under the lock. */
bool host_command_any(void);

/* Enqueues command, which belongs to the callee from then on, also if it fails. */
int host_command_enqueue(cl_command_queue queue, cl_command_type type, struct host_command *command, cl_uint count,
                         const cl_event *list, cl_event *event);

/* ---- direct.c: commands that need not be sent ---- */
/* Whether a command that moves so many bytes of memory that is here need not be sent. In its place come direct_move(),
 * or direct_turn(), the operation itself, and direct_end(). False if the list is invalid: the front end reports
 * that. */
bool direct_may(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list,
                const cl_event *event);
/* The same for a command that only waits. named: for the events of the list alone, if there are any. */
bool direct_sync_may(cl_command_queue queue, bool named, cl_uint count, const cl_event *list, const cl_event *event);
/* Waits until the command's turn has come. */
int direct_turn(cl_command_queue queue, cl_uint count, const cl_event *list);
/* Makes the event, if one is asked for; it is complete. queued: device_time() when the command came. */
int direct_end(cl_command_queue queue, cl_command_type type, uint64_t queued, cl_event *event);
/* Copies the data, when the command's turn has come, without waiting for anything. times: [0] is set by the caller, the
 * others are set here if there is to be an event. */
void direct_copy(cl_command_queue queue, cl_command_type type, const struct layout *to, const struct layout *from,
                 uint64_t times[4], const cl_event *event);
/* To be called after that: makes the event, and for a blocking command waits for callbacks of events since then. */
int direct_copied(cl_command_queue queue, cl_command_type type, cl_bool blocking, uint64_t since,
                  const uint64_t times[4], cl_event *event);
/* Whether the memory is still the node's, too. If so it stays so until direct_leave(); meanwhile the thread must not
 * wait for anything. writes: the program writes there. */
bool direct_enter(cl_mem memory, bool writes);
void direct_leave(void);
/* direct_turn(), direct_copy() and direct_copied() together. memory: the memory object whose memory is used, or NULL.
 * -EAGAIN: its memory is not here any more. */
int direct_move(cl_command_queue queue, cl_mem memory, cl_command_type type, cl_bool blocking, const struct layout *to,
                const struct layout *from, cl_uint count, const cl_event *list, cl_event *event);
/* Whether so many bytes are too many for a call that is not to block, but need not be sent either: direct_move_later()
 * has another thread copy them when their turn has come. memory: the object that they belong to. */
bool direct_may_later(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list);
int direct_move_later(cl_command_queue queue, cl_command_type type, cl_mem memory, const struct layout *to,
                      const struct layout *from, cl_uint count, const cl_event *list, cl_event *event);

#endif
