/* With VOCL_TEST_FORMATS set, the drivers of a session's workers have different formats of images: the first worker's
 * has no CL_RGBA of CL_FLOAT, the others' none of CL_UNSIGNED_INT8. */
#include "newer.h"

static bool is_hidden(const cl_image_format *format)
{
    const char *rank = getenv("PMI_RANK");

    return getenv("VOCL_TEST_FORMATS") && rank && format && format->image_channel_order == CL_RGBA &&
           format->image_channel_data_type == (cl_channel_type)(strcmp(rank, "1") ? CL_UNSIGNED_INT8 : CL_FLOAT);
}

static cl_int CL_API_CALL formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint count,
                                  cl_image_format *list, cl_uint *count_ret)
{
    cl_image_format all[256];
    cl_uint found = 0, shown = 0;
    const cl_int error = real.clGetSupportedImageFormats(context, flags, type, 256, all, &found);

    for (cl_uint i = 0; !error && i < found; i++) {
        if (is_hidden(&all[i]))
            continue;
        if (list && shown < count)
            list[shown] = all[i];
        shown++;
    }
    if (!error && count_ret)
        *count_ret = shown;
    return error;
}

static cl_mem CL_API_CALL create(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                 const cl_image_desc *desc, void *host, cl_int *error)
{
    if (!is_hidden(format))
        return real.clCreateImage(context, flags, format, desc, host, error);
    if (error)
        *error = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    return NULL;
}

void formats_install(struct _cl_icd_dispatch *table)
{
    if (!getenv("VOCL_TEST_FORMATS"))
        return;
    table->clGetSupportedImageFormats = formats;
    table->clCreateImage = create;
}
