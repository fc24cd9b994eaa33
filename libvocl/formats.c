/* Formats of images. A context has those of all its devices, and an image is on the nodes that have its format. */
#include "libvocl/internal.h"

struct formats {
    cl_image_format *list;
    cl_uint count;
};

/* Takes the formats of one node; the caller frees the list. The node does not need the number: it keeps the saved
 * answers apart. */
static cl_int take(cl_context context, unsigned number, cl_mem_flags flags, cl_mem_object_type type,
                   struct formats *formats)
{
    size_t size;
    void *list;
    cl_int error;

    *formats = (struct formats){0};
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return CL_INVALID_VALUE;
    error = cl_error(info_take_once(context->nodes[number], WIRE_INFO_IMAGE_FORMATS, &context->object, type, number,
                                    &flags, sizeof(flags), &list, &size));
    if (!error)
        *formats = (struct formats){list, (cl_uint)(size / sizeof(*formats->list))};
    return error;
}

static bool has(const struct formats *formats, const cl_image_format *format)
{
    cl_uint i = 0;

    while (i < formats->count && memcmp(&formats->list[i], format, sizeof(*format)))
        i++;
    return i < formats->count;
}

static cl_int add(struct formats *all, const struct formats *one)
{
    cl_image_format *list = realloc(all->list, (all->count + one->count + 1) * sizeof(*list));

    if (!list)
        return CL_OUT_OF_HOST_MEMORY;
    all->list = list;
    for (cl_uint i = 0; i < one->count; i++) {
        if (!has(all, &one->list[i]))
            all->list[all->count++] = one->list[i];
    }
    return CL_SUCCESS;
}

/* Takes the formats of all nodes, those of the first one first. Fails if no node answers. */
static cl_int take_all(cl_context context, cl_mem_flags flags, cl_mem_object_type type, struct formats *all)
{
    cl_int failure = CL_SUCCESS, error = CL_SUCCESS;
    unsigned answers = 0;

    *all = (struct formats){0};
    for (unsigned i = 0; !error && i < context->node_count; i++) {
        struct formats one;
        const cl_int answer = take(context, i, flags, type, &one);

        if (!answer)
            error = add(all, &one);
        else if (!failure)
            failure = answer;
        answers += !answer;
        free(one.list);
    }
    if (!error && !answers)
        error = failure;
    if (error)
        free(all->list);
    return error;
}

static cl_mem_flags access_of(cl_mem_flags flags)
{
    flags &= CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    return flags ? flags : CL_MEM_READ_WRITE;
}

static bool node_has(cl_context context, unsigned number, cl_mem_flags flags, cl_mem_object_type type,
                     const cl_image_format *format)
{
    struct formats formats;
    const bool found = !take(context, number, access_of(flags), type, &formats) && has(&formats, format);

    free(formats.list);
    return found;
}

cl_int formats_check(cl_context context, cl_mem_flags flags, cl_mem_object_type type, const cl_image_format *format)
{
    struct formats all;
    cl_int error;

    if (!format || !image_element_size(format))
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    error = take_all(context, access_of(flags), type, &all);
    if (error)
        return error;
    error = has(&all, format) ? CL_SUCCESS : CL_IMAGE_FORMAT_NOT_SUPPORTED;
    free(all.list);
    return error;
}

struct node *formats_home(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                          const cl_image_format *format)
{
    for (unsigned i = 0; i < context->node_count && context->node_count > 1; i++) {
        if (node_has(context, i, flags, type, format))
            return context->nodes[i];
    }
    return context->node;
}

cl_int formats_note(cl_mem image)
{
    cl_context context = image->context;
    cl_int error = CL_SUCCESS;

    if (context->node_count < 2 || formats_check(context, image->flags, image->type, &image->format))
        return CL_SUCCESS; /* a format that no node lists was taken by the driver itself */
    for (unsigned i = 0; !error && i < context->node_count; i++) {
        if (!node_has(context, i, image->flags, image->type, &image->format))
            error = memory_lacks(image, context->nodes[i]);
    }
    return error;
}

cl_int clGetSupportedImageFormats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint count,
                                  cl_image_format *formats, cl_uint *count_ret)
{
    TIMELINE(clGetSupportedImageFormats);

    struct formats all;
    cl_int error;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!count && formats)
        return CL_INVALID_VALUE;
    error = take_all(context, flags, type, &all);
    if (error)
        return error;
    if (formats)
        memcpy(formats, all.list, (all.count < count ? all.count : count) * sizeof(*all.list));
    free(all.list);
    if (count_ret)
        *count_ret = all.count;
    return CL_SUCCESS;
}
