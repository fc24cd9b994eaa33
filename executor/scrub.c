/*
 * Fills new memory with zeros where it may have held another session's data. That is done when the memory is created,
 * so it does not matter how the other session ended. Memory that is created with contents needs none. The function
 * waits for the end, as the commands that follow may be in any queue.
 */
#include "executor/internal.h"

static const uint8_t zeroes[16];

static bool has_own_memory(cl_device_id device)
{
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return !(type & CL_DEVICE_TYPE_CPU) && !unified;
}

bool scrub_wanted(const struct executor *x, const cl_device_id *devices, uint32_t count)
{
    bool wanted = x->host.scrub == EXECUTOR_SCRUB_ALL;

    for (uint32_t i = 0; x->host.scrub == EXECUTOR_SCRUB_OWN && i < count; i++)
        wanted |= has_own_memory(devices[i]);
    return wanted;
}

static cl_int wait(cl_command_queue queue, cl_int error)
{
    const cl_int finished = clFinish(queue);

    return error || finished ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
}

cl_int scrub_buffer(const struct context *context, cl_mem buffer, size_t size)
{
    const size_t whole = size & ~(sizeof(zeroes) - 1);
    cl_int error = CL_SUCCESS;

    if (!context->scrubs)
        return CL_SUCCESS;
    if (whole)
        error = clEnqueueFillBuffer(context->spare, buffer, zeroes, sizeof(zeroes), 0, whole, 0, NULL, NULL);
    if (!error && whole != size)
        error = clEnqueueFillBuffer(context->spare, buffer, zeroes, 1, whole, size - whole, 0, NULL, NULL);
    return wait(context->spare, error);
}

cl_int scrub_image(const struct context *context, cl_mem image)
{
    const size_t origin[3] = {0, 0, 0};
    size_t extent[3];

    if (!context->scrubs)
        return CL_SUCCESS;
    bounds_image_extent(image, extent);
    return wait(context->spare, clEnqueueFillImage(context->spare, image, zeroes, origin, extent, 0, NULL, NULL));
}

cl_int scrub_allocation(const struct context *context, const struct usm *usm, void *memory, size_t size)
{
    const size_t whole = size & ~(sizeof(zeroes) - 1), rest = size - whole;
    uint8_t *tail = (uint8_t *)memory + whole;
    cl_int error = CL_SUCCESS;

    if (!context->scrubs)
        return CL_SUCCESS;
    if (whole && usm)
        error = usm->clEnqueueMemFillINTEL(context->spare, memory, zeroes, sizeof(zeroes), whole, 0, NULL, NULL);
    else if (whole)
        error = clEnqueueSVMMemFill(context->spare, memory, zeroes, sizeof(zeroes), whole, 0, NULL, NULL);
    if (!error && rest && usm)
        error = usm->clEnqueueMemFillINTEL(context->spare, tail, zeroes, 1, rest, 0, NULL, NULL);
    else if (!error && rest)
        error = clEnqueueSVMMemFill(context->spare, tail, zeroes, 1, rest, 0, NULL, NULL);
    return wait(context->spare, error);
}
