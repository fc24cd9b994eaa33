/* Rects of buffers. */
#include "executor/internal.h"

int exec_write_rect(struct command *c, const struct exec_write_rect *m)
{
    const struct side side = side_from(m->buffer->native, &m->part);

    command_uses(c, m->buffer);
    return transfer_write(c, &side, m->tag, m->data, m->data_length);
}

int exec_read_rect(struct command *c, const struct exec_read_rect *m)
{
    const struct side side = side_from(m->buffer->native, &m->part);

    command_uses(c, m->buffer);
    return transfer_read(c, &side, m->tag);
}

int exec_copy_rect(struct command *c, const struct exec_copy_rect *m)
{
    const cl_mem from = m->source->native, to = m->target->native;

    command_copies(c, m->source, m->target, m->region[0] * m->region[1] * m->region[2]);
    if (!c->error && (!bounds_rect(from, m->source_origin, m->region, m->source_row_pitch, m->source_slice_pitch) ||
                      !bounds_rect(to, m->target_origin, m->region, m->target_row_pitch, m->target_slice_pitch)))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_copy_rect(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueCopyBufferRect(c->queue->native, from, to, m->source_origin, m->target_origin, m->region,
                                           m->source_row_pitch, m->source_slice_pitch, m->target_row_pitch,
                                           m->target_slice_pitch, c->wait_count, command_waits(c), c->ask);
    return 0;
}
