/*
 * A driver of an older OpenCL: PoCL without everything newer than OLDER_VERSION (1.1 to 3.0). Its dispatch table is
 * truncated, and its queries refuse newer parameters.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include "pocl.h"

static int version;

/* ---- queries ---- */

/* Returns the version that introduced a query; the numbers of all kinds of objects are in one series. */
static int born(cl_uint param)
{
    switch (param) {
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
        return 210;
    case CL_PLATFORM_NUMERIC_VERSION:
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
    case CL_QUEUE_PROPERTIES_ARRAY:
    case CL_MEM_PROPERTIES:
    case CL_SAMPLER_PROPERTIES:
        return 300;
    case CL_QUEUE_SIZE:
    case CL_MEM_USES_SVM_POINTER:
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
    case CL_PROFILING_COMMAND_COMPLETE:
        return 200;
    case CL_QUEUE_DEVICE_DEFAULT:
    case CL_PROGRAM_IL:
        return 210;
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
        return 220;
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_IMAGE_ARRAY_SIZE:
    case CL_IMAGE_BUFFER:
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES:
    case CL_PROGRAM_NUM_KERNELS:
    case CL_PROGRAM_KERNEL_NAMES:
    case CL_PROGRAM_BINARY_TYPE:
    case CL_KERNEL_ATTRIBUTES:
    case CL_KERNEL_GLOBAL_WORK_SIZE:
        return 120;
    }
    if (param >= CL_DEVICE_NUMERIC_VERSION && param < CL_CONTEXT_REFERENCE_COUNT)
        return 300;
    if (param >= CL_DEVICE_IL_VERSION && param < CL_DEVICE_NUMERIC_VERSION)
        return 210;
    if (param >= CL_DEVICE_IMAGE_PITCH_ALIGNMENT && param < CL_DEVICE_IL_VERSION)
        return 200;
    if (param >= CL_DEVICE_LINKER_AVAILABLE && param < CL_DEVICE_IMAGE_PITCH_ALIGNMENT)
        return 120;
    return 110;
}

#define QUERY(name, type)                                                                                              \
    static cl_int CL_API_CALL older_##name(type object, cl_uint param, size_t size, void *value, size_t *size_ret)     \
    {                                                                                                                  \
        return born(param) > version ? CL_INVALID_VALUE : pocl.name(object, param, size, value, size_ret);             \
    }
#define QUERY_OF_DEVICE(name, type)                                                                                    \
    static cl_int CL_API_CALL older_##name(type object, cl_device_id device, cl_uint param, size_t size, void *value,  \
                                           size_t *size_ret)                                                           \
    {                                                                                                                  \
        return born(param) > version ? CL_INVALID_VALUE : pocl.name(object, device, param, size, value, size_ret);     \
    }
QUERY(clGetCommandQueueInfo, cl_command_queue)
QUERY(clGetMemObjectInfo, cl_mem)
QUERY(clGetImageInfo, cl_mem)
QUERY(clGetSamplerInfo, cl_sampler)
QUERY(clGetProgramInfo, cl_program)
QUERY(clGetKernelInfo, cl_kernel)
QUERY(clGetEventProfilingInfo, cl_event)
QUERY_OF_DEVICE(clGetProgramBuildInfo, cl_program)
QUERY_OF_DEVICE(clGetKernelWorkGroupInfo, cl_kernel)

/* "OpenCL 3.0 ..." and "OpenCL C 3.0 ..." */
static void write_version(char *text, size_t size, const char *before)
{
    size_t at = strlen(before);

    if (size < at + 3 || strncmp(text, before, at) || (text[at] - '0') * 100 + (text[at + 2] - '0') * 10 <= version)
        return;
    text[at] = (char)('0' + version / 100);
    text[at + 2] = (char)('0' + version / 10 % 10);
}

static cl_int CL_API_CALL older_clGetPlatformInfo(cl_platform_id object, cl_platform_info param, size_t size,
                                                  void *value, size_t *size_ret)
{
    cl_int error =
        born(param) > version ? CL_INVALID_VALUE : pocl.clGetPlatformInfo(object, param, size, value, size_ret);

    if (!error && value && param == CL_PLATFORM_VERSION)
        write_version(value, size, "OpenCL ");
    return error;
}

static cl_int CL_API_CALL older_clGetDeviceInfo(cl_device_id object, cl_device_info param, size_t size, void *value,
                                                size_t *size_ret)
{
    cl_int error =
        born(param) > version ? CL_INVALID_VALUE : pocl.clGetDeviceInfo(object, param, size, value, size_ret);

    if (!error && value && param == CL_DEVICE_VERSION)
        write_version(value, size, "OpenCL ");
    if (!error && value && param == CL_DEVICE_OPENCL_C_VERSION)
        write_version(value, size, "OpenCL C ");
    return error;
}

/* ---- drivers that fail ---- */

/* OLDER_FAILS: crash or hang, at the first launch. */
static cl_int CL_API_CALL failing_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                         const size_t *offset, const size_t *global,
                                                         const size_t *local, cl_uint count, const cl_event *list,
                                                         cl_event *event)
{
    const char *how = getenv("OLDER_FAILS");

    if (how && !strcmp(how, "crash"))
        raise(SIGSEGV);
    while (how && !strcmp(how, "hang"))
        pause();
    return pocl.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event);
}

/* ---- functions ---- */

static void cut(struct _cl_icd_dispatch *table, size_t first, size_t last, int since)
{
    if (version < since)
        memset((char *)table + first, 0, last - first + sizeof(void *));
}

#define CUT(first, last, since)                                                                                        \
    cut(table, offsetof(struct _cl_icd_dispatch, first), offsetof(struct _cl_icd_dispatch, last), since)

static void cut_table(struct _cl_icd_dispatch *table)
{
#define DENY(name) table->name = older_##name
    DENY(clGetPlatformInfo);
    DENY(clGetDeviceInfo);
    DENY(clGetCommandQueueInfo);
    DENY(clGetMemObjectInfo);
    DENY(clGetImageInfo);
    DENY(clGetSamplerInfo);
    DENY(clGetProgramInfo);
    DENY(clGetKernelInfo);
    DENY(clGetEventProfilingInfo);
    DENY(clGetProgramBuildInfo);
    DENY(clGetKernelWorkGroupInfo);
    table->clEnqueueNDRangeKernel = failing_clEnqueueNDRangeKernel;
    CUT(clCreateSubDevices, clGetExtensionFunctionAddressForPlatform, 120);
    CUT(clCreateFromGLTexture, clCreateFromGLTexture, 120);
    CUT(clCreateCommandQueueWithProperties, clGetKernelSubGroupInfoKHR, 200);
    CUT(clCloneKernel, clSetDefaultDeviceCommandQueue, 210);
    CUT(clSetProgramReleaseCallback, clSetProgramSpecializationConstant, 220);
    CUT(clCreateBufferWithProperties, clSetContextDestructorCallback, 300);
}

int driver_change(struct _cl_icd_dispatch *table)
{
    const char *number = getenv("OLDER_VERSION");

    if (!number || strlen(number) != 3) {
        fprintf(stderr, "older: OLDER_VERSION is not set\n");
        return 0;
    }
    version = (number[0] - '0') * 100 + (number[2] - '0') * 10;
    cut_table(table);
    return 1;
}
