/* Queries about kernels. */
#include "libvocl/internal.h"
#include "wire/tables.h"

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetKernelInfo);

    cl_uint count;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (info_is_newer(kernel->program->context->devices[0], param))
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_KERNEL_FUNCTION_NAME:
        return info_string(kernel->description->name, size, value, size_ret);
    case CL_KERNEL_NUM_ARGS:
        return info_return(&kernel->description->argument_count, sizeof(cl_uint), size, value, size_ret);
    case CL_KERNEL_REFERENCE_COUNT:
        count = (cl_uint)atomic_load(&kernel->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_KERNEL_CONTEXT:
        return info_return(&kernel->program->context, sizeof(cl_context), size, value, size_ret);
    case CL_KERNEL_PROGRAM:
        return info_return(&kernel->program, sizeof(cl_program), size, value, size_ret);
    case CL_KERNEL_ATTRIBUTES:
        return info_string(kernel->description->attributes, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, size_t size, void *value,
                          size_t *size_ret)
{
    TIMELINE(clGetKernelArgInfo);

    const struct argument_description *d;
    cl_kernel_arg_type_qualifier qualifier;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (index >= kernel->description->argument_count)
        return CL_INVALID_ARG_INDEX;
    d = &kernel->description->arguments[index];
    if (param < CL_KERNEL_ARG_ADDRESS_QUALIFIER || param > CL_KERNEL_ARG_NAME)
        return CL_INVALID_VALUE;
    if (!d->known)
        return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    switch (param) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
        return info_return(&d->address, sizeof(d->address), size, value, size_ret);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
        return info_return(&d->access, sizeof(d->access), size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_NAME:
        return info_string(d->type_name, size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
        qualifier = d->qualifier;
        return info_return(&qualifier, sizeof(qualifier), size, value, size_ret);
    }
    return info_string(d->name, size, value, size_ret);
}

/* The device of a per-device query; NULL may stand for the only one. */
static cl_device_id kernel_device(cl_kernel kernel, cl_device_id device)
{
    cl_context context = kernel->program->context;

    if (!device)
        return context->device_count == 1 ? context->devices[0] : NULL;
    for (cl_uint i = 0; i < kernel->program->device_count; i++) {
        if (kernel->program->devices[i] == device)
            return device;
    }
    return NULL;
}

/* Whether a local argument is set: those count as the kernel's local memory. */
static bool has_local_argument(cl_kernel kernel)
{
    bool has = false;

    lock_hold(&kernel->lock);
    for (uint32_t i = 0; i < kernel->description->argument_count; i++)
        has |= kernel->arguments[i].set && kernel->arguments[i].what == WIRE_ARGUMENT_LOCAL;
    lock_release(&kernel->lock);
    return has;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info param, size_t size,
                                void *value, size_t *size_ret)
{
    TIMELINE(clGetKernelWorkGroupInfo);

    struct answer **kept;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    kept = &kernel->description->answers;
    device = kernel_device(kernel, device);
    if (!device)
        return CL_INVALID_DEVICE;
    if (param == CL_KERNEL_LOCAL_MEM_SIZE && has_local_argument(kernel)) { /* clSetKernelArg forgets the answer */
        arguments_send(kernel, device->node, STREAM_LATER);
        kept = &kernel->object.answers;
    }
    return cl_error(info_ask_kept(kept, device->node, WIRE_INFO_WORK_GROUP, kernel->object.id, device->object.id, param,
                                  NULL, 0, size, value, size_ret));
}

cl_int clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param, size_t input_size,
                               const void *input, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetKernelSubGroupInfo);

    size_t wanted[3];

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    device = kernel_device(kernel, device);
    if (!device)
        return CL_INVALID_DEVICE;
    if (input_size > 4096)
        return CL_INVALID_VALUE;
    if (param == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT && input && input_size == sizeof(wanted[0])) {
        memcpy(wanted, input, input_size); /* the size of the answer says how many dimensions are wanted */
        wanted[1] = size;
        wanted[2] = value != NULL;
        input = wanted;
        input_size = sizeof(wanted);
    }
    return cl_error(info_ask_kept(&kernel->description->answers, device->node, WIRE_INFO_SUB_GROUP, kernel->object.id,
                                  device->object.id, param, input, input ? input_size : 0, size, value, size_ret));
}

cl_int clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param,
                                  size_t input_size, const void *input, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetKernelSubGroupInfoKHR);

    return clGetKernelSubGroupInfo(kernel, device, param, input_size, input, size, value, size_ret);
}

static cl_int check_work(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *global,
                         const size_t *local)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (kernel->program->context != queue->context)
        return CL_INVALID_CONTEXT;
    if (!node_set_has(&kernel->known, queue->node->index))
        return CL_INVALID_PROGRAM_EXECUTABLE;
    for (uint32_t i = 0; i < kernel->description->argument_count; i++) {
        if (!kernel->arguments[i].set)
            return CL_INVALID_KERNEL_ARGS;
    }
    if (dims < 1 || dims > queue->device->dimensions || dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    if (!global)
        return CL_INVALID_GLOBAL_WORK_SIZE;
    return local ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* The arguments count, too, so the node gets them first. */
cl_int suggested_local_work_size(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                 const size_t *global, size_t *local)
{
    TIMELINE(clGetKernelSuggestedLocalWorkSizeKHR);

    struct wire_work_size work = {.dims = dims, .has_offset = offset != NULL};
    cl_int error = check_work(queue, kernel, dims, global, local);
    uint64_t suggested[3];
    size_t size = 0;

    if (error)
        return error;
    for (cl_uint i = 0; i < dims; i++) {
        work.offset[i] = offset ? offset[i] : 0;
        work.global[i] = global[i];
    }
    arguments_send(kernel, queue->node, STREAM_LATER);
    error = cl_error(info_ask(queue->node, WIRE_INFO_LOCAL_SIZE, kernel->object.id, queue->object.id, 0, &work,
                              sizeof(work), sizeof(suggested), suggested, &size));
    if (!error && size != sizeof(suggested))
        error = CL_OUT_OF_RESOURCES;
    for (cl_uint i = 0; !error && i < dims; i++)
        local[i] = suggested[i];
    return error;
}
