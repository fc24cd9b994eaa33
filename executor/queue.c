/* Queues, and the commands that only order others. */
#include "executor/internal.h"
#include "executor/staging.h"

#define KNOWN_PROPERTIES (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)

/* Only for hints: in the newer call PoCL ends the process for flags that it does not know. */
static cl_command_queue create_hinted(const struct exec_create_queue *m, cl_command_queue_properties properties,
                                      cl_int *error)
{
    cl_queue_properties list[16] = {CL_QUEUE_PROPERTIES, properties};

    if (properties & ~(cl_command_queue_properties)KNOWN_PROPERTIES) {
        *error = CL_INVALID_VALUE;
        return NULL;
    }
    memcpy(&list[2], m->hints, m->hints_length);
    return clCreateCommandQueueWithProperties(m->context->native, m->device->native, list, error);
}

static bool are_hints(const void *hints, size_t length)
{
    uint64_t name;

    for (size_t at = 0; at < length; at += 2 * sizeof(name)) {
        if (length - at < 2 * sizeof(name))
            return false;
        memcpy(&name, (const uint8_t *)hints + at, sizeof(name));
        if (name != CL_QUEUE_PRIORITY_KHR && name != CL_QUEUE_THROTTLE_KHR)
            return false;
    }
    return true;
}

int exec_create_queue(struct executor *x, const struct exec_create_queue *m)
{
    const cl_command_queue_properties properties = m->properties | (x->traced ? CL_QUEUE_PROFILING_ENABLE : 0);
    struct context *context = m->context;
    const struct device *device = m->device;
    struct queue *queue = m->queue;

    if (!are_hints(m->hints, m->hints_length))
        return -EBADMSG;
    queue->error = context->error;
    if (queue->error)
        return 0;
    queue->native = m->hints_length ? create_hinted(m, properties, &queue->error)
                                    : clCreateCommandQueue(context->native, device->native, properties, &queue->error);
    queue->in = context->native;
    queue->context_id = context->id;
    queue->on = device->native;
    queue->ordinal = device->ordinal;
    queue->spare = context->spare;
    if (queue->spare)
        clRetainCommandQueue(queue->spare);
    queue->staging = staging_use(context->staging);
    queue->out_of_order = m->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    queue->profiling = m->properties & CL_QUEUE_PROFILING_ENABLE;
    queue->timed = queue->profiling || x->traced;
    queue->lazy = queue->native && driver_flush_waits(queue->native);
    queue->unified = device_is_unified(device->native);
    order_queue_made(x, context, queue);
    return 0;
}

/* Without a list a marker or barrier waits for everything before it, and out of order it waits for nothing else. */
static void keep_empty(struct command *c)
{
    if (!c->listed && c->queue->out_of_order)
        c->wait_count = 0;
}

/* In a timed queue a marker has times of its own, and a command behind a gate may fail where a marker does not. */
static bool has_last(const struct command *c)
{
    return !c->queue->out_of_order && !c->queue->timed && !c->queue->lazy && !c->behind && !c->recording;
}

/* Only at the end of a frame: launches that follow each other would pay for events that nobody uses. */
void queue_ask_last(struct command *c)
{
    if (c->x->frame_ends && has_last(c))
        c->ask = &c->event;
}

void queue_keep_last(const struct command *c)
{
    if (c->error || !c->event || !has_last(c))
        return;
    clRetainEvent(c->event);
    c->queue->last = c->event;
}

void queue_forget_last(struct queue *queue)
{
    if (queue->last)
        clReleaseEvent(queue->last);
    queue->last = NULL;
}

static bool take_last(struct command *c)
{
    if (!c->last || !c->ask || c->wait_count || !has_last(c))
        return false;
    c->event = c->last;
    c->last = NULL;
    return true;
}

int exec_enqueue_marker(struct command *c, const struct exec_enqueue_marker *m)
{
    (void)m;
    keep_empty(c);
    if (!c->error && !take_last(c))
        c->error = clEnqueueMarkerWithWaitList(c->queue->native, c->wait_count, command_waits(c), c->ask);
    return 0;
}

int exec_enqueue_place(struct command *c, const struct exec_enqueue_place *m)
{
    (void)m;
    if (c->error)
        return 0;
    if (c->queue->out_of_order) /* a marker would wait for everything if the events of its list happen to be over */
        c->error = driver_nothing(c->queue->native, c->wait_count, command_waits(c), c->ask);
    else if (c->queue->profiling) /* it stands for a command that has times */
        c->error = driver_timed_marker(c->queue->native, c->wait_count, command_waits(c), c->ask);
    else
        c->error = clEnqueueMarkerWithWaitList(c->queue->native, c->wait_count, command_waits(c), c->ask);
    return 0;
}

void queue_forget_barrier(struct queue *queue)
{
    if (queue->barrier)
        clReleaseEvent(queue->barrier);
    queue->barrier = NULL;
}

/* Keeps the barrier's event: commands that begin here, and not natively in the queue, wait for it. */
static void keep_barrier(const struct command *c)
{
    if (c->error || !c->queue->out_of_order)
        return;
    queue_forget_barrier(c->queue);
    clRetainEvent(c->event);
    c->queue->barrier = c->event;
}

cl_int queue_wait_barrier(struct command *c)
{
    struct queue *queue = c->queue;

    if (queue->barrier && event_status(queue->barrier) <= CL_COMPLETE)
        queue_forget_barrier(queue); /* also one that failed, for which native OpenCL would wait for ever */
    return !queue->barrier || command_wait(c, queue->barrier) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

int exec_enqueue_barrier(struct command *c, const struct exec_enqueue_barrier *m)
{
    (void)m;
    keep_empty(c);
    if (!c->error && c->recording) {
        c->error = record_barrier(c->recording);
    } else if (!c->error) {
        if (c->queue->out_of_order)
            c->ask = &c->event;
        c->error = clEnqueueBarrierWithWaitList(c->queue->native, c->wait_count, command_waits(c), c->ask);
        keep_barrier(c);
    }
    return 0;
}

int exec_flush(struct executor *x, const struct exec_flush *m)
{
    executor_flush_later(x, m->queue);
    return 0;
}
