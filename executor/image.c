/* Images and samplers. */
#include "base/size.h"
#include "executor/internal.h"

#define WAITS m->event, m->want, m->wait, m->wait_count

static int describe(struct executor *x, const struct wire_create_image *m, cl_image_desc *desc)
{
    struct object *buffer = m->buffer ? object_get(x, WIRE_MEMORY, m->buffer) : NULL;

    if (m->buffer && !buffer)
        return -EBADMSG;
    *desc = (cl_image_desc){.image_type = m->object_type,
                            .image_width = m->width,
                            .image_height = m->height,
                            .image_depth = m->depth,
                            .image_array_size = m->array_size,
                            .image_row_pitch = m->row_pitch,
                            .image_slice_pitch = m->slice_pitch};
    desc->mem_object = buffer ? buffer->memory : NULL;
    return 0;
}

/* At least so many bytes, before it is there to be asked. */
static bool least_size(const cl_image_desc *desc, size_t *size)
{
    const size_t rows = desc->image_height ? desc->image_height : 1, slices = desc->image_depth ? desc->image_depth : 1,
                 layers = desc->image_array_size ? desc->image_array_size : 1;

    *size = 0;
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE2D:
        return size_multiply(size, desc->image_width, rows);
    case CL_MEM_OBJECT_IMAGE3D:
        return size_of_region(size, (size_t[]){desc->image_width, rows, slices});
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        return size_multiply(size, desc->image_width, layers);
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        return size_of_region(size, (size_t[]){desc->image_width, rows, layers});
    }
    *size = desc->image_width;
    return true;
}

/* It counts as what it is, whatever was said of its bytes. */
static cl_int create(struct executor *x, const struct object *context, const struct wire_create_image *m,
                     const cl_image_desc *desc, cl_mem *image)
{
    const cl_image_format format = {m->order, m->type};
    cl_int error = CL_SUCCESS;
    size_t least;

    if (!desc->mem_object && (!least_size(desc, &least) || !quota_has(x, least)))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    *image = clCreateImage(context->context, m->flags, &format, desc, NULL, &error);
    if (error)
        return error;
    if (desc->mem_object)
        error = bounds_image_of(*image, desc->mem_object) ? CL_SUCCESS : CL_INVALID_IMAGE_DESCRIPTOR;
    else
        error = quota_take_memory(x, *image, 0);
    if (!error && !desc->mem_object && !m->tag && !m->data_length)
        error = scrub_image(context, *image);
    if (error) {
        clReleaseMemObject(*image);
        *image = NULL;
    }
    return error;
}

int exec_create_image(struct executor *x, const struct wire_create_image *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *image = context ? object_new(x, WIRE_MEMORY, m->image) : NULL;
    struct side side = {.is_image = true, .size = m->bytes, .region = {m->width, 1, 1}};
    cl_image_desc desc;

    if (!image || m->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) || describe(x, m, &desc))
        return -EBADMSG;
    if (m->bytes > UINT64_C(1) << 34)
        return -EBADMSG;
    image->error = context->error;
    image->context_id = m->context;
    if (!image->error)
        image->error = create(x, context, m, &desc, &image->memory);
    if (!m->tag && !m->data_length)
        return 0;
    if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        side.region[1] = m->array_size;
    else if (desc.image_type != CL_MEM_OBJECT_IMAGE1D)
        side.region[1] = m->height;
    if (desc.image_type == CL_MEM_OBJECT_IMAGE3D)
        side.region[2] = m->depth;
    else if (desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
        side.region[2] = m->array_size;
    side.memory = image->error ? NULL : image->memory;
    if (is_usable(image) && !side_fits(&side))
        return -EBADMSG;
    return m->bytes ? transfer_fill(x, context, &side, m->tag, m->data, m->data_length) : -EBADMSG;
}

int exec_create_sampler(struct executor *x, const struct wire_create_sampler *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *sampler = context ? object_new(x, WIRE_SAMPLER, m->sampler) : NULL;
    const cl_sampler_properties properties[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                                m->normalized,
                                                CL_SAMPLER_ADDRESSING_MODE,
                                                m->addressing,
                                                CL_SAMPLER_FILTER_MODE,
                                                m->filter,
                                                0};

    if (!sampler)
        return -EBADMSG;
    sampler->error = context->error;
    if (!sampler->error)
        sampler->sampler = clCreateSamplerWithProperties(context->context, properties, &sampler->error);
    return 0;
}

static int image_of(struct command *c, uint32_t id, struct side *side)
{
    int bad = side->is_image ? buffer_of(c, id, &side->memory) : -EBADMSG;

    return bad || c->error || side_fits(side) ? bad : -EBADMSG;
}

int exec_write_image(struct executor *x, const struct wire_write_image *m)
{
    struct side side;
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && !side_from(&side, m->bytes, m->origin, m->origin_count, m->region, m->region_count, NULL, 0))
        bad = -EBADMSG;
    if (!bad)
        bad = image_of(&c, m->image, &side);
    return bad ? bad : transfer_write(&c, &side, m->tag, m->data, m->data_length);
}

int exec_read_image(struct executor *x, const struct wire_read_image *m)
{
    struct side side;
    struct command c;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && !side_from(&side, m->bytes, m->origin, m->origin_count, m->region, m->region_count, NULL, 0))
        bad = -EBADMSG;
    if (!bad)
        bad = image_of(&c, m->image, &side);
    return bad ? bad : transfer_read(&c, &side, m->tag);
}

static int both(struct command *c, uint32_t source, uint32_t target, cl_mem *from, cl_mem *to)
{
    int bad = buffer_of(c, source, from);

    return bad ? bad : buffer_of(c, target, to);
}

int exec_copy_image(struct executor *x, const struct wire_copy_image *m)
{
    struct command c;
    cl_mem from = NULL, to = NULL;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && (m->source_origin_count != 3 || m->target_origin_count != 3 || m->region_count != 3))
        bad = -EBADMSG;
    if (!bad)
        bad = both(&c, m->source, m->target, &from, &to);
    if (bad)
        return bad;
    if (!c.error &&
        (!bounds_region(from, m->source_origin, m->region) || !bounds_region(to, m->target_origin, m->region)))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_copy_image(c.recording, from, to, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueCopyImage(c.queue->queue, from, to, m->source_origin, m->target_origin,
                                                        m->region, c.wait_count, command_waits(&c), c.ask));
}

int exec_fill_image(struct executor *x, const struct wire_fill_image *m)
{
    uint32_t colour[4] = {0};
    struct command c;
    cl_mem image = NULL;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && (m->origin_count != 3 || m->region_count != 3 || m->colour_length > sizeof(colour)))
        bad = -EBADMSG;
    if (!bad)
        bad = buffer_of(&c, m->image, &image);
    if (bad)
        return bad;
    if (!c.error && !bounds_region(image, m->origin, m->region))
        c.error = CL_INVALID_VALUE;
    memcpy(colour, m->colour, m->colour_length);
    if (!c.error && c.recording)
        return command_end(&c, record_fill_image(c.recording, image, colour, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueFillImage(c.queue->queue, image, colour, m->origin, m->region,
                                                        c.wait_count, command_waits(&c), c.ask));
}

int exec_copy_image_to_buffer(struct executor *x, const struct wire_copy_image_to_buffer *m)
{
    struct command c;
    cl_mem from = NULL, to = NULL;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && (m->origin_count != 3 || m->region_count != 3))
        bad = -EBADMSG;
    if (!bad)
        bad = both(&c, m->source, m->target, &from, &to);
    if (bad)
        return bad;
    if (!c.error && !bounds_region_and_piece(from, m->origin, m->region, to, m->offset))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_copy_image_to_buffer(c.recording, from, to, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueCopyImageToBuffer(c.queue->queue, from, to, m->origin, m->region,
                                                                m->offset, c.wait_count, command_waits(&c), c.ask));
}

int exec_copy_buffer_to_image(struct executor *x, const struct wire_copy_buffer_to_image *m)
{
    struct command c;
    cl_mem from = NULL, to = NULL;
    int bad = command_begin(&c, x, m->queue, WAITS);

    if (!bad && (m->origin_count != 3 || m->region_count != 3))
        bad = -EBADMSG;
    if (!bad)
        bad = both(&c, m->source, m->target, &from, &to);
    if (bad)
        return bad;
    if (!c.error && !bounds_region_and_piece(to, m->origin, m->region, from, m->offset))
        c.error = CL_INVALID_VALUE;
    if (!c.error && c.recording)
        return command_end(&c, record_copy_buffer_to_image(c.recording, from, to, m));
    return command_end(&c, c.error ? c.error
                                   : clEnqueueCopyBufferToImage(c.queue->queue, from, to, m->offset, m->origin,
                                                                m->region, c.wait_count, command_waits(&c), c.ask));
}
