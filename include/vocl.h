/*
 * vocl.h - VOCL's extensions of OpenCL.
 *
 * A program needs none of this: VOCL's devices are OpenCL devices like any other. libvocl.so exports these functions. A
 * program that may also run without VOCL gets them from clGetExtensionFunctionAddressForPlatform().
 */
#ifndef VOCL_H
#define VOCL_H

#include <stddef.h>

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the platform extension by which VOCL is recognised if its platform has the native platform's name, vendor
 * and version (VOCL_PLATFORM=native). */
#define CL_VOCL_REMOTE_EXTENSION_NAME "cl_vocl_remote"

/*
 * Returns the name of the host that a device of VOCL's platform is on, as that host calls itself.
 *
 * device    a device of the VOCL platform
 * size      the size of the memory at value, in bytes
 * value     receives the name with its final NUL; may be NULL
 * size_ret  receives the length of the name in bytes, the NUL included; may be NULL
 *
 * Returns CL_SUCCESS; CL_INVALID_DEVICE: the device is not VOCL's; CL_INVALID_VALUE: size is too small.
 */
cl_int voclGetDeviceHost(cl_device_id device, size_t size, char *value, size_t *size_ret);

#ifdef __cplusplus
}
#endif

#endif
