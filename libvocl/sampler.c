/* Samplers. */
#include "libvocl/internal.h"

static cl_sampler sampler_new(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                              cl_filter_mode filter, const cl_sampler_properties *properties, cl_int *ret)
{
    HALT_GUARD;
    cl_sampler sampler = NULL;
    cl_int error = CL_SUCCESS;
    /* native OpenCL has to judge others */
    bool plain = normalized <= CL_TRUE && addressing >= CL_ADDRESS_NONE && addressing <= CL_ADDRESS_MIRRORED_REPEAT &&
                 (filter == CL_FILTER_NEAREST || filter == CL_FILTER_LINEAR) &&
                 (normalized || (addressing != CL_ADDRESS_REPEAT && addressing != CL_ADDRESS_MIRRORED_REPEAT));

    if (!context->devices[0]->images)
        error = CL_INVALID_OPERATION;
    else if (!(sampler = handle_new(WIRE_SAMPLER)))
        error = CL_OUT_OF_HOST_MEMORY;
    if (!error) {
        sampler->context = context;
        sampler->normalized = normalized;
        sampler->addressing = addressing;
        sampler->filter = filter;
        properties_copy(properties, sizeof(*properties), (void **)&sampler->properties, &sampler->properties_size);
        handle_use(context);
        error = cl_error(handle_create(&sampler->object));
        if (!error && !plain)
            error = cl_error(native_outcome(context->node, &sampler->object));
        if (error) {
            handle_release(sampler, WIRE_SAMPLER, 0);
            sampler = NULL;
        }
    }
    fail_ret(ret, error);
    return sampler;
}

cl_sampler clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter,
                           cl_int *ret)
{
    TIMELINE(clCreateSampler);

    if (!handle_check(context, WIRE_CONTEXT)) {
        fail_ret(ret, CL_INVALID_CONTEXT);
        return NULL;
    }
    return sampler_new(context, normalized, addressing, filter, NULL, ret);
}

cl_sampler clCreateSamplerWithProperties(cl_context context, const cl_sampler_properties *properties, cl_int *ret)
{
    TIMELINE(clCreateSamplerWithProperties);

    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
    cl_int error = handle_check(context, WIRE_CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;

    for (size_t i = 0; !error && properties && properties[i]; i += 2) {
        for (size_t before = 0; before < i; before += 2)
            error = properties[before] == properties[i] ? CL_INVALID_VALUE : error;
        if (properties[i] == CL_SAMPLER_NORMALIZED_COORDS)
            normalized = (cl_bool)properties[i + 1];
        else if (properties[i] == CL_SAMPLER_ADDRESSING_MODE)
            addressing = (cl_addressing_mode)properties[i + 1];
        else if (properties[i] == CL_SAMPLER_FILTER_MODE)
            filter = (cl_filter_mode)properties[i + 1];
        else
            error = CL_INVALID_VALUE;
    }
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    return sampler_new(context, normalized, addressing, filter, properties, ret);
}

static cl_context sampler_context(const struct object *object)
{
    return ((const struct _cl_sampler *)object)->context;
}

static int sampler_create_on(struct object *object, struct node *node)
{
    const struct _cl_sampler *sampler = (const struct _cl_sampler *)object;
    const struct wire_create_sampler m = {object->id, sampler->context->object.id, sampler->normalized,
                                          sampler->addressing, sampler->filter};

    wire_put_create_sampler(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

static void sampler_destroy(struct object *object)
{
    cl_sampler sampler = (cl_sampler)object;
    cl_context context = sampler->context;
    struct session *session = context->node->session;

    free(sampler->properties);
    session_lock(session);
    handle_free(&sampler->object);
    session_unlock(session);
    handle_drop(context);
}

const struct kind sampler_kind = {
    .size = sizeof(struct _cl_sampler),
    .context = sampler_context,
    .create_on = sampler_create_on,
    .destroy = sampler_destroy,
};

cl_int clRetainSampler(cl_sampler sampler)
{
    TIMELINE(clRetainSampler);

    return handle_retain(sampler, WIRE_SAMPLER, CL_INVALID_SAMPLER);
}

cl_int clReleaseSampler(cl_sampler sampler)
{
    TIMELINE(clReleaseSampler);

    return handle_release(sampler, WIRE_SAMPLER, CL_INVALID_SAMPLER);
}

cl_int clGetSamplerInfo(cl_sampler sampler, cl_sampler_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetSamplerInfo);

    cl_uint count;

    if (!handle_check(sampler, WIRE_SAMPLER))
        return CL_INVALID_SAMPLER;
    if (info_is_newer(sampler->context->devices[0], param))
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_SAMPLER_REFERENCE_COUNT:
        count = (cl_uint)atomic_load(&sampler->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_SAMPLER_CONTEXT:
        return info_return(&sampler->context, sizeof(cl_context), size, value, size_ret);
    case CL_SAMPLER_NORMALIZED_COORDS:
        return info_return(&sampler->normalized, sizeof(cl_bool), size, value, size_ret);
    case CL_SAMPLER_ADDRESSING_MODE:
        return info_return(&sampler->addressing, sizeof(cl_addressing_mode), size, value, size_ret);
    case CL_SAMPLER_FILTER_MODE:
        return info_return(&sampler->filter, sizeof(cl_filter_mode), size, value, size_ret);
    case CL_SAMPLER_PROPERTIES:
        return info_return(sampler->properties, sampler->properties_size, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
