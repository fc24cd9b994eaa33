/*
 * vocl.h - what VOCL adds to OpenCL.
 *
 * A program needs none of this: VOCL's devices are OpenCL devices like any other. These functions are exported by
 * libvocl.so; a program that may also run without VOCL asks clGetExtensionFunctionAddressForPlatform() for them.
 */
#ifndef VOCL_H
#define VOCL_H

#include <stddef.h>

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An extension of the platform that has its native platform's name, vendor and version (VOCL_PLATFORM=native). */
#define CL_VOCL_REMOTE_EXTENSION_NAME "cl_vocl_remote"

/*
 * The name of the host that a device of VOCL's platform is on, as that host calls itself.
 *
 * device    a device of the VOCL platform
 * size      bytes at value
 * value     where the name and its final NUL go, or NULL
 * size_ret  where their length goes, in bytes, the NUL included, or NULL
 *
 * CL_SUCCESS; CL_INVALID_DEVICE if it is none of VOCL's; CL_INVALID_VALUE if size is too small.
 */
cl_int voclGetDeviceHost(cl_device_id device, size_t size, char *value, size_t *size_ret);

#ifdef __cplusplus
}
#endif

#endif
