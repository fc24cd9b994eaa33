/* What XTQ and device communication ask of OpenCL devices. */
#ifndef VOCL_GROUND_DEVICE_H
#define VOCL_GROUND_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>

/* Whether VOCL shows it, so that it may be of another machine. */
bool device_is_shown(cl_device_id device);
/* Whether the device takes addresses of this process. One that VOCL shows is of another process, whatever its type. */
bool device_takes_addresses(cl_device_id device);
/* Whether its kernels may ask the operating system. */
bool device_may_call(cl_device_id device);
/* So many parts, after what all kernels begin with (device.cl), compiled as the newest OpenCL C that the device has;
 * lengths: NULL, or of each part, 0: to its end. -EINVAL, -EIO; what does not compile is logged for the library. */
int device_program(cl_context context, cl_device_id device, bool calls, const char *options, unsigned count,
                   const char *const *parts, const size_t *lengths, const char *library, cl_program *out);

#endif
