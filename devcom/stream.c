/* Enqueues kernels that wait, and communication as commands of a command queue (section 5.8.2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/endpoint.h"

#define LOOKED_AT 4 /* reservations checked at each new one, so that those that have ended do not accumulate */

/* A reservation, until its command has ended, of a number of work-groups, or of a place in a stream. */
struct reservation {
    struct reservation *next;
    cl_event event;
    struct stream *stream;
    size_t groups;
};

/* ---- commands that may wait, and have ended; all under the endpoint's lock ---- */

static void reservation_drop(struct devcom_endpoint *e, struct reservation *reservation)
{
    if (!reservation->stream)
        e->waiting -= reservation->groups;
    else if (--reservation->stream->pending == 0)
        e->waiting--;
    if (reservation->event)
        clReleaseEvent(reservation->event);
    free(reservation);
}

static void reservation_add(struct devcom_endpoint *e, struct reservation *reservation)
{
    reservation->next = NULL;
    *e->last_reservation = reservation;
    e->last_reservation = &reservation->next;
    e->reservations++;
}

static struct reservation *reservation_remove(struct devcom_endpoint *e)
{
    struct reservation *first = e->first_reservation;

    e->first_reservation = first->next;
    if (!e->first_reservation)
        e->last_reservation = &e->first_reservation;
    e->reservations--;
    return first;
}

static bool has_ended(struct devcom_endpoint *e, cl_event event)
{
    cl_int status = CL_QUEUED;

    if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL))
        status = -1;
    if (status < 0)
        endpoint_fail(e, -EIO);
    return status <= CL_COMPLETE;
}

/* Drops up to most reservations whose commands have ended. It queries the events and sets no callbacks, since
 * clFinish() does not wait for callbacks: after it there must be room again, and the endpoint may be closed. */
static void look_at(struct devcom_endpoint *e, unsigned most)
{
    unsigned count = e->reservations < most ? e->reservations : most;

    while (count--) {
        struct reservation *reservation = reservation_remove(e);

        if (has_ended(e, reservation->event))
            reservation_drop(e, reservation);
        else
            reservation_add(e, reservation);
    }
}

void reservations_look(struct devcom_endpoint *e)
{
    pthread_mutex_lock(&e->lock);
    look_at(e, e->reservations);
    pthread_mutex_unlock(&e->lock);
}

void reservations_open(struct devcom_endpoint *e)
{
    e->last_reservation = &e->first_reservation;
}

void reservations_close(struct devcom_endpoint *e)
{
    while (e->reservations)
        reservation_drop(e, reservation_remove(e));
}

/* Reserves room for that many work-groups. */
static int reserve(struct devcom_endpoint *e, size_t groups)
{
    if (groups > e->units)
        return -EDEADLK;
    look_at(e, LOOKED_AT);
    if (e->waiting > e->units - groups)
        look_at(e, e->reservations);
    if (e->waiting > e->units - groups)
        return -EDEADLK;
    e->waiting += groups;
    return 0;
}

static struct stream *find_stream(struct devcom_endpoint *e, cl_command_queue commands, bool pending)
{
    for (int i = 0; i < MOST_STREAMS; i++) {
        if (pending ? e->streams[i].pending && e->streams[i].commands == commands : !e->streams[i].pending)
            return &e->streams[i];
    }
    return NULL;
}

/* Reserves one place for all waits of a command queue, as they run one after the other. */
static int reserve_stream(struct devcom_endpoint *e, cl_command_queue commands, struct stream **out)
{
    struct stream *stream;
    int error;

    look_at(e, LOOKED_AT);
    stream = find_stream(e, commands, true);
    if (!stream) {
        error = reserve(e, 1);
        if (error)
            return error;
        stream = find_stream(e, NULL, false);
        if (!stream) {
            look_at(e, e->reservations);
            stream = find_stream(e, NULL, false);
        }
        if (!stream) {
            e->waiting--;
            return -EDEADLK;
        }
    }
    stream->commands = commands;
    stream->pending++;
    *out = stream;
    return 0;
}

/* Begins a reservation. groups: 0 for a wait in a stream. */
static int reservation_begin(struct devcom_endpoint *e, size_t groups, cl_command_queue commands,
                             struct reservation **out)
{
    struct reservation *reservation = calloc(1, sizeof(*reservation));
    int error;

    if (!reservation)
        return -ENOMEM;
    reservation->groups = groups;
    pthread_mutex_lock(&e->lock);
    error = groups ? reserve(e, groups) : reserve_stream(e, commands, &reservation->stream);
    pthread_mutex_unlock(&e->lock);
    if (error)
        free(reservation);
    else
        *out = reservation;
    return error;
}

/* Completes a reservation with its command, or drops it if the command was refused. */
static int reservation_hold(struct devcom_endpoint *e, struct reservation *reservation, cl_int refused, cl_event done,
                            cl_event *event)
{
    if (!refused && event) {
        clRetainEvent(done);
        *event = done;
    }
    reservation->event = refused ? NULL : done;
    pthread_mutex_lock(&e->lock);
    if (refused)
        reservation_drop(e, reservation);
    else
        reservation_add(e, reservation);
    pthread_mutex_unlock(&e->lock);
    return refused ? -EIO : 0;
}

int devcom_enqueue_kernel(struct devcom_endpoint *e, cl_command_queue commands, cl_kernel kernel, unsigned dimensions,
                          const size_t *global, const size_t *local, cl_event *event)
{
    struct reservation *reservation;
    cl_event done = NULL;
    size_t groups = 1;
    cl_int refused;
    int error;

    if (!e || !commands || !kernel || dimensions < 1 || dimensions > 3 || !global || !local)
        return -EINVAL;
    for (unsigned i = 0; i < dimensions; i++) {
        if (!local[i] || !global[i] || global[i] % local[i] ||
            __builtin_mul_overflow(groups, global[i] / local[i], &groups))
            return -EINVAL;
    }
    error = reservation_begin(e, groups, NULL, &reservation);
    if (error)
        return error;
    refused = clEnqueueNDRangeKernel(commands, kernel, dimensions, NULL, global, local, 0, NULL, &done);
    error = reservation_hold(e, reservation, refused, done, event);
    clFlush(commands);
    return error;
}

/* ---- native kernels, whose arguments OpenCL copies ---- */

struct native {
    struct devcom_endpoint *e;
    unsigned count, queue; /* number of puts; 0: a wait */
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
            error = stream_wait_for_room(d, native->puts[done].rank, native->queue);
    }
    if (!error) /* later commands may change the data */
        error = devcom_flush_local(d, native->queue, DEVCOM_BLOCK);
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

    if (!e || !commands || !puts || !count || queue >= e->d->o.queues)
        return -EINVAL;
    /* there is no wait list, so that in another queue the puts would overtake the kernels that write their data */
    if (!is_in_order(commands))
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
    struct reservation *reservation;
    cl_event done = NULL;
    cl_int refused;
    int error;

    if (!e || !commands || signal >= e->d->o.signals || !condition_valid(condition))
        return -EINVAL;
    if (!is_in_order(commands))
        return -EINVAL;
    if (!runs_native(e))
        return -ENOTSUP;
    error = reservation_begin(e, 0, commands, &reservation);
    if (error)
        return error;
    refused = clEnqueueNativeKernel(commands, run_wait, &native, sizeof(native), 0, NULL, NULL, 0, NULL, &done);
    error = reservation_hold(e, reservation, refused, done, event);
    clFlush(commands);
    return error;
}
