/*
 * A driver that behaves like those of GPUs where this matters to VOCL: PoCL, with a few functions replaced, in the
 * process that loads it, by ones that behave as NVIDIA's did (580.159, OpenCL 3.0 CUDA), or are stricter.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pocl.h"

/* ---- its name and properties ---- */

static cl_int CL_API_CALL platform_info(cl_platform_id object, cl_platform_info param, size_t size, void *value,
                                        size_t *size_ret)
{
    static const char name[] = "Strict";

    return param == CL_PLATFORM_NAME ? driver_return(name, sizeof(name), size, value, size_ret)
                                     : pocl.clGetPlatformInfo(object, param, size, value, size_ret);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                      size_t *size_ret)
{
    const cl_command_queue_properties in_order = CL_QUEUE_PROFILING_ENABLE;
    const cl_bool unified = CL_FALSE;

    if (param == CL_DEVICE_HOST_UNIFIED_MEMORY)
        return driver_return(&unified, sizeof(unified), size, value, size_ret);
    if (param == CL_DEVICE_QUEUE_PROPERTIES && getenv("STRICT_IN_ORDER")) /* it has no out-of-order queues */
        return driver_return(&in_order, sizeof(in_order), size, value, size_ret);
    return pocl.clGetDeviceInfo(device, param, size, value, size_ret);
}

/* ---- arguments that other drivers accept ---- */

static cl_int CL_API_CALL compile(cl_program program, cl_uint device_count, const cl_device_id *devices,
                                  const char *options, cl_uint count, const cl_program *headers, const char **names,
                                  void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    if (!count && (headers || names))
        return CL_INVALID_VALUE;
    return pocl.clCompileProgram(program, device_count, devices, options, count, headers, names, notify, data);
}

/* Intel's crashes when it is asked for the kernels of a library. */
static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *count_ret)
{
    cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
    cl_device_id devices[16];
    size_t size = 0;

    pocl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices, &size);
    if (size)
        pocl.clGetProgramBuildInfo(program, devices[0], CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL);
    if (type == CL_PROGRAM_BINARY_TYPE_LIBRARY)
        abort();
    return pocl.clCreateKernelsInProgram(program, count, kernels, count_ret);
}

/* Fails to build sources that say "brittle" with -cl-kernel-arg-info. */
static cl_int CL_API_CALL build(cl_program program, cl_uint device_count, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    char source[4096] = "";

    pocl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(source), source, NULL);
    if (options && strstr(options, "-cl-kernel-arg-info") && strstr(source, "brittle"))
        return CL_BUILD_PROGRAM_FAILURE;
    return pocl.clBuildProgram(program, device_count, devices, options, notify, data);
}

static cl_int CL_API_CALL formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint count,
                                  cl_image_format *list, cl_uint *count_ret)
{
    return flags ? pocl.clGetSupportedImageFormats(context, flags, type, count, list, count_ret) : CL_INVALID_VALUE;
}

/* Answers only if the program was built with -cl-kernel-arg-info. */
static cl_int CL_API_CALL argument_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, size_t size,
                                        void *value, size_t *size_ret)
{
    char options[4096] = "";
    cl_device_id device = NULL;
    cl_program program = NULL;

    pocl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
    pocl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(device), &device, NULL);
    pocl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof(options), options, NULL);
    return strstr(options, "-cl-kernel-arg-info") ? pocl.clGetKernelArgInfo(kernel, index, param, size, value, size_ret)
                                                  : CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

/* ---- events ---- */

static cl_command_type type_of(cl_event event)
{
    cl_command_type type = 0;

    pocl.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
    return type;
}

/* Never calls back for copies, which NVIDIA's does late; with STRICT_UNTOLD set, not for kernels either: natively no
 * program is called back for one. */
static cl_int CL_API_CALL set_callback(cl_event event, cl_int state,
                                       void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    switch (type_of(event)) {
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_WRITE_BUFFER_RECT:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_WRITE_IMAGE:
    case CL_COMMAND_READ_IMAGE:
        return CL_SUCCESS;
    case CL_COMMAND_NDRANGE_KERNEL:
        if (getenv("STRICT_UNTOLD"))
            return CL_SUCCESS;
    }
    return pocl.clSetEventCallback(event, state, notify, data);
}

/* The times of commands that do nothing are in no order. */
static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info param, size_t size, void *value,
                                         size_t *size_ret)
{
    const cl_int error = pocl.clGetEventProfilingInfo(event, param, size, value, size_ret);

    switch (type_of(event)) {
    case CL_COMMAND_MARKER:
    case CL_COMMAND_BARRIER:
    case CL_COMMAND_MIGRATE_MEM_OBJECTS:
        if (!error && value && param != CL_PROFILING_COMMAND_QUEUED)
            *(cl_ulong *)value = 1;
    }
    return error;
}

/* ---- contexts: the last release waits for all commands of the context, which may wait for user events ---- */

enum { MOST_CONTEXTS = 256 };

static struct known {
    _Atomic(cl_context) context;
    atomic_int unset, retained;
} contexts[MOST_CONTEXTS];

static struct known *known_of(cl_context context)
{
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        cl_context none = NULL;

        if (atomic_load(&contexts[i].context) == context ||
            atomic_compare_exchange_strong(&contexts[i].context, &none, context))
            return &contexts[i];
    }
    fprintf(stderr, "strict: more than %d contexts\n", MOST_CONTEXTS);
    abort();
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *error)
{
    cl_event event = pocl.clCreateUserEvent(context, error);

    if (event)
        atomic_fetch_add(&known_of(context)->unset, 1);
    return event;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
    cl_context context = NULL;
    cl_int error;

    pocl.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL);
    error = pocl.clSetUserEventStatus(event, status);
    if (!error)
        atomic_fetch_sub(&known_of(context)->unset, 1);
    return error;
}

/* Nothing waits for a user event that is released without a status, and has no other references. */
static cl_int CL_API_CALL release_event(cl_event event)
{
    cl_context context = NULL;
    cl_uint references = 0;
    cl_int status = CL_COMPLETE;

    if (type_of(event) != CL_COMMAND_USER)
        return pocl.clReleaseEvent(event);
    pocl.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL);
    pocl.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(references), &references, NULL);
    pocl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    if (references == 1 && status > CL_COMPLETE)
        atomic_fetch_sub(&known_of(context)->unset, 1);
    return pocl.clReleaseEvent(event);
}

static cl_int CL_API_CALL retain_context(cl_context context)
{
    atomic_fetch_add(&known_of(context)->retained, 1);
    return pocl.clRetainContext(context);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    struct known *known = known_of(context);

    if (atomic_fetch_sub(&known->retained, 1) == 0) {
        while (atomic_load(&known->unset) > 0)
            usleep(1000);
        atomic_store(&known->unset, 0);
        atomic_store(&known->retained, 0);
        atomic_store(&known->context, NULL);
    }
    return pocl.clReleaseContext(context);
}

/* ---- a kernel named "fault" kills the device: clFinish reports it, and so does, by STRICT_FAULT, one of: status (the
 * default), the status of later commands; asked, the query of a status; flush, clFlush ---- */

static atomic_bool faulted;

static bool tells_by(const char *way)
{
    const char *how = getenv("STRICT_FAULT");

    return atomic_load(&faulted) && !strcmp(how ? how : "status", way);
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info param, size_t size, void *value, size_t *size_ret)
{
    return param == CL_EVENT_COMMAND_EXECUTION_STATUS && tells_by("asked")
               ? CL_INVALID_COMMAND_QUEUE
               : pocl.clGetEventInfo(event, param, size, value, size_ret);
}

static cl_int failed(cl_command_queue queue, cl_event *event)
{
    cl_context context = NULL;
    cl_int error;

    pocl.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (event)
        *event = pocl.clCreateUserEvent(context, &error);
    return event ? pocl.clSetUserEventStatus(*event, CL_INVALID_COMMAND_QUEUE) : CL_SUCCESS;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                 cl_event *event)
{
    char name[64] = "";

    pocl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
    if (!strcmp(name, "fault"))
        atomic_store(&faulted, true);
    return atomic_load(&faulted)
               ? failed(queue, event)
               : pocl.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event);
}

/* STRICT_MARKERS=FILE gets a byte for each marker. */
static void count_marker(void)
{
    const char *path = getenv("STRICT_MARKERS");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file)
        return;
    fputc('m', file);
    fclose(file);
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    count_marker();
    return tells_by("status") ? failed(queue, event) : pocl.clEnqueueMarkerWithWaitList(queue, count, list, event);
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    return tells_by("flush") ? CL_INVALID_COMMAND_QUEUE : pocl.clFlush(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    return atomic_load(&faulted) ? CL_INVALID_COMMAND_QUEUE : pocl.clFinish(queue);
}

/* ---- STRICT_REFUSED=BYTES: writes of so many bytes are refused ---- */

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, const void *from, cl_uint count, const cl_event *list,
                                       cl_event *event)
{
    const char *refused = getenv("STRICT_REFUSED");

    return refused && strtoull(refused, NULL, 10) == size
               ? CL_OUT_OF_RESOURCES
               : pocl.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, count, list, event);
}

/* ---- STRICT_GONE=FILE: destructor callbacks of memory objects wait until the file exists ---- */

struct gone {
    void(CL_CALLBACK *notify)(cl_mem, void *);
    void *data;
    cl_mem memory;
};

static void *tell_gone(void *argument)
{
    struct gone *gone = argument;

    while (access(getenv("STRICT_GONE"), F_OK))
        usleep(1000);
    gone->notify(gone->memory, gone->data);
    free(gone);
    return NULL;
}

static void CL_CALLBACK memory_gone(cl_mem memory, void *argument)
{
    struct gone *gone = argument;
    pthread_t thread;

    gone->memory = memory;
    if (pthread_create(&thread, NULL, tell_gone, gone))
        abort();
    pthread_detach(thread);
}

static cl_int CL_API_CALL on_gone(cl_mem memory, void(CL_CALLBACK *notify)(cl_mem, void *), void *data)
{
    struct gone *gone = getenv("STRICT_GONE") ? malloc(sizeof(*gone)) : NULL;

    if (!gone)
        return pocl.clSetMemObjectDestructorCallback(memory, notify, data);
    *gone = (struct gone){.notify = notify, .data = data};
    return pocl.clSetMemObjectDestructorCallback(memory, memory_gone, gone);
}

/* ---- a blocking write of an image returns when the memory may be used again, before the data are in the image, as
 * Intel's does ---- */

struct late {
    cl_event gate, written;
    void *bytes;
};

static void *let_write(void *argument)
{
    struct late *late = argument;

    usleep(20000);
    pocl.clSetUserEventStatus(late->gate, CL_COMPLETE);
    pocl.clWaitForEvents(1, &late->written);
    pocl.clReleaseEvent(late->written);
    pocl.clReleaseEvent(late->gate);
    free(late->bytes);
    free(late);
    return NULL;
}

static cl_int write_late(cl_command_queue queue, cl_mem image, const size_t *origin, const size_t *region,
                         const void *from)
{
    struct late *late = calloc(1, sizeof(*late));
    size_t size = 0;
    cl_context context = NULL;
    pthread_t thread;
    cl_int error;

    pocl.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(size), &size, NULL);
    size *= region[0] * region[1] * region[2];
    pocl.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (!late || !(late->bytes = malloc(size)) || !(late->gate = pocl.clCreateUserEvent(context, &error)))
        abort();
    memcpy(late->bytes, from, size);
    error = pocl.clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, 0, 0, late->bytes, 1, &late->gate,
                                     &late->written);
    if (error || pthread_create(&thread, NULL, let_write, late))
        abort();
    pthread_detach(thread);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                      const size_t *region, size_t row, size_t slice, const void *from, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    return blocking && !row && !slice && !count && !event
               ? write_late(queue, image, origin, region, from)
               : pocl.clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, from, count, list, event);
}

/* ---- the driver ---- */

int strict_change(struct _cl_icd_dispatch *table);

int strict_change(struct _cl_icd_dispatch *table)
{
    table->clGetPlatformInfo = platform_info;
    table->clGetDeviceInfo = device_info;
    table->clBuildProgram = build;
    table->clCompileProgram = compile;
    table->clCreateKernelsInProgram = create_kernels;
    table->clGetSupportedImageFormats = formats;
    table->clGetKernelArgInfo = argument_info;
    table->clSetEventCallback = set_callback;
    table->clGetEventProfilingInfo = profiling_info;
    table->clCreateUserEvent = create_user_event;
    table->clSetUserEventStatus = set_user_event;
    table->clReleaseEvent = release_event;
    table->clRetainContext = retain_context;
    table->clReleaseContext = release_context;
    table->clEnqueueNDRangeKernel = launch;
    table->clEnqueueWriteImage = write_image;
    table->clEnqueueMarkerWithWaitList = marker;
    table->clEnqueueWriteBuffer = write_buffer;
    table->clGetEventInfo = event_info;
    table->clSetMemObjectDestructorCallback = on_gone;
    table->clFlush = flush;
    table->clFinish = finish;
    return 1;
}

/* discrete.c has more. */
__attribute__((weak)) int driver_change(struct _cl_icd_dispatch *table)
{
    return strict_change(table);
}
