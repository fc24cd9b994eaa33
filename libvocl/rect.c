/* Rectangles of buffers: reads, writes, copies. The application's side is sent tightly packed. */
#include "base/size.h"
#include "libvocl/internal.h"

static cl_int rect_pitches(const size_t *region, size_t *row, size_t *slice)
{
    size_t least;

    if (!*row)
        *row = region[0];
    if (*row < region[0])
        return CL_INVALID_VALUE;
    if (!size_multiply(&least, *row, region[1]))
        return CL_INVALID_VALUE;
    if (!*slice)
        *slice = least;
    return *slice < least || *slice % *row ? CL_INVALID_VALUE : CL_SUCCESS;
}

static bool rect_inside(cl_mem buffer, const size_t *origin, const size_t *region, size_t row, size_t slice)
{
    size_t end;

    return size_of_rect(&end, origin, region, row, slice) && end <= buffer->size;
}

static cl_int rect_check(cl_mem buffer, const size_t *origin, const size_t *host_origin, const size_t *region,
                         size_t *row, size_t *slice, size_t *host_row, size_t *host_slice, const void *pointer,
                         struct layout *layout)
{
    size_t end;

    if (!origin || !host_origin || !region || !pointer || !region[0] || !region[1] || !region[2])
        return CL_INVALID_VALUE;
    if (rect_pitches(region, row, slice) || rect_pitches(region, host_row, host_slice))
        return CL_INVALID_VALUE;
    if (!rect_inside(buffer, origin, region, *row, *slice) ||
        !size_of_rect(&end, host_origin, region, *host_row, *host_slice))
        return CL_INVALID_VALUE;
    *layout = layout_rect(pointer, host_origin, region, *host_row, *host_slice);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
                                const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                size_t host_row, size_t host_slice, const void *from, cl_uint count,
                                const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueWriteBufferRect);

    struct data_command m = {.type = CL_COMMAND_WRITE_BUFFER_RECT, .writes = true, .blocking = blocking};
    cl_int error = buffer_check(queue, buffer);

    if (!error)
        error = rect_check(buffer, origin, host_origin, region, &row, &slice, &host_row, &host_slice, from, &m.layout);
    if (!error)
        error = memory_check_host(buffer, CL_MAP_WRITE);
    if (error)
        return error;
    m.part = part_rect(buffer, origin, region, row, slice);
    return memory_move(queue, &m, count, list, event);
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
                               const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                               size_t host_row, size_t host_slice, void *to, cl_uint count, const cl_event *list,
                               cl_event *event)
{
    TIMELINE(clEnqueueReadBufferRect);

    struct data_command m = {.type = CL_COMMAND_READ_BUFFER_RECT, .blocking = blocking};
    cl_int error = buffer_check(queue, buffer);

    if (!error)
        error = rect_check(buffer, origin, host_origin, region, &row, &slice, &host_row, &host_slice, to, &m.layout);
    if (!error)
        error = memory_check_host(buffer, CL_MAP_READ);
    if (error)
        return error;
    m.part = part_rect(buffer, origin, region, row, slice);
    return memory_move(queue, &m, count, list, event);
}

/* As in the specification's appendix; within one buffer both pitches are the same. */
static bool rects_overlap(const size_t *from, const size_t *to, const size_t *region, size_t row, size_t slice)
{
    const size_t from_start = from[2] * slice + from[1] * row + from[0],
                 from_end = from_start + (region[2] - 1) * slice + (region[1] - 1) * row + region[0],
                 to_start = to[2] * slice + to[1] * row + to[0],
                 to_end = to_start + (region[2] - 1) * slice + (region[1] - 1) * row + region[0];
    const size_t from_column = from_start % row, to_column = to_start % row;
    const size_t from_row = from_start % slice, to_row = to_start % slice;

    if (from_start >= to_end || to_start >= from_end)
        return false;
    /* no overlap if neither crosses the end of a row and their columns are apart; the same for slices and rows */
    if (from_column + region[0] <= row && to_column + region[0] <= row &&
        (from_column + region[0] <= to_column || to_column + region[0] <= from_column))
        return false;
    if (region[2] > 1) {
        const size_t height = (region[1] - 1) * row + region[0];

        if (from_row + height <= slice && to_row + height <= slice &&
            (from_row + height <= to_row || to_row + height <= from_row))
            return false;
    }
    return true;
}

cl_int copy_rect(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice)
{
    struct part source, target;
    struct wire_copy_rect m;
    struct enqueue e;
    bool sent;
    cl_int error = buffer_check(site->queue, from);

    if (!error)
        error = buffer_check(site->queue, to);
    if (!error && (!from_origin || !to_origin || !region || !region[0] || !region[1] || !region[2]))
        error = CL_INVALID_VALUE;
    if (!error && (rect_pitches(region, &from_row, &from_slice) || rect_pitches(region, &to_row, &to_slice)))
        error = CL_INVALID_VALUE;
    if (!error && (!rect_inside(from, from_origin, region, from_row, from_slice) ||
                   !rect_inside(to, to_origin, region, to_row, to_slice)))
        error = CL_INVALID_VALUE;
    if (!error && from == to && (from_row != to_row || from_slice != to_slice))
        error = CL_INVALID_VALUE;
    if (!error && from == to && rects_overlap(from_origin, to_origin, region, from_row, from_slice))
        error = CL_MEM_COPY_OVERLAP;
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_COPY_BUFFER_RECT);
    if (error)
        return error;
    source = part_rect(from, from_origin, region, from_row, from_slice);
    target = part_rect(to, to_origin, region, to_row, to_slice);
    error = cl_error(part_copy(&e, &source, &target, &sent));
    if (error)
        return enqueue_fail(&e, error);
    if (sent)
        return enqueue_finish(&e, CL_SUCCESS, site->event);
    m = (struct wire_copy_rect){.queue = site->queue->object.id,
                                .source = from->object.id,
                                .target = to->object.id,
                                .event = e.event_id,
                                .source_row_pitch = from_row,
                                .source_slice_pitch = from_slice,
                                .target_row_pitch = to_row,
                                .target_slice_pitch = to_slice,
                                .wait = e.wait,
                                .wait_count = e.wait_count};
    for (int i = 0; i < 3; i++) {
        m.source_origin[i] = from_origin[i];
        m.target_origin[i] = to_origin[i];
        m.region[i] = region[i];
    }
    wire_put_copy_rect(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                               size_t to_row, size_t to_slice, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueCopyBufferRect);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return copy_rect(&site, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice);
}
