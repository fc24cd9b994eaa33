/* See discrete.h. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "discrete.h"

/* ---- sizes ---- */

static size_t volume(const size_t region[3])
{
    return region[0] * region[1] * region[2];
}

static size_t pixels(cl_mem image, const size_t region[3])
{
    size_t element = 0;

    pocl.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL);
    return element * volume(region);
}

static bool driver_has(cl_mem memory)
{
    cl_mem_flags flags = 0;

    pocl.clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
    return flags & CL_MEM_ALLOC_HOST_PTR;
}

/* ---- commands ---- */

#define LIST count, list, event
#define LIST_DECLARED cl_uint count, const cl_event *list, cl_event *event
#define ARGUMENTS(...) __VA_ARGS__

/* A call that enqueues. */
struct enqueue {
    double began;
    bool behind;  /* it waits for a user event */
    cl_event own; /* its event, if the program wants none */
};

static struct enqueue begin(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    return (struct enqueue){.began = now(), .behind = comes_behind(queue, count, list)};
}

/* Returns where PoCL is to put the event. */
static cl_event *event_of(struct enqueue *call, cl_event *event)
{
    return event || !call->behind ? event : &call->own;
}

/* Returns the result when the call has taken a card's time. */
static cl_int called(const struct enqueue *call, cl_int error, const cl_event *event)
{
    if (!error && call->behind)
        basic_hold(event ? *event : call->own);
    if (call->own)
        pocl.clReleaseEvent(call->own);
    while (now() < call->began + settings.submit)
        ;
    return error;
}

#define COMMAND(name, declared, arguments, engine, duration, blocking)                                                 \
    static cl_int CL_API_CALL my_##name(cl_command_queue queue, declared, LIST_DECLARED)                               \
    {                                                                                                                  \
        struct enqueue call = begin(queue, count, list);                                                               \
        cl_int error;                                                                                                  \
        double end;                                                                                                    \
                                                                                                                       \
        error = called(&call, below.name(queue, arguments, count, list, event_of(&call, event)), event);               \
        if (error)                                                                                                     \
            return error;                                                                                              \
        end = enqueued(queue, call.began, engine, duration, LIST);                                                     \
        if (blocking)                                                                                                  \
            block(queue, end);                                                                                         \
        return CL_SUCCESS;                                                                                             \
    }

COMMAND(clEnqueueNDRangeKernel,
        ARGUMENTS(cl_kernel function, cl_uint dimensions, const size_t *offset, const size_t *global,
                  const size_t *local),
        ARGUMENTS(function, dimensions, offset, global, local), KERNELS, settings.kernel, false)
COMMAND(clEnqueueWriteBuffer,
        ARGUMENTS(cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *memory),
        ARGUMENTS(buffer, blocking, offset, size, memory), TO_CARD, over_link(size, memory), blocking)
COMMAND(clEnqueueReadBuffer, ARGUMENTS(cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *memory),
        ARGUMENTS(buffer, blocking, offset, size, memory), FROM_CARD, over_link(size, memory), blocking)
COMMAND(clEnqueueWriteBufferRect,
        ARGUMENTS(cl_mem buffer, cl_bool blocking, const size_t *to, const size_t *from, const size_t *region,
                  size_t row, size_t slice, size_t host_row, size_t host_slice, const void *memory),
        ARGUMENTS(buffer, blocking, to, from, region, row, slice, host_row, host_slice, memory), TO_CARD,
        over_link(volume(region), memory), blocking)
COMMAND(clEnqueueReadBufferRect,
        ARGUMENTS(cl_mem buffer, cl_bool blocking, const size_t *from, const size_t *to, const size_t *region,
                  size_t row, size_t slice, size_t host_row, size_t host_slice, void *memory),
        ARGUMENTS(buffer, blocking, from, to, region, row, slice, host_row, host_slice, memory), FROM_CARD,
        over_link(volume(region), memory), blocking)
COMMAND(clEnqueueWriteImage,
        ARGUMENTS(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                  const void *memory),
        ARGUMENTS(image, blocking, origin, region, row, slice, memory), TO_CARD,
        over_link(pixels(image, region), memory), blocking)
COMMAND(clEnqueueReadImage,
        ARGUMENTS(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                  void *memory),
        ARGUMENTS(image, blocking, origin, region, row, slice, memory), FROM_CARD,
        over_link(pixels(image, region), memory), blocking)
COMMAND(clEnqueueCopyBuffer, ARGUMENTS(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
        ARGUMENTS(from, to, from_offset, to_offset, size), KERNELS, on_card(size), false)
COMMAND(clEnqueueCopyBufferRect,
        ARGUMENTS(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,
                  size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
        ARGUMENTS(from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice), KERNELS,
        on_card(volume(region)), false)
COMMAND(clEnqueueCopyImage,
        ARGUMENTS(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region),
        ARGUMENTS(from, to, from_origin, to_origin, region), KERNELS, on_card(pixels(from, region)), false)
COMMAND(clEnqueueCopyImageToBuffer,
        ARGUMENTS(cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
        ARGUMENTS(from, to, origin, region, offset), KERNELS, on_card(pixels(from, region)), false)
COMMAND(clEnqueueCopyBufferToImage,
        ARGUMENTS(cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
        ARGUMENTS(from, to, offset, origin, region), KERNELS, on_card(pixels(to, region)), false)
COMMAND(clEnqueueFillBuffer,
        ARGUMENTS(cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
        ARGUMENTS(buffer, pattern, pattern_size, offset, size), KERNELS, on_card(size), false)
COMMAND(clEnqueueFillImage, ARGUMENTS(cl_mem image, const void *colour, const size_t *origin, const size_t *region),
        ARGUMENTS(image, colour, origin, region), KERNELS, on_card(pixels(image, region)), false)
COMMAND(clEnqueueMigrateMemObjects, ARGUMENTS(cl_uint objects, const cl_mem *memories, cl_mem_migration_flags flags),
        ARGUMENTS(objects, memories, flags), NO_ENGINE, 0, false)

static cl_int CL_API_CALL my_marker(cl_command_queue queue, LIST_DECLARED)
{
    struct enqueue call = begin(queue, count, list);
    const cl_int error =
        called(&call, below.clEnqueueMarkerWithWaitList(queue, count, list, event_of(&call, event)), event);

    if (!error)
        enqueued(queue, call.began, NO_ENGINE, 0, LIST);
    return error;
}

static cl_int CL_API_CALL my_barrier(cl_command_queue queue, LIST_DECLARED)
{
    struct enqueue call = begin(queue, count, list);
    const cl_int error =
        called(&call, below.clEnqueueBarrierWithWaitList(queue, count, list, event_of(&call, event)), event);

    if (!error)
        enqueued(queue, call.began, NO_ENGINE, 0, LIST);
    return error;
}

static cl_int CL_API_CALL my_old_marker(cl_command_queue queue, cl_event *event)
{
    struct enqueue call = begin(queue, 0, NULL);
    const cl_int error = called(&call, below.clEnqueueMarker(queue, event_of(&call, event)), event);

    if (!error)
        enqueued(queue, call.began, NO_ENGINE, 0, 0, NULL, event);
    return error;
}

/* Memory that the driver allocated is used by the card over the link; other contents are copied into and out of the
 * mapped memory. */
static void mapped(cl_command_queue queue, double began, cl_mem memory, cl_bool blocking, cl_map_flags flags,
                   size_t bytes, void *address, LIST_DECLARED)
{
    const bool allocated = driver_has(memory), copied = !allocated && !(flags & CL_MAP_WRITE_INVALIDATE_REGION);
    const double end =
        enqueued(queue, began, copied ? FROM_CARD : NO_ENGINE, copied ? over_link(bytes, NULL) : 0, LIST);

    if (allocated)
        memory_mapped(address, bytes);
    if (blocking)
        block(queue, end);
}

static void *CL_API_CALL my_map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                       size_t offset, size_t size, LIST_DECLARED, cl_int *error)
{
    struct enqueue call = begin(queue, count, list);
    void *address = below.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, list,
                                             event_of(&call, event), error);

    called(&call, address ? CL_SUCCESS : CL_MAP_FAILURE, event);
    if (address)
        mapped(queue, call.began, buffer, blocking, flags, size, address, LIST);
    return address;
}

static void *CL_API_CALL my_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                      const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                                      LIST_DECLARED, cl_int *error)
{
    struct enqueue call = begin(queue, count, list);
    void *address = below.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, count, list,
                                            event_of(&call, event), error);

    called(&call, address ? CL_SUCCESS : CL_MAP_FAILURE, event);
    if (address)
        mapped(queue, call.began, image, blocking, flags, pixels(image, region), address, LIST);
    return address;
}

static cl_int CL_API_CALL my_unmap(cl_command_queue queue, cl_mem memory, void *address, LIST_DECLARED)
{
    const bool allocated = driver_has(memory);
    struct enqueue call = begin(queue, count, list);
    const cl_int error = called(
        &call, below.clEnqueueUnmapMemObject(queue, memory, address, count, list, event_of(&call, event)), event);
    size_t bytes = 0;

    if (error)
        return error;
    pocl.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    enqueued(queue, call.began, allocated ? NO_ENGINE : TO_CARD, allocated ? 0 : over_link(bytes, NULL), LIST);
    if (allocated)
        memory_unmapped(address);
    return CL_SUCCESS;
}

void commands_change(struct _cl_icd_dispatch *table)
{
#define REPLACED(name) table->name = my_##name
    REPLACED(clEnqueueNDRangeKernel);
    REPLACED(clEnqueueWriteBuffer);
    REPLACED(clEnqueueReadBuffer);
    REPLACED(clEnqueueWriteBufferRect);
    REPLACED(clEnqueueReadBufferRect);
    REPLACED(clEnqueueWriteImage);
    REPLACED(clEnqueueReadImage);
    REPLACED(clEnqueueCopyBuffer);
    REPLACED(clEnqueueCopyBufferRect);
    REPLACED(clEnqueueCopyImage);
    REPLACED(clEnqueueCopyImageToBuffer);
    REPLACED(clEnqueueCopyBufferToImage);
    REPLACED(clEnqueueFillBuffer);
    REPLACED(clEnqueueFillImage);
    REPLACED(clEnqueueMigrateMemObjects);
    table->clEnqueueMarker = my_old_marker;
    table->clEnqueueMarkerWithWaitList = my_marker;
    table->clEnqueueBarrierWithWaitList = my_barrier;
    table->clEnqueueMapBuffer = my_map_buffer;
    table->clEnqueueMapImage = my_map_image;
    table->clEnqueueUnmapMemObject = my_unmap;
}
