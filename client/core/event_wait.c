/* Waiting for events, queries of their status, and what nodes are asked to report. */
#include "client/core/deliver.h"
#include "client/core/event.h"
#include "client/core/halt.h"
#include "client/core/stream.h"
#include "client/trace/timeline.h"

#define SUBSCRIBE_ALL (SUBSCRIBE_COMPLETE | 1u << CL_RUNNING | 1u << CL_SUBMITTED)

/* Whether the end of a later command implies that this one is complete. If it had failed its node would have reported
 * that. Under the lock. */
static bool is_implied(cl_event event)
{
    cl_command_queue queue = event->queue;
    const uint64_t number = atomic_load(&event->number); /* 0 while it is being sent */

    return queue && number && number <= atomic_load(&queue->well) && arrival_is_over(event->arrival) &&
           atomic_load(&event->status) > CL_COMPLETE &&
           (event->has_times || !(queue->properties & CL_QUEUE_PROFILING_ENABLE));
}

unsigned event_sort(cl_command_type type)
{
    return type == CL_COMMAND_NDRANGE_KERNEL ? 1 : 2;
}

/* Asks the event's node to report these statuses. Returns whether it was asked: it has yet to report, and was not asked
 * before. Under the lock. */
static bool subscribe_one(cl_event event, uint32_t mask)
{
    struct wire_subscribe_event m = {.event = event->object.id, .mask = mask & ~event->subscribed};

    if (is_implied(event))
        event_become(event, CL_COMPLETE, false);
    if (!m.mask || !event->queue || atomic_load(&event->status) <= CL_COMPLETE || !event->node->alive)
        return false;
    event->subscribed |= mask;
    wire_put_subscribe_event(&event->node->batch, &m);
    return true;
}

/* Asks for the end of a later command, too: a program that asks about one may ask about each of those after it, and
 * would wait for the node's answer each time. */
static void subscribe_like(struct object *object, void *argument)
{
    cl_event first = argument, event = (cl_event)object;
    const uint64_t number = event->queue == first->queue ? atomic_load(&event->number) : 0;

    if (number && event_sort(event->type) == event_sort(first->type) &&
        (!queue_in_order(event->queue) || number >= atomic_load(&first->number)))
        event->expected |= subscribe_one(event, SUBSCRIBE_COMPLETE);
}

void event_subscribe(cl_event event, uint32_t mask)
{
    const unsigned sort = event_sort(event->type);

    if (subscribe_one(event, mask) && !(atomic_fetch_or(&event->queue->eager, sort) & sort) &&
        atomic_load(&event->number) < atomic_load(&event->queue->enqueued))
        handle_each(WIRE_EVENT, subscribe_like, event);
}

void event_ask(cl_event event)
{
    subscribe_one(event, SUBSCRIBE_COMPLETE);
}

static bool event_ready(void *argument)
{
    cl_event event = argument;

    if (event->queue)
        stream_push(event->node);
    return atomic_load_explicit(&event->status, memory_order_acquire) <= CL_COMPLETE;
}

cl_int event_wait_asked(cl_event event, uint64_t since)
{
    struct node *node = event->node;

    if (atomic_load_explicit(&event->status, memory_order_acquire) > CL_COMPLETE) {
        const uint64_t now = timeline_now();

        session_lock(node->session);
        if (!since && !is_implied(event))
            since = now;
        event_subscribe(event, SUBSCRIBE_COMPLETE);
        stream_push(node);
        session_wait(node->session, event_ready, event);
        session_unlock(node->session);
    }
    timeline_waited(since, TIMELINE_FOR_EVENT, node, event->object.id);
    return atomic_load(&event->status);
}

cl_int event_wait(cl_event event)
{
    return event_wait_asked(event, 0);
}

void event_wait_callbacks(cl_event event, uint64_t since)
{
    const struct due due = {event->queue, atomic_load(&event->number), event->object.id, since,
                            atomic_load(&event->status) == CL_COMPLETE};

    deliver_wait(event->node->session, &due);
}

bool event_wait_all(cl_uint count, const cl_event *list)
{
    const uint64_t since = deliver_now_begun();
    struct node *node = list[0]->node;
    bool well = true;

    for (cl_uint i = 0; i < count; i++)
        atomic_store(&list[i]->asked, true);
    session_lock(node->session);
    for (cl_uint i = 0; i < count; i++) {
        event_subscribe(list[i], SUBSCRIBE_COMPLETE);
        stream_push(list[i]->node);
    }
    for (cl_uint i = 0; i < count; i++) {
        const uint64_t since = atomic_load(&list[i]->status) > CL_COMPLETE ? timeline_now() : 0;

        session_wait(node->session, event_ready, list[i]);
        timeline_waited(since, TIMELINE_FOR_EVENT, list[i]->node, list[i]->object.id);
        well &= atomic_load(&list[i]->status) >= 0;
    }
    session_unlock(node->session);
    for (cl_uint i = 0; i < count; i++)
        event_wait_callbacks(list[i], since);
    event_show();
    return well;
}

/* ---- queries ---- */

/* Whether the command has run, but not all its data have arrived. */
static bool still_moves(cl_event event)
{
    struct session *session = event->node->session;
    bool moves;

    session_lock(session);
    moves = !arrival_is_over(event->arrival);
    if (moves)
        event_become(event, CL_RUNNING, false);
    session_unlock(session);
    return moves;
}

/* Returns the known status as native OpenCL would: no event is complete while a callback that comes before is yet to be
 * called. */
static cl_int known_status(cl_event event)
{
    const cl_int status = atomic_load(&event->status);
    const struct due due = {event->queue, atomic_load(&event->number), event->object.id, event->since,
                            status == CL_COMPLETE};

    if (status > CL_COMPLETE || !event->queue || atomic_load(&event->shown))
        return status;
    if (!deliver_done(event->node->session, &due) && !atomic_load(&event->shown))
        return CL_RUNNING;
    atomic_store(&event->shown, true);
    return status;
}

/* The first time, asks the node for the status, and to report the rest by itself. The whole is one call: if there were
 * a halt before the question, the event might end in it, and another worker come, which has no such event. */
static bool ask_status(cl_event event, struct call *call)
{
    HALT_GUARD;
    struct node *node = event->node;
    struct wire_get_info question = {
        .kind = WIRE_INFO_EVENT, .object = event->object.id, .param = CL_EVENT_COMMAND_EXECUTION_STATUS};
    bool first;

    session_lock(node->session);
    first = atomic_load(&event->status) > CL_COMPLETE && event->subscribed != SUBSCRIBE_ALL;
    event_subscribe(event, SUBSCRIBE_ALL);
    event->subscribed = SUBSCRIBE_ALL;
    stream_push(node);
    session_need_progress(node->session);
    session_unlock(node->session);
    if (first)
        call_send_get_info(node, &question, call);
    return first;
}

/* Returns CL_COMPLETE if there is no answer: then the node's note has the status. */
static cl_int hear_status(struct call *call)
{
    struct wire_get_info_reply reply;
    cl_int status = CL_COMPLETE;

    if (call_wait_get_info(call, &reply))
        return status;
    if (!reply.error && reply.value_length == sizeof(status))
        memcpy(&status, reply.value, sizeof(status));
    call_free(call);
    return status;
}

static cl_int node_status(cl_event event)
{
    cl_int status = CL_QUEUED;
    struct call call;

    if (atomic_load(&event->status) <= CL_COMPLETE || !event->queue)
        return atomic_load(&event->status);
    if (atomic_load(&event->number) <= atomic_load(&event->queue->finished))
        return event_wait(event);
    if (ask_status(event, &call)) {
        status = hear_status(&call);
        if (status <= CL_COMPLETE) {
            if (!still_moves(event))
                return event_wait(event); /* the note, with the times, is on its way */
            status = CL_RUNNING;
        }
    }
    return atomic_load(&event->status) < status ? atomic_load(&event->status) : status;
}

cl_int event_status(cl_event event)
{
    cl_int there, known;

    atomic_store(&event->asked, true);
    there = node_status(event);
    known = known_status(event);
    return known == CL_RUNNING || known < there ? known : there;
}

cl_int event_known(cl_event event)
{
    atomic_store(&event->asked, true);
    if (event->queue && atomic_load(&event->number) <= atomic_load(&event->queue->finished))
        event_wait(event); /* only the node's note is missing */
    return known_status(event);
}
