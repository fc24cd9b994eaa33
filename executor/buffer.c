/* Buffers. */
#include "executor/internal.h"

static cl_int create_native(cl_mem_flags flags, const struct exec_create_buffer *m, cl_mem *native)
{
    cl_int error;

    *native = clCreateBuffer(m->context->native, flags, m->size, (void *)(uintptr_t)m->address, &error);
    if (error || m->address || m->tag || m->data_length)
        return error;
    error = scrub_buffer(m->context, *native, m->size);
    if (error) {
        clReleaseMemObject(*native);
        *native = NULL;
    }
    return error;
}

/* A buffer over shared virtual memory uses that memory, and counts as nothing more. */
static cl_int create(struct executor *x, cl_mem_flags flags, const struct exec_create_buffer *m, cl_mem *native)
{
    const struct allocation *over = m->address ? allocation_at(x, m->address, m->size) : NULL;
    cl_int error;

    if (!over && !quota_take(x, m->context->devices, m->size))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    error = create_native(flags, m, native);
    if (error && !over)
        quota_give_back(x, m->context->devices, m->size);
    if (!error && quota_counts(x) && over)
        quota_hold_for(over->counted, *native);
    else if (!error && quota_counts(x))
        quota_count(x, m->context->devices, *native, m->size);
    return error;
}

int exec_create_buffer(struct executor *x, const struct exec_create_buffer *m)
{
    struct memory *buffer = m->buffer;
    struct side side;
    cl_mem_flags flags = m->flags;

    if (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) || !m->size)
        return -EBADMSG;
    if (m->address && (m->tag || m->data_length || !(x->host.same_process || svm_has(x, m->address, m->size))))
        return -EBADMSG;
    if (m->address)
        flags = (flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR) | CL_MEM_USE_HOST_PTR;
    if (m->address)
        svm_touch_ends(x, m->address, m->size);
    buffer->error = m->context->error;
    buffer->context_id = m->context->id;
    if (!buffer->error)
        buffer->error = create(x, flags, m, &buffer->native);
    if (!m->tag && !m->data_length)
        return 0;
    side = side_piece(buffer->error ? NULL : buffer->native, 0, m->size);
    return transfer_fill(x, m->context, buffer, &side, m->tag, m->data, m->data_length);
}

int exec_create_sub_buffer(struct executor *x, const struct exec_create_sub_buffer *m)
{
    const struct memory *parent = m->parent;
    const cl_buffer_region region = {m->origin, m->size};
    struct memory *buffer = m->buffer;

    (void)x;
    buffer->error = parent->error;
    buffer->context_id = parent->context_id;
    buffer->contents = contents_use(parent->contents);
    if (!buffer->error && !bounds_piece(parent->native, m->origin, m->size))
        buffer->error = CL_INVALID_VALUE;
    if (!buffer->error)
        buffer->native =
            clCreateSubBuffer(parent->native, m->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &buffer->error);
    return 0;
}

static void *function_for(cl_mem memory, const char *name)
{
    cl_context context = NULL;

    clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    return context_function(context, name);
}

int exec_set_content_size(struct executor *x, const struct exec_set_content_size *m)
{
    const struct memory *buffer = m->buffer, *size = m->content_size;
    cl_int (*set)(cl_mem, cl_mem);

    (void)x;
    if (!is_usable(buffer) || !is_usable(size) || !bounds_piece(size->native, 0, sizeof(cl_ulong)))
        return 0;
    set = (cl_int(*)(cl_mem, cl_mem))function_for(buffer->native, "clSetContentSizeBufferPoCL");
    if (set)
        set(buffer->native, size->native);
    return 0;
}

int exec_write_buffer(struct command *c, const struct exec_write_buffer *m)
{
    const struct side side = side_piece(m->buffer->native, m->offset, m->size);

    command_uses(c, m->buffer);
    return transfer_write(c, &side, m->tag, m->data, m->data_length);
}

int exec_read_buffer(struct command *c, const struct exec_read_buffer *m)
{
    const struct side side = side_piece(m->buffer->native, m->offset, m->size);

    command_uses(c, m->buffer);
    return transfer_read(c, &side, m->tag);
}

int exec_copy_buffer(struct command *c, const struct exec_copy_buffer *m)
{
    const cl_mem from = m->source->native, to = m->target->native;

    command_copies(c, m->source, m->target, m->size);
    if (!c->error && (!bounds_piece(from, m->source_offset, m->size) || !bounds_piece(to, m->target_offset, m->size)))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_copy_buffer(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueCopyBuffer(c->queue->native, from, to, m->source_offset, m->target_offset, m->size,
                                       c->wait_count, command_waits(c), c->ask);
    return 0;
}

int exec_fill_buffer(struct command *c, const struct exec_fill_buffer *m)
{
    const cl_mem buffer = m->buffer->native;

    command_uses(c, m->buffer);
    if (!c->error && (!bounds_piece(buffer, m->offset, m->size) || !m->pattern_length ||
                      m->pattern_length & (m->pattern_length - 1)))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_fill_buffer(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueFillBuffer(c->queue->native, buffer, m->pattern, m->pattern_length, m->offset, m->size,
                                       c->wait_count, command_waits(c), c->ask);
    return 0;
}
