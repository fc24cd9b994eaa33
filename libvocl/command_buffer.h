/* cl_khr_command_buffer's functions under names of the library's own; extension.c gives them out. */
#ifndef VOCL_LIBVOCL_COMMAND_BUFFER_H
#define VOCL_LIBVOCL_COMMAND_BUFFER_H

#include "libvocl/internal.h"

__typeof__(clCreateCommandBufferKHR) create_command_buffer;
__typeof__(clRetainCommandBufferKHR) retain_command_buffer;
__typeof__(clReleaseCommandBufferKHR) release_command_buffer;
__typeof__(clFinalizeCommandBufferKHR) finalize_command_buffer;
__typeof__(clEnqueueCommandBufferKHR) enqueue_command_buffer;
__typeof__(clGetCommandBufferInfoKHR) get_command_buffer_info;
__typeof__(clCommandBarrierWithWaitListKHR) record_barrier;
__typeof__(clCommandCopyBufferKHR) record_copy_buffer;
__typeof__(clCommandCopyBufferRectKHR) record_copy_rect;
__typeof__(clCommandCopyBufferToImageKHR) record_copy_buffer_to_image;
__typeof__(clCommandCopyImageKHR) record_copy_image;
__typeof__(clCommandCopyImageToBufferKHR) record_copy_image_to_buffer;
__typeof__(clCommandFillBufferKHR) record_fill_buffer;
__typeof__(clCommandFillImageKHR) record_fill_image;
__typeof__(clCommandNDRangeKernelKHR) record_ndrange;

#endif
