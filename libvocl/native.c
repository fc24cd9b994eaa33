/*
 * Native kernels: functions of the application as commands. They run here, in the application: when what comes before
 * is complete their buffers are fetched, the function is called on the library's callback thread, and what it wrote is
 * sent back before the queue goes on.
 */
#include <string.h>

#include "libvocl/internal.h"

struct native {
    void(CL_CALLBACK *function)(void *);
    uint8_t *arguments;
    cl_uint count;
    cl_mem *buffers;
    size_t *places; /* of the buffers' addresses in arguments */
    void **copies;
    cl_command_queue mover; /* for the data: the application's own queue waits */
    cl_event gate;          /* opens it again */
};

static void native_free(struct native *native)
{
    for (cl_uint i = 0; native->buffers && i < native->count; i++) {
        if (native->buffers[i])
            handle_drop(native->buffers[i]);
        if (native->copies)
            free(native->copies[i]);
    }
    if (native->mover)
        clReleaseCommandQueue(native->mover);
    if (native->gate)
        clReleaseEvent(native->gate);
    free(native->arguments);
    free(native->buffers);
    free(native->places);
    free(native->copies);
    free(native);
}

static cl_int fetch(struct native *native)
{
    cl_int error = CL_SUCCESS;

    for (cl_uint i = 0; !error && i < native->count; i++) {
        cl_mem buffer = native->buffers[i];

        if (!buffer)
            continue;
        native->copies[i] = malloc(buffer->size);
        if (!native->copies[i])
            return CL_OUT_OF_HOST_MEMORY;
        memcpy(native->arguments + native->places[i], &native->copies[i], sizeof(void *));
        error = clEnqueueReadBuffer(native->mover, buffer, CL_TRUE, 0, buffer->size, native->copies[i], 0, NULL, NULL);
    }
    return error;
}

static cl_int send_back(struct native *native)
{
    cl_int error = CL_SUCCESS;

    for (cl_uint i = 0; !error && i < native->count; i++) {
        cl_mem buffer = native->buffers[i];

        if (buffer && !(buffer->flags & CL_MEM_READ_ONLY))
            error = clEnqueueWriteBuffer(native->mover, buffer, CL_FALSE, 0, buffer->size, native->copies[i], 0, NULL,
                                         NULL);
    }
    return error ? error : clFinish(native->mover);
}

static void CL_CALLBACK run(cl_event event, cl_int status, void *argument)
{
    struct native *native = argument;
    cl_int error = status < 0 ? status : fetch(native);

    if (!error) {
        native->function(native->arguments);
        error = send_back(native);
    }
    clSetUserEventStatus(native->gate, error ? error : CL_COMPLETE);
    clReleaseEvent(event);
    native_free(native);
}

static cl_int check(cl_command_queue queue, void(CL_CALLBACK *function)(void *), const void *arguments, size_t size,
                    cl_uint count, const cl_mem *buffers, const void **places)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!function || (!arguments && (size || count)) || (arguments && !size))
        return CL_INVALID_VALUE;
    if (!count != !buffers || !count != !places)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        const uint8_t *place = places[i], *start = arguments;

        if (buffers[i] && (!handle_check(buffers[i], WIRE_MEMORY) || buffers[i]->type != CL_MEM_OBJECT_BUFFER))
            return CL_INVALID_MEM_OBJECT;
        if (place < start || place + sizeof(void *) > start + size)
            return CL_INVALID_VALUE;
    }
    return queue->device->native_kernels ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static cl_int native_new(cl_command_queue queue, void(CL_CALLBACK *function)(void *), const void *arguments,
                         size_t size, cl_uint count, const cl_mem *buffers, const void **places, struct native **out)
{
    struct native *native = calloc(1, sizeof(*native));
    cl_int error = CL_SUCCESS;

    if (!native)
        return CL_OUT_OF_HOST_MEMORY;
    native->function = function;
    native->count = count;
    native->arguments = malloc(size + 1);
    native->buffers = calloc(count + 1, sizeof(*native->buffers));
    native->places = calloc(count + 1, sizeof(*native->places));
    native->copies = calloc(count + 1, sizeof(*native->copies));
    if (!native->arguments || !native->buffers || !native->places || !native->copies)
        error = CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; !error && i < count; i++) {
        native->buffers[i] = buffers[i];
        native->places[i] = (size_t)((const uint8_t *)places[i] - (const uint8_t *)arguments);
        if (buffers[i])
            handle_use(buffers[i]);
    }
    if (!error && size)
        memcpy(native->arguments, arguments, size);
    if (!error)
        native->mover = clCreateCommandQueueWithProperties(queue->context, queue->device, NULL, &error);
    if (!error)
        native->gate = clCreateUserEvent(queue->context, &error);
    if (error)
        native_free(native);
    *out = native;
    return error;
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size,
                             cl_uint count, const cl_mem *buffers, const void **places, cl_uint wait_count,
                             const cl_event *list, cl_event *event)
{
    struct native *native = NULL;
    cl_event reached = NULL;
    cl_int error = check(queue, function, arguments, size, count, buffers, places);

    if (!error)
        error = event_check_list(queue->context, wait_count, list);
    if (!error)
        error = native_new(queue, function, arguments, size, count, buffers, places, &native);
    if (error)
        return error;
    error = clEnqueueMarkerWithWaitList(queue, wait_count, list, &reached);
    if (!error)
        error = enqueue_marker_as(queue, CL_COMMAND_NATIVE_KERNEL, 1, &native->gate, event);
    if (!error)
        error = clSetEventCallback(reached, CL_COMPLETE, run, native);
    if (error) {
        clSetUserEventStatus(native->gate, error);
        if (reached)
            clReleaseEvent(reached);
        native_free(native);
    }
    return error;
}
