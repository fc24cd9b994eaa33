/*
 * Whether the parts that a command names lie within its memory objects. Native OpenCL should check that, too, but
 * drivers add the sizes up without a check (PoCL 3.1: a rect whose slice pitch is 2^63 begins before its buffer), and
 * what has overflowed lies in the worker's own memory.
 */
#include "base/size.h"
#include "executor/internal.h"

static size_t size_of(cl_mem memory)
{
    size_t size = 0;

    return clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, NULL) ? 0 : size;
}

bool bounds_piece(cl_mem buffer, uint64_t offset, uint64_t size)
{
    return size_within(offset, size, size_of(buffer));
}

bool bounds_rect(cl_mem buffer, const size_t origin[3], const size_t region[3], size_t row_pitch, size_t slice_pitch)
{
    const size_t row = row_pitch ? row_pitch : region[0];
    size_t slice = slice_pitch, end;

    if (!region[0] || !region[1] || !region[2] || row < region[0])
        return false;
    if (!slice && !size_multiply(&slice, row, region[1]))
        return false;
    return size_of_rect(&end, origin, region, row, slice) && end <= size_of(buffer);
}

static size_t image_number(cl_mem image, cl_image_info param)
{
    size_t number = 0;

    return clGetImageInfo(image, param, sizeof(number), &number, NULL) ? 0 : number;
}

void bounds_image_extent(cl_mem image, size_t extent[3])
{
    cl_mem_object_type type = 0;

    clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL);
    extent[0] = image_number(image, CL_IMAGE_WIDTH);
    extent[1] = extent[2] = 1;
    switch (type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        extent[1] = image_number(image, CL_IMAGE_ARRAY_SIZE);
        break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        extent[2] = image_number(image, CL_IMAGE_ARRAY_SIZE);
        extent[1] = image_number(image, CL_IMAGE_HEIGHT);
        break;
    case CL_MEM_OBJECT_IMAGE3D:
        extent[2] = image_number(image, CL_IMAGE_DEPTH);
        extent[1] = image_number(image, CL_IMAGE_HEIGHT);
        break;
    case CL_MEM_OBJECT_IMAGE2D:
        extent[1] = image_number(image, CL_IMAGE_HEIGHT);
        break;
    }
}

bool bounds_region(cl_mem image, const size_t origin[3], const size_t region[3])
{
    size_t extent[3];

    bounds_image_extent(image, extent);
    for (int i = 0; i < 3; i++) {
        if (!size_within(origin[i], region[i], extent[i]))
            return false;
    }
    return true;
}

bool bounds_region_and_piece(cl_mem image, const size_t origin[3], const size_t region[3], cl_mem buffer,
                             uint64_t offset)
{
    size_t size;

    if (!bounds_region(image, origin, region) || !size_of_region(&size, region) ||
        !size_multiply(&size, size, image_number(image, CL_IMAGE_ELEMENT_SIZE)))
        return false;
    return bounds_piece(buffer, offset, size);
}

/* Checks the rows of an image that was made from a buffer, or from another image, whose rows it has. */
bool bounds_image_of(cl_mem image, cl_mem source)
{
    const size_t origin[3] = {0, 0, 0};
    size_t extent[3];

    bounds_image_extent(image, extent);
    if (!size_multiply(&extent[0], extent[0], image_number(image, CL_IMAGE_ELEMENT_SIZE)))
        return false;
    return bounds_rect(source, origin, extent, image_number(image, CL_IMAGE_ROW_PITCH), 0);
}

bool bounds_side(const struct side *side)
{
    const struct wire_region *part = &side->part;

    if (side->svm)
        return true; /* svm_has() was called before */
    switch (part->kind) {
    case WIRE_IMAGE:
        return bounds_region(side->memory, part->origin, part->region);
    case WIRE_RECT:
        return bounds_rect(side->memory, part->origin, part->region, part->pitch[0], part->pitch[1]);
    default:
        return bounds_piece(side->memory, part->origin[0], part->size);
    }
}
