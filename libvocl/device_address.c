/* Buffers with an address on their device (cl_ext_buffer_device_address): queries, and addresses as kernel
 * arguments. */
#include <string.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

cl_int device_address_info(cl_mem memory, size_t size, void *value, size_t *size_ret)
{
    const cl_mem root = memory_root(memory);
    const cl_uint count = memory->context->device_count;
    cl_mem_device_address_ext *addresses;
    cl_int error;

    if (!root->addresses || memory->type != CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_OPERATION;
    addresses = malloc(count * sizeof(*addresses));
    if (!addresses)
        return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; i < count; i++)
        addresses[i] = root->addresses[i] + memory->origin;
    error = info_return(addresses, count * sizeof(*addresses), size, value, size_ret);
    free(addresses);
    return error;
}

/* ---- kernels ---- */

bool device_address_offered(cl_context context)
{
    bool offered = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        offered |= context->devices[i]->has_addresses;
    return offered;
}

cl_int device_address_set_argument(cl_kernel kernel, cl_uint index, cl_mem_device_address_ext address)
{
    TIMELINE(clSetKernelArgDevicePointerEXT);

    cl_int error;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (!device_address_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    error = kernel_set_pointer(kernel, index, WIRE_ARGUMENT_ADDRESS, address,
                               !address || addressed_has(kernel->program->context, address));
    if (!error)
        kernel->uses_addresses = true;
    return error;
}

cl_int device_address_exec_info(cl_kernel kernel, size_t size, const void *value)
{
    cl_mem_device_address_ext address;
    cl_int error;

    if (!device_address_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    if ((!value && size) || size % sizeof(address))
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += sizeof(address)) {
        memcpy(&address, (const uint8_t *)value + at, sizeof(address));
        if (!addressed_has(kernel->program->context, address))
            return CL_INVALID_VALUE;
    }
    error = exec_info_send(kernel, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, size, value);
    if (!error)
        kernel->uses_addresses = true;
    return error;
}
