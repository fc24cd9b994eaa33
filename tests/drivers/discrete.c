/*
 * A driver that behaves like the one of a card with memory of its own: strict.c, and around its commands the times of
 * a card. PoCL computes a command as early as its order allows; that it is complete is seen at the time at which the
 * card would have ended it, or when PoCL has ended it, if that is later. The host's part of a call takes processor
 * time, the card's part passes while waiting calls sleep, or spin for short times as such drivers do.
 *
 * The card has one engine for kernels and one for copies in each direction, each of which does one command after the
 * other. A command starts behind the commands before it if its queue is in order, and behind those of its wait list.
 * Copies from and to memory that the driver allocated (CL_MEM_ALLOC_HOST_PTR, mapped) have the full rate of the link,
 * other copies half of it. Events have the times of the card's clock.
 *
 * Settings; the defaults give about the figures of an H200 (doc/measurements/performance.md):
 *   DISCRETE_SUBMIT_US=4.5     processor time of a command's call, with PoCL's own
 *   DISCRETE_START_US=3        from there to its start, on an engine that is idle
 *   DISCRETE_KERNEL_US=2       the least time of a kernel
 *   DISCRETE_COPY_US=2         the same of a copy, which takes longer by its bytes
 *   DISCRETE_LINK_GBS=24       rate of the link. PoCL copies with a processor: where one cannot keep up with that, the
 *                              ratio of two programs is right only with a lower rate
 *   DISCRETE_MEMORY_GBS=1000   rate of copies and fills on the card
 *   DISCRETE_SPIN_US=100       a waiting call that ends within that time spins
 *   DISCRETE_CALLBACK_US=300   callbacks of events come so much later
 *   DISCRETE_MEMORY_MB=0       memory of the card; 0: as much as PoCL has
 *   DISCRETE_FLUSH             if set, commands stay queued until their queue is flushed, or waited for
 * With POCL_DEVICES=basic, to measure, PoCL runs commands in the thread that waits for them: its own threads take
 * longer to hand a command over than a card does, which a benchmark of launches would show instead of the card.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "discrete.h"

struct settings settings;
struct _cl_icd_dispatch below;

static const double clock_offset = 86400e9; /* the card's clock began a day before the host's */

/* ---- settings ---- */

static double setting(const char *name, double otherwise)
{
    const char *value = getenv(name);

    return value ? strtod(value, NULL) : otherwise;
}

static void read_settings(void)
{
    settings.submit = setting("DISCRETE_SUBMIT_US", 4.5) * 1e3;
    settings.start = setting("DISCRETE_START_US", 3) * 1e3;
    settings.kernel = setting("DISCRETE_KERNEL_US", 2) * 1e3;
    settings.copy = setting("DISCRETE_COPY_US", 2) * 1e3;
    settings.spin = setting("DISCRETE_SPIN_US", 100) * 1e3;
    settings.late = setting("DISCRETE_CALLBACK_US", 300) * 1e3;
    settings.link_rate = setting("DISCRETE_LINK_GBS", 24);
    settings.memory_rate = setting("DISCRETE_MEMORY_GBS", 1000);
    settings.memory = (cl_ulong)(setting("DISCRETE_MEMORY_MB", 0) * 1e6);
    settings.needs_flush = getenv("DISCRETE_FLUSH");
}

/* ---- waiting ---- */

static cl_int CL_API_CALL my_flush(cl_command_queue queue)
{
    flushed(queue);
    return below.clFlush(queue);
}

static cl_int CL_API_CALL my_finish(cl_command_queue queue)
{
    const cl_int error = below.clFinish(queue);

    block(queue, 0);
    return error;
}

static cl_int CL_API_CALL my_wait(cl_uint count, const cl_event *list)
{
    const cl_int error = below.clWaitForEvents(count, list);
    double end = 0;

    for (cl_uint i = 0; !error && i < count; i++)
        wait_unheld(list[i]);
    pthread_mutex_lock(&lock);
    for (cl_uint i = 0; list && i < count; i++) {
        const struct known *known = find(list[i]);
        struct known *queue = known ? find(known->queue) : NULL;

        end = known ? later(end, known->end) : end;
        if (queue)
            queue->flushed = queue->number;
    }
    pthread_mutex_unlock(&lock);
    if (!error)
        wait_until(end);
    return error;
}

/* Returns the status that is seen of a command that PoCL has ended. */
static cl_int seen(cl_event event, cl_int status)
{
    const struct known *known;

    pthread_mutex_lock(&lock);
    known = find(event);
    if (known && !is_submitted(known))
        status = CL_QUEUED;
    else if (known && status == CL_COMPLETE && now() < known->end)
        status = now() < known->begin ? CL_SUBMITTED : CL_RUNNING;
    pthread_mutex_unlock(&lock);
    return status;
}

static cl_int CL_API_CALL my_event_info(cl_event event, cl_event_info param, size_t size, void *value, size_t *size_ret)
{
    const cl_int error = below.clGetEventInfo(event, param, size, value, size_ret);

    if (!error && value && param == CL_EVENT_COMMAND_EXECUTION_STATUS && *(cl_int *)value >= 0)
        *(cl_int *)value = seen(event, *(cl_int *)value);
    return error;
}

/* ---- callbacks, late ---- */

struct call {
    struct call *next;
    cl_event event;
    cl_int state, status;
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *data;
    double due; /* 0: PoCL has not called yet */
};

static struct call *calls;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t calls_once = PTHREAD_ONCE_INIT;

/* Takes a callback that is due out of the list, or returns NULL. */
static struct call *take_due(void)
{
    struct call **at, *due;

    pthread_mutex_lock(&calls_lock);
    for (at = &calls; *at && ((*at)->due > now() || seen((*at)->event, CL_COMPLETE) > (*at)->state);)
        at = &(*at)->next;
    due = *at;
    if (due)
        *at = due->next;
    pthread_mutex_unlock(&calls_lock);
    return due;
}

static void *call_back(void *argument)
{
    for (;; usleep(50)) {
        for (struct call *due; (due = take_due());) {
            due->notify(due->event, due->status, due->data);
            pocl.clReleaseEvent(due->event);
            free(due);
        }
    }
    return argument;
}

static void start_calls(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, call_back, NULL))
        abort();
    pthread_detach(thread);
}

static void CL_CALLBACK reached(cl_event event, cl_int status, void *argument)
{
    struct call *new = argument;
    const struct known *known;

    pthread_mutex_lock(&lock);
    known = find(event);
    new->due = later(now(), known && new->state == CL_COMPLETE ? known->end : 0) + settings.late;
    pthread_mutex_unlock(&lock);
    new->status = status;
    pthread_mutex_lock(&calls_lock);
    new->next = calls;
    calls = new;
    pthread_mutex_unlock(&calls_lock);
}

static cl_int CL_API_CALL my_set_callback(cl_event event, cl_int state,
                                          void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    struct call *new;
    cl_int error;

    if (!notify)
        return pocl.clSetEventCallback(event, state, notify, data);
    pthread_once(&calls_once, start_calls);
    new = calloc(1, sizeof(*new));
    if (!new)
        return CL_OUT_OF_HOST_MEMORY;
    *new = (struct call){.event = event, .state = state, .notify = notify, .data = data};
    error = pocl.clRetainEvent(event);
    if (!error && (error = pocl.clSetEventCallback(event, state, reached, new)))
        pocl.clReleaseEvent(event);
    if (error)
        free(new);
    return error;
}

/* ---- objects ---- */

static cl_event CL_API_CALL my_create_user_event(cl_context context, cl_int *error)
{
    cl_event event = below.clCreateUserEvent(context, error);

    if (event)
        user_event_made(event);
    return event;
}

static cl_int CL_API_CALL my_set_user_event(cl_event event, cl_int status)
{
    const cl_int error = below.clSetUserEventStatus(event, status);

    if (error)
        return error;
    user_event_set(event);
    basic_release();
    return CL_SUCCESS;
}

static cl_int CL_API_CALL my_retain_event(cl_event event)
{
    struct known *known;

    pthread_mutex_lock(&lock);
    known = find(event);
    if (known)
        known->references++;
    pthread_mutex_unlock(&lock);
    return below.clRetainEvent(event);
}

static cl_int CL_API_CALL my_release_event(cl_event event)
{
    struct known *known;

    pthread_mutex_lock(&lock);
    known = find(event);
    if (known && !--known->references)
        forget(event);
    pthread_mutex_unlock(&lock);
    return below.clReleaseEvent(event);
}

static cl_int CL_API_CALL my_release_queue(cl_command_queue queue)
{
    cl_uint references = 0;

    pocl.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(references), &references, NULL);
    flushed(queue);
    if (references == 1) {
        pthread_mutex_lock(&lock);
        forget(queue);
        pthread_mutex_unlock(&lock);
    }
    return below.clReleaseCommandQueue(queue);
}

/* PoCL's clock is that of now(). A command that PoCL ends later than the card would is over then. */
static cl_int CL_API_CALL my_profiling_info(cl_event event, cl_profiling_info param, size_t size, void *value,
                                            size_t *size_ret)
{
    cl_int error = pocl.clGetEventProfilingInfo(event, param, size, value, size_ret);
    const struct known *known;
    cl_ulong ended;
    double time = 0;

    if (error || !value || pocl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &ended, NULL))
        return error;
    pthread_mutex_lock(&lock);
    known = find(event);
    if (known)
        time = param == CL_PROFILING_COMMAND_QUEUED   ? known->queued
               : param == CL_PROFILING_COMMAND_SUBMIT ? later(known->queued, known->begin - settings.start)
               : param == CL_PROFILING_COMMAND_START  ? known->begin
                                                      : later(known->end, (double)ended);
    pthread_mutex_unlock(&lock);
    if (time > 0)
        *(cl_ulong *)value = (cl_ulong)(time + clock_offset);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL my_timers(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time)
{
    cl_ulong host = 0;
    cl_int error = pocl.clGetDeviceAndHostTimer(device, device_time, &host);

    if (!error && device_time)
        *device_time = (cl_ulong)(now() + clock_offset);
    if (!error && host_time)
        *host_time = host;
    return error;
}

/* ---- its name, properties and limits ---- */

static cl_int CL_API_CALL my_platform_info(cl_platform_id object, cl_platform_info param, size_t size, void *value,
                                           size_t *size_ret)
{
    static const char name[] = "Discrete";

    return param == CL_PLATFORM_NAME ? driver_return(name, sizeof(name), size, value, size_ret)
                                     : below.clGetPlatformInfo(object, param, size, value, size_ret);
}

enum { ALIGNMENT = 128, PITCH = 32 };

static cl_int CL_API_CALL my_device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                         size_t *size_ret)
{
    const cl_device_svm_capabilities svm = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
    const cl_uint bits = ALIGNMENT * 8, pitch = PITCH;
    const cl_ulong most = settings.memory / 4;

    switch (param) {
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return driver_return(&bits, sizeof(bits), size, value, size_ret);
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT:
        return driver_return(&pitch, sizeof(pitch), size, value, size_ret);
    case CL_DEVICE_SVM_CAPABILITIES:
        return driver_return(&svm, sizeof(svm), size, value, size_ret);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        if (settings.memory)
            return driver_return(&settings.memory, sizeof(settings.memory), size, value, size_ret);
        break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        if (settings.memory)
            return driver_return(&most, sizeof(most), size, value, size_ret);
        break;
    }
    return below.clGetDeviceInfo(device, param, size, value, size_ret);
}

static cl_mem CL_API_CALL my_create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *memory,
                                           cl_int *error)
{
    if (!settings.memory || size <= settings.memory / 4)
        return below.clCreateBuffer(context, flags, size, memory, error);
    if (error)
        *error = CL_INVALID_BUFFER_SIZE;
    return NULL;
}

static cl_mem CL_API_CALL my_create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                               const void *info, cl_int *error)
{
    const cl_buffer_region *region = info;

    if (!region || type != CL_BUFFER_CREATE_TYPE_REGION || !(region->origin % ALIGNMENT))
        return below.clCreateSubBuffer(buffer, flags, type, info, error);
    if (error)
        *error = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return NULL;
}

static void *CL_API_CALL my_svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    return flags & (CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)
               ? NULL
               : below.clSVMAlloc(context, flags, size, alignment);
}

/* ---- the driver ---- */

int driver_change(struct _cl_icd_dispatch *table)
{
    read_settings();
    if (!strict_change(table))
        return 0;
    basic_change();
    below = *table;
    below.clEnqueueWriteImage = pocl.clEnqueueWriteImage; /* a card's blocking write is over when it returns */
    commands_change(table);
    table->clFlush = my_flush;
    table->clFinish = my_finish;
    table->clWaitForEvents = my_wait;
    table->clGetEventInfo = my_event_info;
    table->clSetEventCallback = my_set_callback;
    table->clCreateUserEvent = my_create_user_event;
    table->clSetUserEventStatus = my_set_user_event;
    table->clRetainEvent = my_retain_event;
    table->clReleaseEvent = my_release_event;
    table->clReleaseCommandQueue = my_release_queue;
    table->clGetEventProfilingInfo = my_profiling_info;
    table->clGetDeviceAndHostTimer = my_timers;
    table->clGetPlatformInfo = my_platform_info;
    table->clGetDeviceInfo = my_device_info;
    table->clCreateBuffer = my_create_buffer;
    table->clCreateSubBuffer = my_create_sub_buffer;
    table->clSVMAlloc = my_svm_alloc;
    return 1;
}
