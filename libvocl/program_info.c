/* Queries about programs. */
#include <string.h>

#include "base/log.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

/* Joins the kernels' names with semicolons. */
static cl_int kernel_names(cl_program program, size_t size, void *value, size_t *size_ret)
{
    const uint32_t count = program->kernel_count;
    size_t length = 0;
    char *to = value;

    for (uint32_t i = 0; i < count; i++)
        length += strlen(program->kernels[i].name) + 1;
    length += !count;
    if (to && size < length)
        return CL_INVALID_VALUE;
    if (size_ret)
        *size_ret = length;
    if (!to)
        return CL_SUCCESS;
    *to = '\0';
    for (uint32_t i = 0; i < count; i++) {
        to = stpcpy(to, program->kernels[i].name);
        *to++ = i + 1 < count ? ';' : '\0';
    }
    return CL_SUCCESS;
}

/* Whether the answer depends on a build. Binaries may grow with launches, too. */
static bool is_of_build(cl_program_info param)
{
    return param != CL_PROGRAM_REFERENCE_COUNT && param != CL_PROGRAM_CONTEXT && param != CL_PROGRAM_NUM_DEVICES &&
           param != CL_PROGRAM_DEVICES && param != CL_PROGRAM_SOURCE && param != CL_PROGRAM_IL;
}

/* Whether the application has room for a binary: it knows an earlier size, but binaries grow, and a node may claim
 * any size. */
static bool has_room(cl_program program, cl_uint device, uint64_t size)
{
    bool has;

    mutex_lock(&program->lock);
    has = program->binary_sizes && size <= program->binary_sizes[device];
    mutex_unlock(&program->lock);
    if (!has)
        vocl_log(LOG_WARN, "a binary of %llu bytes is larger than the size reported before", (unsigned long long)size);
    return has;
}

static cl_int remember_sizes(cl_program program, const size_t *sizes)
{
    cl_int error = CL_SUCCESS;

    mutex_lock(&program->lock);
    if (!program->binary_sizes)
        program->binary_sizes = calloc(program->device_count, sizeof(*sizes));
    if (program->binary_sizes)
        memcpy(program->binary_sizes, sizes, program->device_count * sizeof(*sizes));
    else
        error = CL_OUT_OF_HOST_MEMORY;
    mutex_unlock(&program->lock);
    return error;
}

/* Copies the binaries of the node's devices to where the application has room for them. */
static cl_int binaries_of(struct node *node, cl_program program, unsigned char **to)
{
    size_t length;
    struct wire_cursor in;
    void *bytes;
    cl_int error = cl_error(info_take(node, WIRE_INFO_BINARIES, program->object.id, &bytes, &length));

    in = wire_cursor(bytes, length);
    for (cl_uint i = 0; !error && i < program->device_count; i++) {
        uint64_t count;
        const void *from;

        if (program->devices[i]->node != node || (!in.left && !in.failed)) /* PoCL has one binary for all parts of a
                                                                            * device */
            continue;
        count = wire_get_u64(&in);
        from = wire_get_bytes(&in, count);
        if (!from || (to[i] && !has_room(program, i, count)))
            error = CL_OUT_OF_RESOURCES;
        else if (to[i])
            memcpy(to[i], from, count);
    }
    free(bytes);
    return error;
}

/* CL_PROGRAM_BINARIES: value is an array of pointers to memory of the application. */
static cl_int binaries(cl_program program, size_t size, void *value, size_t *size_ret)
{
    size_t needed = program->device_count * sizeof(unsigned char *);
    cl_int error = CL_SUCCESS;

    if (size_ret)
        *size_ret = needed;
    if (!value)
        return CL_SUCCESS;
    if (size < needed)
        return CL_INVALID_VALUE;
    for (unsigned i = 0; !error && i < program->context->node_count; i++) {
        if (handle_is_on(&program->object, program->context->nodes[i]))
            error = binaries_of(program->context->nodes[i], program, value);
    }
    return error;
}

static cl_int binary_sizes_of(struct node *node, cl_program program, size_t *all)
{
    size_t own[WIRE_MAX_DEVICES], count = 0, at = 0;
    cl_int error = cl_error(info_ask(node, WIRE_INFO_PROGRAM, program->object.id, 0, CL_PROGRAM_BINARY_SIZES, NULL, 0,
                                     sizeof(own), own, &count));

    for (cl_uint i = 0; !error && i < program->device_count; i++) {
        if (program->devices[i]->node == node && at < count / sizeof(*own))
            all[i] = own[at++];
    }
    return error;
}

/* CL_PROGRAM_BINARY_SIZES: each node reports those of its own devices. */
static cl_int binary_sizes(cl_program program, size_t size, void *value, size_t *size_ret)
{
    const size_t length = program->device_count * sizeof(size_t);
    size_t *all = calloc(1, length);
    cl_int error = all ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

    for (unsigned i = 0; !error && i < program->context->node_count; i++) {
        if (handle_is_on(&program->object, program->context->nodes[i]))
            error = binary_sizes_of(program->context->nodes[i], program, all);
    }
    if (!error && value && size >= length)
        error = remember_sizes(program, all);
    if (!error)
        error = info_return(all, length, size, value, size_ret);
    free(all);
    return error;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetProgramInfo);

    size_t kernel_count;
    cl_uint count;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (info_is_newer(program->context->devices[0], param))
        return CL_INVALID_VALUE;
    if (is_of_build(param))
        program_wait(program);
    if (!program->built && (param == CL_PROGRAM_NUM_KERNELS || param == CL_PROGRAM_KERNEL_NAMES))
        return cl_error(info_ask_once(program_node(&program->object), WIRE_INFO_PROGRAM, &program->object, 0, param,
                                      NULL, 0, size, value, size_ret));
    switch (param) {
    case CL_PROGRAM_REFERENCE_COUNT:
        /* native OpenCL counts the objects that hold it, too */
        count = handle_count(program->context->node->session, &program->object);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_PROGRAM_CONTEXT:
        return info_return(&program->context, sizeof(cl_context), size, value, size_ret);
    case CL_PROGRAM_NUM_DEVICES:
        return info_return(&program->device_count, sizeof(cl_uint), size, value, size_ret);
    case CL_PROGRAM_DEVICES:
        return info_return(program->devices, program->device_count * sizeof(cl_device_id), size, value, size_ret);
    case CL_PROGRAM_SOURCE:
        return info_string(program->source, size, value, size_ret);
    case CL_PROGRAM_BINARIES:
        return binaries(program, size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
        return binary_sizes(program, size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
        kernel_count = program->kernel_count;
        return info_return(&kernel_count, sizeof(kernel_count), size, value, size_ret);
    case CL_PROGRAM_KERNEL_NAMES:
        return kernel_names(program, size, value, size_ret);
    }
    return cl_error(info_ask_once(program_node(&program->object), WIRE_INFO_PROGRAM, &program->object, 0, param, NULL,
                                  0, size, value, size_ret));
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info param, size_t size,
                             void *value, size_t *size_ret)
{
    TIMELINE(clGetProgramBuildInfo);

    const cl_build_status under_way = CL_BUILD_IN_PROGRESS;
    bool found = false;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < program->device_count; i++)
        found |= program->devices[i] == device;
    if (!found)
        return CL_INVALID_DEVICE;
    if (param == CL_PROGRAM_BUILD_STATUS && program_is_building(program))
        return info_return(&under_way, sizeof(under_way), size, value, size_ret);
    program_wait(program);
    return cl_error(info_ask_once(device->node, WIRE_INFO_BUILD, &program->object, device->object.id, param, NULL, 0,
                                  size, value, size_ret));
}
