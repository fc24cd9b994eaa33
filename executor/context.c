/* Contexts and queues. */
#include "executor/internal.h"

int exec_create_context(struct executor *x, const struct wire_create_context *m)
{
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    struct object *context;
    cl_platform_id platform = NULL;

    if (!m->devices_count)
        return -EBADMSG;
    for (uint32_t i = 0; i < m->devices_count; i++) {
        struct object *device = object_get(x, WIRE_DEVICE, m->devices[i]);

        if (!device)
            return -EBADMSG;
        devices[i] = device->device;
    }
    context = object_new(x, WIRE_CONTEXT, m->context);
    if (!context)
        return -EBADMSG;
    clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    properties[1] = (cl_context_properties)platform;
    context->context = clCreateContext(properties, m->devices_count, devices, NULL, NULL, &context->error);
    context->on = devices[0];
    if (is_usable(context))
        context->spare = clCreateCommandQueueWithProperties(context->context, devices[0], NULL, &context->error);
    return 0;
}

int exec_create_queue(struct executor *x, const struct wire_create_queue *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context), *device = object_get(x, WIRE_DEVICE, m->device);
    struct object *queue = context && device ? object_new(x, WIRE_QUEUE, m->queue) : NULL;
    cl_bool unified = CL_FALSE;

    if (!queue)
        return -EBADMSG;
    queue->error = context->error;
    if (queue->error)
        return 0;
    /* not the newer call, in which PoCL ends the process for flags it does not know */
    queue->queue = clCreateCommandQueue(context->context, device->device, m->properties, &queue->error);
    queue->in = context->context;
    queue->on = device->device;
    queue->spare = context->spare;
    if (queue->spare)
        clRetainCommandQueue(queue->spare);
    queue->out_of_order = m->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    queue->profiling = m->properties & CL_QUEUE_PROFILING_ENABLE;
    clGetDeviceInfo(device->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    queue->unified = unified;
    return 0;
}

int exec_enqueue_marker(struct executor *x, const struct wire_enqueue_marker *m)
{
    struct command c;
    int bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);

    if (bad)
        return bad;
    return command_end(
        &c, c.error ? c.error
                    : clEnqueueMarkerWithWaitList(c.queue->queue, c.wait_count, c.wait_count ? c.wait : NULL, c.ask));
}

int exec_enqueue_barrier(struct executor *x, const struct wire_enqueue_barrier *m)
{
    struct command c;
    int bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);

    if (bad)
        return bad;
    if (!c.error && c.recording)
        return command_end(&c, record_barrier(c.recording));
    return command_end(
        &c, c.error ? c.error
                    : clEnqueueBarrierWithWaitList(c.queue->queue, c.wait_count, c.wait_count ? c.wait : NULL, c.ask));
}

int exec_flush(struct executor *x, const struct wire_flush *m)
{
    struct object *queue = object_get(x, WIRE_QUEUE, m->queue);

    if (!queue)
        return -EBADMSG;
    queue->used = true; /* flushed at the end of the frame */
    return 0;
}
