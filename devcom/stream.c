/* Kernels that wait, and communication as commands of a command queue (section 5.8.2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/endpoint.h"

/* Room for so many more that wait. */
static int reserve(struct devcom_endpoint *e, size_t groups)
{
    uint32_t now = atomic_load(&e->waiting);

    do {
        if (groups > e->units || now > e->units - groups)
            return -EDEADLK;
    } while (!atomic_compare_exchange_weak(&e->waiting, &now, now + (uint32_t)groups));
    return 0;
}

static void unreserve(struct devcom_endpoint *e, size_t groups)
{
    atomic_fetch_sub(&e->waiting, (uint32_t)groups);
}

/* One for all waits of a queue, as they run one after the other. */
static int reserve_stream(struct devcom_endpoint *e, cl_command_queue commands, struct stream **out)
{
    struct stream *found = NULL, *unused = NULL;
    int error = 0;

    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < MOST_STREAMS; i++) {
        if (e->streams[i].pending && e->streams[i].commands == commands)
            found = &e->streams[i];
        else if (!e->streams[i].pending)
            unused = &e->streams[i];
    }
    if (!found) {
        error = unused ? reserve(e, 1) : -EDEADLK;
        found = unused;
    }
    if (!error) {
        found->commands = commands;
        found->pending++;
        *out = found;
    }
    pthread_mutex_unlock(&e->lock);
    return error;
}

static void unreserve_stream(struct devcom_endpoint *e, struct stream *stream)
{
    pthread_mutex_lock(&e->lock);
    if (--stream->pending == 0)
        unreserve(e, 1);
    pthread_mutex_unlock(&e->lock);
}

struct reservation {
    struct devcom_endpoint *e;
    struct stream *stream; /* or so many work-groups */
    size_t groups;
};

static void reservation_drop(const struct reservation *reservation)
{
    if (reservation->stream)
        unreserve_stream(reservation->e, reservation->stream);
    else
        unreserve(reservation->e, reservation->groups);
}

static void CL_CALLBACK reservation_end(cl_event event, cl_int status, void *argument)
{
    struct reservation *reservation = argument;

    (void)event;
    if (status < 0)
        endpoint_fail(reservation->e, -EIO);
    reservation_drop(reservation);
    free(reservation);
}

/* Until the command has ended. */
static int reservation_hold(struct reservation reservation, cl_event event)
{
    struct reservation *held = malloc(sizeof(*held));
    int error = held ? -EIO : -ENOMEM;

    if (held) {
        *held = reservation;
        if (!clSetEventCallback(event, CL_COMPLETE, reservation_end, held))
            return 0;
    }
    free(held);
    clWaitForEvents(1, &event);
    reservation_drop(&reservation);
    return error;
}

static void give_event(cl_event event, cl_event *out)
{
    if (out)
        *out = event;
    else
        clReleaseEvent(event);
}

int devcom_enqueue_kernel(struct devcom_endpoint *e, cl_command_queue commands, cl_kernel kernel, unsigned dimensions,
                          const size_t *global, const size_t *local, cl_event *event)
{
    cl_event done;
    size_t groups = 1;
    int error;

    if (dimensions < 1 || dimensions > 3 || !global || !local)
        return -EINVAL;
    for (unsigned i = 0; i < dimensions; i++) {
        if (!local[i] || !global[i] || global[i] % local[i] ||
            __builtin_mul_overflow(groups, global[i] / local[i], &groups))
            return -EINVAL;
    }
    error = reserve(e, groups);
    if (error)
        return error;
    if (clEnqueueNDRangeKernel(commands, kernel, dimensions, NULL, global, local, 0, NULL, &done)) {
        unreserve(e, groups);
        return -EIO;
    }
    error = reservation_hold((struct reservation){e, NULL, groups}, done);
    clFlush(commands);
    give_event(done, event);
    return error;
}

/* ---- native kernels: their arguments are copied by OpenCL ---- */

struct native {
    struct devcom_endpoint *e;
    unsigned count, queue; /* puts; 0: a wait */
    unsigned signal;
    enum devcom_condition condition;
    int64_t value;
    struct devcom_put puts[];
};

static void CL_CALLBACK run_puts(void *argument)
{
    const struct native *native = argument;
    struct devcom *d = native->e->d;
    unsigned done = 0;
    int error = 0;

    while (done < native->count && !error) {
        unsigned more = 0;

        error = devcom_put(d, native->puts + done, native->count - done, native->queue, &more);
        done += more;
        if (error == -EAGAIN)
            error = devcom_queue_fence(d, native->queue, DEVCOM_BLOCK);
    }
    if (!error) /* the commands behind may change what is sent */
        error = devcom_queue_flush(d, native->queue, DEVCOM_BLOCK);
    if (error)
        endpoint_fail(native->e, error);
}

static void CL_CALLBACK run_wait(void *argument)
{
    const struct native *native = argument;
    int error = devcom_signal_wait(native->e->d, native->signal, native->condition, native->value, DEVCOM_BLOCK, NULL);

    if (error)
        endpoint_fail(native->e, error);
}

static bool is_in_order(cl_command_queue commands)
{
    cl_command_queue_properties properties = 0;

    return !clGetCommandQueueInfo(commands, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static bool runs_native(const struct devcom_endpoint *e)
{
    cl_device_exec_capabilities can = 0;

    clGetDeviceInfo(e->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL);
    return can & CL_EXEC_NATIVE_KERNEL;
}

int devcom_enqueue_put(struct devcom_endpoint *e, cl_command_queue commands, const struct devcom_put *puts,
                       unsigned count, unsigned queue, cl_event *event)
{
    size_t bytes = sizeof(struct native) + count * sizeof(*puts);
    struct native *native;
    int error = 0;

    if (!count || queue >= e->d->o.queues)
        return -EINVAL;
    if (!runs_native(e))
        return -ENOTSUP;
    for (unsigned i = 0; i < count && !error; i++) {
        struct transfer checked;

        error = transfer_check(e->d, &puts[i], queue, &checked);
    }
    if (error)
        return error;
    native = malloc(bytes);
    if (!native)
        return -ENOMEM;
    *native = (struct native){.e = e, .count = count, .queue = queue};
    memcpy(native->puts, puts, count * sizeof(*puts));
    if (clEnqueueNativeKernel(commands, run_puts, native, bytes, 0, NULL, NULL, 0, NULL, event))
        error = -EIO;
    free(native);
    clFlush(commands);
    return error;
}

int devcom_enqueue_wait(struct devcom_endpoint *e, cl_command_queue commands, unsigned signal,
                        enum devcom_condition condition, int64_t value, cl_event *event)
{
    struct native native = {.e = e, .signal = signal, .condition = condition, .value = value};
    struct stream *stream;
    cl_event done;
    int error;

    if (signal >= e->d->o.signals || (unsigned)condition > DEVCOM_GE)
        return -EINVAL;
    if (!is_in_order(commands))
        return -EINVAL;
    if (!runs_native(e))
        return -ENOTSUP;
    error = reserve_stream(e, commands, &stream);
    if (error)
        return error;
    if (clEnqueueNativeKernel(commands, run_wait, &native, sizeof(native), 0, NULL, NULL, 0, NULL, &done)) {
        unreserve_stream(e, stream);
        return -EIO;
    }
    error = reservation_hold((struct reservation){e, stream, 0}, done);
    clFlush(commands);
    give_event(done, event);
    return error;
}
