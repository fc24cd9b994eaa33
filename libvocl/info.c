/* Helpers that answer clGet*Info. */
#include <errno.h>
#include <string.h>

#include "libvocl/internal.h"

cl_int cl_failure(int error)
{
    switch (error) {
    case -ENOMEM:
        return CL_OUT_OF_HOST_MEMORY;
    case -ECONNRESET:
        session_exit_wait();
        return CL_DEVICE_NOT_AVAILABLE;
    case -ECANCELED:
        return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    case -EINVAL:
        return CL_INVALID_VALUE;
    }
    return error > 0 ? -error : CL_OUT_OF_RESOURCES;
}

cl_int info_return(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    return cl_error(info_copy(value, size, capacity, to, size_ret));
}

cl_int info_string(const char *string, size_t capacity, void *to, size_t *size_ret)
{
    return info_return(string ? string : "", string ? strlen(string) + 1 : 1, capacity, to, size_ret);
}

bool info_is_newer(cl_device_id device, cl_uint param)
{
    switch (param) { /* only queries that may be answered here; a node judges the others itself */
    case CL_DEVICE_PARENT_DEVICE:
    case CL_DEVICE_REFERENCE_COUNT:
    case CL_IMAGE_ARRAY_SIZE:
    case CL_IMAGE_BUFFER:
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES:
    case CL_PROGRAM_NUM_KERNELS:
    case CL_PROGRAM_KERNEL_NAMES:
    case CL_KERNEL_ATTRIBUTES:
        return device->version < 120;
    case CL_QUEUE_SIZE:
    case CL_MEM_USES_SVM_POINTER:
    case CL_PROFILING_COMMAND_COMPLETE:
        return device->version < 200;
    case CL_QUEUE_DEVICE_DEFAULT:
    case CL_PROGRAM_IL:
        return device->version < 210;
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
        return device->version < 220;
    case CL_QUEUE_PROPERTIES_ARRAY:
    case CL_MEM_PROPERTIES:
    case CL_SAMPLER_PROPERTIES:
    case CL_PIPE_PROPERTIES:
        return device->version < 300;
    }
    return false;
}

cl_int properties_copy(const void *list, size_t item_size, void **out, size_t *size_out)
{
    const uint8_t *at = list;
    size_t size = 0;
    uint64_t item = 1;

    *out = NULL;
    *size_out = 0;
    if (!list)
        return CL_SUCCESS;
    while (item) { /* name, value, name, value, ..., 0 */
        item = 0;
        memcpy(&item, at + size, item_size);
        size += item ? 2 * item_size : item_size;
    }
    *out = malloc(size);
    if (!*out)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(*out, list, size);
    *size_out = size;
    return CL_SUCCESS;
}
