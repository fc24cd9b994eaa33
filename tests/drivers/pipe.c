/* Pipes, as far as a host sees them: memory objects that are created and are arguments of kernels, which see images.
 * VOCL_TEST_PIPES=1: the device has pipes. */
#include "tests/drivers/newer.h"

enum { PACKET = 1024 };

static bool wanted(void)
{
    return getenv("VOCL_TEST_PIPES") != NULL;
}

cl_int pipe_device_info(cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    const cl_bool yes = CL_TRUE;
    const cl_uint packet = PACKET, many = 16;

    if (!wanted())
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_DEVICE_PIPE_SUPPORT:
        return driver_return(&yes, sizeof(yes), size, value, size_ret);
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
        return driver_return(&packet, sizeof(packet), size, value, size_ret);
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
        return driver_return(&many, sizeof(many), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

static cl_mem CL_API_CALL create(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint max_packets,
                                 const cl_pipe_properties *properties, cl_int *error)
{
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = (packet_size + 3) / 4, .image_height = max_packets};

    (void)flags, (void)properties;
    return real.clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, error);
}

void pipe_install(struct _cl_icd_dispatch *table)
{
    if (wanted())
        table->clCreatePipe = create;
}
