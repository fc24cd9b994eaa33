/* See device.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ground/device.h"
#include "ground/text.h"

TEXT_OF_FILE(ground_device_text, GROUND_SOURCE_DIR "/device.cl");

static bool is_processor(cl_device_id device)
{
    cl_device_type type = 0;

    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return type & CL_DEVICE_TYPE_CPU;
}

static bool platform_is(cl_device_id device, const char *part)
{
    cl_platform_id platform = NULL;
    char name[64] = "";

    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    return strstr(name, part);
}

bool device_is_shown(cl_device_id device)
{
    return platform_is(device, "VOCL");
}

bool device_takes_addresses(cl_device_id device)
{
    cl_device_svm_capabilities svm = 0;

    if (device_is_shown(device))
        return false;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
    return is_processor(device) || (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM);
}

/* PoCL's compiler takes the processor's assembly, but that of PoCL 6 fails an assertion, which ends the process. Other
 * compilers for CPUs, such as Intel's, compile for a machine of their own. */
bool device_may_call(cl_device_id device)
{
#if defined(__x86_64__) || defined(__aarch64__)
    char version[128] = "";

    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
    return is_processor(device) && platform_is(device, "Portable Computing Language") && strncmp(version, "6.", 2);
#else
    return device && false;
#endif
}

static int build(cl_program program, cl_device_id device, bool calls, const char *options, const char *library)
{
    char all[4096], log[4096] = "";
    cl_version version = 0;

    clGetDeviceInfo(device, CL_DEVICE_NUMERIC_VERSION, sizeof(version), &version, NULL);
    if (snprintf(all, sizeof(all), "-cl-std=CL%u.0%s%s %s", CL_VERSION_MAJOR(version) >= 3 ? 3 : 2,
                 is_processor(device) ? " -DGROUND_CPU" : "", calls ? " -DGROUND_CALLS" : "",
                 options ? options : "") >= (int)sizeof(all))
        return -EINVAL;
    if (!clBuildProgram(program, 1, &device, all, NULL, NULL))
        return 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
    vocl_log(LOG_ERROR, "%s: the program does not compile with %s: %s", library, all, log);
    return -EIO;
}

int device_program(cl_context context, cl_device_id device, bool calls, const char *options, unsigned count,
                   const char *const *parts, const size_t *lengths, const char *library, cl_program *out)
{
    const char *all[1 + count];
    size_t bytes[1 + count];
    cl_program program;
    cl_int status;
    int error;

    all[0] = ground_device_text;
    bytes[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        all[1 + i] = parts[i];
        bytes[1 + i] = lengths ? lengths[i] : 0;
    }
    program = clCreateProgramWithSource(context, 1 + count, all, bytes, &status);
    if (status)
        return -EIO;
    error = build(program, device, calls, options, library);
    if (error) {
        clReleaseProgram(program);
        return error;
    }
    *out = program;
    return 0;
}
