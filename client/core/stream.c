/*
 * The stream of commands to a node. The first command is sent at once; while the node has not taken it, further ones
 * gather in the batch, the next frame. Commands that are not urgent (creation, release) wait for the next one that is.
 */
#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/core/halt.h"
#include "client/core/observer.h"
#include "client/core/stream.h"
#include "client/trace/timeline.h"

#define FRAME_FULL (48u << 10)
#define BATCH_LIMIT (4u << 20) /* above it the application waits: the node is behind */
#define SMALL 4096             /* room for a command that must not fail for want of memory, such as a release */

/* Returns the node that commands go to: while a node moves, what is recreated of it goes to its target. Under the
 * lock. */
static struct node *aimed(struct node *node)
{
    return node->aim && pthread_equal(node->aimer, pthread_self()) ? node->aim : node;
}

bool stream_shares(struct node *node)
{
    return aimed(node) == node || node->aim->memory != NODE_MEMORY_APART;
}

struct wire_buffer *stream_begin(struct node *node)
{
    session_lock(node->session);
    return &aimed(node)->batch;
}

enum { REPEAT = WIRE_HEADER + 8 }; /* bytes of the command without a patch */

static void remember(struct node *node, const uint8_t *bytes, size_t length)
{
    if (!node->last)
        node->last = malloc(WIRE_MAX_REPEATED);
    node->last_length = node->last && length <= WIRE_MAX_REPEATED ? length : 0;
    if (node->last_length)
        memcpy(node->last, bytes, length);
}

void stream_repeat(struct node *node, size_t mark)
{
    struct wire_buffer *batch = &node->batch;
    const size_t length = batch->length - mark;
    struct wire_repeat m = {.times = 1};
    uint8_t patch[WIRE_MAX_PATCH];

    if (batch->failed)
        return;
    m.patch = patch;
    m.patch_length =
        length == node->last_length ? wire_diff(node->last, batch->bytes + mark, length, patch) : WIRE_NO_PATCH;
    if (m.patch_length == WIRE_NO_PATCH || REPEAT + m.patch_length >= length) {
        remember(node, batch->bytes + mark, length);
        return;
    }
    if (m.patch_length)
        memcpy(node->last, batch->bytes + mark, length);
    batch->length = mark;
    if (!m.patch_length && node->repeats && node->repeat_at + REPEAT == mark && node->repeats < WIRE_MAX_TIMES) {
        node->repeats++;
        timeline_folded(node);
        memcpy(batch->bytes + node->repeat_at + WIRE_HEADER, &node->repeats, sizeof(node->repeats));
        return;
    }
    node->repeat_at = mark;
    node->repeats = 1;
    wire_put_repeat(batch, &m);
    if (batch->failed)
        node->last_length = 0; /* the worker's last launch is another one */
}

void stream_push(struct node *node)
{
    int error;

    if (!node->batch.length || !node->alive || node->failing_over)
        return;
    if (timeline_wanted())
        timeline_pushing(node);
    error = transport_send(session_transport(node->session), node->peer, node->batch.bytes, node->batch.length);
    if (error == -EAGAIN) /* it is sent when there is room or, if there is by now, at the next poll */
        transport_want_drained(session_transport(node->session), node->peer);
    /* its loss is about to be reported */
    if (error == -EAGAIN || (error == -ECONNRESET && observer_will_fail_over(node)))
        return;
    if (!error && node->observer)
        node->observer->sent(node, node->batch.bytes, node->batch.length);
    wire_trace("->", node->peer, node->batch.bytes, node->batch.length);
    if (error)
        vocl_log(LOG_ERROR, "cannot send to worker %u: %s", node->peer, strerror(-error));
    if (node->batch.capacity > (1u << 20))
        wire_buffer_free(&node->batch);
    node->batch.length = node->timeline.at = 0;
    node->repeats = 0;
}

void stream_advance(struct node *node)
{
    if (node->batch.length && transport_want_drained(session_transport(node->session), node->peer))
        stream_push(node);
}

static bool has_room(void *argument)
{
    struct node *node = argument;

    stream_push(node);
    return !node->alive || node->batch.length < BATCH_LIMIT;
}

/* Reserves room for the next small command, whatever becomes of memory meanwhile: the program would not learn of
 * a release that is not sent, and could do nothing about it. */
static void keep_room(struct node *node)
{
    struct wire_buffer *batch = &node->batch;

    if (batch->capacity - batch->length >= SMALL)
        return;
    if (wire_reserve(batch, SMALL))
        batch->length -= SMALL;
    else
        stream_push(node);
    batch->failed = false;
}

int stream_finish(struct node *node, enum stream_urgency urgency)
{
    node = aimed(node);
    if (!node->alive) {
        node->batch.length = 0;
        return -ECONNRESET;
    }
    if (node->batch.failed) {
        node->batch.failed = false;
        keep_room(node);
        return -ENOMEM;
    }
    if (timeline_wanted())
        timeline_count_batch(node);
    if (urgency == STREAM_NOW || node->batch.length >= FRAME_FULL ||
        (urgency == STREAM_SOON && transport_want_drained(session_transport(node->session), node->peer)))
        stream_push(node);
    else if (urgency == STREAM_SOON)
        session_need_progress(node->session);
    if (node->batch.length >= BATCH_LIMIT && !session_polls()) {
        const uint64_t since = timeline_now();

        session_wait(node->session, has_room, node);
        timeline_waited(since, TIMELINE_FOR_ROOM, node, 0);
    }
    keep_room(node);
    return 0;
}

int stream_end(struct node *node, enum stream_urgency urgency)
{
    int error = stream_finish(node, urgency);

    session_unlock(node->session);
    return error;
}

/* A command is encoded alike wherever it stands in a batch: it is encoded for the first node, and copied for the
 * others. */
struct wire_buffer *broadcast_begin(cl_context context)
{
    struct wire_buffer *batch = stream_begin(context->node);

    context->node->mark = batch->length;
    return batch;
}

int stream_joined(int error, int one)
{
    return error == -ECONNRESET || (!error && one != -ECONNRESET) ? one : error;
}

int broadcast_end(cl_context context, enum stream_urgency urgency)
{
    const struct wire_buffer *first = &context->node->batch;
    size_t mark = context->node->mark;
    struct session *session = context->node->session;
    int error = -ECONNRESET;

    for (unsigned i = 1; i < context->node_count && !first->failed; i++)
        wire_put_bytes(&context->nodes[i]->batch, first->bytes + mark, first->length - mark);
    for (unsigned i = 0; i < context->node_count; i++)
        error = stream_joined(error, stream_finish(context->nodes[i], urgency));
    session_unlock(session);
    return error;
}

/* ---- round trips ---- */

/* As stream_begin(), but a query resumes a suspended node. The thread is in a call then, so that the node is not
 * suspended again before the query is sent. */
static struct wire_buffer *begin_awake(struct node *node, bool *inside)
{
    struct wire_buffer *out = stream_begin(node);

    *inside = node->suspended && !session_polls() && !halt_is_exempt();
    if (!*inside)
        return out;
    session_unlock(node->session);
    halt_enter();
    return stream_begin(node);
}

struct wire_buffer *call_begin(struct node *node, uint16_t number, struct call *call)
{
    bool inside;
    struct wire_buffer *out = begin_awake(node, &inside);
    struct under_way *under_way = session_under_way(node->session);

    *call = (struct call){.next = under_way->calls,
                          .node = aimed(node),
                          .id = ++under_way->last_call,
                          .number = number,
                          .status = 1,
                          .since = timeline_now()};
    under_way->calls = call;
    if (inside)
        halt_leave();
    return out;
}

static void call_unlink(struct call *call)
{
    for (struct call **at = &session_under_way(call->node->session)->calls; *at; at = &(*at)->next) {
        if (*at == call) {
            *at = call->next;
            return;
        }
    }
}

/* The call may be freed by its over() here. */
static void call_end(struct call *call, int status)
{
    call->status = status;
    if (!call->over)
        return;
    call_unlink(call);
    call->over(call);
}

static bool call_ready(void *argument)
{
    struct call *call = argument;

    if (call->status == 1)
        stream_push(call->node);
    return call->status != 1 || (call->until && clock_ns() > call->until);
}

void call_send(struct call *call)
{
    struct node *node = call->node;

    if (stream_finish(node, STREAM_NOW))
        call_end(call, node->alive ? -ENOMEM : -ECONNRESET);
    session_unlock(node->session);
}

int call_wait(struct call *call)
{
    struct session *session = call->node->session;

    session_lock(session);
    session_wait(session, call_ready, call);
    call_unlink(call);
    session_unlock(session);
    timeline_trip(call->since, call->node, call->number);
    return call->status > 0 ? -ECONNRESET : call->status; /* above 0: the session ends */
}

void call_free(struct call *call)
{
    free(call->bytes);
    call->bytes = NULL;
}

int call_verdict(cl_int error)
{
    if (error == CL_SUCCESS || error == INT_MIN)
        return error ? -EBADMSG : 0;
    return error == NODE_LOST_STATUS ? -ECONNRESET : error > 0 ? -EBADMSG : -error;
}

int native_outcome(struct node *node, const struct object *object)
{
    struct wire_outcome m = {.kind = atomic_load(&object->kind), .object = object->id};
    struct wire_outcome_reply reply;
    struct call call;
    int error = call_outcome(node, &m, &reply, &call);

    if (error)
        return error;
    error = call_verdict(reply.error);
    call_free(&call);
    return error;
}

bool call_any(const struct node *node)
{
    const struct call *call = session_under_way(node->session)->calls;

    while (call && !(call->node == node && call->status == 1))
        call = call->next;
    return call;
}

bool call_is_open(const struct node *node, uint32_t id)
{
    for (const struct call *call = session_under_way(node->session)->calls; call; call = call->next) {
        if (call->node == node && call->id == id)
            return call->status == 1;
    }
    return false;
}

bool call_answer(struct node *node, uint16_t number, struct wire_cursor fields)
{
    struct wire_cursor in = fields;
    uint32_t id = wire_get_u32(&in);
    struct call *call = session_under_way(node->session)->calls;

    while (call && call->id != id)
        call = call->next;
    if (!call || call->node != node || (call->number | WIRE_REPLY) != number || call->status != 1)
        return false;
    call->bytes = malloc(fields.left + 1);
    if (!call->bytes) {
        call_end(call, -ENOMEM);
        return true;
    }
    memcpy(call->bytes, fields.at, fields.left);
    call->fields = wire_cursor(call->bytes, fields.left);
    call_end(call, 0);
    return true;
}

void call_lose(struct node *node)
{
    struct call *call = session_under_way(node->session)->calls, *next;

    for (; call; call = next) {
        next = call->next;
        if (call->node == node && call->status == 1)
            call_end(call, -ECONNRESET);
    }
}

/* A function for each CALL of wire/commands.def. */
#define CALL(name, number)                                                                                             \
    void call_send_##name(struct node *node, struct wire_##name *m, struct call *call)                                 \
    {                                                                                                                  \
        struct wire_buffer *out = call_begin(node, number, call);                                                      \
                                                                                                                       \
        m->call = call->id;                                                                                            \
        wire_put_##name(out, m);                                                                                       \
        call_send(call);                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    int call_wait_##name(struct call *call, struct wire_##name##_reply *reply)                                         \
    {                                                                                                                  \
        int error = call_wait(call);                                                                                   \
                                                                                                                       \
        if (error || wire_get_##name##_reply(&call->fields, reply))                                                    \
            return error;                                                                                              \
        call_free(call);                                                                                               \
        return -EBADMSG;                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    int call_##name(struct node *node, struct wire_##name *m, struct wire_##name##_reply *reply, struct call *call)    \
    {                                                                                                                  \
        call_send_##name(node, m, call);                                                                               \
        return call_wait_##name(call, reply);                                                                          \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
