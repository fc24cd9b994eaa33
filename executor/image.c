/* Images. */
#include "base/size.h"
#include "executor/internal.h"

/* Computes the least number of bytes of an image before it exists. */
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

/* The image counts with the size that it has, whatever m->bytes says. */
static cl_int create(struct executor *x, const struct exec_create_image *m, const cl_image_desc *desc, cl_mem *image)
{
    const cl_image_format format = {m->order, m->type};
    cl_int error = CL_SUCCESS;
    size_t least;

    if (!desc->mem_object && (!least_size(desc, &least) || !quota_has(x, m->context->devices, least)))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    *image = clCreateImage(m->context->native, m->flags, &format, desc, NULL, &error);
    if (error)
        return error;
    if (desc->mem_object)
        error = bounds_image_of(*image, desc->mem_object) ? CL_SUCCESS : CL_INVALID_IMAGE_DESCRIPTOR;
    else
        error = quota_take_memory(x, m->context->devices, *image, 0);
    if (!error && !desc->mem_object && !m->tag && !m->data_length)
        error = scrub_image(m->context, *image);
    if (error) {
        clReleaseMemObject(*image);
        *image = NULL;
    }
    return error;
}

int exec_create_image(struct executor *x, const struct exec_create_image *m)
{
    const cl_image_desc desc = {.image_type = m->object_type,
                                .image_width = m->width,
                                .image_height = m->height,
                                .image_depth = m->depth,
                                .image_array_size = m->array_size,
                                .image_row_pitch = m->row_pitch,
                                .image_slice_pitch = m->slice_pitch,
                                .mem_object = m->buffer ? m->buffer->native : NULL};
    struct side side = {.part = {.kind = WIRE_IMAGE, .size = m->bytes, .region = {m->width, 1, 1}}};
    struct memory *image = m->image;

    if (m->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR))
        return -EBADMSG;
    if (m->bytes > UINT64_C(1) << 34)
        return -EBADMSG;
    if (m->buffer && m->buffer->context_id != m->context->id) /* PoCL would end the process */
        return -EBADMSG;
    image->error = m->context->error;
    image->context_id = m->context->id;
    image->contents = m->buffer ? contents_use(m->buffer->contents) : NULL;
    if (!image->error)
        image->error = create(x, m, &desc, &image->native);
    if (!m->tag && !m->data_length)
        return 0;
    if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        side.part.region[1] = m->array_size;
    else if (desc.image_type != CL_MEM_OBJECT_IMAGE1D)
        side.part.region[1] = m->height;
    if (desc.image_type == CL_MEM_OBJECT_IMAGE3D)
        side.part.region[2] = m->depth;
    else if (desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
        side.part.region[2] = m->array_size;
    side.memory = image->error ? NULL : image->native;
    if (is_usable(image) && !side_fits(&side))
        return -EBADMSG;
    return m->bytes ? transfer_fill(x, m->context, image, &side, m->tag, m->data, m->data_length) : -EBADMSG;
}
