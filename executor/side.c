/* The part of a memory object that a transfer is about: a piece of a buffer, a rect of one, or a region of an image. */
#include "executor/internal.h"

bool side_fits(const struct side *side)
{
    const uint64_t *region = side->part.region;
    size_t element = 0;

    if (side->part.kind != WIRE_IMAGE)
        return true;
    if (region[0] > UINT32_MAX || region[1] > UINT32_MAX || region[2] > 1u << 20)
        return false;
    if (clGetImageInfo(side->memory, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL))
        return false;
    return (unsigned __int128)region[0] * region[1] * region[2] * element == side->part.size;
}

struct side side_from(cl_mem memory, const struct wire_region *part)
{
    return (struct side){.memory = memory, .part = *part};
}

struct side side_piece(cl_mem memory, uint64_t offset, uint64_t size)
{
    return (struct side){.memory = memory, .part = {.kind = WIRE_PIECE, .size = size, .origin = {offset}}};
}

static cl_int copy_svm(cl_command_queue queue, const struct usm *usm, void *to, const void *from, size_t size,
                       cl_uint count, const cl_event *wait, cl_event *event)
{
    if (usm)
        return usm->clEnqueueMemcpyINTEL(queue, CL_FALSE, to, from, size, count, wait, event);
    return clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, size, count, wait, event);
}

cl_int side_write(cl_command_queue queue, const struct side *s, const void *from, cl_uint count, const cl_event *wait,
                  cl_event *event)
{
    const struct wire_region *part = &s->part;
    const size_t zero[3] = {0, 0, 0};

    if (s->svm)
        return copy_svm(queue, s->usm, s->svm, from, part->size, count, wait, event);
    if (part->kind == WIRE_IMAGE)
        return clEnqueueWriteImage(queue, s->memory, CL_FALSE, part->origin, part->region, s->host_row, s->host_slice,
                                   from, count, wait, event);
    if (part->kind == WIRE_RECT)
        return clEnqueueWriteBufferRect(queue, s->memory, CL_FALSE, part->origin, zero, part->region, part->pitch[0],
                                        part->pitch[1], s->host_row, s->host_slice, from, count, wait, event);
    return clEnqueueWriteBuffer(queue, s->memory, CL_FALSE, part->origin[0], part->size, from, count, wait, event);
}

cl_int side_put(cl_command_queue queue, const struct side *s, const void *from)
{
    cl_event written;
    cl_int error = side_write(queue, s, from, 0, NULL, &written);

    if (error)
        return error;
    error = clWaitForEvents(1, &written);
    clReleaseEvent(written);
    return error;
}

cl_int side_read(cl_command_queue queue, const struct side *s, void *to, cl_uint count, const cl_event *wait,
                 cl_event *event)
{
    const struct wire_region *part = &s->part;
    const size_t zero[3] = {0, 0, 0};

    if (s->svm)
        return copy_svm(queue, s->usm, to, s->svm, part->size, count, wait, event);
    if (part->kind == WIRE_IMAGE)
        return clEnqueueReadImage(queue, s->memory, CL_FALSE, part->origin, part->region, s->host_row, s->host_slice,
                                  to, count, wait, event);
    if (part->kind == WIRE_RECT)
        return clEnqueueReadBufferRect(queue, s->memory, CL_FALSE, part->origin, zero, part->region, part->pitch[0],
                                       part->pitch[1], s->host_row, s->host_slice, to, count, wait, event);
    return clEnqueueReadBuffer(queue, s->memory, CL_FALSE, part->origin[0], part->size, to, count, wait, event);
}

bool side_is_plain(const struct side *side)
{
    return side->part.kind == WIRE_PIECE && !side->svm;
}

bool side_can_map(const struct executor *x, const struct queue *queue, const struct side *side)
{
    return side_is_plain(side) && queue->unified && x->host.zero_copy && !driver_flush_waits(queue->native);
}
