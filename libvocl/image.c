/* Images: creation, reads, writes, copies, fills, maps. Their data travels tightly packed. */
#include "libvocl/internal.h"

/* ---- formats and shapes ---- */

static size_t channel_count(cl_channel_order order)
{
    switch (order) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_Rx:
    case CL_DEPTH:
        return 1;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
        return 2;
    case CL_RGB:
    case CL_RGBx:
    case CL_sRGB:
        return 3;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR:
    case CL_sRGBA:
    case CL_sBGRA:
    case CL_sRGBx:
        return 4;
    }
    return 0;
}

size_t image_element_size(const cl_image_format *format)
{
    size_t channels = channel_count(format->image_channel_order);

    switch (format->image_channel_data_type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
        return channels;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
        return 2 * channels;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
        return 4 * channels;
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
        return 2;
    case CL_UNORM_INT_101010:
    case CL_UNORM_INT_101010_2:
        return 4;
    }
    return 0;
}

/* Width, height or array size, depth or array size, as read and write regions count them. */
static void image_extent(const cl_image_desc *desc, size_t extent[3])
{
    extent[0] = desc->image_width;
    extent[1] = extent[2] = 1;
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        extent[1] = desc->image_array_size;
        break;
    case CL_MEM_OBJECT_IMAGE2D:
        extent[1] = desc->image_height;
        break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        extent[1] = desc->image_height;
        extent[2] = desc->image_array_size;
        break;
    case CL_MEM_OBJECT_IMAGE3D:
        extent[1] = desc->image_height;
        extent[2] = desc->image_depth;
        break;
    }
}

/* Whether the description is plainly right. */
static cl_int check_desc(const cl_image_format *format, const cl_image_desc *desc, const void *host_pointer)
{
    const size_t element = image_element_size(format);
    cl_mem source = desc->mem_object;
    size_t extent[3];

    if (desc->image_type < CL_MEM_OBJECT_IMAGE2D || desc->image_type > CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    image_extent(desc, extent);
    if (!extent[0] || !extent[1] || !extent[2] || desc->num_mip_levels || desc->num_samples)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (!host_pointer && !source && (desc->image_row_pitch || desc->image_slice_pitch))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (desc->image_row_pitch % element)
        return CL_INVALID_VALUE;
    if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER && (!source || source->size < extent[0] * element))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (source && desc->image_type != CL_MEM_OBJECT_IMAGE1D_BUFFER && desc->image_type != CL_MEM_OBJECT_IMAGE2D)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    return CL_SUCCESS;
}

static cl_int check_size(cl_context context, const cl_image_desc *desc)
{
    cl_device_info names[] = {CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT};
    size_t most[2] = {0, 0}, extent[3];

    if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return CL_SUCCESS;
    image_extent(desc, extent);
    if (desc->image_type == CL_MEM_OBJECT_IMAGE3D) {
        names[0] = CL_DEVICE_IMAGE3D_MAX_WIDTH;
        names[1] = CL_DEVICE_IMAGE3D_MAX_HEIGHT;
    } else if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
        names[1] = CL_DEVICE_IMAGE_MAX_ARRAY_SIZE;
    }
    for (cl_uint i = 0; i < context->device_count; i++) {
        size_t limit[2] = {SIZE_MAX, SIZE_MAX};

        clGetDeviceInfo(context->devices[i], names[0], sizeof(size_t), &limit[0], NULL);
        clGetDeviceInfo(context->devices[i], names[1], sizeof(size_t), &limit[1], NULL);
        most[0] = limit[0] > most[0] ? limit[0] : most[0];
        most[1] = limit[1] > most[1] ? limit[1] : most[1];
    }
    return extent[0] > most[0] || extent[1] > most[1] ? CL_INVALID_IMAGE_SIZE : CL_SUCCESS;
}

/* What only native OpenCL judges, by trying to make the image. */
static cl_int check_by_node(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                            const cl_image_desc *desc, cl_int error)
{
    const cl_mem_flags apart = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    cl_mem image;
    struct wire_create_image m = {.context = context->object.id,
                                  .flags = flags & ~apart,
                                  .order = format->image_channel_order,
                                  .type = format->image_channel_data_type,
                                  .object_type = desc->image_type,
                                  .width = desc->image_width,
                                  .height = desc->image_height,
                                  .depth = desc->image_depth,
                                  .array_size = desc->image_array_size,
                                  .row_pitch = flags & apart ? 0 : desc->image_row_pitch,
                                  .slice_pitch = flags & apart ? 0 : desc->image_slice_pitch,
                                  .buffer = desc->mem_object ? desc->mem_object->object.id : 0};
    cl_int native;

    if (desc->num_mip_levels || desc->num_samples || memory_new(context, desc->image_type, flags, &image))
        return error;
    m.image = image->object.id;
    wire_put_create_image(stream_begin(context->node), &m);
    native = stream_end(context->node, STREAM_LATER);
    if (!native)
        native = call_outcome(context->node, &image->object);
    handle_release(image, WIRE_MEMORY, 0);
    return native || !(flags & apart) ? native : error;
}

static cl_int check_format(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                           const cl_image_format *format)
{
    cl_image_format formats[512];
    cl_uint count = 0;
    cl_int error;

    if (!format || !image_element_size(format))
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    error = clGetSupportedImageFormats(context, flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY),
                                       type, 512, formats, &count);
    for (cl_uint i = 0; !error && i < count && i < 512; i++) {
        if (!memcmp(&formats[i], format, sizeof(*format)))
            return CL_SUCCESS;
    }
    return error ? error : CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

/* ---- creation ---- */

static cl_int image_send(cl_mem image, const void *host_pointer)
{
    struct node *node = image->context->node;
    const cl_image_desc *d = &image->desc;
    size_t extent[3], row;
    struct layout layout;
    struct transfer *transfer = NULL;
    struct wire_create_image m;
    const void *data;
    uint32_t length;
    cl_int error = CL_SUCCESS;

    image_extent(d, extent);
    row = extent[0] * image->element_size;
    m = (struct wire_create_image){
        .image = image->object.id,
        .context = image->context->object.id,
        .flags = image->flags & ~(cl_mem_flags)(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_READ_ONLY |
                                                CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS),
        .order = image->format.image_channel_order,
        .type = image->format.image_channel_data_type,
        .object_type = d->image_type,
        .width = d->image_width,
        .height = d->image_height,
        .depth = d->image_depth,
        .array_size = d->image_array_size,
        .row_pitch = d->mem_object ? d->image_row_pitch : 0,
        .bytes = row * extent[1] * extent[2],
        .buffer = d->mem_object ? d->mem_object->object.id : 0};
    if (host_pointer) {
        bool array = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;

        layout = (struct layout){.memory = (uint8_t *)(uintptr_t)host_pointer,
                                 .row_bytes = row,
                                 .rows = extent[1],
                                 .slices = extent[2],
                                 .row_pitch = array ? image->slice_pitch : image->row_pitch,
                                 .slice_pitch = image->slice_pitch};
        error = transfer_write(node, &layout, false, NULL, &transfer, &m.tag, &data, &length);
        if (error)
            return error;
        m.tag = transfer_bulk(transfer);
    }
    wire_put_create_image(stream_begin(node), &m);
    error = stream_finish(node, transfer ? STREAM_NOW : STREAM_LATER);
    if (!error && transfer)
        transfer_start(transfer);
    session_unlock(node->session);
    if (transfer && error)
        transfer_cancel(transfer);
    return transfer && !error ? transfer_wait(transfer) : error;
}

/* As native OpenCL reports them: those of the memory that the image came from, else tight. */
static void image_pitches(cl_mem image)
{
    const cl_image_desc *d = &image->desc;
    size_t extent[3];

    image_extent(d, extent);
    image->row_pitch = d->image_row_pitch ? d->image_row_pitch : extent[0] * image->element_size;
    switch (d->image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        image->slice_pitch = d->image_slice_pitch ? d->image_slice_pitch : image->row_pitch;
        image->size = image->slice_pitch * extent[1];
        break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    case CL_MEM_OBJECT_IMAGE3D:
        image->slice_pitch = d->image_slice_pitch ? d->image_slice_pitch : image->row_pitch * extent[1];
        image->size = image->slice_pitch * extent[2];
        break;
    default:
        image->size = image->row_pitch * extent[1];
    }
}

static cl_int image_create(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *desc, void *host_pointer, cl_mem *out)
{
    cl_mem image;
    cl_int error;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!format)
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (!desc)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (desc->mem_object && (!handle_check(desc->mem_object, WIRE_MEMORY) || desc->mem_object->context != context))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    error = memory_check_flags(flags, host_pointer);
    if (error)
        return error;
    error = image_element_size(format) ? check_desc(format, desc, host_pointer) : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (!error)
        error = check_size(context, desc);
    if (!error)
        error = check_format(context, flags, desc->image_type, format);
    if (error)
        error = check_by_node(context, flags, format, desc, error);
    if (!error)
        error = memory_new(context, desc->image_type, flags, &image);
    if (error)
        return error;
    image->format = *format;
    image->desc = *desc;
    image->element_size = image_element_size(format);
    image->host_pointer = flags & CL_MEM_USE_HOST_PTR ? host_pointer : NULL;
    image_pitches(image);
    image->parent = desc->mem_object;
    if (image->parent)
        handle_use(image->parent);
    error = image_send(image, host_pointer);
    if (error)
        handle_release(image, WIRE_MEMORY, 0);
    else
        *out = image;
    return error;
}

cl_mem clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
                     void *host_pointer, cl_int *ret)
{
    cl_mem image = NULL;

    fail_ret(ret, image_create(context, flags, format, desc, host_pointer, &image));
    return image;
}

cl_mem clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                   const cl_image_format *format, const cl_image_desc *desc, void *host_pointer,
                                   cl_int *ret)
{
    cl_mem image = NULL;
    cl_int error = handle_check(context, WIRE_CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;

    if (!error && properties && properties[0])
        error = CL_INVALID_PROPERTY;
    if (!error)
        error = image_create(context, flags, format, desc, host_pointer, &image);
    if (!error)
        properties_copy(properties, sizeof(*properties), (void **)&image->properties, &image->properties_size);
    fail_ret(ret, error);
    return image;
}

cl_mem clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                       size_t height, size_t row_pitch, void *host_pointer, cl_int *ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = width,
                                .image_height = height,
                                .image_row_pitch = row_pitch};

    return clCreateImage(context, flags, format, &desc, host_pointer, ret);
}

cl_mem clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                       size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host_pointer,
                       cl_int *ret)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = width,
                                .image_height = height,
                                .image_depth = depth,
                                .image_row_pitch = row_pitch,
                                .image_slice_pitch = slice_pitch};

    return clCreateImage(context, flags, format, &desc, host_pointer, ret);
}

cl_int clGetSupportedImageFormats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint count,
                                  cl_image_format *formats, cl_uint *count_ret)
{
    cl_image_format all[1024];
    cl_uint found;
    size_t size = 0;
    cl_int error;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER || (!count && formats))
        return CL_INVALID_VALUE;
    error = info_ask(context->node, WIRE_INFO_IMAGE_FORMATS, context->object.id, type, 0, &flags, sizeof(flags),
                     sizeof(all), all, &size);
    if (error)
        return error;
    found = (cl_uint)(size / sizeof(*all));
    if (formats)
        memcpy(formats, all, (found < count ? found : count) * sizeof(*all));
    if (count_ret)
        *count_ret = found;
    return CL_SUCCESS;
}

cl_int clGetImageInfo(cl_mem image, cl_image_info param, size_t size, void *value, size_t *size_ret)
{
    if (!handle_check(image, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (image->type != CL_MEM_OBJECT_BUFFER) {
        switch (param) {
        case CL_IMAGE_BUFFER:
            return info_return(&image->desc.mem_object, sizeof(cl_mem), size, value, size_ret);
        case CL_IMAGE_ROW_PITCH:
            return info_return(&image->row_pitch, sizeof(size_t), size, value, size_ret);
        case CL_IMAGE_SLICE_PITCH:
            return info_return(&image->slice_pitch, sizeof(size_t), size, value, size_ret);
        }
    }
    return info_ask(image->context->node, WIRE_INFO_IMAGE, image->object.id, 0, param, NULL, 0, size, value, size_ret);
}

/* ---- commands ---- */

static cl_int check_image(cl_command_queue queue, cl_mem image)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!handle_check(image, WIRE_MEMORY) || image->type == CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    if (image->context != queue->context)
        return CL_INVALID_CONTEXT;
    return queue->device->images ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static cl_int check_region(cl_mem image, const size_t *origin, const size_t *region)
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

static bool is_nothing(const size_t *region)
{
    return !region[0] || !region[1];
}

/* The host's side of a region; pitches of 0 mean tight. Others are taken as they are, as PoCL does. */
static void region_layout(cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch, const void *memory,
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

/* Takes over e, and owned, memory to free when the data has left it. */
static cl_int write_region(struct enqueue *e, cl_mem image, cl_bool blocking, const size_t *origin,
                           const size_t *region, const struct layout *layout, void *owned, cl_event *event)
{
    struct transfer *transfer;
    struct wire_write_image m = {.queue = e->queue->object.id,
                                 .image = image->object.id,
                                 .origin_count = 3,
                                 .region_count = 3,
                                 .bytes = layout_bytes(layout),
                                 .wait = e->wait,
                                 .wait_count = e->wait_count};
    cl_int error = CL_SUCCESS;

    copy3(m.origin, origin);
    copy3(m.region, region);
    if (blocking && (event || e->wait_count)) {
        error = enqueue_need_event(e, CL_COMMAND_WRITE_IMAGE);
        m.want = 1u << CL_COMPLETE;
    }
    if (!error)
        error = transfer_write(e->node, layout, false, NULL, &transfer, &m.tag, &m.data, &m.data_length);
    if (error)
        return enqueue_fail(e, error);
    transfer_own(transfer, owned);
    if (e->event)
        e->event->wanted = m.want;
    m.event = e->event_id;
    wire_put_write_image(stream_begin(e->node), &m);
    return enqueue_write(e, transfer, blocking, stream_finish(e->node, STREAM_NOW), event);
}

static cl_int read_region(struct enqueue *e, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region,
                          const struct layout *layout, struct object *keep, cl_event *event)
{
    struct transfer *transfer;
    struct wire_read_image m = {.queue = e->queue->object.id,
                                .image = image->object.id,
                                .event = e->event_id,
                                .want = e->event ? 1u << CL_COMPLETE : 0,
                                .origin_count = 3,
                                .region_count = 3,
                                .bytes = layout_bytes(layout),
                                .wait = e->wait,
                                .wait_count = e->wait_count};
    cl_int error = transfer_read(e->node, layout, false, e->event, keep, &transfer, &m.tag);

    if (error)
        return enqueue_fail(e, error);
    copy3(m.origin, origin);
    copy3(m.region, region);
    if (e->event)
        e->event->wanted = m.want;
    wire_put_read_image(stream_begin(e->node), &m);
    return enqueue_read(e, transfer, blocking, stream_finish(e->node, blocking ? STREAM_NOW : STREAM_SOON), event);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                           const size_t *region, size_t row_pitch, size_t slice_pitch, const void *from, cl_uint count,
                           const cl_event *list, cl_event *event)
{
    struct layout layout;
    struct enqueue e;
    cl_int error = check_image(queue, image);

    if (!error)
        error = from ? check_region(image, origin, region) : CL_INVALID_VALUE;
    if (!error)
        region_layout(image, region, row_pitch, slice_pitch, from, &layout);
    if (!error && image->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))
        error = CL_INVALID_OPERATION;
    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_WRITE_IMAGE);
    if (!error && is_nothing(region))
        return enqueue_nothing(&e, blocking, event);
    return error ? error : write_region(&e, image, blocking, origin, region, &layout, NULL, event);
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                          const size_t *region, size_t row_pitch, size_t slice_pitch, void *to, cl_uint count,
                          const cl_event *list, cl_event *event)
{
    struct layout layout;
    struct enqueue e;
    cl_int error = check_image(queue, image);

    if (!error)
        error = to ? check_region(image, origin, region) : CL_INVALID_VALUE;
    if (!error)
        region_layout(image, region, row_pitch, slice_pitch, to, &layout);
    if (!error && image->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))
        error = CL_INVALID_OPERATION;
    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_READ_IMAGE);
    if (!error && is_nothing(region))
        return enqueue_nothing(&e, blocking, event);
    return error ? error : read_region(&e, image, blocking, origin, region, &layout, NULL, event);
}

cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                          const size_t *to_origin, const size_t *region, cl_uint count, const cl_event *list,
                          cl_event *event)
{
    struct wire_copy_image m;
    struct enqueue e;
    bool apart = from != to;
    cl_int error = check_image(queue, from);

    if (!error)
        error = check_image(queue, to);
    if (!error && memcmp(&from->format, &to->format, sizeof(from->format)))
        error = CL_IMAGE_FORMAT_MISMATCH;
    if (!error &&
        (check_region(from, from_origin, region) || check_region(to, to_origin, region) || is_nothing(region)))
        error = CL_INVALID_VALUE;
    for (int i = 0; !error && i < 3; i++)
        apart |= from_origin[i] >= to_origin[i] + region[i] || to_origin[i] >= from_origin[i] + region[i];
    if (!error && !apart)
        error = CL_MEM_COPY_OVERLAP;
    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_COPY_IMAGE);
    if (error)
        return error;
    m = (struct wire_copy_image){.queue = queue->object.id,
                                 .source = from->object.id,
                                 .target = to->object.id,
                                 .event = e.event_id,
                                 .source_origin_count = 3,
                                 .target_origin_count = 3,
                                 .region_count = 3,
                                 .wait = e.wait,
                                 .wait_count = e.wait_count};
    copy3(m.source_origin, from_origin);
    copy3(m.target_origin, to_origin);
    copy3(m.region, region);
    wire_put_copy_image(stream_begin(e.node), &m);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
                          const size_t *region, cl_uint count, const cl_event *list, cl_event *event)
{
    struct wire_fill_image m;
    struct enqueue e;
    cl_int error = check_image(queue, image);

    if (!error)
        error = colour ? check_region(image, origin, region) : CL_INVALID_VALUE;
    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_FILL_IMAGE);
    if (error)
        return error;
    if (is_nothing(region))
        return enqueue_nothing(&e, CL_FALSE, event);
    m = (struct wire_fill_image){.queue = queue->object.id,
                                 .image = image->object.id,
                                 .event = e.event_id,
                                 .colour = colour,
                                 .colour_length = 16,
                                 .origin_count = 3,
                                 .region_count = 3,
                                 .wait = e.wait,
                                 .wait_count = e.wait_count};
    if (image->format.image_channel_order == CL_DEPTH)
        m.colour_length = 4;
    copy3(m.origin, origin);
    copy3(m.region, region);
    wire_put_fill_image(stream_begin(e.node), &m);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

static cl_int check_mixed(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
                          const size_t *region, size_t offset)
{
    cl_int error = check_image(queue, image);
    size_t size;

    if (error)
        return error;
    if (!handle_check(buffer, WIRE_MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    if (buffer->context != queue->context)
        return CL_INVALID_CONTEXT;
    error = check_region(image, origin, region);
    if (error || is_nothing(region))
        return CL_INVALID_VALUE;
    size = region[0] * region[1] * region[2] * image->element_size;
    return offset > buffer->size || size > buffer->size - offset ? CL_INVALID_VALUE : CL_SUCCESS;
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
                                  const size_t *region, size_t offset, cl_uint count, const cl_event *list,
                                  cl_event *event)
{
    struct wire_copy_image_to_buffer m;
    struct enqueue e;
    cl_int error = check_mixed(queue, image, buffer, origin, region, offset);

    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_COPY_IMAGE_TO_BUFFER);
    if (error)
        return error;
    m = (struct wire_copy_image_to_buffer){.queue = queue->object.id,
                                           .source = image->object.id,
                                           .target = buffer->object.id,
                                           .event = e.event_id,
                                           .origin_count = 3,
                                           .region_count = 3,
                                           .offset = offset,
                                           .wait = e.wait,
                                           .wait_count = e.wait_count};
    copy3(m.origin, origin);
    copy3(m.region, region);
    wire_put_copy_image_to_buffer(stream_begin(e.node), &m);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                  const size_t *origin, const size_t *region, cl_uint count, const cl_event *list,
                                  cl_event *event)
{
    struct wire_copy_buffer_to_image m;
    struct enqueue e;
    cl_int error = check_mixed(queue, image, buffer, origin, region, offset);

    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_COPY_BUFFER_TO_IMAGE);
    if (error)
        return error;
    m = (struct wire_copy_buffer_to_image){.queue = queue->object.id,
                                           .source = buffer->object.id,
                                           .target = image->object.id,
                                           .event = e.event_id,
                                           .offset = offset,
                                           .origin_count = 3,
                                           .region_count = 3,
                                           .wait = e.wait,
                                           .wait_count = e.wait_count};
    copy3(m.origin, origin);
    copy3(m.region, region);
    wire_put_copy_buffer_to_image(stream_begin(e.node), &m);
    return enqueue_finish(&e, stream_end(e.node, STREAM_SOON), event);
}

/* ---- maps: each has memory of its own, but for images that use the application's ---- */

static struct mapping *mapping_new(cl_mem image, cl_map_flags flags, const size_t *origin, const size_t *region)
{
    struct mapping *mapping = calloc(1, sizeof(*mapping));
    bool array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t extent[3];

    if (!mapping)
        return NULL;
    image_extent(&image->desc, extent);
    mapping->flags = flags;
    memcpy(mapping->origin, origin, sizeof(mapping->origin));
    memcpy(mapping->region, region, sizeof(mapping->region));
    mapping->row_pitch = image->row_pitch;
    mapping->slice_pitch = image->slice_pitch ? image->slice_pitch : image->row_pitch * extent[1];
    mapping->owned = !image->host_pointer;
    if (mapping->owned)
        mapping->pointer = malloc(array ? mapping->slice_pitch * region[1] : mapping->slice_pitch * region[2]);
    else
        mapping->pointer = (uint8_t *)image->host_pointer + origin[0] * image->element_size +
                           origin[1] * (array ? mapping->slice_pitch : mapping->row_pitch) +
                           origin[2] * mapping->slice_pitch;
    if (!mapping->pointer) {
        free(mapping);
        return NULL;
    }
    return mapping;
}

static cl_int map_check(cl_command_queue queue, cl_mem image, const size_t *origin, const size_t *region,
                        const size_t *row_pitch, const size_t *slice_pitch)
{
    cl_int error = check_image(queue, image);

    if (!error)
        error = check_region(image, origin, region);
    if (error)
        return error;
    if (!row_pitch || (!slice_pitch && image->type != CL_MEM_OBJECT_IMAGE2D && image->type != CL_MEM_OBJECT_IMAGE1D &&
                       image->type != CL_MEM_OBJECT_IMAGE1D_BUFFER))
        return CL_INVALID_VALUE;
    return CL_SUCCESS;
}

void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                        const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                        cl_uint count, const cl_event *list, cl_event *event, cl_int *ret)
{
    cl_int error = map_check(queue, image, origin, region, row_pitch, slice_pitch);
    struct mapping *mapping = NULL;
    struct layout layout;
    struct enqueue e;
    void *pointer = NULL;

    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MAP_IMAGE);
    if (!error) {
        mapping = mapping_new(image, flags, origin, region);
        error = mapping ? CL_SUCCESS : enqueue_fail(&e, CL_MAP_FAILURE);
    }
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    pointer = mapping->pointer;
    mapping_add(image, mapping);
    *row_pitch = mapping->row_pitch;
    if (slice_pitch)
        *slice_pitch = image->slice_pitch;
    if (flags == CL_MAP_WRITE_INVALIDATE_REGION || is_nothing(region)) {
        error = enqueue_nothing(&e, blocking, event);
    } else {
        region_layout(image, region, mapping->row_pitch, mapping->slice_pitch, pointer, &layout);
        error = read_region(&e, image, blocking, origin, region, &layout, &image->object, event);
    }
    fail_ret(ret, error);
    if (!error)
        return pointer;
    mapping = mapping_take(image, pointer);
    if (mapping && mapping->owned)
        free(mapping->pointer);
    free(mapping);
    return NULL;
}

cl_int image_unmap(struct enqueue *e, cl_mem image, struct mapping *mapping, cl_event *event)
{
    struct layout layout;
    cl_int error;

    if (mapping->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && !is_nothing(mapping->region)) {
        region_layout(image, mapping->region, mapping->row_pitch, mapping->slice_pitch, mapping->pointer, &layout);
        return write_region(e, image, CL_FALSE, mapping->origin, mapping->region, &layout,
                            mapping->owned ? mapping->pointer : NULL, event);
    }
    error = enqueue_nothing(e, CL_FALSE, event);
    if (mapping->owned)
        free(mapping->pointer);
    return error;
}
