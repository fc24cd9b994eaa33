/* What drivers of 2026 say, with VOCL_TEST_LATER set: that their platforms can be unloaded, and OpenCL 3.1, which takes
 * local arguments of size 0. */
#include "newer.h"

static cl_int add_text(const char *native, const char *added, size_t size, void *value, size_t *size_ret)
{
    char text[16384];

    snprintf(text, sizeof(text), "%s%s", native, added);
    return driver_return(text, strlen(text) + 1, size, value, size_ret);
}

/* "OpenCL 3.0 ..." */
static cl_int later_text(char *native, size_t size, void *value, size_t *size_ret)
{
    native[strcspn(native, ".") + 1] = '1';
    return driver_return(native, strlen(native) + 1, size, value, size_ret);
}

static bool is_later(void)
{
    return getenv("VOCL_TEST_LATER") != NULL;
}

static const cl_version later = CL_MAKE_VERSION(3, 1, 1);

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info param, size_t size, void *value,
                                        size_t *size_ret)
{
    char native[8192] = "";

    if (is_later() && param == CL_PLATFORM_EXTENSIONS) {
        real.clGetPlatformInfo(platform, param, sizeof(native), native, NULL);
        return add_text(native, " cl_khr_icd_unloadable", size, value, size_ret);
    }
    if (is_later() && param == CL_PLATFORM_VERSION) {
        real.clGetPlatformInfo(platform, param, sizeof(native), native, NULL);
        return later_text(native, size, value, size_ret);
    }
    if (is_later() && param == CL_PLATFORM_NUMERIC_VERSION)
        return driver_return(&later, sizeof(later), size, value, size_ret);
    return real.clGetPlatformInfo(platform, param, size, value, size_ret);
}

static cl_int all_versions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    cl_name_version list[16];
    size_t length = 0;
    const cl_int error =
        real.clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof(list) - sizeof(*list), list, &length);

    if (error)
        return error;
    list[length / sizeof(*list)] = (cl_name_version){later, "OpenCL C"};
    return driver_return(list, length + sizeof(*list), size, value, size_ret);
}

cl_int later_device_info(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    char native[256] = "";

    if (!is_later())
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_DEVICE_VERSION:
        real.clGetDeviceInfo(device, param, sizeof(native), native, NULL);
        return later_text(native, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION:
        return driver_return("OpenCL C 3.10 later", sizeof("OpenCL C 3.10 later"), size, value, size_ret);
    case CL_DEVICE_NUMERIC_VERSION:
        return driver_return(&later, sizeof(later), size, value, size_ret);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
        return all_versions(device, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    return real.clSetKernelArg(kernel, index, !size && !value ? 1 : size, value);
}

void later_install(struct _cl_icd_dispatch *table)
{
    table->clGetPlatformInfo = platform_info;
    if (is_later())
        table->clSetKernelArg = set_argument;
}
