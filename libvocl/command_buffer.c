/*
 * cl_khr_command_buffer. The node's OpenCL records the commands once, and one short message runs them. Programs get the
 * functions only through clGetExtensionFunctionAddressForPlatform(), where they are checked against the header's types.
 */
#include <errno.h>

#include "libvocl/internal.h"
#include "libvocl/restore.h"
#include "wire/tables.h"

#define KNOWN_FLAGS CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR

/* ---- objects ---- */

static cl_int check_properties(const cl_command_buffer_properties_khr *properties, cl_command_buffer_flags_khr *flags)
{
    bool seen = false;

    for (; properties && *properties; properties += 2) {
        if (*properties != CL_COMMAND_BUFFER_FLAGS_KHR || seen || properties[1] & ~(cl_properties)KNOWN_FLAGS)
            return CL_INVALID_VALUE;
        *flags = properties[1];
        seen = true;
    }
    return CL_SUCCESS;
}

static cl_int check_queue(cl_uint count, const cl_command_queue *queues)
{
    cl_command_queue_properties needed = 0;

    if (count != 1 || !queues)
        return CL_INVALID_VALUE;
    if (!handle_check(queues[0], WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    device_number(queues[0]->device, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR, &needed, sizeof(needed));
    return needed & ~queues[0]->properties ? CL_INCOMPATIBLE_COMMAND_QUEUE_KHR : CL_SUCCESS;
}

cl_command_buffer_khr create_command_buffer(cl_uint count, const cl_command_queue *queues,
                                            const cl_command_buffer_properties_khr *properties, cl_int *ret)
{
    TIMELINE(clCreateCommandBufferKHR);

    cl_command_buffer_flags_khr flags = 0;
    cl_command_buffer_khr buffer = NULL;
    cl_int error = check_queue(count, queues);

    HALT_GUARD;
    if (!error)
        error = check_properties(properties, &flags);
    if (!error && !(buffer = handle_new(WIRE_COMMAND_BUFFER)))
        error = CL_OUT_OF_HOST_MEMORY;
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    mutex_init(&buffer->lock, RANK_COMMAND_BUFFER);
    buffer->queue = queues[0];
    buffer->flags = flags;
    buffer->state = CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
    handle_use(buffer->queue);
    error = properties_copy(properties, sizeof(*properties), (void **)&buffer->properties, &buffer->properties_size);
    if (!error)
        error = cl_error(handle_create(&buffer->object));
    fail_ret(ret, error);
    if (error)
        handle_release(buffer, WIRE_COMMAND_BUFFER, 0);
    return error ? NULL : buffer;
}

static struct node *command_buffer_node(const struct object *object)
{
    return ((const struct _cl_command_buffer_khr *)object)->queue->node;
}

/* Creates it with the commands recorded so far. */
static int command_buffer_create_on(struct object *object, struct node *node)
{
    cl_command_buffer_khr buffer = (cl_command_buffer_khr)object;
    const struct wire_create_command_buffer m = {object->id, buffer->queue->object.id, buffer->flags};
    struct wire_buffer *out;
    int error;

    mutex_lock(&buffer->lock);
    out = stream_begin(node);
    wire_put_create_command_buffer(out, &m);
    if (buffer->commands.length)
        wire_put_bytes(out, buffer->commands.bytes, buffer->commands.length);
    error = stream_end(node, STREAM_LATER);
    mutex_unlock(&buffer->lock);
    return error;
}

static cl_int finalize_on(cl_command_buffer_khr buffer, struct node *node)
{
    struct wire_finalize_command_buffer m = {.command_buffer = buffer->object.id};
    struct wire_finalize_command_buffer_reply reply;
    struct call call;
    cl_int error = cl_error(call_finalize_command_buffer(node, &m, &reply, &call));

    if (error)
        return error;
    error = reply.error;
    call_free(&call);
    return error;
}

static int command_buffer_settle_on(struct object *object, struct node *node, struct object *const *all,
                                    const bool *done)
{
    cl_command_buffer_khr buffer = (cl_command_buffer_khr)object;
    cl_int error = CL_SUCCESS;

    (void)all;
    (void)done;
    mutex_lock(&buffer->lock);
    if (buffer->state == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR || buffer->state == CL_COMMAND_BUFFER_STATE_PENDING_KHR)
        error = finalize_on(buffer, node);
    mutex_unlock(&buffer->lock);
    return call_verdict(error);
}

static void command_buffer_destroy(struct object *object)
{
    cl_command_buffer_khr buffer = (cl_command_buffer_khr)object;
    struct session *session = buffer->queue->node->session;
    cl_command_queue queue = buffer->queue;

    if (buffer->last)
        handle_release(buffer->last, WIRE_EVENT, 0);
    while (buffer->uses) {
        struct recorded_use *use = buffer->uses;

        buffer->uses = use->next;
        handle_unhold(session, use->object);
        free(use);
    }
    wire_buffer_free(&buffer->commands);
    free(buffer->properties);
    mutex_destroy(&buffer->lock);
    session_lock(session);
    handle_free(&buffer->object);
    session_unlock(session);
    handle_drop(queue);
}

static const char *command_buffer_bound(const struct object *object, const struct node *node)
{
    (void)node;
    return ((const struct _cl_command_buffer_khr *)object)->loose
               ? "a command buffer has recorded an argument that had been released"
               : NULL;
}

const struct kind command_buffer_kind = {
    .size = sizeof(struct _cl_command_buffer_khr),
    .node = command_buffer_node,
    .create_on = command_buffer_create_on,
    .settle_on = command_buffer_settle_on,
    .bound = command_buffer_bound,
    .destroy = command_buffer_destroy,
};

cl_int retain_command_buffer(cl_command_buffer_khr buffer)
{
    TIMELINE(clRetainCommandBufferKHR);

    return handle_retain(buffer, WIRE_COMMAND_BUFFER, CL_INVALID_COMMAND_BUFFER_KHR);
}

cl_int release_command_buffer(cl_command_buffer_khr buffer)
{
    TIMELINE(clReleaseCommandBufferKHR);

    HALT_GUARD_QUIET;
    return handle_release(buffer, WIRE_COMMAND_BUFFER, CL_INVALID_COMMAND_BUFFER_KHR);
}

/* ---- recording ---- */

/* Makes the site of a command in a buffer. The buffer's own queue must not be named; other queues are not possible,
 * as no device here has cl_khr_command_buffer_multi_device. */
static cl_int find_site(struct site *site, cl_command_buffer_khr buffer, cl_command_queue queue, bool asks,
                        cl_uint count, const cl_sync_point_khr *points, cl_sync_point_khr *point,
                        const cl_mutable_command_khr *mutable_handle)
{
    if (!handle_check(buffer, WIRE_COMMAND_BUFFER))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (queue)
        return CL_INVALID_COMMAND_QUEUE;
    if (asks || mutable_handle)
        return CL_INVALID_VALUE;
    *site = (struct site){.queue = buffer->queue, .count = count, .buffer = buffer, .points = points, .point = point};
    return CL_SUCCESS;
}

cl_int record_begin(struct enqueue *e)
{
    const struct site *site = e->site;
    cl_int error = !site->count == !site->points ? CL_SUCCESS : CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;

    mutex_lock(&site->buffer->lock);
    for (cl_uint i = 0; !error && i < site->count; i++) {
        if (!site->points[i] || site->points[i] > site->buffer->points)
            error = CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
    }
    if (!error && site->count > WIRE_MAX_WAIT)
        error = CL_OUT_OF_RESOURCES;
    if (!error && site->buffer->state != CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
        error = CL_INVALID_OPERATION;
    mutex_unlock(&site->buffer->lock);
    return error;
}

/* Retains the object, with its number, as long as the command buffer exists. */
static int hold(cl_command_buffer_khr buffer, struct object *object, unsigned use)
{
    struct session *session = buffer->queue->node->session;
    struct recorded_use *known;
    bool held = object != NULL;

    mutex_lock(&buffer->lock);
    for (known = buffer->uses; known && known->object != object; known = known->next)
        ;
    if (object && !known && (known = calloc(1, sizeof(*known))) != NULL) {
        session_lock(session);
        held = handle_hold(object);
        session_unlock(session);
        *known = (struct recorded_use){buffer->uses, object, 0};
        if (held)
            buffer->uses = known;
        else
            free(known);
    }
    if (held && known)
        known->use |= use;
    buffer->loose |= !held;
    mutex_unlock(&buffer->lock);
    return held && !known ? -ENOMEM : 0;
}

int record_use(struct enqueue *e, cl_mem memory, unsigned use)
{
    return hold(e->site->buffer, &memory->object, use);
}

int record_kernel(cl_command_buffer_khr buffer, cl_kernel kernel)
{
    int error = hold(buffer, &kernel->object, 0);

    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];

        if (argument->what == WIRE_ARGUMENT_SAMPLER)
            error = hold(buffer, handle_find(WIRE_SAMPLER, argument->id), 0);
        else if (argument->what == WIRE_ARGUMENT_MEMORY && argument->id && !handle_find(WIRE_MEMORY, argument->id))
            error = hold(buffer, NULL, 0);
    }
    return error;
}

/* Holds the lock while it sends, so that points and commands have the same order. */
cl_int record_send(struct enqueue *e)
{
    const struct site *site = e->site;
    const struct wire_record m = {.command_buffer = site->buffer->object.id,
                                  .points = site->points,
                                  .points_count = site->count,
                                  .command = e->recorded.bytes,
                                  .command_length = (uint32_t)e->recorded.length};
    struct wire_buffer *kept = &site->buffer->commands;
    cl_int error = CL_OUT_OF_HOST_MEMORY;
    size_t mark;

    if (e->recorded.failed)
        return error;
    mutex_lock(&site->buffer->lock);
    mark = kept->length;
    wire_put_record(kept, &m);
    if (!kept->failed) {
        wire_put_bytes(stream_begin(e->node), kept->bytes + mark, kept->length - mark);
        error = cl_error(stream_end(e->node, STREAM_LATER));
    }
    if (error) {
        kept->length = mark;
        kept->failed = false;
    } else {
        site->buffer->points++;
        if (site->point)
            *site->point = site->buffer->points;
    }
    mutex_unlock(&site->buffer->lock);
    return error;
}

cl_int record_barrier(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_uint count,
                      const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandBarrierWithWaitListKHR);

    struct site site;
    struct enqueue e;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    if (!error)
        error = site_begin(&e, &site, CL_COMMAND_BARRIER);
    return error ? error : site_nothing(&e, &site);
}

cl_int record_copy_buffer(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem from,
                          cl_mem to, size_t from_offset, size_t to_offset, size_t size, cl_uint count,
                          const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandCopyBufferKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : copy_buffer(&site, from, to, from_offset, to_offset, size);
}

cl_int record_copy_rect(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem from, cl_mem to,
                        const size_t *from_origin, const size_t *to_origin, const size_t *region, size_t from_row,
                        size_t from_slice, size_t to_row, size_t to_slice, cl_uint count,
                        const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandCopyBufferRectKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error
                 : copy_rect(&site, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice);
}

cl_int record_copy_buffer_to_image(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem from,
                                   cl_mem to, size_t offset, const size_t *origin, const size_t *region, cl_uint count,
                                   const cl_sync_point_khr *points, cl_sync_point_khr *point,
                                   cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandCopyBufferToImageKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : copy_buffer_to_image(&site, from, to, offset, origin, region);
}

cl_int record_copy_image(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem from, cl_mem to,
                         const size_t *from_origin, const size_t *to_origin, const size_t *region, cl_uint count,
                         const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandCopyImageKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : copy_image(&site, from, to, from_origin, to_origin, region);
}

cl_int record_copy_image_to_buffer(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem from,
                                   cl_mem to, const size_t *origin, const size_t *region, size_t offset, cl_uint count,
                                   const cl_sync_point_khr *points, cl_sync_point_khr *point,
                                   cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandCopyImageToBufferKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : copy_image_to_buffer(&site, from, to, origin, region, offset);
}

cl_int record_fill_buffer(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem to,
                          const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint count,
                          const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandFillBufferKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : fill_buffer(&site, to, pattern, pattern_size, offset, size);
}

cl_int record_fill_image(cl_command_buffer_khr buffer, cl_command_queue queue, RECORD_PROPERTIES cl_mem image,
                         const void *colour, const size_t *origin, const size_t *region, cl_uint count,
                         const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandFillImageKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, RECORD_ASKS, count, points, point, handle);

    return error ? error : fill_image(&site, image, colour, origin, region);
}

cl_int record_ndrange(cl_command_buffer_khr buffer, cl_command_queue queue,
                      const cl_ndrange_kernel_command_properties_khr *properties, cl_kernel kernel, cl_uint dims,
                      const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                      const cl_sync_point_khr *points, cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    TIMELINE(clCommandNDRangeKernelKHR);

    struct site site;
    cl_int error = find_site(&site, buffer, queue, false, count, points, point, handle);

    if (!error && properties && *properties)
        error = CL_INVALID_VALUE; /* no properties are supported */
    return error ? error : launch(&site, kernel, dims, offset, global, local);
}

cl_int finalize_command_buffer(cl_command_buffer_khr buffer)
{
    TIMELINE(clFinalizeCommandBufferKHR);

    cl_int error = CL_INVALID_OPERATION;

    HALT_GUARD;
    if (!handle_check(buffer, WIRE_COMMAND_BUFFER))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    mutex_lock(&buffer->lock);
    if (buffer->state == CL_COMMAND_BUFFER_STATE_RECORDING_KHR) {
        error = finalize_on(buffer, buffer->queue->node);
        buffer->state = error ? CL_COMMAND_BUFFER_STATE_INVALID_KHR : CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
    }
    mutex_unlock(&buffer->lock);
    return error;
}

/* ---- running ---- */

/* With the lock held: executable, or pending if a run has not ended. */
static cl_int find_state(cl_command_buffer_khr buffer, cl_command_buffer_state_khr *state)
{
    *state = buffer->state;
    if (*state != CL_COMMAND_BUFFER_STATE_PENDING_KHR)
        return CL_SUCCESS;
    if (buffer->last && atomic_load(&buffer->last->status) <= CL_COMPLETE) {
        *state = CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
        return CL_SUCCESS;
    }
    return cl_error(info_ask(buffer->queue->node, WIRE_INFO_COMMAND_BUFFER, buffer->object.id, 0,
                             CL_COMMAND_BUFFER_STATE_KHR, NULL, 0, sizeof(*state), state, NULL));
}

static cl_int check_run(cl_command_buffer_khr buffer, cl_uint count, const cl_command_queue *queues)
{
    if (!handle_check(buffer, WIRE_COMMAND_BUFFER))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (!count != !queues || count > 1)
        return CL_INVALID_VALUE;
    if (!count)
        return CL_SUCCESS;
    if (!handle_check(queues[0], WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (queues[0]->context != buffer->queue->context)
        return CL_INVALID_CONTEXT;
    if (queues[0]->device != buffer->queue->device || queues[0]->properties != buffer->queue->properties)
        return CL_INCOMPATIBLE_COMMAND_QUEUE_KHR;
    return CL_SUCCESS;
}

/* With the lock held. */
static cl_int may_run(cl_command_buffer_khr buffer)
{
    cl_command_buffer_state_khr state = buffer->state;
    cl_int error = CL_SUCCESS;

    if (!(buffer->flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR))
        error = find_state(buffer, &state);
    if (error || state == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR)
        return error;
    return state == CL_COMMAND_BUFFER_STATE_PENDING_KHR && buffer->flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR
               ? CL_SUCCESS
               : CL_INVALID_OPERATION;
}

/* With the lock held. Keeps the event of a buffer that may run only once at a time, to know whether the run has
 * ended. */
static cl_int run(cl_command_buffer_khr buffer, struct enqueue *e, cl_event *event)
{
    bool once = !(buffer->flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR);
    struct wire_enqueue_command_buffer m;
    cl_int error = may_run(buffer);

    if (!error && once)
        error = cl_error(enqueue_need_event(e, CL_COMMAND_COMMAND_BUFFER_KHR));
    for (struct recorded_use *use = buffer->uses; use && !error; use = use->next) {
        cl_mem memory = (cl_mem)use->object;

        if (use->use) /* a write may be to a part only */
            error = cl_error(coherence_before(e, memory, 0, memory->size, use->use | USE_READ));
    }
    if (error)
        return enqueue_fail(e, error);
    m = (struct wire_enqueue_command_buffer){.queue = e->queue->object.id,
                                             .command_buffer = buffer->object.id,
                                             .event = e->event_id,
                                             .wait = e->wait,
                                             .wait_count = e->wait_count};
    for (struct recorded_use *use = buffer->uses; use; use = use->next) {
        cl_mem memory = (cl_mem)use->object;

        if (use->use & USE_WRITE)
            coherence_after(e, memory, 0, memory->size);
    }
    if (coherence_watched())
        svm_remote_written_all(); /* the memory that its kernels reach is not known here */
    wire_put_enqueue_command_buffer(stream_begin(e->node), &m);
    error = cl_error(stream_end(e->node, STREAM_SOON));
    if (!error)
        buffer->state = CL_COMMAND_BUFFER_STATE_PENDING_KHR;
    if (!error && once) {
        if (buffer->last)
            handle_release(buffer->last, WIRE_EVENT, 0);
        buffer->last = e->event;
        handle_retain(e->event, WIRE_EVENT, 0);
    }
    return enqueue_finish(e, error, event);
}

cl_int enqueue_command_buffer(cl_uint count, cl_command_queue *queues, cl_command_buffer_khr buffer, cl_uint wait_count,
                              const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueCommandBufferKHR);

    struct enqueue e;
    cl_int error = check_run(buffer, count, queues);

    restore_before_kernel();
    if (!error)
        error = enqueue_begin(&e, count ? queues[0] : buffer->queue, wait_count, list, event,
                              CL_COMMAND_COMMAND_BUFFER_KHR);
    if (error)
        return error;
    mutex_lock(&buffer->lock);
    error = run(buffer, &e, event);
    mutex_unlock(&buffer->lock);
    return error;
}

/* ---- queries ---- */

cl_int get_command_buffer_info(cl_command_buffer_khr buffer, cl_command_buffer_info_khr param, size_t size, void *value,
                               size_t *size_ret)
{
    TIMELINE(clGetCommandBufferInfoKHR);

    cl_command_buffer_state_khr state;
    cl_uint count = 1;
    cl_int error;

    if (!handle_check(buffer, WIRE_COMMAND_BUFFER))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    switch (param) {
    case CL_COMMAND_BUFFER_NUM_QUEUES_KHR:
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_COMMAND_BUFFER_QUEUES_KHR:
        return info_return(&buffer->queue, sizeof(buffer->queue), size, value, size_ret);
    case CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR:
        count = (cl_uint)atomic_load(&buffer->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR:
        return info_return(buffer->properties, buffer->properties_size, size, value, size_ret);
    case CL_COMMAND_BUFFER_STATE_KHR:
        mutex_lock(&buffer->lock);
        error = find_state(buffer, &state);
        mutex_unlock(&buffer->lock);
        return error ? error : info_return(&state, sizeof(state), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
