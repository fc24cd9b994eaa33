/*
 * What the node's drivers can do. Their platforms have OpenCL 1.1 to 3.0, and a function newer than its platform must
 * not be called: its place in the driver's table is empty, or lies behind the table's end. The executor calls the newer
 * functions by their own names; the macros here turn those into functions that check first, and do without.
 */
#ifndef VOCL_EXECUTOR_DRIVER_H
#define VOCL_EXECUTOR_DRIVER_H

#include <stdbool.h>

#include <CL/cl.h>

/* To be called for each platform before it is used. Returns false if it is older than OpenCL 1.1. */
bool driver_add(cl_platform_id platform);
/* The version of an object's platform: 110 for OpenCL 1.1. */
unsigned driver_version(const void *object);
/* Whether clFlush runs the queue's commands itself, and waits for what they wait for. */
bool driver_flush_waits(const void *object);
/* Whether its callbacks may come long after their events: NVIDIA's 580.159 looks only every 20 ms for the end of a
 * copy that took more than some microseconds, unless somebody waits for its event, or queries it. This and the next
 * property are those of all drivers that serve not only CPUs. */
bool driver_calls_late(const void *object);
/* Whether its clFinish returns the error of a command that has failed, as after a fault of the device. */
bool driver_finish_fails(const void *object);
/* Whether kernels have information on their arguments only if they were built with -cl-kernel-arg-info. It is not
 * given to other drivers unasked: NVIDIA's 580.159 then makes PTX of some kernels that its own assembler refuses, and
 * Intel's has the information without it. */
bool driver_needs_argument_option(const void *object);
/* Whether the thread that ran an out-of-order queue's last command may destroy the queue, and then waits for itself, if
 * the queue is released as soon as that command is complete. Intel's 2026.22 for CPUs does so also natively; after
 * clFinish it does not. */
bool driver_queue_waits_for_itself(const void *object);
/* Whether processes of one user share what the driver builds, and get into each other's way. */
bool driver_shares_builds(const void *object);

cl_int driver_compile(cl_program program, cl_uint device_count, const cl_device_id *devices, const char *options,
                      cl_uint header_count, const cl_program *headers, const char **names);
cl_program driver_link(cl_context context, cl_uint device_count, const cl_device_id *devices, const char *options,
                       cl_uint input_count, const cl_program *inputs, cl_int *error);
cl_kernel driver_clone_kernel(cl_kernel kernel, cl_int *error);
cl_mem driver_create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *desc, void *host, cl_int *error);
cl_mem driver_create_pipe(cl_context context, cl_mem_flags flags, cl_uint size, cl_uint most, cl_int *error);
cl_program driver_create_program_builtin(cl_context context, cl_uint count, const cl_device_id *devices,
                                         const char *names, cl_int *error);
cl_program driver_create_program_il(cl_context context, const void *il, size_t length, cl_int *error);
cl_sampler driver_create_sampler(cl_context context, const cl_sampler_properties *properties, cl_int *error);
cl_int driver_create_sub_devices(cl_device_id device, const cl_device_partition_property *properties, cl_uint count,
                                 cl_device_id *devices, cl_uint *count_ret);
/* Properties that neither this nor the extension for it has are CL_INVALID_VALUE. */
cl_command_queue driver_create_queue(cl_context context, cl_device_id device, const cl_queue_properties *properties,
                                     cl_int *error);
/* A command that does nothing; it comes after the list and, in an in-order queue, after all commands before it. */
cl_int driver_nothing(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_marker(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event);
/* driver_marker() for a profiled queue: its event has times, which not every driver's markers have. */
cl_int driver_timed_marker(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_barrier(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                          size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_fill_image(cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
                         const size_t *region, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_migrate(cl_command_queue queue, cl_uint memory_count, const cl_mem *memories,
                      cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event);
cl_int driver_svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                       const cl_event *list, cl_event *event);
cl_int driver_svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                       cl_uint count, const cl_event *list, cl_event *event);
void *driver_svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment);
void driver_svm_free(cl_context context, void *memory);
cl_int driver_set_svm_argument(cl_kernel kernel, cl_uint index, const void *value);
cl_int driver_set_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value);
cl_int driver_argument_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, size_t size, void *value,
                            size_t *size_ret);
cl_int driver_sub_group_info(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param, size_t input_size,
                             const void *input, size_t size, void *value, size_t *size_ret);
/* Returns the local size with which the driver would launch the kernel, if it tells. */
cl_int driver_suggested_size(cl_device_id device, cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                             const size_t *offset, const size_t *global, size_t *local);
cl_int driver_timers(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time);
cl_int driver_set_specialization(cl_program program, cl_uint id, size_t size, const void *value);
cl_int driver_watch_context(cl_context context, void(CL_CALLBACK *function)(cl_context, void *), void *data);
cl_int driver_release_device(cl_device_id device);
void *driver_extension_function(cl_platform_id platform, const char *name);

#ifndef VOCL_EXECUTOR_DRIVER_C
#undef clCloneKernel
#undef clCompileProgram
#undef clCreateCommandQueueWithProperties
#undef clCreateImage
#undef clCreatePipe
#undef clCreateProgramWithBuiltInKernels
#undef clCreateProgramWithIL
#undef clCreateSamplerWithProperties
#undef clCreateSubDevices
#undef clEnqueueBarrierWithWaitList
#undef clEnqueueFillBuffer
#undef clEnqueueFillImage
#undef clEnqueueMarkerWithWaitList
#undef clEnqueueMigrateMemObjects
#undef clEnqueueSVMMemFill
#undef clEnqueueSVMMemcpy
#undef clGetDeviceAndHostTimer
#undef clGetExtensionFunctionAddressForPlatform
#undef clGetKernelArgInfo
#undef clGetKernelSubGroupInfo
#undef clLinkProgram
#undef clReleaseDevice
#undef clSVMAlloc
#undef clSVMFree
#undef clSetContextDestructorCallback
#undef clSetKernelArgSVMPointer
#undef clSetKernelExecInfo
#undef clSetProgramSpecializationConstant
#define clCloneKernel driver_clone_kernel
#define clCompileProgram(program, count, devices, options, header_count, headers, names, ...)                          \
    driver_compile(program, count, devices, options, header_count, headers, names)
#define clCreateCommandQueueWithProperties driver_create_queue
#define clCreateImage driver_create_image
#define clCreatePipe(context, flags, size, most, properties, error)                                                    \
    driver_create_pipe(context, flags, size, most, error)
#define clCreateProgramWithBuiltInKernels driver_create_program_builtin
#define clCreateProgramWithIL driver_create_program_il
#define clCreateSamplerWithProperties driver_create_sampler
#define clCreateSubDevices driver_create_sub_devices
#define clEnqueueBarrierWithWaitList driver_barrier
#define clEnqueueFillBuffer driver_fill_buffer
#define clEnqueueFillImage driver_fill_image
#define clEnqueueMarkerWithWaitList driver_marker
#define clEnqueueMigrateMemObjects driver_migrate
#define clEnqueueSVMMemFill driver_svm_fill
#define clEnqueueSVMMemcpy driver_svm_copy
#define clGetDeviceAndHostTimer driver_timers
#define clGetExtensionFunctionAddressForPlatform driver_extension_function
#define clGetKernelArgInfo driver_argument_info
#define clGetKernelSubGroupInfo driver_sub_group_info
#define clLinkProgram(context, count, devices, options, input_count, inputs, notify, data, error)                      \
    driver_link(context, count, devices, options, input_count, inputs, error)
#define clReleaseDevice driver_release_device
#define clSVMAlloc driver_svm_alloc
#define clSVMFree driver_svm_free
#define clSetContextDestructorCallback driver_watch_context
#define clSetKernelArgSVMPointer driver_set_svm_argument
#define clSetKernelExecInfo driver_set_exec_info
#define clSetProgramSpecializationConstant driver_set_specialization
#endif

#endif
