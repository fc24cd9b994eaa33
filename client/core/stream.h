/* The stream of commands to a node, and round trips. */
#ifndef VOCL_CLIENT_CORE_STREAM_H
#define VOCL_CLIENT_CORE_STREAM_H

#include "client/core/objects.h"

/* Encode between begin (takes the session's lock) and end (gives it back). */
struct wire_buffer *stream_begin(struct node *node);
/* Whether who is sent that can have memory that the node has of the program: not where one is moved to another host. */
bool stream_shares(struct node *node);
enum stream_urgency { STREAM_LATER, STREAM_SOON, STREAM_NOW };
/* 0, -ECONNRESET: the node is lost, with all that it has, or -ENOMEM: it has not been sent, which a small command is
 * spared but where none could be sent, either, for a while. A release may leave both unsaid: the node then keeps what
 * nobody uses any more. */
int stream_end(struct node *node, enum stream_urgency urgency);
/* A launch was encoded at mark: if it is like the last one, only that is sent, and how it differs. */
void stream_repeat(struct node *node, size_t mark);
/* As stream_end, the lock is kept. */
int stream_finish(struct node *node, enum stream_urgency urgency);
/* Send what gathered if the node would have nothing to do otherwise. Under the lock. */
void stream_advance(struct node *node);
void stream_push(struct node *node);
/* What came of a command for several nodes (begin with -ECONNRESET), with one more of them: the first error, unless
 * that node is lost and another is not. */
int stream_joined(int error, int one);
/* The same for all nodes of a context. An error if none of them is left. */
struct wire_buffer *broadcast_begin(cl_context context);
int broadcast_end(cl_context context, enum stream_urgency urgency);
/* A round trip that is under way. */
struct call {
    struct call *next;
    struct node *node;
    uint32_t id;
    uint16_t number;
    int status;     /* 1 while under way, 0, or negative errno */
    long until;     /* as clock_ns(), or 0: as long as it takes */
    uint64_t since; /* timeline_now() */
    void *bytes;
    struct wire_cursor fields;
    /* Nobody waits: called instead when it is answered, or its node lost; it is its owner's then. Under the lock. */
    void (*over)(struct call *call);
};

/* A round trip, from which stream.c makes a function for each CALL: call_begin, wire_put_X, call_send, call_wait. */
struct wire_buffer *call_begin(struct node *node, uint16_t number, struct call *call);
void call_send(struct call *call);
int call_wait(struct call *call);
/* call_X(): what was asked is in m, but for m->call. On success the reply, which may have an error of its own, points
 * into call, and call_free() is due. Its two halves are for round trips to several nodes at once. */
#define CALL(name, number)                                                                                             \
    void call_send_##name(struct node *node, struct wire_##name *m, struct call *call);                                \
    int call_wait_##name(struct call *call, struct wire_##name##_reply *reply);                                        \
    int call_##name(struct node *node, struct wire_##name *m, struct wire_##name##_reply *reply, struct call *call);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
void call_free(struct call *call);
/* 0, or what native OpenCL says of a failure, an error of its own: as a number above 0, so that it is no errno value.
 */
int call_verdict(cl_int error);
/* What native OpenCL said to the creation of an object, or to the command of an event: a round trip, for arguments that
 * only it should judge. */
int native_outcome(struct node *node, const struct object *object);
/* From note.c, under the lock. */
/* Whether an answer to any call is waited for, or to that one. */
bool call_any(const struct node *node);
bool call_is_open(const struct node *node, uint32_t id);
bool call_answer(struct node *node, uint16_t number, struct wire_cursor fields);
void call_lose(struct node *node);

#endif
