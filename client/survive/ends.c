/* Waits, while the program runs, for the end of what was enqueued so far in all queues. */
#include "client/survive/ends.h"

#include "base/clock.h"
#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/enqueue.h"
#include "client/survive/moving.h"

static void add_end(struct object *object, void *argument)
{
    struct ends *ends = argument;
    cl_command_queue queue = (cl_command_queue)object;
    struct end *more;

    if (!queue->node || !queue->node->alive || atomic_load(&queue->enqueued) <= atomic_load(&queue->finished))
        return;
    if (ends->count == ends->room) {
        more = realloc(ends->list, (ends->room * 2 + 16) * sizeof(*more));
        ends->failed |= !more;
        if (!more)
            return;
        ends->list = more;
        ends->room = ends->room * 2 + 16;
    }
    if (handle_try_use(object))
        ends->list[ends->count++] = (struct end){.queue = queue, .number = atomic_load(&queue->enqueued)};
}

bool ends_find(struct ends *ends, struct session *session)
{
    session_lock(session);
    handle_each(WIRE_QUEUE, add_end, ends);
    session_unlock(session);
    return ends->count;
}

void ends_put(struct ends *ends, struct session *session)
{
    ends_find(ends, session);
    for (unsigned i = 0; i < ends->count; i++) {
        struct end *end = &ends->list[i];
        struct wire_enqueue_marker marker = {.queue = end->queue->object.id, .subscribe = SUBSCRIBE_COMPLETE};
        struct wire_buffer *commands;

        end->event = event_new(end->queue->context, end->queue, CL_COMMAND_MARKER);
        ends->failed |= !end->event;
        if (!end->event)
            continue;
        end->event->before = end->number;
        end->event->subscribed = marker.subscribe;
        marker.event = end->event->object.id;
        commands = stream_begin(end->queue->node);
        end->event->arrival = arrival_use(end->queue->arrival); /* else clFinish would not wait for a read's data */
        wire_put_enqueue_marker(commands, &marker);
        if (stream_end(end->queue->node, STREAM_NOW)) { /* its event would never complete */
            node_set_clear(&end->event->known);
            handle_release(end->event, WIRE_EVENT, 0);
            end->event = NULL;
            ends->failed = true;
        }
    }
}

void ends_drop(struct ends *ends)
{
    while (ends->count) {
        struct end *end = &ends->list[--ends->count];

        if (end->event && atomic_load(&end->event->status) <= CL_COMPLETE)
            queue_finished(end->queue, end->number, atomic_load(&end->event->status) == CL_COMPLETE);
        if (end->event)
            handle_release(end->event, WIRE_EVENT, 0);
        handle_drop(end->queue);
    }
}

bool ends_reached(const struct ends *ends)
{
    for (unsigned i = 0; i < ends->count; i++) {
        if (ends->list[i].event && atomic_load(&ends->list[i].event->status) > CL_COMPLETE)
            return false;
    }
    return true;
}

bool ends_may_be_gated(void)
{
    return event_any_open() && !host_command_any();
}

bool ends_wait(struct ends *ends, const struct node *node, long patience)
{
    struct session *session = node->session;
    const long since = clock_ns();
    bool reached = false;

    while (!reached && clock_ns() - since < (ends_may_be_gated() ? GATED_NS : patience) && node->alive &&
           !program_ends(session)) {
        session_lock(session);
        reached = ends_reached(ends);
        session_need_progress(session);
        session_unlock(session);
        if (!reached)
            session_look_later();
    }
    ends_drop(ends);
    return reached && !ends->failed;
}

void ends_free(struct ends *ends)
{
    ends_drop(ends);
    free(ends->list);
    *ends = (struct ends){0};
}
