/* Buffers in memory shared with the application, mapped here for the application. */
#include "executor/internal.h"

int exec_map_buffer(struct command *c, const struct exec_map_buffer *m)
{
    const cl_mem buffer = m->buffer->native;

    command_uses(c, m->buffer);
    if (!c->error && !bounds_piece(buffer, m->offset, m->size))
        c->error = CL_INVALID_VALUE;
    if (!c->error)
        clEnqueueMapBuffer(c->queue->native, buffer, CL_FALSE, m->flags, m->offset, m->size, c->wait_count,
                           command_waits(c), c->ask, &c->error);
    return 0;
}

int exec_unmap_buffer(struct command *c, const struct exec_unmap_buffer *m)
{
    command_uses(c, m->buffer);
    if (!c->error)
        c->error = clEnqueueUnmapMemObject(c->queue->native, m->buffer->native, (void *)(uintptr_t)m->address,
                                           c->wait_count, command_waits(c), c->ask);
    return 0;
}
