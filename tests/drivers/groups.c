/* Queries about work-groups of OpenCL 2.1 and later: sub-groups of 8 work-items, and the sizes that a kernel fixes. */
#include "newer.h"

enum { SUB_GROUP = 8 };

static cl_int CL_API_CALL sub_group_info(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param,
                                         size_t input_size, const void *input, size_t size, void *value,
                                         size_t *size_ret)
{
    size_t sizes[3] = {1, 1, 1}, count;

    if (param != CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT)
        return real.clGetKernelSubGroupInfo(kernel, device, param, input_size, input, size, value, size_ret);
    if (input_size != sizeof(count) || !input || size % sizeof(*sizes) || size > sizeof(sizes))
        return CL_INVALID_VALUE;
    memcpy(&count, input, sizeof(count));
    sizes[0] = count * SUB_GROUP;
    /* As Intel's drivers: the size is said only where there is a place for the sizes. */
    return driver_return(sizes, value ? size : 0, size, value, size_ret);
}

/* Suggests a divisor of the first size, below 16 less the offset. Of arguments only local ones count. */
static cl_int CL_API_CALL suggest(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                  const size_t *global, size_t *local)
{
    cl_ulong used = 0;
    cl_uint count = 0;
    cl_device_id device;
    size_t size = 16;

    if (!queue)
        return CL_INVALID_COMMAND_QUEUE;
    if (!kernel)
        return CL_INVALID_KERNEL;
    real.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    real.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
    real.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(used), &used, NULL);
    if (count && !used)
        return CL_INVALID_KERNEL_ARGS;
    if (dims < 1 || dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    if (!global)
        return CL_INVALID_GLOBAL_WORK_SIZE;
    if (!local)
        return CL_INVALID_VALUE;
    size -= offset ? offset[0] : 0;
    while (global[0] % size)
        size--;
    for (cl_uint i = 0; i < dims; i++)
        local[i] = i ? 1 : size;
    return CL_SUCCESS;
}

void *groups_function(const char *name)
{
    return strcmp(name, "clGetKernelSuggestedLocalWorkSizeKHR") ? NULL : (void *)(uintptr_t)suggest;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                 cl_event *event)
{
    size_t fixed[3] = {0};
    cl_device_id device;

    if (!local && !real.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL))
        real.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(fixed), fixed, NULL);
    return real.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, fixed[0] ? fixed : local, count, list,
                                       event);
}

void groups_install(struct _cl_icd_dispatch *table)
{
    table->clGetKernelSubGroupInfo = sub_group_info;
    table->clEnqueueNDRangeKernel = launch;
}
