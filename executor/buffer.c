/* Buffers. */
#include "executor/internal.h"

#define WAITS m->event, m->want, m->wait, m->wait_count

/* The two ways in which a number from the wire can be wrong: no such object, or one that could not be made. */
int buffer_of(struct command *c, uint32_t id, cl_mem *out)
{
    struct object *object = object_get(c->x, WIRE_MEMORY, id);

    *out = NULL;
    if (!object)
        return -EBADMSG;
    if (!is_usable(object) && !c->error)
        c->error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (c->queue)
        memory_used_at(object, c->queue);
    *out = object->memory;
    return 0;
}

static void create(struct executor *x, const struct object *context, cl_mem_flags flags,
                   const struct wire_create_buffer *m, struct object *buffer)
{
    buffer->memory = clCreateBuffer(context->context, flags, m->size, (void *)(uintptr_t)m->address, &buffer->error);
    if (!buffer->error && !m->address && !m->tag && !m->data_length) {
        buffer->error = scrub_buffer(context, buffer->memory, m->size);
        if (buffer->error) {
            clReleaseMemObject(buffer->memory);
            buffer->memory = NULL;
        }
    }
    if (buffer->error)
        quota_give_back(x, m->size);
    else if (x->host.turn || x->host.memory)
        quota_count(x, buffer->memory, m->size);
}

int exec_create_buffer(struct executor *x, const struct wire_create_buffer *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *buffer = context ? object_new(x, WIRE_MEMORY, m->buffer) : NULL;
    struct side side = {.size = m->size};
    cl_mem_flags flags = m->flags;

    if (!buffer || flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) || !m->size)
        return -EBADMSG;
    if (m->address && (m->tag || m->data_length || !(x->host.same_process || svm_has(x, m->address, m->size))))
        return -EBADMSG;
    if (m->address)
        flags = (flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR) | CL_MEM_USE_HOST_PTR;
    if (m->address)
        svm_touch_ends(x, m->address, m->size);
    buffer->error = context->error;
    buffer->context_id = m->context;
    if (!buffer->error && !quota_take(x, m->size))
        buffer->error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    else if (!buffer->error)
        create(x, context, flags, m, buffer);
    side.memory = buffer->error ? NULL : buffer->memory;
    return m->tag || m->data_length ? transfer_fill(x, context, &side, m->tag, m->data, m->data_length) : 0;
}

int exec_create_sub_buffer(struct executor *x, const struct wire_create_sub_buffer *m)
{
    struct object *parent = object_get(x, WIRE_MEMORY, m->parent);
    struct object *buffer = parent ? object_new(x, WIRE_MEMORY, m->buffer) : NULL;
    cl_buffer_region region = {m->origin, m->size};

    if (!buffer)
        return -EBADMSG;
    buffer->error = parent->error;
    buffer->context_id = parent->context_id;
    if (!buffer->error && !bounds_piece(parent->memory, m->origin, m->size))
        buffer->error = CL_INVALID_VALUE;
    if (!buffer->error)
        buffer->memory =
            clCreateSubBuffer(parent->memory, m->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &buffer->error);
    return 0;
}

int exec_create_pipe(struct executor *x, const struct wire_create_pipe *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *pipe = context ? object_new(x, WIRE_MEMORY, m->pipe) : NULL;
    const size_t size = (size_t)m->packet_size * m->max_packets;

    if (!pipe)
        return -EBADMSG;
    pipe->error = context->error;
    pipe->context_id = m->context;
    if (!pipe->error && !quota_has(x, size))
        pipe->error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (!pipe->error)
        pipe->memory = clCreatePipe(context->context, m->flags, m->packet_size, m->max_packets, NULL, &pipe->error);
    if (!pipe->error)
        pipe->error = quota_take_memory(x, pipe->memory, size);
    if (pipe->error && pipe->memory) {
        clReleaseMemObject(pipe->memory);
        pipe->memory = NULL;
    }
    return 0;
}

static void *function_for(cl_mem memory, const char *name)
{
    cl_context context = NULL;

    clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    return context_function(context, name);
}

int exec_set_content_size(struct executor *x, const struct wire_set_content_size *m)
{
    struct object *buffer = object_get(x, WIRE_MEMORY, m->buffer);
    struct object *size = object_get(x, WIRE_MEMORY, m->content_size);
    cl_int (*set)(cl_mem, cl_mem);

    if (!buffer || !size)
        return -EBADMSG;
    if (!is_usable(buffer) || !is_usable(size) || !bounds_piece(size->memory, 0, sizeof(cl_ulong)))
        return 0;
    set = (cl_int(*)(cl_mem, cl_mem))function_for(buffer->memory, "clSetContentSizeBufferPoCL");
    if (set)
        set(buffer->memory, size->memory);
    return 0;
}

int exec_write_buffer(struct executor *x, const struct wire_write_buffer *m)
{
    struct side side = {.offset = m->offset, .size = m->size};
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = buffer_of(&c, m->buffer, &side.memory);
    return bad ? bad : transfer_write(&c, &side, m->tag, m->data, m->data_length);
}

int exec_read_buffer(struct executor *x, const struct wire_read_buffer *m)
{
    struct side side = {.offset = m->offset, .size = m->size};
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = buffer_of(&c, m->buffer, &side.memory);
    return bad ? bad : transfer_read(&c, &side, m->tag);
}

int exec_write_rect(struct executor *x, const struct wire_write_rect *m)
{
    struct side side;
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && !side_rect(&side, m->origin, m->origin_count, m->region, m->region_count, m->row_pitch, m->slice_pitch))
        bad = -EBADMSG;
    if (!bad)
        bad = buffer_of(&c, m->buffer, &side.memory);
    return bad ? bad : transfer_write(&c, &side, m->tag, m->data, m->data_length);
}

int exec_read_rect(struct executor *x, const struct wire_read_rect *m)
{
    struct side side;
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && !side_rect(&side, m->origin, m->origin_count, m->region, m->region_count, m->row_pitch, m->slice_pitch))
        bad = -EBADMSG;
    if (!bad)
        bad = buffer_of(&c, m->buffer, &side.memory);
    return bad ? bad : transfer_read(&c, &side, m->tag);
}

/* Of a copy of so many bytes. */
static int two(struct command *c, uint32_t source, uint32_t target, uint64_t bytes, cl_mem *from, cl_mem *to)
{
    unsigned place;
    bool moves = memory_is_elsewhere(c, source, &place);
    int bad = buffer_of(c, source, from);

    if (!bad)
        bad = buffer_of(c, target, to);
    if (!bad && moves)
        move_begin(c, place, c->queue->place, bytes, (cl_mem[]){*from, *to}, 2);
    return bad;
}

int exec_copy_buffer(struct executor *x, const struct wire_copy_buffer *m)
{
    struct command c;
    cl_mem from, to;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = two(&c, m->source, m->target, m->size, &from, &to);
    if (bad)
        return bad;
    if (!c.error && (!bounds_piece(from, m->source_offset, m->size) || !bounds_piece(to, m->target_offset, m->size)))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_copy_buffer(c.recording, from, to, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueCopyBuffer(c.queue->queue, from, to, m->source_offset, m->target_offset,
                                                         m->size, c.wait_count, command_waits(&c), c.ask));
}

int exec_copy_rect(struct executor *x, const struct wire_copy_rect *m)
{
    struct command c;
    cl_mem from, to;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && (m->source_origin_count != 3 || m->target_origin_count != 3 || m->region_count != 3))
        bad = -EBADMSG;
    if (!bad)
        bad = two(&c, m->source, m->target, m->region[0] * m->region[1] * m->region[2], &from, &to);
    if (bad)
        return bad;
    if (!c.error && (!bounds_rect(from, m->source_origin, m->region, m->source_row_pitch, m->source_slice_pitch) ||
                     !bounds_rect(to, m->target_origin, m->region, m->target_row_pitch, m->target_slice_pitch)))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_copy_rect(c.recording, from, to, m));
    return command_end(
        &c, c.error ? c.error
                    : clEnqueueCopyBufferRect(c.queue->queue, from, to, m->source_origin, m->target_origin, m->region,
                                              m->source_row_pitch, m->source_slice_pitch, m->target_row_pitch,
                                              m->target_slice_pitch, c.wait_count, command_waits(&c), c.ask));
}

int exec_fill_buffer(struct executor *x, const struct wire_fill_buffer *m)
{
    struct command c;
    cl_mem buffer;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = buffer_of(&c, m->buffer, &buffer);
    if (bad)
        return bad;
    if (!c.error && (!bounds_piece(buffer, m->offset, m->size) || !m->pattern_length ||
                     m->pattern_length & (m->pattern_length - 1)))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_fill_buffer(c.recording, buffer, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueFillBuffer(c.queue->queue, buffer, m->pattern, m->pattern_length,
                                                         m->offset, m->size, c.wait_count, command_waits(&c), c.ask));
}

int exec_map_buffer(struct executor *x, const struct wire_map_buffer *m)
{
    struct command c;
    cl_mem buffer;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = buffer_of(&c, m->buffer, &buffer);
    if (bad)
        return bad;
    if (!c.error && !bounds_piece(buffer, m->offset, m->size))
        c.error = CL_INVALID_VALUE;
    if (!c.error)
        clEnqueueMapBuffer(c.queue->queue, buffer, CL_FALSE, m->flags, m->offset, m->size, c.wait_count,
                           command_waits(&c), c.ask, &c.error);
    return command_end(&c, c.error);
}

int exec_unmap_buffer(struct executor *x, const struct wire_unmap_buffer *m)
{
    struct command c;
    cl_mem buffer;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad)
        bad = buffer_of(&c, m->buffer, &buffer);
    if (bad)
        return bad;
    return command_end(&c, c.error ? c.error
                                   : clEnqueueUnmapMemObject(c.queue->queue, buffer, (void *)(uintptr_t)m->address,
                                                             c.wait_count, command_waits(&c), c.ask));
}

/* Objects that are all on one other device are moved together. */
static void migrate_begin(struct command *c, const struct wire_migrate *m)
{
    cl_mem memories[MOST_MOVED];
    unsigned place = 0, other;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < m->objects_count; i++) {
        const struct object *object = object_get(c->x, WIRE_MEMORY, m->objects[i]);
        size_t size = 0;

        if (i == MOST_MOVED || !object || !is_usable(object) || !memory_is_elsewhere(c, m->objects[i], &other) ||
            (i && other != place))
            return;
        place = other;
        clGetMemObjectInfo(object->memory, CL_MEM_SIZE, sizeof(size), &size, NULL);
        memories[i] = object->memory;
        bytes += size;
    }
    if (m->flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)
        return;
    move_begin(c, place, m->flags & CL_MIGRATE_MEM_OBJECT_HOST ? EXECUTOR_HOST : c->queue->place, bytes, memories,
               m->objects_count);
}

int exec_migrate(struct executor *x, const struct wire_migrate *m)
{
    cl_mem objects[1024];
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && m->objects_count)
        migrate_begin(&c, m);
    for (uint32_t i = 0; !bad && i < m->objects_count; i++)
        bad = buffer_of(&c, m->objects[i], &objects[i]);
    if (bad)
        return bad;
    return command_end(&c, c.error ? c.error
                                   : clEnqueueMigrateMemObjects(c.queue->queue, m->objects_count, objects, m->flags,
                                                                c.wait_count, command_waits(&c), c.ask));
}
