/*
 * Maps: the application gets a shadow of the buffer, or for an image memory of the map's own, which a read fills and
 * the unmap writes back. A buffer in the arena is mapped where it is.
 */
#include <sys/mman.h>

#include "libvocl/internal.h"

/* Returns the address of the buffer's byte 0 in this process, which is the same for all its maps. */
static uint8_t *buffer_shadow(cl_mem buffer)
{
    cl_mem root = memory_root(buffer);
    uint8_t *shadow;

    if (root->host_pointer)
        return (uint8_t *)root->host_pointer + buffer->origin;
    if (buffer->arena && !(buffer->direct && buffer->context->node->observer))
        return buffer->arena;
    if (root->block && !root->arena) /* it was mapped when it stopped being shared */
        return (uint8_t *)root->block + buffer->origin;
    mutex_lock(&root->lock);
    if (!root->shadow) {
        void *area = mmap(NULL, root->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        root->shadow = area == MAP_FAILED ? NULL : area;
    }
    shadow = root->shadow;
    mutex_unlock(&root->lock);
    return shadow ? shadow + buffer->origin : NULL;
}

static cl_int map_check(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset, size_t size)
{
    cl_int error = buffer_check(queue, buffer);

    if (error)
        return error;
    if (!size || buffer_check_range(buffer, offset, size))
        return CL_INVALID_VALUE;
    return memory_check_host(buffer, flags);
}

/* The application has the node's own memory: the commands only have to be in their places in the queue. */
static cl_int map_in_place(struct enqueue *e, cl_mem buffer, const struct mapping *mapping, cl_bool blocking,
                           cl_event *event)
{
    struct wire_map_buffer m = {.queue = e->queue->object.id,
                                .buffer = buffer->object.id,
                                .flags = mapping->flags,
                                .offset = mapping->origin[0],
                                .size = mapping->region[0],
                                .wait = e->wait,
                                .wait_count = e->wait_count};
    cl_int error = cl_error(coherence_before(e, buffer, mapping->origin[0], mapping->region[0], USE_READ));

    if (error)
        return enqueue_fail(e, error);
    error = cl_error(enqueue_subscribe(e, blocking, CL_COMMAND_MAP_BUFFER));
    if (error)
        return error;
    m.event = e->event_id;
    m.subscribe = e->subscribe;
    wire_put_map_buffer(stream_begin(e->node), &m);
    return cl_error(enqueue_end(e, blocking, event));
}

static cl_int unmap_in_place(struct enqueue *e, cl_mem buffer, const struct mapping *mapping, cl_event *event)
{
    const struct wire_unmap_buffer m = {.queue = e->queue->object.id,
                                        .buffer = buffer->object.id,
                                        .event = e->event_id,
                                        .address = (uintptr_t)(buffer->arena + mapping->origin[0]),
                                        .wait = e->wait,
                                        .wait_count = e->wait_count};
    cl_mem root = memory_root(buffer);
    cl_int error = CL_SUCCESS;

    if (root->hosted && mapping->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
        error = cl_error(hostptr_before(e, root, USE_READ)); /* drivers may copy the memory in the unmap */
    if (error)
        return enqueue_fail(e, error);
    wire_put_unmap_buffer(stream_begin(e->node), &m);
    return enqueue_finish(e, cl_error(stream_end(e->node, STREAM_SOON)), event);
}

/* Waits for the command's turn, and maps the buffer in place if the program may then use it directly until the
 * unmap. Sets *at if so. */
static cl_int may_map_direct(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset, size_t size,
                             cl_uint count, const cl_event *list, void **at)
{
    struct mapping *mapping = malloc(sizeof(*mapping));
    cl_int error = mapping ? cl_error(direct_turn(queue, count, list)) : CL_OUT_OF_HOST_MEMORY;
    bool may = !error && observer_opens(buffer, true, size);

    if (may)
        observer_closes(buffer);
    may = may && direct_enter(buffer, false);
    if (!may) {
        free(mapping);
        return error;
    }
    *at = buffer->arena + offset;
    *mapping = (struct mapping){.pointer = *at, .flags = flags, .origin = {offset}, .region = {size}};
    mapping_add(buffer, mapping);
    direct_leave();
    return CL_SUCCESS;
}

static void *map_direct(cl_command_queue queue, cl_mem buffer, void *at, cl_bool blocking, uint64_t queued,
                        cl_event *event, cl_int *ret)
{
    const uint64_t since = deliver_now_begun();
    const cl_int error = cl_error(direct_end(queue, CL_COMMAND_MAP_BUFFER, queued, event));

    if (!error && blocking)
        queue_wait_callbacks(queue, since);
    if (error)
        free(mapping_take(buffer, at));
    fail_ret(ret, error);
    return error ? NULL : at;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                         size_t size, cl_uint count, const cl_event *list, cl_event *event, cl_int *ret)
{
    TIMELINE(clEnqueueMapBuffer);

    cl_int error = map_check(queue, buffer, flags, offset, size);
    struct mapping *mapping = NULL;
    uint8_t *shadow = NULL, *at;
    uint64_t queued = 0;
    void *direct = NULL;
    struct data_command read;
    bool needs_contents;
    struct enqueue e;

    if (!error && buffer->direct && direct_may(queue, blocking, 0, count, list, event)) {
        queued = device_time(queue->device);
        error = may_map_direct(queue, buffer, flags, offset, size, count, list, &direct);
    }
    if (!error && direct)
        return map_direct(queue, buffer, direct, blocking, queued, event, ret);
    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MAP_BUFFER);
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    shadow = buffer_shadow(buffer);
    mapping = calloc(1, sizeof(*mapping));
    if (!shadow || !mapping) {
        free(mapping);
        fail_ret(ret, enqueue_fail(&e, CL_MAP_FAILURE));
        return NULL;
    }
    at = shadow + offset;
    read = (struct data_command){.type = CL_COMMAND_MAP_BUFFER,
                                 .blocking = blocking,
                                 .part = part_piece(buffer, offset, size),
                                 .layout = layout_linear(at, size)};
    needs_contents = flags != CL_MAP_WRITE_INVALIDATE_REGION && !written_by_unmaps(buffer);
    *mapping =
        (struct mapping){.pointer = at, .flags = flags, .origin = {offset}, .region = {size}, .node = queue->node};
    mapping_add(buffer, mapping);
    if (buffer->direct && arena_has(at))
        error = cl_error(enqueue_nothing(&e, blocking, event));
    else if (buffer->arena && !buffer->direct)
        error = map_in_place(&e, buffer, mapping, blocking, event);
    else if (!(flags & CL_MAP_READ) && !needs_contents && !memory_root(buffer)->host_pointer)
        error = cl_error(enqueue_overwriting(&e, blocking, event));
    else
        error = cl_error(needs_contents ? enqueue_transfer(&e, &read, event) : enqueue_nothing(&e, blocking, event));
    if (error)
        free(mapping_take(buffer, at));
    fail_ret(ret, error);
    return error ? NULL : at;
}

static cl_int buffer_unmap(struct enqueue *e, cl_mem buffer, struct mapping *mapping, cl_event *event)
{
    const struct data_command write = {.type = CL_COMMAND_UNMAP_MEM_OBJECT,
                                       .writes = true,
                                       .part = part_piece(buffer, mapping->origin[0], mapping->region[0]),
                                       .layout = layout_linear(mapping->pointer, mapping->region[0])};

    if (buffer->direct && arena_has(mapping->pointer))
        return cl_error(enqueue_nothing(e, CL_FALSE, event));
    if (buffer->arena && !buffer->direct && mapping->node == e->node)
        return unmap_in_place(e, buffer, mapping, event);
    if (buffer->arena && !buffer->direct) /* mapped through another node; all have the same memory */
        return cl_error(enqueue_nothing(e, CL_FALSE, event));
    e->unmaps = true;
    return cl_error(mapping->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)
                        ? enqueue_transfer(e, &write, event)
                        : enqueue_nothing(e, CL_FALSE, event));
}

/* ---- maps of images: each has memory of its own, unless the image uses the application's ---- */

static struct mapping *image_mapping_new(cl_mem image, cl_map_flags flags, const size_t *origin, const size_t *region)
{
    struct mapping *mapping = calloc(1, sizeof(*mapping));
    bool array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t extent[3];

    if (!mapping)
        return NULL;
    image_extent(&image->desc, extent);
    mapping->flags = flags;
    memcpy(mapping->origin, origin, sizeof(mapping->origin));
    memcpy(mapping->region, region, sizeof(mapping->region));
    mapping->row_pitch = image->row_pitch;
    mapping->slice_pitch = image->slice_pitch ? image->slice_pitch : image->row_pitch * extent[1];
    mapping->owned = !image->host_pointer;
    if (mapping->owned)
        mapping->pointer = malloc(array ? mapping->slice_pitch * region[1] : mapping->slice_pitch * region[2]);
    else
        mapping->pointer = (uint8_t *)image->host_pointer + origin[0] * image->element_size +
                           origin[1] * (array ? mapping->slice_pitch : mapping->row_pitch) +
                           origin[2] * mapping->slice_pitch;
    if (!mapping->pointer) {
        free(mapping);
        return NULL;
    }
    return mapping;
}

/* An image of a buffer is checked as the buffer is. For other images native OpenCL accepts
 * CL_MAP_WRITE_INVALIDATE_REGION in any case. */
static cl_int image_map_check(cl_command_queue queue, cl_mem image, cl_map_flags flags, const size_t *origin,
                              const size_t *region, const size_t *row_pitch, const size_t *slice_pitch)
{
    cl_int error = image_check(queue, image);

    if (!error)
        error = image_check_region(image, origin, region);
    if (error)
        return error;
    if (!row_pitch || (!slice_pitch && image->type != CL_MEM_OBJECT_IMAGE2D && image->type != CL_MEM_OBJECT_IMAGE1D &&
                       image->type != CL_MEM_OBJECT_IMAGE1D_BUFFER))
        return CL_INVALID_VALUE;
    return image->type == CL_MEM_OBJECT_IMAGE1D_BUFFER
               ? memory_check_host(image->parent, flags)
               : memory_check_host(image, flags & ~(cl_map_flags)CL_MAP_WRITE_INVALIDATE_REGION);
}

void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                        const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                        cl_uint count, const cl_event *list, cl_event *event, cl_int *ret)
{
    TIMELINE(clEnqueueMapImage);

    cl_int error = image_map_check(queue, image, flags, origin, region, row_pitch, slice_pitch);
    struct data_command read = {.type = CL_COMMAND_MAP_IMAGE, .blocking = blocking};
    struct mapping *mapping = NULL;
    struct enqueue e;
    void *pointer = NULL;

    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MAP_IMAGE);
    if (!error) {
        mapping = image_mapping_new(image, flags, origin, region);
        error = mapping ? CL_SUCCESS : enqueue_fail(&e, CL_MAP_FAILURE);
    }
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    pointer = mapping->pointer;
    mapping_add(image, mapping);
    *row_pitch = mapping->row_pitch;
    if (slice_pitch)
        *slice_pitch = image->slice_pitch;
    if (flags == CL_MAP_WRITE_INVALIDATE_REGION || image_is_nothing(region)) {
        error = cl_error(mapping->owned && !image_is_nothing(region) ? enqueue_overwriting(&e, blocking, event)
                                                                     : enqueue_nothing(&e, blocking, event));
    } else {
        image_layout(image, region, mapping->row_pitch, mapping->slice_pitch, pointer, &read.layout);
        read.part = part_image(image, origin, region);
        error = cl_error(enqueue_transfer(&e, &read, event));
    }
    fail_ret(ret, error);
    if (!error)
        return pointer;
    mapping = mapping_take(image, pointer);
    if (mapping && mapping->owned)
        free(mapping->pointer);
    free(mapping);
    return NULL;
}

static cl_int image_unmap(struct enqueue *e, cl_mem image, struct mapping *mapping, cl_event *event)
{
    struct data_command write = {
        .type = CL_COMMAND_UNMAP_MEM_OBJECT, .writes = true, .owned = mapping->owned ? mapping->pointer : NULL};

    if (mapping->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && !image_is_nothing(mapping->region)) {
        image_layout(image, mapping->region, mapping->row_pitch, mapping->slice_pitch, mapping->pointer, &write.layout);
        write.part = part_image(image, mapping->origin, mapping->region);
        return cl_error(enqueue_transfer(e, &write, event));
    }
    if (mapping->owned)
        arrival_free(e->node->session, e->arrival, mapping->pointer);
    return cl_error(enqueue_nothing(e, CL_FALSE, event));
}

/* ---- unmapping either ---- */

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *pointer, cl_uint count,
                               const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueUnmapMemObject);

    struct mapping *mapping;
    struct enqueue e;
    cl_int error;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!handle_check(memory, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (memory->context != queue->context)
        return CL_INVALID_CONTEXT;
    if (pointer && memory->direct && arena_has(pointer) && direct_may(queue, CL_FALSE, 0, count, list, event) &&
        direct_enter(memory, true)) {
        mapping = mapping_take(memory, pointer);
        direct_leave();
        free(mapping);
        return mapping ? cl_error(direct_end(queue, CL_COMMAND_UNMAP_MEM_OBJECT, device_time(queue->device), event))
                       : CL_INVALID_VALUE;
    }
    error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_UNMAP_MEM_OBJECT);
    if (error)
        return error;
    mapping = pointer ? mapping_take(memory, pointer) : NULL;
    if (!mapping)
        return enqueue_fail(&e, CL_INVALID_VALUE);
    error = memory->type == CL_MEM_OBJECT_BUFFER ? buffer_unmap(&e, memory, mapping, event)
                                                 : image_unmap(&e, memory, mapping, event);
    free(mapping);
    return error;
}
