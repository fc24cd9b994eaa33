/* Command queues: creation, queries, markers and barriers, flush and finish. */
#include "libvocl/internal.h"

#define KNOWN_PROPERTIES (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)

/* Whether the device certainly accepts these properties; it has to judge others itself. */
static bool is_plain(cl_device_id device, cl_command_queue_properties properties)
{
    cl_command_queue_properties can = KNOWN_PROPERTIES;

    device_number(device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, &can, sizeof(can));
    return !(properties & ~(can & KNOWN_PROPERTIES));
}

/* Whether it is a property of cl_khr_priority_hints or cl_khr_throttle_hints, which only the device can judge. */
static bool is_hint(cl_queue_properties name)
{
    return name == CL_QUEUE_PRIORITY_KHR || name == CL_QUEUE_THROTTLE_KHR;
}

enum { MOST_HINTS = 4 };

static unsigned count_hints(const cl_queue_properties *array)
{
    unsigned count = 0;

    for (; array && *array; array += 2)
        count += is_hint(*array);
    return count;
}

static uint32_t put_hints(const cl_queue_properties *array, uint64_t hints[2 * MOST_HINTS])
{
    unsigned count = 0;

    for (; array && *array && count < MOST_HINTS; array += 2) {
        if (is_hint(*array)) {
            hints[2 * count] = array[0];
            hints[2 * count++ + 1] = array[1];
        }
    }
    return (uint32_t)(2 * count * sizeof(*hints));
}

static cl_command_queue queue_create(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                     const cl_queue_properties *array, cl_int *ret)
{
    cl_command_queue queue;
    cl_int error;

    HALT_GUARD;
    queue = handle_begin(WIRE_QUEUE);
    if (!queue) {
        fail_ret(ret, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    queue->context = context;
    queue->device = device;
    queue->node = device->node;
    queue->properties = properties;
    properties_copy(array, sizeof(*array), (void **)&queue->array, &queue->array_size);
    handle_use(context);
    handle_show(queue);
    error = cl_error(handle_create(&queue->object));
    if (!error && (!is_plain(device, properties) || count_hints(array)))
        error = cl_error(native_outcome(queue->node, &queue->object));
    fail_ret(ret, error);
    if (error)
        handle_release(queue, WIRE_QUEUE, 0);
    return error ? NULL : queue;
}

static cl_int check_device(cl_context context, cl_device_id device)
{
    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!handle_check(device, WIRE_DEVICE))
        return CL_INVALID_DEVICE;
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (context->devices[i] == device)
            return CL_SUCCESS;
    }
    return CL_INVALID_DEVICE;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int *ret)
{
    TIMELINE(clCreateCommandQueue);

    cl_int error = check_device(context, device);

    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    return queue_create(context, device, properties, NULL, ret);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_queue_properties *array, cl_int *ret)
{
    TIMELINE(clCreateCommandQueueWithProperties);

    cl_command_queue_properties properties = 0;
    cl_int error = check_device(context, device);
    bool seen = false;

    for (size_t i = 0; !error && array && array[i]; i += 2) {
        if (array[i] == CL_QUEUE_PROPERTIES && !seen)
            properties = array[i + 1];
        else if (!is_hint(array[i]) &&
                 array[i] != CL_QUEUE_SIZE) /* for queues on the device, which no device here has */
            error = CL_INVALID_VALUE;
        seen |= array[i] == CL_QUEUE_PROPERTIES;
    }
    if (!error && count_hints(array) > MOST_HINTS)
        error = CL_INVALID_VALUE;
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    return queue_create(context, device, properties, array, ret);
}

static struct node *queue_node(const struct object *object)
{
    return ((const struct _cl_command_queue *)object)->node;
}

static int queue_create_on(struct object *object, struct node *node)
{
    const struct _cl_command_queue *queue = (const struct _cl_command_queue *)object;
    uint64_t hints[2 * MOST_HINTS];
    const struct wire_create_queue m = {.queue = object->id,
                                        .context = queue->context->object.id,
                                        .device = queue->device->object.id,
                                        .properties = queue->properties,
                                        .hints = hints,
                                        .hints_length = put_hints(queue->array, hints)};

    wire_put_create_queue(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

static void queue_destroy(struct object *object)
{
    cl_command_queue queue = (cl_command_queue)object;
    cl_context context = queue->context;
    struct session *session = context->node->session;

    free(queue->array);
    session_lock(session);
    arrival_drop(queue->arrival);
    arrival_drop(queue->barred);
    handle_free(&queue->object);
    session_unlock(session);
    handle_drop(context);
}

const struct kind queue_kind = {
    .size = sizeof(struct _cl_command_queue),
    .node = queue_node,
    .create_on = queue_create_on,
    .destroy = queue_destroy,
};

cl_int clRetainCommandQueue(cl_command_queue queue)
{
    TIMELINE(clRetainCommandQueue);

    return handle_retain(queue, WIRE_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    TIMELINE(clReleaseCommandQueue);

    HALT_GUARD_QUIET;
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    clFlush(queue);
    return handle_release(queue, WIRE_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info param, size_t size, void *value,
                             size_t *size_ret)
{
    TIMELINE(clGetCommandQueueInfo);

    cl_uint count;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (info_is_newer(queue->device, param))
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_QUEUE_CONTEXT:
        return info_return(&queue->context, sizeof(queue->context), size, value, size_ret);
    case CL_QUEUE_DEVICE:
        return info_return(&queue->device, sizeof(queue->device), size, value, size_ret);
    case CL_QUEUE_REFERENCE_COUNT:
        count = (cl_uint)atomic_load(&queue->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_QUEUE_PROPERTIES:
        return info_return(&queue->properties, sizeof(queue->properties), size, value, size_ret);
    case CL_QUEUE_PROPERTIES_ARRAY:
        return info_return(queue->array, queue->array_size, size, value, size_ret);
    case CL_QUEUE_SIZE:
        return CL_INVALID_COMMAND_QUEUE; /* not a device queue */
    case CL_QUEUE_DEVICE_DEFAULT: {
        cl_command_queue none = NULL;

        return info_return(&none, sizeof(none), size, value, size_ret);
    }
    }
    return CL_INVALID_VALUE;
}

cl_int clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,
                                 cl_command_queue_properties *old)
{
    TIMELINE(clSetCommandQueueProperty);

    (void)properties;
    (void)enable;
    (void)old;
    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

/* ---- commands ---- */

cl_int enqueue_begin(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event,
                     cl_command_type type)
{
    cl_int error =
        handle_check(queue, WIRE_QUEUE) ? event_check_list(queue->context, count, list) : CL_INVALID_COMMAND_QUEUE;

    return error ? error : cl_error(enqueue_open(e, queue, count, list, event, type));
}

cl_int enqueue_marker_as(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list,
                         cl_event *event)
{
    cl_int error =
        handle_check(queue, WIRE_QUEUE) ? event_check_list(queue->context, count, list) : CL_INVALID_COMMAND_QUEUE;

    return error ? error : cl_error(enqueue_marker(queue, type, count, list, event));
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMarkerWithWaitList);

    return enqueue_marker_as(queue, CL_COMMAND_MARKER, count, list, event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueBarrierWithWaitList);

    return enqueue_marker_as(queue, CL_COMMAND_BARRIER, count, list, event);
}

cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
    TIMELINE(clEnqueueMarker);

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!event)
        return CL_INVALID_VALUE;
    return enqueue_marker_as(queue, CL_COMMAND_MARKER, 0, NULL, event);
}

cl_int clEnqueueBarrier(cl_command_queue queue)
{
    TIMELINE(clEnqueueBarrier);

    return enqueue_marker_as(queue, CL_COMMAND_BARRIER, 0, NULL, NULL);
}

cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    TIMELINE(clEnqueueWaitForEvents);

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!count || !list)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!handle_check(list[i], WIRE_EVENT))
            return CL_INVALID_EVENT;
    }
    return enqueue_marker_as(queue, CL_COMMAND_BARRIER, count, list, NULL);
}

cl_int clFlush(cl_command_queue queue)
{
    TIMELINE(clFlush);

    struct wire_flush m;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (node_is_there(queue->node) && atomic_load(&queue->enqueued) == atomic_load(&queue->finished))
        return CL_SUCCESS;
    m.queue = queue->object.id;
    wire_put_flush(stream_begin(queue->node), &m);
    return cl_error(stream_end(queue->node, STREAM_NOW));
}

cl_int clFinish(cl_command_queue queue)
{
    TIMELINE(clFinish);

    const uint64_t since = deliver_now_begun();
    cl_int error;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    error = cl_error(queue_wait_idle(queue));
    destructor_catch_up(queue->node, &queue->object);
    queue_wait_callbacks(queue, since);
    event_show();
    return error ? error : atomic_exchange(&queue->error, CL_SUCCESS);
}
