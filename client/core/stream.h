/* The stream of commands to a node, and round trips. */
#ifndef VOCL_CLIENT_CORE_STREAM_H
#define VOCL_CLIENT_CORE_STREAM_H

#include "client/core/objects.h"

/* Commands are encoded between stream_begin(), which takes the session's lock, and stream_end(), which releases it. */
struct wire_buffer *stream_begin(struct node *node);
/* Whether the member that the node's commands go to may use memory that the node shares with the program. False while
 * the node moves to another host. */
bool stream_shares(struct node *node);
enum stream_urgency { STREAM_LATER, STREAM_SOON, STREAM_NOW };
/* Returns 0, -ECONNRESET: the node is lost, with all that it has, or -ENOMEM: nothing was sent. A small command fails
 * so only if for a while there was no memory and nothing could be sent. A caller that releases an object may ignore
 * both: the node then keeps an object that nobody uses. */
int stream_end(struct node *node, enum stream_urgency urgency);
/* To be called after a launch was encoded at mark: if it is like the last launch, only the difference is sent. */
void stream_repeat(struct node *node, size_t mark);
/* As stream_end(), but keeps the lock. */
int stream_finish(struct node *node, enum stream_urgency urgency);
/* Sends the batch if the node would otherwise have nothing to do. Under the lock. */
void stream_advance(struct node *node);
void stream_push(struct node *node);
/* Combines the results of a command that is sent to several nodes, beginning with -ECONNRESET: the first error, except
 * that -ECONNRESET is ignored if one node is left. */
int stream_joined(int error, int one);
/* As stream_begin() and stream_end(), for all nodes of a context. Fails if none of them is left. */
struct wire_buffer *broadcast_begin(cl_context context);
int broadcast_end(cl_context context, enum stream_urgency urgency);
/* A round trip that is under way. */
struct call {
    struct call *next;
    struct node *node;
    uint32_t id;
    uint16_t number;
    int status;     /* 1 while under way, 0, or negative errno */
    long until;     /* deadline, as clock_ns(), or 0: none */
    uint64_t since; /* timeline_now() */
    void *bytes;
    struct wire_cursor fields;
    /* Called, with the lock held, when the reply arrives or the node is lost, if no thread waits for it. The callee
     * then owns the call. */
    void (*over)(struct call *call);
};

/* The steps of a round trip, of which stream.c makes functions for each CALL: call_begin(), wire_put_X(), call_send(),
 * call_wait(). */
struct wire_buffer *call_begin(struct node *node, uint16_t number, struct call *call);
void call_send(struct call *call);
int call_wait(struct call *call);
/* call_X() sends m, in which it sets m->call, and waits. On success reply, which may report an error of its own, points
 * into call, and call_free() is due. call_send_X() and call_wait_X() are its halves, for round trips to several nodes
 * at once. */
#define CALL(name, number)                                                                                             \
    void call_send_##name(struct node *node, struct wire_##name *m, struct call *call);                                \
    int call_wait_##name(struct call *call, struct wire_##name##_reply *reply);                                        \
    int call_##name(struct node *node, struct wire_##name *m, struct wire_##name##_reply *reply, struct call *call);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
void call_free(struct call *call);
/* Returns 0, or native OpenCL's error as a positive number, which no errno value is here. */
int call_verdict(cl_int error);
/* Returns how the creation of an object, or an event's command, went natively: a round trip, for arguments that only
 * native OpenCL should judge. */
int native_outcome(struct node *node, const struct object *object);
/* For note.c and when a worker is lost, under the lock. */
/* Whether a reply to any call to the node is waited for, or to that one. */
bool call_any(const struct node *node);
bool call_is_open(const struct node *node, uint32_t id);
bool call_answer(struct node *node, uint16_t number, struct wire_cursor fields);
void call_lose(struct node *node);

#endif
