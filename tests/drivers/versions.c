/* Prints what platform and device say about their versions, and whether a local argument may have size 0. See
 * newer.sh. */
#include "tests/parity/parity.h"

static struct parity p;

static void all_show(void)
{
    cl_name_version list[16];
    size_t size = 0;

    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof(list), list, &size));
    for (size_t i = 0; i < size / sizeof(*list); i++)
        printf("%s %u.%u\n", list[i].name, CL_VERSION_MAJOR(list[i].version), CL_VERSION_MINOR(list[i].version));
}

static void numbers_show(void)
{
    cl_version platform, device;

    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_NUMERIC_VERSION, sizeof(platform), &platform, NULL));
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_NUMERIC_VERSION, sizeof(device), &device, NULL));
    printf("numbers: %#x %#x\n", platform, device);
}

static void texts_show(void)
{
    char text[16384];
    size_t size;

    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_VERSION, sizeof(text), text, NULL));
    printf("platform: %.10s\n", text);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_VERSION, sizeof(text), text, NULL));
    printf("device: %.10s\n", text);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_OPENCL_C_VERSION, sizeof(text), text, &size));
    printf("language: %s, %s\n", text, size == strlen(text) + 1 ? "all of it" : "not all of it");
    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL));
    printf("%s\n", strstr(text, "cl_khr_icd_unloadable") ? "can be unloaded" : "cannot be unloaded");
}

int main(void)
{
    static const char *const source[] = {"kernel void k(global int *to, local int *of) { to[0] = 1; }\n"};
    cl_program program;
    cl_kernel kernel;

    parity_open(&p, 0);
    texts_show();
    numbers_show();
    all_show();
    program = parity_program(&p, source[0], NULL);
    kernel = parity_kernel(program, "k");
    printf("local argument of size 0: %d\n", clSetKernelArg(kernel, 1, 0, NULL));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
