/* Images: formats, shapes, creation. Commands on them are in image_commands.c and map.c. */
#include "base/size.h"
#include "libvocl/internal.h"
#include "libvocl/restore.h"

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

/* Checks what can be judged by the description alone. */
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
    if (desc->image_row_pitch % element ||
        desc->image_slice_pitch % (desc->image_row_pitch ? desc->image_row_pitch : extent[0] * element))
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

/* Whether it depends on the device if an image can be made from this memory object. */
static bool is_doubtful(cl_context context, const cl_image_desc *desc)
{
    cl_mem source = desc->mem_object;
    cl_uint alignment = 0;

    if (!source || source->parent || source->type != CL_MEM_OBJECT_BUFFER)
        return source != NULL;
    for (cl_uint i = 0; i < context->device_count && desc->image_type == CL_MEM_OBJECT_IMAGE2D; i++) {
        clGetDeviceInfo(context->devices[i], CL_DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof(alignment), &alignment, NULL);
        if (!alignment || desc->image_row_pitch % alignment ||
            source->size / desc->image_height < desc->image_row_pitch)
            return true;
    }
    return false;
}

/* Asks native OpenCL, by creating the image, about errors that only it can judge. */
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
    wire_put_create_image(broadcast_begin(context), &m);
    native = cl_error(broadcast_end(context, STREAM_LATER));
    if (!native)
        native = cl_error(native_outcome(formats_home(context, flags, desc->image_type, format), &image->object));
    handle_release(image, WIRE_MEMORY, 0);
    return native || !(flags & apart) ? native : error;
}

/* ---- creation ---- */

/* The node moves data in its own ways, and does not have the program's memory. */
#define LOCAL_FLAGS                                                                                                    \
    (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY |                     \
     CL_MEM_HOST_NO_ACCESS)

static struct wire_create_image describe(const struct _cl_mem *image)
{
    const cl_image_desc *d = &image->desc;
    size_t extent[3];

    image_extent(d, extent);
    return (struct wire_create_image){.image = image->object.id,
                                      .context = image->context->object.id,
                                      .flags = image->node_flags,
                                      .order = image->format.image_channel_order,
                                      .type = image->format.image_channel_data_type,
                                      .object_type = d->image_type,
                                      .width = d->image_width,
                                      .height = d->image_height,
                                      .depth = d->image_depth,
                                      .array_size = d->image_array_size,
                                      .row_pitch = d->mem_object ? d->image_row_pitch : 0,
                                      .bytes = extent[0] * image->element_size * extent[1] * extent[2],
                                      .buffer = d->mem_object ? d->mem_object->object.id : 0};
}

int image_create_on(cl_mem image, struct node *node)
{
    const struct wire_create_image m = describe(image);

    wire_put_create_image(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

static void put_filled(struct wire_buffer *out, const void *image, const struct transfer_data *data)
{
    struct wire_create_image m = describe(image);

    m.tag = data->tag;
    m.data = data->bytes;
    m.data_length = data->length;
    wire_put_create_image(out, &m);
}

/* Creates the image with its contents. */
static int create_filled(cl_mem image, struct node *node, const void *contents)
{
    const bool array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    struct layout layout;
    size_t extent[3];

    image_extent(&image->desc, extent);
    layout = (struct layout){.memory = (uint8_t *)(uintptr_t)contents,
                             .row_bytes = extent[0] * image->element_size,
                             .rows = extent[1],
                             .slices = extent[2],
                             .row_pitch = array ? image->slice_pitch : image->row_pitch,
                             .slice_pitch = image->slice_pitch};
    return transfer_contents(node, &layout, put_filled, image);
}

/* Creates the image on all nodes; the first one that can have it gets the contents. */
static cl_int image_send(cl_mem image, const void *contents)
{
    cl_context context = image->context;
    struct node *home = memory_home(image);

    for (unsigned i = 0; i < context->node_count; i++) {
        if (context->nodes[i] != home)
            image_create_on(image, context->nodes[i]);
    }
    return cl_error(contents ? create_filled(image, home, contents) : image_create_on(image, home));
}

struct pitches {
    size_t row, slice, size;
};

/* Computes the pitches as native OpenCL reports them: those of the memory that the image was made from, otherwise
 * tight ones. Returns false if they overflow. */
static bool image_pitches(const cl_image_desc *d, size_t element, struct pitches *out)
{
    size_t extent[3], row, all;

    image_extent(d, extent);
    if (!size_multiply(&row, extent[0], element) || !size_of_region(&all, (size_t[]){row, extent[1], extent[2]}))
        return false;
    *out = (struct pitches){.row = d->image_row_pitch ? d->image_row_pitch : row};
    switch (d->image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        out->slice = d->image_slice_pitch ? d->image_slice_pitch : out->row;
        return size_multiply(&out->size, out->slice, extent[1]);
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    case CL_MEM_OBJECT_IMAGE3D:
        out->slice = d->image_slice_pitch;
        if (!out->slice && !size_multiply(&out->slice, out->row, extent[1]))
            return false;
        return size_multiply(&out->size, out->slice, extent[2]);
    }
    return size_multiply(&out->size, out->row, extent[1]);
}

static cl_int image_create(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *desc, void *host_pointer, cl_mem *out)
{
    struct pitches pitches;
    cl_mem image;
    cl_int error;

    HALT_GUARD;
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
        error = formats_check(context, flags, desc->image_type, format);
    if (error || is_doubtful(context, desc))
        error = check_by_node(context, flags, format, desc, error);
    if (!error && !image_pitches(desc, image_element_size(format), &pitches))
        error = CL_INVALID_IMAGE_SIZE;
    if (!error)
        error = memory_new(context, desc->image_type,
                           desc->mem_object ? memory_inherit_flags(desc->mem_object, flags) : flags, &image);
    if (error)
        return error;
    image->node_flags = image->flags & ~(cl_mem_flags)(LOCAL_FLAGS | (desc->mem_object ? CL_MEM_ALLOC_HOST_PTR : 0));
    image->format = *format;
    image->desc = *desc;
    image->element_size = image_element_size(format);
    image->host_pointer = flags & CL_MEM_USE_HOST_PTR ? host_pointer : NULL;
    image->row_pitch = pitches.row;
    image->slice_pitch = pitches.slice;
    image->size = pitches.size;
    image->parent = desc->mem_object;
    if (image->parent)
        handle_use(image->parent);
    error = formats_note(image);
    if (!error)
        error = cl_error(hostptr_open(image));
    if (!error)
        error = cl_error(coherence_open(image, host_pointer != NULL));
    if (!error)
        error = image_send(image, host_pointer);
    if (!error && !image->parent)
        error = memory_check_room(image);
    if (!error && !image->parent)
        error = restore_made(image);
    if (error)
        handle_release(image, WIRE_MEMORY, 0);
    else
        *out = image;
    return error;
}

cl_mem clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
                     void *host_pointer, cl_int *ret)
{
    TIMELINE(clCreateImage);

    cl_mem image = NULL;

    fail_ret(ret, image_create(context, flags, format, desc, host_pointer, &image));
    return image;
}

cl_mem clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                   const cl_image_format *format, const cl_image_desc *desc, void *host_pointer,
                                   cl_int *ret)
{
    TIMELINE(clCreateImageWithProperties);

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
    TIMELINE(clCreateImage2D);

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
    TIMELINE(clCreateImage3D);

    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = width,
                                .image_height = height,
                                .image_depth = depth,
                                .image_row_pitch = row_pitch,
                                .image_slice_pitch = slice_pitch};

    return clCreateImage(context, flags, format, &desc, host_pointer, ret);
}

/* Returns a size of the description, or 0 if an image of this type does not have it, whatever the program gave. */
static size_t image_size(cl_mem image, cl_image_info param)
{
    const cl_image_desc *d = &image->desc;
    const bool layers = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    const bool flat = d->image_type == CL_MEM_OBJECT_IMAGE2D || d->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;

    switch (param) {
    case CL_IMAGE_ELEMENT_SIZE:
        return image->element_size;
    case CL_IMAGE_ROW_PITCH:
        return image->row_pitch;
    case CL_IMAGE_SLICE_PITCH:
        return image->slice_pitch;
    case CL_IMAGE_WIDTH:
        return d->image_width;
    case CL_IMAGE_HEIGHT:
        return flat || d->image_type == CL_MEM_OBJECT_IMAGE3D ? d->image_height : 0;
    case CL_IMAGE_DEPTH:
        return d->image_type == CL_MEM_OBJECT_IMAGE3D ? d->image_depth : 0;
    }
    return layers ? d->image_array_size : 0;
}

cl_int clGetImageInfo(cl_mem image, cl_image_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetImageInfo);

    const cl_uint none = 0;
    size_t number;

    if (!handle_check(image, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (info_is_newer(image->context->devices[0], param))
        return CL_INVALID_VALUE;
    if (image->type == CL_MEM_OBJECT_BUFFER || image->type == CL_MEM_OBJECT_PIPE)
        return cl_error(info_ask_once(memory_home(image), WIRE_INFO_IMAGE, &image->object, 0, param, NULL, 0, size,
                                      value, size_ret));
    switch (param) {
    case CL_IMAGE_FORMAT:
        return info_return(&image->format, sizeof(image->format), size, value, size_ret);
    case CL_IMAGE_BUFFER:
        return info_return(&image->desc.mem_object, sizeof(cl_mem), size, value, size_ret);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES:
        return info_return(&none, sizeof(none), size, value, size_ret);
    case CL_IMAGE_ELEMENT_SIZE:
    case CL_IMAGE_ROW_PITCH:
    case CL_IMAGE_SLICE_PITCH:
    case CL_IMAGE_WIDTH:
    case CL_IMAGE_HEIGHT:
    case CL_IMAGE_DEPTH:
    case CL_IMAGE_ARRAY_SIZE:
        number = image_size(image, param);
        return info_return(&number, sizeof(number), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
