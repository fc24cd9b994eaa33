/* Waiting for queues. */
#include <errno.h>

#include "client/core/deliver.h"
#include "client/core/stream.h"
#include "client/data/enqueue.h"
#include "client/trace/timeline.h"

/* Enqueues a marker and waits for it: both in an in-order and in an out-of-order queue it comes after all commands
 * before it. */
int queue_wait_idle(cl_command_queue queue)
{
    uint64_t number = atomic_load(&queue->enqueued);
    struct enqueue e;
    struct wire_enqueue_marker m;
    int error;

    if (number <= atomic_load(&queue->finished))
        return node_is_there(queue->node) ? 0 : -ECONNRESET;
    error = enqueue_open(&e, queue, 0, NULL, false, CL_COMMAND_MARKER);
    if (error)
        return error;
    error = enqueue_need_event(&e, CL_COMMAND_MARKER);
    if (error)
        return enqueue_fail(&e, error);
    m = (struct wire_enqueue_marker){.queue = queue->object.id, .event = e.event_id, .subscribe = SUBSCRIBE_COMPLETE};
    e.event->subscribed = SUBSCRIBE_COMPLETE;
    wire_put_enqueue_marker(stream_begin(e.node), &m);
    error = stream_end(e.node, STREAM_NOW);
    e.sent = !error;
    enqueue_leave(&e);
    if (!error && event_wait_asked(e.event, timeline_now()) == NODE_LOST_STATUS)
        error = -ECONNRESET;
    if (!error)
        arrival_wait(queue->node->session, e.arrival); /* also if the marker has failed because of an earlier command */
    if (!error && !node_is_there(queue->node))         /* data that had been announced had not arrived yet */
        error = -ECONNRESET;
    if (!error)
        queue_finished(queue, number, atomic_load(&e.event->status) == CL_COMPLETE);
    enqueue_close(&e);
    return error;
}

void queue_wait_callbacks(cl_command_queue queue, uint64_t since)
{
    const struct due due = {.queue = queue, .number = atomic_load(&queue->enqueued), .since = since};

    deliver_wait(queue->node->session, &due);
}
