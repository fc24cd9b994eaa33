/* Reads, writes, copies and fills of images. Their data are sent tightly packed. */
#include "base/size.h"
#include "libvocl/internal.h"

cl_int image_check(cl_command_queue queue, cl_mem image)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!handle_check(image, WIRE_MEMORY) || image->type == CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    if (image->context != queue->context)
        return CL_INVALID_CONTEXT;
    return queue->device->images ? memory_check_node(image, queue->node) : CL_INVALID_OPERATION;
}

cl_int image_check_region(cl_mem image, const size_t *origin, const size_t *region)
{
    size_t extent[3];

    if (!origin || !region)
        return CL_INVALID_VALUE;
    image_extent(&image->desc, extent);
    if (!region[2])
        return CL_INVALID_VALUE;
    for (int i = 0; i < 3; i++) {
        if (origin[i] > extent[i] || region[i] > extent[i] - origin[i])
            return CL_INVALID_VALUE;
    }
    return CL_SUCCESS;
}

bool image_is_nothing(const size_t *region)
{
    return !region[0] || !region[1];
}

void image_layout(cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch, const void *memory,
                  struct layout *layout)
{
    size_t row = region[0] * image->element_size;
    bool array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;

    if (!row_pitch)
        row_pitch = row;
    if (!slice_pitch)
        slice_pitch = array ? row_pitch : row_pitch * region[1];
    *layout = (struct layout){.memory = (uint8_t *)(uintptr_t)memory,
                              .row_bytes = row,
                              .rows = region[1],
                              .slices = region[2],
                              .row_pitch = array ? slice_pitch : row_pitch,
                              .slice_pitch = slice_pitch};
}

static void copy3(uint64_t *to, const size_t *from)
{
    for (int i = 0; i < 3; i++)
        to[i] = from[i];
}

static cl_int move_region(cl_command_queue queue, cl_mem image, struct data_command *m, const size_t *origin,
                          const size_t *region, size_t row_pitch, size_t slice_pitch, const void *memory, cl_uint count,
                          const cl_event *list, cl_event *event)
{
    cl_int error = image_check(queue, image);

    if (!error)
        error = memory ? image_check_region(image, origin, region) : CL_INVALID_VALUE;
    if (!error)
        error = memory_check_host(image, m->writes ? CL_MAP_WRITE : CL_MAP_READ);
    if (error)
        return error;
    image_layout(image, region, row_pitch, slice_pitch, memory, &m->layout);
    m->part = part_image(image, origin, region);
    return memory_move(queue, m, count, list, event);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                           const size_t *region, size_t row_pitch, size_t slice_pitch, const void *from, cl_uint count,
                           const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueWriteImage);

    struct data_command m = {.type = CL_COMMAND_WRITE_IMAGE, .writes = true, .blocking = blocking};

    return move_region(queue, image, &m, origin, region, row_pitch, slice_pitch, from, count, list, event);
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                          const size_t *region, size_t row_pitch, size_t slice_pitch, void *to, cl_uint count,
                          const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueReadImage);

    struct data_command m = {.type = CL_COMMAND_READ_IMAGE, .blocking = blocking};

    return move_region(queue, image, &m, origin, region, row_pitch, slice_pitch, to, count, list, event);
}

cl_int copy_image(const struct site *site, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
                  const size_t *region)
{
    struct part source, target;
    struct wire_copy_image m;
    struct enqueue e;
    bool sent;
    bool apart = from != to;
    cl_int error = image_check(site->queue, from);

    if (!error)
        error = image_check(site->queue, to);
    if (!error && memcmp(&from->format, &to->format, sizeof(from->format)))
        error = CL_IMAGE_FORMAT_MISMATCH;
    if (!error && (image_check_region(from, from_origin, region) || image_check_region(to, to_origin, region) ||
                   image_is_nothing(region)))
        error = CL_INVALID_VALUE;
    for (int i = 0; !error && i < 3; i++)
        apart |= from_origin[i] >= to_origin[i] + region[i] || to_origin[i] >= from_origin[i] + region[i];
    if (!error && !apart)
        error = CL_MEM_COPY_OVERLAP;
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_COPY_IMAGE);
    if (error)
        return error;
    source = part_image(from, from_origin, region);
    target = part_image(to, to_origin, region);
    error = cl_error(part_copy(&e, &source, &target, &sent));
    if (error)
        return enqueue_fail(&e, error);
    if (sent)
        return enqueue_finish(&e, CL_SUCCESS, site->event);
    m = (struct wire_copy_image){.queue = site->queue->object.id,
                                 .source = from->object.id,
                                 .target = to->object.id,
                                 .event = e.event_id,
                                 .wait = e.wait,
                                 .wait_count = e.wait_count};
    copy3(m.source_origin, from_origin);
    copy3(m.target_origin, to_origin);
    copy3(m.region, region);
    wire_put_copy_image(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                          const size_t *to_origin, const size_t *region, cl_uint count, const cl_event *list,
                          cl_event *event)
{
    TIMELINE(clEnqueueCopyImage);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return copy_image(&site, from, to, from_origin, to_origin, region);
}

cl_int fill_image(const struct site *site, cl_mem image, const void *colour, const size_t *origin, const size_t *region)
{
    struct wire_fill_image m;
    struct enqueue e;
    cl_int error = image_check(site->queue, image);

    if (!error)
        error = colour ? image_check_region(image, origin, region) : CL_INVALID_VALUE;
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_FILL_IMAGE);
    if (error)
        return error;
    if (image_is_nothing(region))
        return site_nothing(&e, site);
    error = cl_error(coherence_before(&e, image, 0, image->size, USE_READ | USE_WRITE));
    if (error)
        return enqueue_fail(&e, error);
    m = (struct wire_fill_image){.queue = site->queue->object.id,
                                 .image = image->object.id,
                                 .event = e.event_id,
                                 .colour = colour,
                                 .colour_length = 16,
                                 .wait = e.wait,
                                 .wait_count = e.wait_count};
    if (image->format.image_channel_order == CL_DEPTH)
        m.colour_length = 4;
    copy3(m.origin, origin);
    copy3(m.region, region);
    coherence_after(&e, image, 0, image->size);
    wire_put_fill_image(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
                          const size_t *region, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueFillImage);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return fill_image(&site, image, colour, origin, region);
}

static cl_int check_mixed(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
                          const size_t *region, size_t offset)
{
    cl_int error = image_check(queue, image);
    size_t size;

    if (error)
        return error;
    if (!handle_check(buffer, WIRE_MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    if (buffer->context != queue->context)
        return CL_INVALID_CONTEXT;
    error = image_check_region(image, origin, region);
    if (error || image_is_nothing(region))
        return CL_INVALID_VALUE;
    if (!size_of_region(&size, region) || !size_multiply(&size, size, image->element_size))
        return CL_INVALID_VALUE;
    return size_within(offset, size, buffer->size) ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* Begins a copy between an image and a buffer. Returns false if there is nothing left to send, with the result. */
static bool mixed_begin(struct enqueue *e, const struct site *site, cl_command_type type, cl_mem image, cl_mem buffer,
                        const size_t *origin, const size_t *region, size_t offset, cl_int *result)
{
    const bool out = type == CL_COMMAND_COPY_IMAGE_TO_BUFFER;
    struct part of_image, of_buffer;
    bool sent;

    *result = check_mixed(site->queue, image, buffer, origin, region, offset);
    if (!*result)
        *result = site_begin(e, site, type);
    if (*result)
        return false;
    of_image = part_image(image, origin, region);
    of_buffer = part_piece(buffer, offset, of_image.bytes);
    *result = cl_error(part_copy(e, out ? &of_image : &of_buffer, out ? &of_buffer : &of_image, &sent));
    if (*result)
        *result = enqueue_fail(e, *result);
    else if (sent)
        *result = enqueue_finish(e, CL_SUCCESS, site->event);
    return !*result && !sent;
}

cl_int copy_image_to_buffer(const struct site *site, cl_mem image, cl_mem buffer, const size_t *origin,
                            const size_t *region, size_t offset)
{
    struct wire_copy_image_to_buffer m;
    struct enqueue e;
    cl_int result;

    if (!mixed_begin(&e, site, CL_COMMAND_COPY_IMAGE_TO_BUFFER, image, buffer, origin, region, offset, &result))
        return result;
    m = (struct wire_copy_image_to_buffer){.queue = site->queue->object.id,
                                           .source = image->object.id,
                                           .target = buffer->object.id,
                                           .event = e.event_id,
                                           .offset = offset,
                                           .wait = e.wait,
                                           .wait_count = e.wait_count};
    copy3(m.origin, origin);
    copy3(m.region, region);
    wire_put_copy_image_to_buffer(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
                                  const size_t *region, size_t offset, cl_uint count, const cl_event *list,
                                  cl_event *event)
{
    TIMELINE(clEnqueueCopyImageToBuffer);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return copy_image_to_buffer(&site, image, buffer, origin, region, offset);
}

cl_int copy_buffer_to_image(const struct site *site, cl_mem buffer, cl_mem image, size_t offset, const size_t *origin,
                            const size_t *region)
{
    struct wire_copy_buffer_to_image m;
    struct enqueue e;
    cl_int result;

    if (!mixed_begin(&e, site, CL_COMMAND_COPY_BUFFER_TO_IMAGE, image, buffer, origin, region, offset, &result))
        return result;
    m = (struct wire_copy_buffer_to_image){.queue = site->queue->object.id,
                                           .source = buffer->object.id,
                                           .target = image->object.id,
                                           .event = e.event_id,
                                           .offset = offset,
                                           .wait = e.wait,
                                           .wait_count = e.wait_count};
    copy3(m.origin, origin);
    copy3(m.region, region);
    wire_put_copy_buffer_to_image(site_encode(&e), &m);
    return site_finish(&e, site);
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                  const size_t *origin, const size_t *region, cl_uint count, const cl_event *list,
                                  cl_event *event)
{
    TIMELINE(clEnqueueCopyBufferToImage);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return copy_buffer_to_image(&site, buffer, image, offset, origin, region);
}
