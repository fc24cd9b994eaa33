/* The part of a memory object that a transfer concerns: a piece of a buffer, a rect of one, a region of an image. */
#include "executor/internal.h"

bool side_fits(const struct side *side)
{
    const size_t *region = side->region;
    size_t element = 0;

    if (!side->is_image)
        return true;
    if (region[0] > UINT32_MAX || region[1] > UINT32_MAX || region[2] > 1u << 20)
        return false;
    if (clGetImageInfo(side->memory, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL))
        return false;
    return (unsigned __int128)region[0] * region[1] * region[2] * element == side->size;
}

bool side_rect(struct side *side, const uint64_t *origin, uint32_t origin_count, const uint64_t *region,
               uint32_t region_count, uint64_t row_pitch, uint64_t slice_pitch)
{
    unsigned __int128 size = (unsigned __int128)region[0] * region[1];

    if (origin_count != 3 || region_count != 3 || size > SIDE_MOST_BYTES || (size *= region[2]) > SIDE_MOST_BYTES ||
        !size)
        return false;
    *side = (struct side){.is_rect = true, .size = (size_t)size, .row_pitch = row_pitch, .slice_pitch = slice_pitch};
    memcpy(side->origin, origin, sizeof(side->origin));
    memcpy(side->region, region, sizeof(side->region));
    return true;
}

bool side_from(struct side *side, uint64_t size, const uint64_t *origin, uint32_t origin_count, const uint64_t *region,
               uint32_t region_count, const uint64_t *pitch, uint32_t pitch_count)
{
    if (!size || size > SIDE_MOST_BYTES)
        return false;
    if (pitch_count == 2)
        return side_rect(side, origin, origin_count, region, region_count, pitch[0], pitch[1]) && side->size == size;
    *side = (struct side){.size = size};
    if (origin_count == 1 && !region_count && !pitch_count) {
        side->offset = origin[0];
        return true;
    }
    if (origin_count != 3 || region_count != 3 || pitch_count)
        return false;
    side->is_image = true;
    memcpy(side->origin, origin, sizeof(side->origin));
    memcpy(side->region, region, sizeof(side->region));
    return true;
}

static cl_int copy_svm(cl_command_queue queue, cl_bool blocking, const struct usm *usm, void *to, const void *from,
                       size_t size, cl_uint count, const cl_event *wait, cl_event *event)
{
    if (usm)
        return usm->clEnqueueMemcpyINTEL(queue, blocking, to, from, size, count, wait, event);
    return clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, wait, event);
}

cl_int side_write(cl_command_queue queue, const struct side *s, const void *from, cl_bool blocking, cl_uint count,
                  const cl_event *wait, cl_event *event)
{
    const size_t zero[3] = {0, 0, 0};

    if (s->svm)
        return copy_svm(queue, blocking, s->usm, s->svm, from, s->size, count, wait, event);
    if (s->is_image)
        return clEnqueueWriteImage(queue, s->memory, blocking, s->origin, s->region, s->host_row, s->host_slice, from,
                                   count, wait, event);
    if (s->is_rect)
        return clEnqueueWriteBufferRect(queue, s->memory, blocking, s->origin, zero, s->region, s->row_pitch,
                                        s->slice_pitch, s->host_row, s->host_slice, from, count, wait, event);
    return clEnqueueWriteBuffer(queue, s->memory, blocking, s->offset, s->size, from, count, wait, event);
}

cl_int side_read(cl_command_queue queue, const struct side *s, void *to, cl_uint count, const cl_event *wait,
                 cl_event *event)
{
    const size_t zero[3] = {0, 0, 0};

    if (s->svm)
        return copy_svm(queue, CL_FALSE, s->usm, to, s->svm, s->size, count, wait, event);
    if (s->is_image)
        return clEnqueueReadImage(queue, s->memory, CL_FALSE, s->origin, s->region, s->host_row, s->host_slice, to,
                                  count, wait, event);
    if (s->is_rect)
        return clEnqueueReadBufferRect(queue, s->memory, CL_FALSE, s->origin, zero, s->region, s->row_pitch,
                                       s->slice_pitch, s->host_row, s->host_slice, to, count, wait, event);
    return clEnqueueReadBuffer(queue, s->memory, CL_FALSE, s->offset, s->size, to, count, wait, event);
}

bool side_is_plain(const struct side *side)
{
    return !side->is_image && !side->is_rect && !side->svm;
}

bool side_can_map(const struct executor *x, const struct queue *queue, const struct side *side)
{
    return side_is_plain(side) && queue->unified && x->host.zero_copy && !driver_flush_waits(queue->native);
}
