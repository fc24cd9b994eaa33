/* Buffers: creation, reads, writes, rects, copies, fills, maps. */
#include <errno.h>

#include "base/settings.h"
#include "libvocl/internal.h"
#include "libvocl/restore.h"

/* ---- creation ---- */

/* The node does not have the application's memory, except the arena and devices in the application's process. */
#define LOCAL_FLAGS (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)
/* Rules about the host's access are checked here; the node moves data in its own ways. */
#define WIRE_FLAGS(flags)                                                                                              \
    ((flags) & ~(cl_mem_flags)(LOCAL_FLAGS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))

/* memory: shared with the node, or NULL. */
static struct wire_create_buffer describe(const struct _cl_mem *buffer, const uint8_t *memory)
{

    return (struct wire_create_buffer){
        .buffer = buffer->object.id,
        .context = buffer->context->object.id,
        .flags = buffer->node_flags,
        .size = buffer->size,
        .address = (uintptr_t)(buffer->svm_remote ? buffer->host_pointer : memory),
    };
}

int buffer_create_on(cl_mem buffer, struct node *node)
{
    struct wire_buffer *out = stream_begin(node);
    const struct wire_create_buffer m = describe(buffer, stream_shares(node) ? buffer->arena : NULL);

    wire_put_create_buffer(out, &m);
    return stream_end(node, STREAM_LATER);
}

static void put_filled(struct wire_buffer *out, const void *buffer, const struct transfer_data *data)
{
    struct wire_create_buffer m = describe(buffer, NULL);

    m.tag = data->tag;
    m.data = data->bytes;
    m.data_length = data->length;
    wire_put_create_buffer(out, &m);
}

/* Creates the buffer with its contents. */
static int create_filled(cl_mem buffer, struct node *node, const void *contents)
{
    const struct layout layout = layout_linear(contents, buffer->size);

    return transfer_contents(node, &layout, put_filled, buffer);
}

/* Creates the buffer on all nodes; the first one gets the contents. */
static cl_int buffer_send(cl_mem buffer, const void *contents)
{
    cl_context context = buffer->context;

    for (unsigned i = 1; i < context->node_count; i++)
        buffer_create_on(buffer, context->nodes[i]);
    return cl_error(contents && !buffer->svm_remote && !buffer->arena ? create_filled(buffer, context->node, contents)
                                                                      : buffer_create_on(buffer, context->node));
}

/* Writes contents that the node did not get with the buffer's creation, ignoring the flags that restrict the host's
 * access. */
static cl_int buffer_fill(cl_mem buffer, const void *host_pointer)
{
    const cl_mem_flags flags = buffer->flags;
    cl_int error;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(buffer->context, buffer->context->devices[0], NULL, &error);

    if (error)
        return error;
    buffer->flags &= ~(cl_mem_flags)(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS);
    error = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, buffer->size, host_pointer, 0, NULL, NULL);
    buffer->flags = flags;
    clReleaseCommandQueue(queue);
    return error;
}

/* Whether all nodes have that memory at the same address. */
static bool all_see(cl_context context, const void *memory, size_t size)
{
    bool all = arena_has_all(memory, size);

    if (context->node_count == 1 && context->node->in_process && settings_share_memory())
        return true;
    for (unsigned i = 0; all && i < context->node_count; i++)
        all = arena_given_to(context->nodes[i]);
    return all;
}

/* Whether size is more than the shared virtual memory that begins at memory. */
static bool is_too_large(const void *memory, size_t size)
{
    const size_t whole = arena_size(memory), elsewhere = whole ? 0 : svm_remote_size(memory);

    return whole + elsewhere && size > whole + elsewhere;
}

static cl_int buffer_create(cl_context context, cl_mem_flags flags, size_t size, void *host_pointer, bool addressed,
                            cl_mem *out)
{
    cl_ulong most = 0;
    cl_mem buffer;
    cl_int error;

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!size)
        return CL_INVALID_BUFFER_SIZE;
    error = memory_check_flags(flags, host_pointer);
    if (error)
        return error;
    for (cl_uint i = 0; i < context->device_count; i++)
        most = context->devices[i]->alloc_size > most ? context->devices[i]->alloc_size : most;
    if (size > most || (flags & CL_MEM_USE_HOST_PTR && is_too_large(host_pointer, size)))
        return CL_INVALID_BUFFER_SIZE;
    error = memory_new(context, CL_MEM_OBJECT_BUFFER, flags, &buffer);
    if (error)
        return error;
    buffer->size = size;
    buffer->node_flags = WIRE_FLAGS(buffer->flags);
    buffer->host_pointer = flags & CL_MEM_USE_HOST_PTR ? host_pointer : NULL;
    if (!addressed && buffer->host_pointer && all_see(context, host_pointer, size)) {
        buffer->arena = host_pointer;
    } else if (!addressed && buffer->host_pointer) {
        buffer->svm_remote = context->node_count == 1 && svm_remote_has_all(host_pointer, size);
    } else if (!addressed) {
        buffer->block = block_alloc(context, size, host_pointer);
        buffer->arena = buffer->block;
        buffer->direct = buffer->block != NULL;
        if (buffer->direct && host_pointer)
            timeline_data(timeline_now(), context->node, true, true, size);
    }
    error = addressed ? CL_SUCCESS : cl_error(hostptr_open(buffer));
    if (!error)
        error = cl_error(coherence_open(buffer, host_pointer != NULL));
    if (!error && !addressed)
        error = buffer_send(buffer, host_pointer);
    else if (!error)
        error = cl_error(addressed_create(buffer));
    if (!error && addressed && host_pointer)
        error = buffer_fill(buffer, host_pointer);
    if (!error)
        error = memory_check_room(buffer);
    if (!error)
        error = restore_made(buffer);
    if (error)
        handle_release(buffer, WIRE_MEMORY, 0);
    else
        *out = buffer;
    return error;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_pointer, cl_int *ret)
{
    TIMELINE(clCreateBuffer);

    cl_mem buffer = NULL;

    fail_ret(ret, buffer_create(context, flags, size, host_pointer, false, &buffer));
    return buffer;
}

/* Checks the properties: OpenCL 3.0 itself defines none. */
static cl_int buffer_properties(cl_context context, const cl_mem_properties *properties, bool *addressed)
{
    *addressed = false;
    for (; properties && *properties; properties += 2) {
        if (*properties != CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT || !device_address_offered(context))
            return CL_INVALID_PROPERTY;
        *addressed = properties[1] != 0;
    }
    return CL_SUCCESS;
}

cl_mem clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                    size_t size, void *host_pointer, cl_int *ret)
{
    TIMELINE(clCreateBufferWithProperties);

    cl_mem buffer = NULL;
    cl_int error = handle_check(context, WIRE_CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
    bool addressed;

    if (!error)
        error = buffer_properties(context, properties, &addressed);
    if (!error)
        error = buffer_create(context, flags, size, host_pointer, addressed, &buffer);
    if (!error)
        properties_copy(properties, sizeof(*properties), (void **)&buffer->properties, &buffer->properties_size);
    fail_ret(ret, error);
    return buffer;
}

/* Returns false if only native OpenCL can judge the flags. */
static bool sub_buffer_is_plain(cl_mem_flags flags)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_mem_flags host = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

    return !(flags & ~(access | host)) && __builtin_popcountll(flags & access) <= 1 &&
           __builtin_popcountll(flags & host) <= 1;
}

/* Whether the part would be allowed what the whole is not. */
static bool sub_buffer_is_at_odds(cl_mem whole, cl_mem_flags flags)
{
    static const struct {
        cl_mem_flags whole, part;
    } odds[] = {{CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY},
                {CL_MEM_READ_ONLY, CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY},
                {CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY},
                {CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY},
                {CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY}};

    for (unsigned i = 0; i < sizeof(odds) / sizeof(*odds); i++) {
        if (whole->flags & odds[i].whole && flags & odds[i].part)
            return true;
    }
    return false;
}

/* aligned: for at least one device of the context, as it states. */
static cl_int sub_buffer_check(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                               const cl_buffer_region *region, bool *aligned)
{
    if (!handle_check(parent, WIRE_MEMORY) || parent->type != CL_MEM_OBJECT_BUFFER || parent->parent)
        return CL_INVALID_MEM_OBJECT;
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !region || flags & (LOCAL_FLAGS | CL_MEM_ALLOC_HOST_PTR))
        return CL_INVALID_VALUE;
    if (!region->size)
        return CL_INVALID_BUFFER_SIZE;
    if (region->origin > parent->size || region->size > parent->size - region->origin)
        return CL_INVALID_VALUE;
    if (sub_buffer_is_at_odds(parent, flags))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < parent->context->device_count; i++)
        *aligned |= region->origin % parent->context->devices[i]->mem_base_align == 0;
    return CL_SUCCESS;
}

/* Drivers take finer alignments than they state. Fails if none of the context's does. */
static cl_int sub_buffer_ask(cl_mem buffer)
{
    cl_context context = buffer->context;
    cl_int failure = CL_SUCCESS, error = CL_SUCCESS;
    unsigned taken = 0;

    for (unsigned i = 0; !error && i < context->node_count; i++) {
        const cl_int answer = cl_error(native_outcome(context->nodes[i], &buffer->object));

        if (answer)
            error = memory_lacks(buffer, context->nodes[i]);
        if (!failure)
            failure = answer;
        taken += !answer;
    }
    buffer->finer = true;
    return error || taken ? error : failure;
}

int sub_buffer_create_on(cl_mem buffer, struct node *node)
{
    const struct wire_create_sub_buffer m = {buffer->object.id, buffer->parent->object.id, buffer->node_flags,
                                             buffer->origin, buffer->size};

    wire_put_create_sub_buffer(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

cl_mem clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info, cl_int *ret)
{
    TIMELINE(clCreateSubBuffer);

    const cl_buffer_region *region = info;
    bool plain = sub_buffer_is_plain(flags), aligned = false;
    cl_int error = sub_buffer_check(parent, flags, type, region, &aligned);
    cl_mem buffer = NULL;

    HALT_GUARD;
    if (!error) {
        flags = memory_inherit_flags(parent, flags);
        error = memory_new(parent->context, CL_MEM_OBJECT_BUFFER, flags, &buffer);
    }
    if (!error) {
        uint8_t *arena = parent->arena;

        buffer->size = region->size;
        buffer->origin = region->origin;
        buffer->parent = parent;
        buffer->host_pointer = parent->host_pointer ? (uint8_t *)parent->host_pointer + region->origin : NULL;
        buffer->arena = arena ? arena + region->origin : NULL;
        buffer->direct = atomic_load(&parent->direct);
        handle_use(parent);
        buffer->node_flags =
            (plain ? WIRE_FLAGS(flags) : flags & ~(cl_mem_flags)LOCAL_FLAGS) & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR;
        error = cl_error(handle_create(&buffer->object));
        if (!error && !aligned)
            error = sub_buffer_ask(buffer);
        else if (!error && !plain)
            error = cl_error(native_outcome(parent->context->node, &buffer->object));
        if (error) {
            handle_release(buffer, WIRE_MEMORY, 0);
            buffer = NULL;
        }
    }
    fail_ret(ret, error);
    return buffer;
}

/* ---- checks ---- */

cl_int buffer_check(cl_command_queue queue, cl_mem buffer)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!handle_check(buffer, WIRE_MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    if (buffer->context != queue->context)
        return CL_INVALID_CONTEXT;
    if (buffer->parent && buffer->origin % queue->device->mem_base_align)
        return buffer->finer ? memory_check_node(buffer, queue->node) : CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return CL_SUCCESS;
}

cl_int buffer_check_range(cl_mem buffer, size_t offset, size_t size)
{
    return offset > buffer->size || size > buffer->size - offset ? CL_INVALID_VALUE : CL_SUCCESS;
}

/* ---- read and write ---- */

static cl_int enqueue_piece(cl_command_queue queue, cl_mem buffer, bool writes, cl_bool blocking, size_t offset,
                            const struct layout *here, cl_uint count, const cl_event *list, cl_event *event)
{
    const struct data_command m = {.type = writes ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER,
                                   .writes = writes,
                                   .blocking = blocking,
                                   .part = part_piece(buffer, offset, here->row_bytes),
                                   .layout = *here};

    if (queue->node->observer) /* whether it needs a command has not been checked yet */
        return memory_move(queue, &m, count, list, event);
    return memory_enqueue(queue, &m, count, list, event);
}

/* A move without a command saves the cost of building one: half the time of a copy of 4 KiB. */
static cl_int move_piece(cl_command_queue queue, cl_mem buffer, bool writes, cl_bool blocking, size_t offset,
                         size_t size, const void *memory, cl_uint count, const cl_event *list, cl_event *event)
{
    const struct layout here = layout_linear(memory, size);
    cl_int error = buffer_check(queue, buffer);
    const uint8_t *place;

    if (!error && (!memory || buffer_check_range(buffer, offset, size)))
        error = CL_INVALID_VALUE;
    if (!error)
        error = memory_check_host(buffer, writes ? CL_MAP_WRITE : CL_MAP_READ);
    if (error)
        return error;
    place = buffer->arena;
    if (place && buffer->direct && !queue->node->observer && direct_may(queue, blocking, size, count, list, event)) {
        const struct layout there = layout_linear(place + offset, size);

        error = direct_move(queue, buffer, writes ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER, blocking,
                            writes ? &there : &here, writes ? &here : &there, count, list, event);
        if (error != -EAGAIN)
            return cl_error(error);
    }
    return enqueue_piece(queue, buffer, writes, blocking, offset, &here, count, list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                            const void *from, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueWriteBuffer);

    return move_piece(queue, buffer, true, blocking, offset, size, from, count, list, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                           void *to, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueReadBuffer);

    return move_piece(queue, buffer, false, blocking, offset, size, to, count, list, event);
}

/* content_size holds, as a cl_ulong, how many bytes of buffer are valid. */
cl_int set_content_size_buffer(cl_mem buffer, cl_mem content_size)
{
    TIMELINE(clSetContentSizeBufferPoCL);

    struct wire_set_content_size m;

    HALT_GUARD;
    if (!handle_check(buffer, WIRE_MEMORY) || !handle_check(content_size, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (buffer->context != content_size->context)
        return CL_INVALID_CONTEXT;
    if (content_size->size < sizeof(cl_ulong))
        return CL_INVALID_BUFFER_SIZE;
    if (content_size->parent)
        return CL_INVALID_MEM_OBJECT;
    buffer->sized = true;
    m = (struct wire_set_content_size){buffer->object.id, content_size->object.id};
    wire_put_set_content_size(broadcast_begin(buffer->context), &m);
    return cl_error(broadcast_end(buffer->context, STREAM_LATER));
}

/* ---- copy and fill ---- */

cl_int copy_buffer(const struct site *site, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size)
{
    struct part source, target;
    struct wire_copy_buffer m;
    struct enqueue e;
    bool sent;
    cl_int error = buffer_check(site->queue, from);

    if (!error)
        error = buffer_check(site->queue, to);
    if (!error && (!size || buffer_check_range(from, from_offset, size) || buffer_check_range(to, to_offset, size)))
        error = CL_INVALID_VALUE;
    if (!error && memory_root(from) == memory_root(to) && from->origin + from_offset < to->origin + to_offset + size &&
        to->origin + to_offset < from->origin + from_offset + size)
        error = CL_MEM_COPY_OVERLAP;
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_COPY_BUFFER);
    if (error)
        return error;
    source = part_piece(from, from_offset, size);
    target = part_piece(to, to_offset, size);
    error = cl_error(part_copy(&e, &source, &target, &sent));
    if (error)
        return enqueue_fail(&e, error);
    if (sent)
        return enqueue_finish(&e, CL_SUCCESS, site->event);
    m = (struct wire_copy_buffer){.queue = site->queue->object.id,
                                  .source = from->object.id,
                                  .target = to->object.id,
                                  .event = e.event_id,
                                  .source_offset = from_offset,
                                  .target_offset = to_offset,
                                  .size = size,
                                  .wait = e.wait,
                                  .wait_count = e.wait_count};
    wire_put_copy_buffer(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                           size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueCopyBuffer);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return copy_buffer(&site, from, to, from_offset, to_offset, size);
}

cl_int fill_buffer(const struct site *site, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset,
                   size_t size)
{
    struct wire_fill_buffer m;
    struct enqueue e;
    cl_int error = buffer_check(site->queue, buffer);

    if (!error && (!pattern || !pattern_size || pattern_size > 128 || pattern_size & (pattern_size - 1)))
        error = CL_INVALID_VALUE;
    if (!error && (buffer_check_range(buffer, offset, size) || offset % pattern_size || size % pattern_size))
        error = CL_INVALID_VALUE;
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_FILL_BUFFER);
    if (error)
        return error;
    if (!size)
        return site_nothing(&e, site);
    error = cl_error(coherence_before(&e, buffer, offset, size, USE_WRITE));
    if (error)
        return enqueue_fail(&e, error);
    m = (struct wire_fill_buffer){.queue = site->queue->object.id,
                                  .buffer = buffer->object.id,
                                  .event = e.event_id,
                                  .pattern = pattern,
                                  .pattern_length = (uint32_t)pattern_size,
                                  .offset = offset,
                                  .size = size,
                                  .wait = e.wait,
                                  .wait_count = e.wait_count};
    coherence_after(&e, buffer, offset, size);
    wire_put_fill_buffer(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueFillBuffer);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return fill_buffer(&site, buffer, pattern, pattern_size, offset, size);
}
