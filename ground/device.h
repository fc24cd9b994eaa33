/* Queries of OpenCL devices, and building programs for them, for XTQ and devcom. */
#ifndef VOCL_GROUND_DEVICE_H
#define VOCL_GROUND_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>

/* Whether the device is VOCL's, so that it may be on another host. */
bool device_is_shown(cl_device_id device);
/* Whether the device accepts addresses of this process. A device of VOCL does not, since it is another process's. */
bool device_takes_addresses(cl_device_id device);
/* Whether the device's kernels may make system calls. */
bool device_may_call(cl_device_id device);
/* Builds a program of count parts, preceded by device.cl, as OpenCL C 3.0 or 2.0. calls: its kernels make system calls.
 * lengths: of the parts; 0, or NULL: up to the NUL. Returns 0; -EINVAL; -EIO. Logs the compiler's errors as those of
 * library. */
int device_program(cl_context context, cl_device_id device, bool calls, const char *options, unsigned count,
                   const char *const *parts, const size_t *lengths, const char *library, cl_program *out);

#endif
