/* Calls of functions that not every driver has. */
#define VOCL_EXECUTOR_DRIVER_C
#include <stdio.h>

#include "executor/internal.h"
#include "topology/native.h"

#include <CL/cl_icd.h>

#define MOST_DRIVERS 32

/* A driver is found by the table with which all its objects begin. */
struct driver {
    const struct _cl_icd_dispatch *table;
    unsigned version;
    bool has_table, flush_waits;
    bool ignores_lists; /* its out-of-order markers wait for everything before them, whatever their list */
    bool shares_builds; /* see build_turn.c */
    bool needs_argument_option;
    bool queue_waits_for_itself;
    bool markers_have_times; /* all of them: Intel's do not say when they were queued */
    /* It serves CPUs alone. Drivers of other devices are expected to do what NVIDIA's does; one property is enough as
     * long as no driver is known that does only part of it. */
    bool for_cpus;
};

static struct driver drivers[MOST_DRIVERS];
static atomic_uint driver_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* An object of a driver without such tables (cl_khr_icd) counts as one of the oldest driver. */
static const struct driver *driver_of(const void *object)
{
    const void *table = *(const void *const *)object;
    const unsigned count = atomic_load(&driver_count);
    const struct driver *oldest = drivers;

    for (unsigned i = 0; i < count; i++) {
        if (drivers[i].table == table)
            return &drivers[i];
        if (drivers[i].version < oldest->version)
            oldest = &drivers[i];
    }
    return oldest;
}

unsigned driver_version(const void *object)
{
    return driver_of(object)->version;
}

bool driver_flush_waits(const void *object)
{
    return driver_of(object)->flush_waits;
}

bool driver_calls_late(const void *object)
{
    return !driver_of(object)->for_cpus;
}

bool driver_needs_argument_option(const void *object)
{
    return driver_of(object)->needs_argument_option;
}

bool driver_queue_waits_for_itself(const void *object)
{
    return driver_of(object)->queue_waits_for_itself;
}

bool driver_finish_fails(const void *object)
{
    return !driver_of(object)->for_cpus;
}

bool driver_shares_builds(const void *object)
{
    return driver_of(object)->shares_builds;
}

/* A device that calls itself a CPU, but has memory of its own, is treated as other devices are. */
static bool is_cpu(cl_device_id device)
{
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return type & CL_DEVICE_TYPE_CPU && unified;
}

static bool is_for_cpus(cl_platform_id platform)
{
    cl_device_id devices[NATIVE_MOST_DEVICES];
    cl_uint count = 0, i = 0;

    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, NATIVE_MOST_DEVICES, devices, &count))
        return false;
    while (i < count && i < NATIVE_MOST_DEVICES && is_cpu(devices[i]))
        i++;
    return i == count;
}

static bool describe(cl_platform_id platform, struct driver *driver)
{
    char version[256] = "", name[64] = "", extensions[8192] = "";
    unsigned major, minor;
    bool pocl, oclgrind, intel;

    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(extensions), extensions, NULL);
    if (sscanf(version, "OpenCL %u.%u", &major, &minor) != 2)
        return false;
    pocl = !strcmp(name, "Portable Computing Language");
    oclgrind = !strcmp(name, "Oclgrind");
    intel = !strcmp(name, "Intel(R) OpenCL");
    *driver = (struct driver){.table = *(const struct _cl_icd_dispatch *const *)platform,
                              .version = 100 * major + 10 * minor,
                              .has_table = strstr(extensions, "cl_khr_icd"),
                              .flush_waits = oclgrind,
                              .ignores_lists = pocl,
                              .shares_builds = pocl,
                              .needs_argument_option = pocl || oclgrind,
                              .queue_waits_for_itself = intel,
                              .for_cpus = is_for_cpus(platform)};
    driver->markers_have_times = driver->for_cpus && !intel;
    return driver->version >= 110;
}

bool driver_add(cl_platform_id platform)
{
    struct driver driver;
    unsigned i = 0, count;

    if (!describe(platform, &driver))
        return false;
    pthread_mutex_lock(&adding);
    count = atomic_load(&driver_count);
    while (i < count && drivers[i].table != driver.table)
        i++;
    if (i == count && i < MOST_DRIVERS) {
        drivers[i] = driver;
        atomic_store(&driver_count, count + 1);
    } else if (i < count) { /* two platforms of one driver */
        if (driver.version < drivers[i].version)
            drivers[i].version = driver.version;
        drivers[i].for_cpus &= driver.for_cpus;
        drivers[i].markers_have_times &= driver.markers_have_times;
    }
    pthread_mutex_unlock(&adding);
    return i < MOST_DRIVERS;
}

static bool has(const void *object, unsigned since, size_t offset)
{
    const struct driver *driver = driver_of(object);

    if (driver->version < since)
        return false;
    return !driver->has_table || *(void *const *)((const char *)driver->table + offset);
}

enum {
#define EXPORTED(name, first, since) SINCE_##name = since,
#include "base/opencl.def"
};

#define HAS(object, name) has(object, SINCE_##name, offsetof(struct _cl_icd_dispatch, name))

static void *none(cl_int *error)
{
    *error = CL_INVALID_OPERATION;
    return NULL;
}

/* ---- extensions ---- */

void *driver_extension_function(cl_platform_id platform, const char *name)
{
    return HAS(platform, clGetExtensionFunctionAddressForPlatform)
               ? clGetExtensionFunctionAddressForPlatform(platform, name)
               : NULL;
}

/* Returns NULL if the device does not have the extension. */
static void *function_of(cl_device_id device, const char *extension, const char *name)
{
    cl_platform_id platform = NULL;
    char extensions[8192] = "";

    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL);
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform && strstr(extensions, extension) ? driver_extension_function(platform, name) : NULL;
}

/* ---- programs and kernels ---- */

cl_int driver_compile(cl_program program, cl_uint device_count, const cl_device_id *devices, const char *options,
                      cl_uint header_count, const cl_program *headers, const char **names)
{
    return HAS(program, clCompileProgram)
               ? clCompileProgram(program, device_count, devices, options, header_count, header_count ? headers : NULL,
                                  header_count ? names : NULL, NULL, NULL)
               : CL_INVALID_OPERATION;
}

cl_program driver_link(cl_context context, cl_uint device_count, const cl_device_id *devices, const char *options,
                       cl_uint input_count, const cl_program *inputs, cl_int *error)
{
    return HAS(context, clLinkProgram)
               ? clLinkProgram(context, device_count, devices, options, input_count, inputs, NULL, NULL, error)
               : none(error);
}

cl_program driver_create_program_builtin(cl_context context, cl_uint count, const cl_device_id *devices,
                                         const char *names, cl_int *error)
{
    return HAS(context, clCreateProgramWithBuiltInKernels)
               ? clCreateProgramWithBuiltInKernels(context, count, devices, names, error)
               : none(error);
}

cl_program driver_create_program_il(cl_context context, const void *il, size_t length, cl_int *error)
{
    cl_device_id devices[WIRE_MAX_DEVICES] = {NULL};
    cl_program (*create)(cl_context, const void *, size_t, cl_int *);

    if (HAS(context, clCreateProgramWithIL))
        return clCreateProgramWithIL(context, il, length, error);
    clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    create = devices[0] ? (cl_program(*)(cl_context, const void *, size_t, cl_int *))function_of(
                              devices[0], "cl_khr_il_program", "clCreateProgramWithILKHR")
                        : NULL;
    return create ? create(context, il, length, error) : none(error);
}

cl_int driver_set_specialization(cl_program program, cl_uint id, size_t size, const void *value)
{
    return HAS(program, clSetProgramSpecializationConstant)
               ? clSetProgramSpecializationConstant(program, id, size, value)
               : CL_INVALID_OPERATION;
}

cl_kernel driver_clone_kernel(cl_kernel kernel, cl_int *error)
{
    return HAS(kernel, clCloneKernel) ? clCloneKernel(kernel, error) : none(error);
}

cl_int driver_argument_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, size_t size, void *value,
                            size_t *size_ret)
{
    return HAS(kernel, clGetKernelArgInfo) ? clGetKernelArgInfo(kernel, index, param, size, value, size_ret)
                                           : CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

cl_int driver_sub_group_info(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param, size_t input_size,
                             const void *input, size_t size, void *value, size_t *size_ret)
{
    cl_int (*get)(cl_kernel, cl_device_id, cl_kernel_sub_group_info, size_t, const void *, size_t, void *, size_t *);

    if (HAS(kernel, clGetKernelSubGroupInfo))
        return clGetKernelSubGroupInfo(kernel, device, param, input_size, input, size, value, size_ret);
    get = (cl_int(*)(cl_kernel, cl_device_id, cl_kernel_sub_group_info, size_t, const void *, size_t, void *,
                     size_t *))function_of(device, "cl_khr_subgroups", "clGetKernelSubGroupInfoKHR");
    return get ? get(kernel, device, param, input_size, input, size, value, size_ret) : CL_INVALID_OPERATION;
}

cl_int driver_suggested_size(cl_device_id device, cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                             const size_t *offset, const size_t *global, size_t *local)
{
    clGetKernelSuggestedLocalWorkSizeKHR_fn get = (clGetKernelSuggestedLocalWorkSizeKHR_fn)function_of(
        device, "cl_khr_suggested_local_work_size", "clGetKernelSuggestedLocalWorkSizeKHR");

    return get ? get(queue, kernel, dims, offset, global, local) : CL_INVALID_OPERATION;
}

/* ---- memory objects ---- */

cl_mem driver_create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *desc, void *host, cl_int *error)
{
    if (HAS(context, clCreateImage))
        return clCreateImage(context, flags, format, desc, host, error);
    if (desc->image_type == CL_MEM_OBJECT_IMAGE2D && !desc->mem_object)
        return clCreateImage2D(context, flags, format, desc->image_width, desc->image_height, desc->image_row_pitch,
                               host, error);
    if (desc->image_type == CL_MEM_OBJECT_IMAGE3D)
        return clCreateImage3D(context, flags, format, desc->image_width, desc->image_height, desc->image_depth,
                               desc->image_row_pitch, desc->image_slice_pitch, host, error);
    return none(error);
}

cl_mem driver_create_pipe(cl_context context, cl_mem_flags flags, cl_uint size, cl_uint most, cl_int *error)
{
    return HAS(context, clCreatePipe) ? clCreatePipe(context, flags, size, most, NULL, error) : none(error);
}

cl_sampler driver_create_sampler(cl_context context, const cl_sampler_properties *properties, cl_int *error)
{
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
    cl_bool normalized = CL_TRUE;

    if (HAS(context, clCreateSamplerWithProperties))
        return clCreateSamplerWithProperties(context, properties, error);
    for (; *properties; properties += 2) {
        if (properties[0] == CL_SAMPLER_NORMALIZED_COORDS)
            normalized = (cl_bool)properties[1];
        else if (properties[0] == CL_SAMPLER_ADDRESSING_MODE)
            addressing = (cl_addressing_mode)properties[1];
        else if (properties[0] == CL_SAMPLER_FILTER_MODE)
            filter = (cl_filter_mode)properties[1];
    }
    return clCreateSampler(context, normalized, addressing, filter, error);
}

cl_command_queue driver_create_queue(cl_context context, cl_device_id device, const cl_queue_properties *properties,
                                     cl_int *error)
{
    cl_command_queue (*create)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *);

    if (HAS(context, clCreateCommandQueueWithProperties))
        return clCreateCommandQueueWithProperties(context, device, properties, error);
    create = (cl_command_queue(*)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *))function_of(
        device, "cl_khr_create_command_queue", "clCreateCommandQueueWithPropertiesKHR");
    if (create)
        return create(context, device, properties, error);
    *error = CL_INVALID_VALUE;
    return NULL;
}

/* ---- commands ---- */

cl_int driver_nothing(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    cl_context context = NULL;
    cl_mem scratch;
    cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);

    if (error)
        return error;
    scratch = clCreateBuffer(context, CL_MEM_READ_WRITE, 2 * sizeof(cl_ulong16), NULL, &error);
    if (error)
        return error;
    error = clEnqueueCopyBuffer(queue, scratch, scratch, 0, sizeof(cl_ulong16), sizeof(cl_ulong16), count, list, event);
    clReleaseMemObject(scratch);
    return error;
}

static bool ignores_list(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;

    return driver_of(queue)->ignores_lists &&
           !clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) &&
           properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

cl_int driver_marker(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    if (HAS(queue, clEnqueueMarkerWithWaitList) && !(count && ignores_list(queue)))
        return clEnqueueMarkerWithWaitList(queue, count, list, event);
    if (count)
        return driver_nothing(queue, count, list, event);
    return event ? clEnqueueMarker(queue, event) : CL_SUCCESS;
}

cl_int driver_timed_marker(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    return driver_of(queue)->markers_have_times ? driver_marker(queue, count, list, event)
                                                : driver_nothing(queue, count, list, event);
}

/* Without the newer call it waits for everything before it, too. It does not use clEnqueueWaitForEvents, which PoCL
 * does not have. */
cl_int driver_barrier(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    cl_int error;

    if (HAS(queue, clEnqueueBarrierWithWaitList))
        return clEnqueueBarrierWithWaitList(queue, count, list, event);
    error = count ? driver_nothing(queue, count, list, NULL) : CL_SUCCESS;
    if (!error)
        error = clEnqueueBarrier(queue);
    if (!error && event)
        error = clEnqueueMarker(queue, event);
    return error;
}

cl_int driver_fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                          size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    return HAS(queue, clEnqueueFillBuffer)
               ? clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, count, list, event)
               : CL_INVALID_OPERATION;
}

cl_int driver_fill_image(cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
                         const size_t *region, cl_uint count, const cl_event *list, cl_event *event)
{
    return HAS(queue, clEnqueueFillImage) ? clEnqueueFillImage(queue, image, colour, origin, region, count, list, event)
                                          : CL_INVALID_OPERATION;
}

cl_int driver_migrate(cl_command_queue queue, cl_uint memory_count, const cl_mem *memories,
                      cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event)
{
    return HAS(queue, clEnqueueMigrateMemObjects)
               ? clEnqueueMigrateMemObjects(queue, memory_count, memories, flags, count, list, event)
               : CL_INVALID_OPERATION;
}

/* ---- shared virtual memory ---- */

void *driver_svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    return HAS(context, clSVMAlloc) ? clSVMAlloc(context, flags, size, alignment) : NULL;
}

void driver_svm_free(cl_context context, void *memory)
{
    if (HAS(context, clSVMFree))
        clSVMFree(context, memory);
}

cl_int driver_svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                       const cl_event *list, cl_event *event)
{
    return HAS(queue, clEnqueueSVMMemcpy) ? clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, list, event)
                                          : CL_INVALID_OPERATION;
}

cl_int driver_svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                       cl_uint count, const cl_event *list, cl_event *event)
{
    return HAS(queue, clEnqueueSVMMemFill)
               ? clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, count, list, event)
               : CL_INVALID_OPERATION;
}

cl_int driver_set_svm_argument(cl_kernel kernel, cl_uint index, const void *value)
{
    return HAS(kernel, clSetKernelArgSVMPointer) ? clSetKernelArgSVMPointer(kernel, index, value)
                                                 : CL_INVALID_OPERATION;
}

cl_int driver_set_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value)
{
    return HAS(kernel, clSetKernelExecInfo) ? clSetKernelExecInfo(kernel, param, size, value) : CL_INVALID_OPERATION;
}

/* ---- devices and contexts ---- */

cl_int driver_create_sub_devices(cl_device_id device, const cl_device_partition_property *properties, cl_uint count,
                                 cl_device_id *devices, cl_uint *count_ret)
{
    return HAS(device, clCreateSubDevices) ? clCreateSubDevices(device, properties, count, devices, count_ret)
                                           : CL_INVALID_OPERATION;
}

cl_int driver_release_device(cl_device_id device)
{
    return HAS(device, clReleaseDevice) ? clReleaseDevice(device) : CL_SUCCESS;
}

cl_int driver_timers(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time)
{
    return HAS(device, clGetDeviceAndHostTimer) ? clGetDeviceAndHostTimer(device, device_time, host_time)
                                                : CL_INVALID_OPERATION;
}

cl_int driver_watch_context(cl_context context, void(CL_CALLBACK *function)(cl_context, void *), void *data)
{
    return HAS(context, clSetContextDestructorCallback) ? clSetContextDestructorCallback(context, function, data)
                                                        : CL_INVALID_OPERATION;
}
