/*
 * A blocking write returns to the application when its data are on their way. What the application enqueues after it,
 * in any queue of the context, comes behind it all the same, and so do commands that wait for a user event which is set
 * after it. One such command is recorded for each context, the newest: it came behind the one before.
 */
#include "executor/internal.h"

struct order_job {
    struct job job;
    uint32_t context_id;
    uint64_t number;
};

static void forget(struct context *context)
{
    clReleaseEvent(context->order.event);
    context->order.event = NULL;
}

static void over(struct executor *x, struct job *job)
{
    struct order_job *order = (struct order_job *)job;
    struct context *context = object_get(x, WIRE_CONTEXT, order->context_id);

    if (context && context->order.event && context->order.number == order->number)
        forget(context);
    free(order);
}

void order_before(struct command *c)
{
    struct context *context = object_get(c->x, WIRE_CONTEXT, c->queue->context_id);
    const struct order *order;

    if (!context || !context->order.event || c->queue->behind_order == context->order.number)
        return;
    order = &context->order;
    if (transfer_event_error(order->event)) { /* native OpenCL would wait for ever */
        forget(context);
        return;
    }
    c->wait[c->wait_count++] = order->event;
    if (gates_may_fail(c->gates, order->behind))
        c->behind = true;
    if (!c->queue->out_of_order)
        c->queue->behind_order = order->number;
}

static void set(struct executor *x, struct context *context, cl_event event, uint64_t behind)
{
    struct order_job *job = malloc(sizeof(*job));

    if (!job) {
        executor_exhausted(x);
        return;
    }
    if (context->order.event)
        forget(context);
    clRetainEvent(event);
    context->order.event = event;
    context->order.behind = behind;
    context->order.number++;
    *job = (struct order_job){.context_id = context->id, .number = context->order.number};
    event_when(x, event, CL_COMPLETE, over, &job->job);
}

bool order_needs(struct command *c)
{
    struct context *context = object_get(c->x, WIRE_CONTEXT, c->queue->context_id);

    if (!context || context->order.only != c->queue || c->queue->out_of_order)
        return true;
    context->order.loose = true;
    return false;
}

void order_after(struct command *c)
{
    struct context *context = object_get(c->x, WIRE_CONTEXT, c->queue->context_id);

    if (!context)
        return;
    set(c->x, context, c->event, c->newest);
    if (!c->queue->out_of_order)
        c->queue->behind_order = context->order.number;
}

/* ---- contexts with one queue, which need no extra events ---- */

/* Marks the end of the queue's commands, which now has to be known after all. */
static void mark(struct executor *x, struct context *context)
{
    struct queue *queue = context->order.only;
    cl_event event;

    if (!context->order.loose)
        return;
    context->order.loose = false;
    if (clEnqueueMarkerWithWaitList(queue->native, 0, NULL, &event))
        return;
    set(x, context, event, queue->behind);
    queue->behind_order = context->order.number;
    clReleaseEvent(event);
    executor_flush_later(x, queue);
}

void order_gated(struct command *c)
{
    struct context *context = object_get(c->x, WIRE_CONTEXT, c->queue->context_id);

    if (context && context->order.only)
        mark(c->x, context);
}

void order_queue_made(struct executor *x, struct context *context, struct queue *queue)
{
    if (context->order.only) { /* the queue is no longer the only one */
        mark(x, context);
        context->order.only = NULL;
        context->order.several = true;
    } else if (!context->order.several) {
        context->order.only = queue;
    }
}

void order_context_gone(struct context *context)
{
    if (context->order.event)
        forget(context);
}

void order_queue_gone(struct executor *x, struct queue *queue)
{
    struct context *context = object_get(x, WIRE_CONTEXT, queue->context_id);

    if (!context || context->order.only != queue)
        return;
    mark(x, context);
    context->order.only = NULL;
}

bool order_when(struct executor *x, const struct context *context, void (*run)(struct executor *, struct job *),
                struct job *job)
{
    if (!context->order.event || transfer_event_error(context->order.event))
        return false;
    event_when(x, context->order.event, CL_COMPLETE, run, job);
    return true;
}
