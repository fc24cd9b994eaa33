/* Command queues, and what every enqueued command has in common. */
#include "libvocl/internal.h"

#define KNOWN_PROPERTIES (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
#define WANT_COMPLETE (1u << CL_COMPLETE)

/* Whether the device takes these properties for sure; others are for it to judge. */
static bool is_plain(cl_device_id device, cl_command_queue_properties properties)
{
    cl_command_queue_properties can = KNOWN_PROPERTIES;

    device_number(device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, &can, sizeof(can));
    return !(properties & ~(can & KNOWN_PROPERTIES));
}

static cl_command_queue queue_create(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                     const cl_queue_properties *array, cl_int *ret)
{
    struct wire_create_queue m;
    cl_command_queue queue;
    cl_int error;

    queue = handle_new(WIRE_QUEUE);
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
    m = (struct wire_create_queue){.queue = queue->object.id,
                                   .context = context->object.id,
                                   .device = device->object.id,
                                   .properties = properties};
    wire_put_create_queue(stream_begin(queue->node), &m);
    error = stream_end(queue->node, STREAM_LATER);
    if (!error && !is_plain(device, properties))
        error = native_outcome(queue->node, &queue->object);
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
    cl_command_queue_properties properties = 0;
    cl_int error = check_device(context, device);
    bool seen = false;

    for (size_t i = 0; !error && array && array[i]; i += 2) {
        if (array[i] == CL_QUEUE_PROPERTIES && !seen)
            properties = array[i + 1];
        else if (array[i] != CL_QUEUE_SIZE) /* which is for queues on the device, and no device here has any */
            error = CL_INVALID_VALUE;
        seen |= array[i] == CL_QUEUE_PROPERTIES;
    }
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    return queue_create(context, device, properties, array, ret);
}

void queue_destroy(cl_command_queue queue)
{
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

cl_int clRetainCommandQueue(cl_command_queue queue)
{
    return handle_retain(queue, WIRE_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    clFlush(queue);
    return handle_release(queue, WIRE_QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info param, size_t size, void *value,
                             size_t *size_ret)
{
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
    (void)properties;
    (void)enable;
    (void)old;
    return handle_check(queue, WIRE_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

/* ---- commands ---- */

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

/* What has to be there before it, by its queue's order and by its list. */
static cl_int arrival_before(struct enqueue *e, cl_uint count, const cl_event *list, cl_command_type type)
{
    const bool all = queue_in_order(e->queue) || (!count && (type == CL_COMMAND_MARKER || type == CL_COMMAND_BARRIER));
    bool done;

    if (!arrival_any())
        return CL_SUCCESS;
    session_lock(e->node->session);
    e->behind = arrival_use(e->queue->arrival);
    done = arrival_join(&e->arrival, all ? e->behind : e->queue->barred);
    for (cl_uint i = 0; i < count; i++)
        done = arrival_join(&e->arrival, list[i]->arrival) && done;
    session_unlock(e->node->session);
    return done ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static void arrival_after(struct enqueue *e)
{
    cl_command_queue queue = e->queue;

    session_lock(e->node->session);
    if (queue_in_order(queue) && queue->arrival == e->behind) {
        arrival_drop(queue->arrival);
        queue->arrival = arrival_use(e->arrival);
    } else { /* or another thread's came in between */
        arrival_join(&queue->arrival, e->arrival);
    }
    if (e->bars)
        arrival_join(&queue->barred, e->arrival);
    session_unlock(e->node->session);
}

cl_int enqueue_need_event(struct enqueue *e, cl_command_type type)
{
    if (e->event)
        return CL_SUCCESS;
    e->event = event_new(e->queue->context, e->queue, type);
    if (!e->event)
        return CL_OUT_OF_HOST_MEMORY;
    e->event_id = e->event->object.id;
    e->event->before = atomic_load(&e->queue->enqueued);
    if (e->arrival) {
        session_lock(e->node->session);
        event_arrival(e);
        session_unlock(e->node->session);
    }
    return CL_SUCCESS;
}

static void enqueue_free(struct enqueue *e)
{
    if (e->wait != e->small_wait)
        free(e->wait);
    while (e->held_count)
        handle_drop(e->held[--e->held_count]);
    free(e->held);
    free(e->written);
    if (e->arrival || e->behind) {
        session_lock(e->node->session);
        arrival_drop(e->arrival);
        arrival_drop(e->behind);
        session_unlock(e->node->session);
    }
    wire_buffer_free(&e->recorded);
}

cl_int enqueue_begin(struct enqueue *e, cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event,
                     cl_command_type type)
{
    cl_int error;

    *e = (struct enqueue){.queue = queue, .list_count = count, .list = list, .bars = type == CL_COMMAND_BARRIER};
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    e->node = queue->node;
    error = event_check_list(queue->context, count, list);
    if (error)
        return error;
    if (count)
        deliver_behind(queue, count, list);
    e->wait =
        event_ids(e->node, count, list, e->small_wait, sizeof(e->small_wait) / sizeof(*e->small_wait), &e->wait_count);
    if (!e->wait)
        return CL_OUT_OF_HOST_MEMORY;
    error = arrival_before(e, count, list, type);
    if (!error && event)
        error = enqueue_need_event(e, type);
    if (error)
        enqueue_free(e);
    return error;
}

cl_int site_begin(struct enqueue *e, const struct site *site, cl_command_type type)
{
    if (!site->buffer)
        return enqueue_begin(e, site->queue, site->count, site->list, site->event, type);
    *e = (struct enqueue){.queue = site->queue, .node = site->queue->node, .site = site};
    return record_begin(e);
}

struct wire_buffer *site_encode(struct enqueue *e)
{
    return e->site ? &e->recorded : stream_begin(e->node);
}

cl_int site_send(struct enqueue *e)
{
    return e->site ? record_send(e) : stream_end(e->node, STREAM_SOON);
}

cl_int site_finish(struct enqueue *e, const struct site *site)
{
    return enqueue_finish(e, site_send(e), site->event);
}

cl_int enqueue_finish(struct enqueue *e, cl_int status, cl_event *event)
{
    uint64_t number;

    if (status == CL_SUCCESS)
        coherence_sent(e);
    if (status == CL_SUCCESS && e->arrival)
        arrival_after(e);
    enqueue_free(e);
    if (e->site)
        return status;
    number = atomic_fetch_add(&e->queue->enqueued, 1) + 1;
    if (e->event)
        atomic_store(&e->event->number, number);
    if (e->hosted)
        hostptr_sent(e, number);
    if (status == CL_SUCCESS && event)
        *event = e->event;
    else if (e->event)
        handle_release(e->event, WIRE_EVENT, 0);
    return status;
}

cl_int enqueue_fail(struct enqueue *e, cl_int error)
{
    enqueue_free(e);
    if (e->hosted)
        hostptr_not_sent(e);
    if (e->event)
        handle_release(e->event, WIRE_EVENT, 0);
    return error;
}

enum { MARKER, BARRIER };

/* Of a marker that waits for what is over: without a list it would wait for all before it. */
static void keep_list(struct enqueue *e)
{
    if (!e->list_count || e->wait_count || queue_in_order(e->queue))
        return;
    e->wait[0] = event_id(e->node, e->list[0]);
    e->wait_count = 1;
}

static void put_sync(struct enqueue *e, int what)
{
    struct wire_enqueue_marker marker;
    struct wire_enqueue_barrier barrier;
    struct wire_buffer *out;

    keep_list(e);
    marker = (struct wire_enqueue_marker){e->queue->object.id, e->event_id, 0, e->wait, e->wait_count};
    barrier = (struct wire_enqueue_barrier){e->queue->object.id, e->event_id, 0, e->wait, e->wait_count};
    out = site_encode(e);
    if (what == MARKER)
        wire_put_enqueue_marker(out, &marker);
    else
        wire_put_enqueue_barrier(out, &barrier);
}

static cl_int enqueue_sync(cl_command_queue queue, int what, cl_command_type type, cl_uint count, const cl_event *list,
                           cl_event *event)
{
    struct enqueue e;
    cl_int error;

    if (handle_check(queue, WIRE_QUEUE) && direct_sync_may(queue, count, count, list, event))
        return direct_end(queue, type, device_time(queue->device), event);
    error = enqueue_begin(&e, queue, count, list, event, type);
    if (error)
        return error;
    put_sync(&e, what);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

cl_int site_nothing(struct enqueue *e, const struct site *site)
{
    put_sync(e, site->buffer ? BARRIER : MARKER); /* markers are not recorded */
    return site_finish(e, site);
}

cl_int enqueue_marker_as(cl_command_queue queue, cl_command_type type, cl_uint count, const cl_event *list,
                         cl_event *event)
{
    return enqueue_sync(queue, MARKER, type, count, list, event);
}

cl_int enqueue_gated(cl_command_queue queue, cl_command_type type, cl_event gate, struct arrival *done, cl_event *event)
{
    struct enqueue e;
    cl_int error = enqueue_begin(&e, queue, 1, &gate, event, type);

    if (error)
        return error;
    session_lock(e.node->session);
    if (!enqueue_arrival(&e, done))
        error = CL_OUT_OF_HOST_MEMORY;
    session_unlock(e.node->session);
    if (error)
        return enqueue_fail(&e, error);
    put_sync(&e, MARKER);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    return enqueue_sync(queue, MARKER, CL_COMMAND_MARKER, count, list, event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    return enqueue_sync(queue, BARRIER, CL_COMMAND_BARRIER, count, list, event);
}

cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!event)
        return CL_INVALID_VALUE;
    return enqueue_sync(queue, MARKER, CL_COMMAND_MARKER, 0, NULL, event);
}

cl_int clEnqueueBarrier(cl_command_queue queue)
{
    return enqueue_sync(queue, BARRIER, CL_COMMAND_BARRIER, 0, NULL, NULL);
}

cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!count || !list)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!handle_check(list[i], WIRE_EVENT))
            return CL_INVALID_EVENT;
    }
    return enqueue_sync(queue, BARRIER, CL_COMMAND_BARRIER, count, list, NULL);
}

cl_int enqueue_want(struct enqueue *e, cl_bool blocking, cl_command_type type)
{
    cl_int error = blocking ? enqueue_need_event(e, type) : CL_SUCCESS;

    if (error)
        return enqueue_fail(e, error);
    e->want = blocking ? WANT_COMPLETE : 0;
    if (e->event)
        e->event->wanted = e->want;
    return CL_SUCCESS;
}

/* It returns when the data are on their way, and what is enqueued later comes behind it (WIRE_ORDERS), unless something
 * is to be told, or what is before it in the queue can have its effect in memory that the node has, too. */
cl_int enqueue_want_written(struct enqueue *e, cl_bool blocking, const cl_event *event, cl_command_type type)
{
    const bool shared = queue_in_order(e->queue) && e->node->memory == NODE_MEMORY_SHARED &&
                        atomic_load(&e->queue->enqueued) != atomic_load(&e->queue->finished);
    const bool waits = blocking && (event || e->wait_count || shared);
    cl_int error = waits ? enqueue_need_event(e, type) : CL_SUCCESS;

    if (error)
        return error;
    e->want = waits ? WANT_COMPLETE : blocking ? WIRE_ORDERS : 0;
    if (e->event)
        e->event->wanted = e->want & WANT_COMPLETE;
    return CL_SUCCESS;
}

void enqueue_expect(struct enqueue *e)
{
    if (!e->event || !(e->queue->properties & CL_QUEUE_PROFILING_ENABLE || atomic_load(&e->queue->eager)))
        return;
    e->want = WANT_COMPLETE;
    e->event->wanted = e->want;
}

cl_int enqueue_end(struct enqueue *e, cl_bool blocking, cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    cl_int error = stream_end(e->node, blocking ? STREAM_NOW : STREAM_SOON), status;

    if (!error && blocking) {
        status = event_wait(e->event);
        error = status < 0 ? status : CL_SUCCESS;
        queue_settle(e->queue, since);
    }
    error = enqueue_finish(e, error, event);
    if (blocking)
        hostptr_look();
    return error;
}

/* A command that moves nothing: only the order of the queue matters. */
cl_int enqueue_nothing(struct enqueue *e, cl_bool blocking, cl_event *event)
{
    struct wire_enqueue_marker m = {.queue = e->queue->object.id};
    cl_int error = enqueue_want(e, blocking, CL_COMMAND_MAP_BUFFER);

    if (error)
        return error;
    keep_list(e);
    m.wait = e->wait;
    m.wait_count = e->wait_count;
    m.event = e->event_id;
    m.want = e->want;
    wire_put_enqueue_marker(stream_begin(e->node), &m);
    return enqueue_end(e, blocking, event);
}

cl_int clFlush(cl_command_queue queue)
{
    struct wire_flush m;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (queue->node->alive && atomic_load(&queue->enqueued) == atomic_load(&queue->finished))
        return CL_SUCCESS;
    m.queue = queue->object.id;
    wire_put_flush(stream_begin(queue->node), &m);
    return stream_end(queue->node, STREAM_NOW);
}

static void raise_to(atomic_uint_fast64_t *to, uint64_t number)
{
    uint64_t known = atomic_load(to);

    while (known < number && !atomic_compare_exchange_weak(to, &known, number))
        ;
}

void queue_finished(cl_command_queue queue, uint64_t number, bool well)
{
    if (well)
        raise_to(&queue->well, number);
    raise_to(&queue->finished, number);
}

/* A marker that is waited for: in an in-order queue and in an out-of-order one it comes after all before it. */
cl_int queue_wait_idle(cl_command_queue queue)
{
    uint64_t number = atomic_load(&queue->enqueued);
    struct enqueue e;
    struct wire_enqueue_marker m;
    cl_int error;

    if (number <= atomic_load(&queue->finished))
        return queue->node->alive ? CL_SUCCESS : node_lost_error();
    error = enqueue_begin(&e, queue, 0, NULL, NULL, CL_COMMAND_MARKER);
    if (!error)
        error = enqueue_need_event(&e, CL_COMMAND_MARKER);
    if (error)
        return enqueue_fail(&e, error);
    m = (struct wire_enqueue_marker){.queue = queue->object.id, .event = e.event_id, .want = WANT_COMPLETE};
    e.event->wanted = WANT_COMPLETE;
    wire_put_enqueue_marker(stream_begin(e.node), &m);
    error = stream_end(e.node, STREAM_NOW);
    if (!error && event_wait(e.event) == node_lost_error())
        error = node_lost_error();
    if (!error)
        arrival_wait(queue->node->session, e.arrival); /* also if the marker has failed with something before it */
    if (!error)
        queue_finished(queue, number, atomic_load(&e.event->status) == CL_COMPLETE);
    return enqueue_fail(&e, error);
}

void queue_settle(cl_command_queue queue, uint64_t since)
{
    const struct due due = {queue, atomic_load(&queue->enqueued), 0, since};

    deliver_settle(queue->node->session, &due);
}

cl_int clFinish(cl_command_queue queue)
{
    const uint64_t since = deliver_now_begun();
    cl_int error;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    error = queue_wait_idle(queue);
    dying_catch_up(queue->node, &queue->object);
    queue_settle(queue, since);
    hostptr_look();
    return error ? error : atomic_exchange(&queue->error, CL_SUCCESS);
}
