/* What every command has in common: its place in a queue, its event, what it waits for, and its end. */
#include <errno.h>

#include "base/clear.h"
#include "client/core/deliver.h"
#include "client/core/halt.h"
#include "client/core/observer.h"
#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/trace/timeline.h"

static void event_arrival(struct enqueue *e)
{
    if (!e->event)
        return;
    arrival_drop(e->event->arrival);
    e->event->arrival = arrival_use(e->arrival);
}

bool enqueue_arrival(struct enqueue *e, struct arrival *arrival)
{
    bool done = arrival_join(&e->arrival, arrival);

    event_arrival(e);
    return done;
}

/* Sets what must have arrived before the command counts as ended, by its queue's order and by its list. */
static int arrival_before(struct enqueue *e, cl_uint count, const cl_event *list, cl_command_type type)
{
    const bool all = queue_in_order(e->queue) || (!count && (type == CL_COMMAND_MARKER || type == CL_COMMAND_BARRIER));
    bool done;

    if (!arrival_any())
        return 0;
    session_lock(e->node->session);
    e->behind = arrival_use(e->queue->arrival);
    done = arrival_join(&e->arrival, all ? e->behind : e->queue->barred);
    for (cl_uint i = 0; i < count; i++)
        done = arrival_join(&e->arrival, list[i]->arrival) && done;
    session_unlock(e->node->session);
    return done ? 0 : -ENOMEM;
}

static void arrival_after(struct enqueue *e)
{
    cl_command_queue queue = e->queue;

    session_lock(e->node->session);
    if (queue_in_order(queue) && queue->arrival == e->behind) {
        arrival_drop(queue->arrival);
        queue->arrival = arrival_use(e->arrival);
    } else { /* out of order, or another thread's command came in between */
        arrival_join(&queue->arrival, e->arrival);
    }
    if (e->bars)
        arrival_join(&queue->barred, e->arrival);
    session_unlock(e->node->session);
}

int enqueue_need_event(struct enqueue *e, cl_command_type type)
{
    if (e->event)
        return 0;
    e->event = event_new(e->queue->context, e->queue, type);
    if (!e->event)
        return -ENOMEM;
    e->event_id = e->event->object.id;
    e->event->before = e->before;
    if (e->arrival) {
        session_lock(e->node->session);
        event_arrival(e);
        session_unlock(e->node->session);
    }
    return 0;
}

static void enqueue_free(struct enqueue *e)
{
    if (e->wait != e->small_wait)
        free(e->wait);
    while (e->held_count)
        handle_drop(e->held[--e->held_count]);
    free(e->held);
    free(e->written);
    free(e->uses);
    if (e->arrival || e->behind) {
        session_lock(e->node->session);
        arrival_drop(e->arrival);
        arrival_drop(e->behind);
        session_unlock(e->node->session);
    }
    wire_buffer_free(&e->recorded);
    if (e->event && !e->sent)
        event_unsent(e->event);
}

void enqueue_clear(struct enqueue *e, cl_command_queue queue)
{
    clear_words(e, offsetof(struct enqueue, small_wait));
    e->queue = queue;
    e->node = queue->node;
    e->inside = true;
    e->before = atomic_load(&queue->enqueued);
    e->counted = e->node->observer != NULL;
    if (e->counted)
        e->node->observer->begins(e);
}

static void end_use(struct enqueue *e)
{
    if (e->counted)
        e->node->observer->ends(e);
    e->counted = false;
}

int enqueue_open(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, bool wants_event,
                 cl_command_type type)
{
    int error;

    halt_enter();
    enqueue_clear(e, queue);
    e->list_count = count;
    e->list = list;
    e->bars = type == CL_COMMAND_BARRIER;
    if (count)
        deliver_behind(queue, count, list);
    e->wait =
        event_ids(e->node, count, list, e->small_wait, sizeof(e->small_wait) / sizeof(*e->small_wait), &e->wait_count);
    if (!e->wait) {
        end_use(e);
        enqueue_leave(e);
        return -ENOMEM;
    }
    error = arrival_before(e, count, list, type);
    if (!error && wants_event)
        error = enqueue_need_event(e, type);
    if (error) {
        enqueue_free(e);
        end_use(e);
        enqueue_leave(e);
    }
    return error;
}

void enqueue_leave(struct enqueue *e)
{
    if (e->inside)
        halt_leave();
    e->inside = false;
}

/* Numbers the command, which counts as enqueued from here on. */
static void number(struct enqueue *e)
{
    if (e->number || e->record_use)
        return;
    e->number = atomic_fetch_add(&e->queue->enqueued, 1) + 1;
    if (e->event)
        event_number(e->event, e->number);
}

void enqueue_sent(struct enqueue *e)
{
    e->sent = true;
    coherence_sent(e);
    number(e);
    enqueue_leave(e);
}

int enqueue_finish(struct enqueue *e, int status, cl_event *event)
{
    e->sent |= !status;
    if (!status)
        coherence_sent(e);
    if (!status && e->arrival)
        arrival_after(e);
    enqueue_free(e);
    number(e);
    enqueue_leave(e);
    end_use(e);
    if (e->record_use)
        return status;
    if (e->hosted)
        hostptr_sent(e, e->number);
    if (!status && event)
        *event = e->event;
    else if (e->event)
        handle_release(e->event, WIRE_EVENT, 0);
    return status;
}

void enqueue_close(struct enqueue *e)
{
    enqueue_free(e);
    end_use(e);
    enqueue_leave(e);
    if (e->hosted)
        hostptr_not_sent(e);
    if (e->event)
        handle_release(e->event, WIRE_EVENT, 0);
}

int enqueue_fail(struct enqueue *e, int error)
{
    enqueue_close(e);
    return error;
}

/* Keeps one event in the list of a marker whose events are all over: without a list it would wait for all commands
 * before it. */
static void keep_list(struct enqueue *e)
{
    if (!e->list_count || e->wait_count || queue_in_order(e->queue))
        return;
    e->wait[0] = event_id(e->node, e->list[0]);
    e->wait_count = 1;
}

void enqueue_put_marker(struct enqueue *e, struct wire_buffer *out)
{
    struct wire_enqueue_marker m = {.queue = e->queue->object.id, .event = e->event_id, .subscribe = e->subscribe};

    keep_list(e);
    m.wait = e->wait;
    m.wait_count = e->wait_count;
    wire_put_enqueue_marker(out, &m);
}

void enqueue_put_place(struct enqueue *e, struct wire_buffer *out)
{
    const struct wire_enqueue_place m = {.queue = e->queue->object.id,
                                         .event = e->event_id,
                                         .subscribe = e->subscribe,
                                         .wait = e->wait,
                                         .wait_count = e->wait_count};

    wire_put_enqueue_place(out, &m);
}

void enqueue_put_barrier(struct enqueue *e, struct wire_buffer *out)
{
    struct wire_enqueue_barrier m = {.queue = e->queue->object.id, .event = e->event_id};

    keep_list(e);
    m.wait = e->wait;
    m.wait_count = e->wait_count;
    wire_put_enqueue_barrier(out, &m);
}

int enqueue_subscribe(struct enqueue *e, cl_bool blocking, cl_command_type type)
{
    int error = blocking ? enqueue_need_event(e, type) : 0;

    if (error)
        return enqueue_fail(e, error);
    e->subscribe = blocking ? SUBSCRIBE_COMPLETE : 0;
    enqueue_expect(e);
    return 0;
}

/* Whether the program is expected to ask about the command's event. */
static bool is_wanted(const struct enqueue *e)
{
    const cl_command_queue queue = e->queue;

    return (queue->properties & CL_QUEUE_PROFILING_ENABLE && e->event->type == CL_COMMAND_NDRANGE_KERNEL) ||
           atomic_load(&queue->eager) & event_sort(e->event->type);
}

void enqueue_expect(struct enqueue *e)
{
    if (!e->event)
        return;
    if (!e->subscribe && is_wanted(e)) {
        e->event->expected = true;
        e->subscribe = SUBSCRIBE_COMPLETE;
    }
    e->event->subscribed = e->subscribe & ~WIRE_ORDERS;
}

int enqueue_outcome(const struct enqueue *e)
{
    const cl_int status = event_wait_asked(e->event, timeline_now());

    return status < 0 ? call_verdict(status) : 0;
}

int enqueue_end(struct enqueue *e, cl_bool blocking, cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    int error = stream_end(e->node, blocking ? STREAM_NOW : STREAM_SOON);

    if (!error && blocking) {
        enqueue_sent(e);
        error = enqueue_outcome(e);
        queue_wait_callbacks(e->queue, since);
    }
    error = enqueue_finish(e, error, event);
    if (blocking)
        event_show();
    return error;
}

int enqueue_nothing(struct enqueue *e, cl_bool blocking, cl_event *event)
{
    int error = enqueue_subscribe(e, blocking, CL_COMMAND_MAP_BUFFER);

    if (error)
        return error;
    enqueue_put_place(e, stream_begin(e->node));
    return enqueue_end(e, blocking, event);
}

int enqueue_overwriting(struct enqueue *e, cl_bool blocking, cl_event *event)
{
    struct session *session = e->node->session;
    const uint64_t since = deliver_now_begun();
    cl_command_queue queue = e->queue;
    int error;

    if (!blocking || event || e->list_count || e->node->memory == NODE_MEMORY_SHARED || !queue_in_order(queue) ||
        queue_may_be_gated(queue))
        return enqueue_nothing(e, blocking, event);
    e->subscribe = WIRE_ORDERS;
    enqueue_put_marker(e, stream_begin(e->node));
    error = stream_end(e->node, STREAM_SOON);
    if (!error) {
        enqueue_sent(e);
        arrival_wait(session, e->arrival);
    }
    error = enqueue_finish(e, error, NULL);
    if (!error && atomic_load(&queue->functions)) /* natively it waits for all earlier commands */
        error = queue_wait_idle(queue);
    queue_wait_callbacks(queue, since);
    event_show();
    return error;
}

/* ---- commands that only have a place in the queue ---- */

int enqueue_marker(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list, cl_event *event)
{
    struct enqueue e;
    int error;

    if (direct_sync_may(queue, count, count, list, event))
        return direct_end(queue, type, device_time(queue->device), event);
    error = enqueue_open(&e, queue, count, list, event, type);
    if (error)
        return error;
    if (type == CL_COMMAND_BARRIER)
        enqueue_put_barrier(&e, stream_begin(e.node));
    else if (type == CL_COMMAND_MARKER)
        enqueue_put_marker(&e, stream_begin(e.node));
    else
        enqueue_put_place(&e, stream_begin(e.node));
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

int enqueue_gated(cl_command_queue queue, cl_command_type type, cl_event gate, struct arrival *done, cl_event *event)
{
    struct enqueue e;
    int error = enqueue_open(&e, queue, 1, &gate, event, type);

    if (error)
        return error;
    session_lock(e.node->session);
    if (!enqueue_arrival(&e, done))
        error = -ENOMEM;
    session_unlock(e.node->session);
    if (error)
        return enqueue_fail(&e, error);
    enqueue_put_place(&e, stream_begin(e.node));
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}
