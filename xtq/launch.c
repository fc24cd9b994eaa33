/* Launches kernels on an OpenCL command queue, as rewritten packets say. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ground/device.h"
#include "xtq/internal.h"

struct launcher {
    cl_command_queue commands;
    cl_context context;
    bool addresses; /* the device accepts addresses of this process */
    bool shown;     /* the device is VOCL's: a query of an event's state may take a message */
};

struct launch {
    void (*done)(void *argument, int error);
    void *argument;
    cl_event event;
    cl_mem payload; /* a copy of the payload, for devices that do not accept addresses */
    _Atomic unsigned users;
    _Atomic bool watched, ended;
};

/* Held while arguments are set: they belong to the kernel object, which several queues may share. */
static pthread_mutex_t setting = PTHREAD_MUTEX_INITIALIZER;

int launcher_open(cl_command_queue commands, struct launcher **out)
{
    struct launcher *launcher = calloc(1, sizeof(*launcher));
    cl_device_id device;

    if (!launcher)
        return -ENOMEM;
    if (clGetCommandQueueInfo(commands, CL_QUEUE_CONTEXT, sizeof(launcher->context), &launcher->context, NULL) ||
        clGetCommandQueueInfo(commands, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) ||
        clRetainCommandQueue(commands)) {
        free(launcher);
        return -EINVAL;
    }
    launcher->commands = commands;
    launcher->addresses = device_takes_addresses(device);
    launcher->shown = device_is_shown(device);
    *out = launcher;
    return 0;
}

void launcher_close(struct launcher *launcher)
{
    clReleaseCommandQueue(launcher->commands);
    free(launcher);
}

/* Sets the buffer argument. A device that does not accept addresses accepts those of SVM, if it has SVM. */
static cl_int set_buffer(const struct rewritten *task)
{
    const struct kernel_slot *slot = task->kernel;

    if (slot->memory || !task->task.buffer)
        return clSetKernelArg(slot->kernel, 0, sizeof(slot->memory), slot->memory ? &slot->memory : NULL);
    return clSetKernelArgSVMPointer(slot->kernel, 0, task->task.buffer);
}

static cl_int set_payload(struct launcher *launcher, const struct rewritten *task, cl_mem *copy)
{
    cl_int status;

    if (!task->task.payload_bytes)
        return clSetKernelArg(task->kernel->kernel, 1, sizeof(*copy), NULL);
    if (launcher->addresses)
        return clSetKernelArgSVMPointer(task->kernel->kernel, 1, task->task.payload);
    *copy =
        clCreateBuffer(launcher->context, CL_MEM_COPY_HOST_PTR, task->task.payload_bytes, task->task.payload, &status);
    return status ? status : clSetKernelArg(task->kernel->kernel, 1, sizeof(*copy), copy);
}

static cl_int set_arguments(struct launcher *launcher, const struct rewritten *task, cl_mem *copy)
{
    const struct kernel_slot *slot = task->kernel;
    const uint8_t *arguments = task->task.arguments;
    cl_int status = set_buffer(task);
    size_t end = 0;

    if (!status)
        status = set_payload(launcher, task, copy);
    for (unsigned i = 0; i < slot->argument_count && !status; i++) {
        size_t at = kernarg_place(end, slot->argument_bytes[i]);

        status = clSetKernelArg(slot->kernel, 2 + i, slot->argument_bytes[i], arguments + at);
        end = at + slot->argument_bytes[i];
    }
    return status;
}

void launch_keep(struct launch *launch)
{
    atomic_fetch_add(&launch->users, 1);
}

void launch_release(struct launch *launch)
{
    if (!launch || atomic_fetch_sub(&launch->users, 1) > 1)
        return;
    if (launch->payload)
        clReleaseMemObject(launch->payload);
    clReleaseEvent(launch->event);
    free(launch);
}

/* Ends a launch once: the thread that polls and OpenCL's callback may both notice the end. */
static void launch_end(struct launch *launch, int error)
{
    if (!atomic_exchange(&launch->ended, true))
        launch->done(launch->argument, error);
}

bool launch_poll(struct launch *launch)
{
    cl_int status = CL_QUEUED;

    if (atomic_load(&launch->watched) ||
        clGetEventInfo(launch->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) ||
        status > CL_COMPLETE)
        return false;
    clWaitForEvents(1, &launch->event); /* only after this the results are visible */
    launch_end(launch, status < 0 ? -EIO : 0);
    return true;
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *argument)
{
    struct launch *launch = argument;

    (void)event;
    launch_end(launch, status < 0 ? -EIO : 0);
    launch_release(launch);
}

void launch_watch(struct launch *launch)
{
    if (atomic_exchange(&launch->watched, true) || atomic_load(&launch->ended))
        return;
    launch_keep(launch);
    if (!clSetEventCallback(launch->event, CL_COMPLETE, on_complete, launch))
        return;
    clWaitForEvents(1, &launch->event); /* the kernel runs, and needs its memory until it ends */
    launch_end(launch, -EIO);
    launch_release(launch);
}

static cl_int enqueue(struct launcher *launcher, const struct rewritten *task, const struct xtq_kernel_packet *packet,
                      struct launch *launch, cl_event *event)
{
    size_t grid[3], group[3];
    cl_int status;

    for (unsigned i = 0; i < 3; i++) {
        grid[i] = packet->grid_size[i];
        group[i] = packet->workgroup_size[i];
    }
    pthread_mutex_lock(&setting);
    status = set_arguments(launcher, task, &launch->payload);
    if (!status)
        status = clEnqueueNDRangeKernel(launcher->commands, task->kernel->kernel, packet->setup, NULL, grid,
                                        group[0] ? group : NULL, 0, NULL, event);
    pthread_mutex_unlock(&setting);
    return status;
}

int launcher_start(struct launcher *launcher, const struct rewritten *task, const struct xtq_kernel_packet *packet,
                   void (*done)(void *argument, int error), void *argument, struct launch **out)
{
    struct launch *launch;
    cl_int status;

    if (!task->kernel->kernel)
        return -ENOTSUP;
    if (task->task.argument_bytes < task->kernel->kernarg_bytes)
        return -EINVAL;
    launch = calloc(1, sizeof(*launch));
    if (!launch)
        return -ENOMEM;
    launch->done = done;
    launch->argument = argument;
    atomic_init(&launch->users, 1);
    status = enqueue(launcher, task, packet, launch, &launch->event);
    if (status) {
        vocl_log(LOG_WARN, "xtq: OpenCL refused to enqueue a kernel: error %d", status);
        if (launch->payload)
            clReleaseMemObject(launch->payload);
        free(launch);
        return -EIO;
    }
    *out = launch;
    if (launcher->shown)
        launch_watch(launch);
    clFlush(launcher->commands);
    return 0;
}
