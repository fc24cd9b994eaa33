/*
 * Native kernels: functions of the application as commands. They run here, in the application: when the commands before
 * are complete the buffers are fetched, the library's callback thread calls the function, and the buffers that it may
 * have written are sent back before the queue continues. In a context of several nodes the contents are those at the
 * time of enqueueing: they are brought to the queue's node before the command, and are there after it.
 */
#include <string.h>

#include "libvocl/internal.h"
#include "libvocl/restore.h"

struct native {
    struct host_command command;
    void(CL_CALLBACK *function)(void *);
    uint8_t *arguments;
    cl_uint count;
    cl_mem *buffers;
    size_t *offsets; /* of the buffers' addresses in arguments */
    void **copies;
    cl_command_queue mover; /* for the data, as the application's own queue is waiting */
};

static void native_free(struct host_command *command)
{
    struct native *native = (struct native *)command;

    for (cl_uint i = 0; native->buffers && i < native->count; i++) {
        if (native->buffers[i])
            handle_drop(native->buffers[i]);
        if (native->copies)
            free(native->copies[i]);
    }
    if (native->mover)
        clReleaseCommandQueue(native->mover);
    free(native->arguments);
    free(native->buffers);
    free(native->offsets);
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
        memcpy(native->arguments + native->offsets[i], &native->copies[i], sizeof(void *));
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

static cl_int native_run(struct host_command *command)
{
    struct native *native = (struct native *)command;
    cl_int error = fetch(native);

    if (error)
        return error;
    native->function(native->arguments);
    return send_back(native);
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
    native->command = (struct host_command){.run = native_run, .free = native_free};
    native->function = function;
    native->count = count;
    native->arguments = malloc(size + 1);
    native->buffers = calloc(count + 1, sizeof(*native->buffers));
    native->offsets = calloc(count + 1, sizeof(*native->offsets));
    native->copies = calloc(count + 1, sizeof(*native->copies));
    if (!native->arguments || !native->buffers || !native->offsets || !native->copies)
        error = CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; !error && i < count; i++) {
        native->buffers[i] = buffers[i];
        native->offsets[i] = (size_t)((const uint8_t *)places[i] - (const uint8_t *)arguments);
        if (buffers[i])
            handle_use(buffers[i]);
    }
    if (!error && size)
        memcpy(native->arguments, arguments, size);
    if (!error)
        native->mover = clCreateCommandQueueWithProperties(queue->context, queue->device, NULL, &error);
    if (error)
        native_free(&native->command);
    else
        native->mover->settled = true;
    *out = native;
    return error;
}

/* Has commands that use the buffers, on any node, wait for the end of the native kernel. */
static int note_written(cl_command_queue queue, cl_event over, cl_uint count, const cl_mem *buffers)
{
    cl_event noted = NULL;
    struct enqueue e;
    int error = enqueue_open(&e, queue, 1, &over, true, CL_COMMAND_MARKER);

    if (error)
        return error;
    for (cl_uint i = 0; i < count; i++) {
        if (!(buffers[i]->flags & CL_MEM_READ_ONLY))
            coherence_after(&e, buffers[i], 0, buffers[i]->size);
    }
    enqueue_put_marker(&e, stream_begin(e.node));
    error = enqueue_finish(&e, stream_end(e.node, STREAM_SOON), &noted);
    if (!error)
        handle_release(noted, WIRE_EVENT, 0);
    return error;
}

/* Brings the buffers to the queue's node first. */
static cl_int enqueue_gathered(cl_command_queue queue, struct native *native, cl_uint count, const cl_mem *buffers,
                               cl_uint wait_count, const cl_event *list, cl_event *event)
{
    cl_event gathered, over;
    cl_int error = clEnqueueMigrateMemObjects(queue, count, buffers, 0, wait_count, list, &gathered);

    if (error) {
        native_free(&native->command);
        return error;
    }
    error = cl_error(host_command_enqueue(queue, CL_COMMAND_NATIVE_KERNEL, &native->command, 1, &gathered, &over));
    handle_release(gathered, WIRE_EVENT, 0);
    if (error)
        return error;
    error = cl_error(note_written(queue, over, count, buffers));
    if (!error && event)
        *event = over;
    else
        handle_release(over, WIRE_EVENT, 0);
    return error;
}

static cl_int enqueue_native(cl_command_queue queue, struct native *native, cl_uint wait_count, const cl_event *list,
                             cl_event *event)
{
    const bool several = queue->context->node_count > 1;
    cl_mem *buffers = malloc((native->count + 1) * sizeof(*buffers));
    cl_uint count = 0;
    cl_int error;

    if (!buffers) {
        native_free(&native->command);
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (cl_uint i = 0; several && i < native->count; i++) {
        if (native->buffers[i])
            buffers[count++] = native->buffers[i];
    }
    error = count ? enqueue_gathered(queue, native, count, buffers, wait_count, list, event)
                  : cl_error(host_command_enqueue(queue, CL_COMMAND_NATIVE_KERNEL, &native->command, wait_count, list,
                                                  event));
    free(buffers);
    return error;
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size,
                             cl_uint count, const cl_mem *buffers, const void **places, cl_uint wait_count,
                             const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueNativeKernel);

    struct native *native = NULL;
    cl_int error;

    restore_before_kernel();
    error = check(queue, function, arguments, size, count, buffers, places);

    if (!error)
        error = event_check_list(queue->context, wait_count, list);
    if (!error)
        error = native_new(queue, function, arguments, size, count, buffers, places, &native);
    return error ? error : enqueue_native(queue, native, wait_count, list, event);
}
