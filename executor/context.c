/* Contexts and queues. */
#include <stdio.h>

#include "executor/internal.h"

/* ---- errors that only the context's callback is told ---- */

void context_tell(struct executor *x, uint32_t context, const char *text)
{
    struct wire_context_error m = {context, text, (uint32_t)strnlen(text, 4096)};
    struct wire_buffer out = {0};

    wire_put_context_error(&out, &m);
    executor_send(x, &out);
}

struct context_owner {
    struct executor *x;
    uint32_t id;
};

struct native_error {
    struct job job;
    uint32_t id;
    char text[4097];
};

static void tell_native(struct executor *x, struct job *job)
{
    struct native_error *error = (struct native_error *)job;

    if (object_get(x, WIRE_CONTEXT, error->id))
        context_tell(x, error->id, error->text);
    free(error);
}

static _Thread_local bool hushed;

void context_hush(bool hush)
{
    hushed = hush;
}

static void CL_CALLBACK native_error(const char *text, const void *details, size_t size, void *data)
{
    struct context_owner *owner = data; /* NULL from oclgrind, which gives it as details */
    struct native_error *error = owner && !hushed ? calloc(1, sizeof(*error)) : NULL;

    (void)details;
    (void)size;
    if (!error)
        return;
    error->job.run = tell_native;
    error->id = owner->id;
    snprintf(error->text, sizeof(error->text), "%s", text);
    executor_finish(owner->x, &error->job);
}

static void CL_CALLBACK owner_free(cl_context context, void *data)
{
    (void)context;
    free(data);
}

/* The owner has to outlive the native context: without OpenCL 3.0's callback, which says when that goes, it stays. */
static cl_context create(struct executor *x, uint32_t id, const cl_context_properties *properties, cl_uint count,
                         const cl_device_id *devices, cl_int *error)
{
    struct context_owner *owner = malloc(sizeof(*owner));
    cl_context context;

    if (!owner) {
        *error = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    *owner = (struct context_owner){x, id};
    context = clCreateContext(properties, count, devices, native_error, owner, error);
    if (*error)
        free(owner);
    else
        clSetContextDestructorCallback(context, owner_free, owner);
    return context;
}

/* ---- objects ---- */

void *context_function(cl_context context, const char *name)
{
    cl_device_id devices[WIRE_MAX_DEVICES] = {NULL};
    cl_platform_id platform = NULL;

    clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static bool is_unified(cl_device_id device)
{
    cl_bool unified = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return unified;
}

/* A queue for what other nodes need, out of order if the device can: none of it is to wait for the rest. */
static struct object *mover_new(const struct object *context)
{
    struct object *mover = calloc(1, sizeof(*mover));
    cl_command_queue_properties can = 0;
    cl_int error;

    if (!mover)
        return NULL;
    clGetDeviceInfo(context->on, CL_DEVICE_QUEUE_PROPERTIES, sizeof(can), &can, NULL);
    mover->out_of_order = can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    mover->queue = clCreateCommandQueue(context->context, context->on,
                                        mover->out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &error);
    if (error) {
        free(mover);
        return NULL;
    }
    mover->in = context->context;
    mover->on = context->on;
    mover->unified = is_unified(context->on);
    return mover;
}

int exec_create_context(struct executor *x, const struct wire_create_context *m)
{
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    struct object *context;
    cl_platform_id platform = NULL;

    if (!devices_of(x, m->devices, m->devices_count, devices))
        return -EBADMSG;
    context = object_new(x, WIRE_CONTEXT, m->context);
    if (!context)
        return -EBADMSG;
    clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    properties[1] = (cl_context_properties)platform;
    context->context = create(x, m->context, properties, m->devices_count, devices, &context->error);
    context->on = devices[0];
    if (is_usable(context))
        context->spare = clCreateCommandQueue(context->context, devices[0], 0, &context->error);
    if (!context->error)
        context->mover = mover_new(context);
    context->scrubs = scrub_wanted(x, devices, m->devices_count);
    return 0;
}

int exec_create_queue(struct executor *x, const struct wire_create_queue *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context), *device = object_get(x, WIRE_DEVICE, m->device);
    struct object *queue = context && device ? object_new(x, WIRE_QUEUE, m->queue) : NULL;

    if (!queue)
        return -EBADMSG;
    queue->error = context->error;
    if (queue->error)
        return 0;
    /* not the newer call, in which PoCL ends the process for flags it does not know */
    queue->queue = clCreateCommandQueue(context->context, device->device, m->properties, &queue->error);
    queue->in = context->context;
    queue->context_id = m->context;
    queue->on = device->device;
    queue->place = device->place;
    queue->spare = context->spare;
    if (queue->spare)
        clRetainCommandQueue(queue->spare);
    queue->out_of_order = m->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    queue->profiling = m->properties & CL_QUEUE_PROFILING_ENABLE;
    queue->lazy = queue->queue && driver_flush_waits(queue->queue);
    queue->unified = is_unified(device->device);
    order_queue_made(x, context, queue);
    return 0;
}

/* Without a list it waits for all before it, and out of order that is all that it waits for. */
static void keep_empty(struct command *c, uint32_t wait_count)
{
    if (!wait_count && c->queue->out_of_order)
        c->wait_count = 0;
}

int exec_enqueue_marker(struct executor *x, const struct wire_enqueue_marker *m)
{
    struct command c;
    int bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);

    if (bad)
        return bad;
    keep_empty(&c, m->wait_count);
    return command_end(
        &c, c.error ? c.error : clEnqueueMarkerWithWaitList(c.queue->queue, c.wait_count, command_waits(&c), c.ask));
}

int exec_enqueue_barrier(struct executor *x, const struct wire_enqueue_barrier *m)
{
    struct command c;
    int bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);

    if (bad)
        return bad;
    if (!c.error && c.recording)
        return command_end(&c, record_barrier(c.recording));
    keep_empty(&c, m->wait_count);
    return command_end(
        &c, c.error ? c.error : clEnqueueBarrierWithWaitList(c.queue->queue, c.wait_count, command_waits(&c), c.ask));
}

int exec_flush(struct executor *x, const struct wire_flush *m)
{
    struct object *queue = object_get(x, WIRE_QUEUE, m->queue);

    if (!queue)
        return -EBADMSG;
    executor_flush_later(x, queue);
    return 0;
}
