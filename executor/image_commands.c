/* Commands on images. */
#include "executor/internal.h"

/* Data on their way must have the size of the image's region, or a native call would run over their end. */
static int uses_image(struct command *c, struct memory *image, const struct side *side)
{
    command_uses(c, image);
    return c->error || side_fits(side) ? 0 : -EBADMSG;
}

int exec_write_image(struct command *c, const struct exec_write_image *m)
{
    const struct side side = side_from(m->image->native, &m->part);

    if (uses_image(c, m->image, &side))
        return -EBADMSG;
    return transfer_write(c, &side, m->tag, m->data, m->data_length);
}

int exec_read_image(struct command *c, const struct exec_read_image *m)
{
    const struct side side = side_from(m->image->native, &m->part);

    if (uses_image(c, m->image, &side))
        return -EBADMSG;
    return transfer_read(c, &side, m->tag);
}

static void uses_both(struct command *c, struct memory *source, struct memory *target)
{
    command_uses(c, source);
    command_uses(c, target);
}

int exec_copy_image(struct command *c, const struct exec_copy_image *m)
{
    const cl_mem from = m->source->native, to = m->target->native;

    uses_both(c, m->source, m->target);
    if (!c->error &&
        (!bounds_region(from, m->source_origin, m->region) || !bounds_region(to, m->target_origin, m->region)))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_copy_image(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueCopyImage(c->queue->native, from, to, m->source_origin, m->target_origin, m->region,
                                      c->wait_count, command_waits(c), c->ask);
    return 0;
}

int exec_fill_image(struct command *c, const struct exec_fill_image *m)
{
    const cl_mem image = m->image->native;
    uint32_t colour[4] = {0};

    command_uses(c, m->image);
    if (!c->error && !bounds_region(image, m->origin, m->region))
        c->error = CL_INVALID_VALUE;
    memcpy(colour, m->colour, m->colour_length);
    if (!c->error && c->recording)
        c->error = record_fill_image(c->recording, colour, m);
    else if (!c->error)
        c->error = clEnqueueFillImage(c->queue->native, image, colour, m->origin, m->region, c->wait_count,
                                      command_waits(c), c->ask);
    return 0;
}

int exec_copy_image_to_buffer(struct command *c, const struct exec_copy_image_to_buffer *m)
{
    const cl_mem from = m->source->native, to = m->target->native;

    uses_both(c, m->source, m->target);
    if (!c->error && !bounds_region_and_piece(from, m->origin, m->region, to, m->offset))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_copy_image_to_buffer(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueCopyImageToBuffer(c->queue->native, from, to, m->origin, m->region, m->offset,
                                              c->wait_count, command_waits(c), c->ask);
    return 0;
}

int exec_copy_buffer_to_image(struct command *c, const struct exec_copy_buffer_to_image *m)
{
    const cl_mem from = m->source->native, to = m->target->native;

    uses_both(c, m->source, m->target);
    if (!c->error && !bounds_region_and_piece(to, m->origin, m->region, from, m->offset))
        c->error = CL_INVALID_VALUE;
    if (!c->error && c->recording)
        c->error = record_copy_buffer_to_image(c->recording, m);
    else if (!c->error)
        c->error = clEnqueueCopyBufferToImage(c->queue->native, from, to, m->offset, m->origin, m->region,
                                              c->wait_count, command_waits(c), c->ask);
    return 0;
}
