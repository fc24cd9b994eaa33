/* What XTQ and device communication ask of OpenCL devices. */
#ifndef VOCL_GROUND_DEVICE_H
#define VOCL_GROUND_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>

/* Whether VOCL shows it, so that it may be of another machine. */
bool device_is_shown(cl_device_id device);
/* Whether the device takes addresses of this process. One that VOCL shows is of another process, whatever its type. */
bool device_takes_addresses(cl_device_id device);

#endif
