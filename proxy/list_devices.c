/* vocl-proxy --probe: prints the native devices, one a line, in the order in which a worker numbers them. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/worker.h"

static const char *type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_CPU)
        return "cpu";
    return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "custom";
}

static void print_device(unsigned number, cl_device_id device)
{
    char name[256] = "?";
    cl_device_type type = 0;
    cl_uint units = 0;
    cl_ulong memory = 0;

    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    name[strcspn(name, "\n")] = '\0';
    printf("%u %s %u %llu %s\n", number, type_name(type), units, (unsigned long long)memory, name);
}

int list_devices(void)
{
    cl_platform_id platforms[32];
    cl_device_id devices[64];
    cl_uint platform_count = 0, count = 0;
    unsigned number = 0;

    setenv("VOCL_WORKER", "1", 1); /* libvocl, should an ICD loader bring it in, offers nothing here */
    clGetPlatformIDs(32, platforms, &platform_count);
    for (cl_uint i = 0; i < platform_count && i < 32; i++) {
        char name[64] = "";

        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
        if (!strcmp(name, "VOCL") || clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &count))
            continue;
        for (cl_uint j = 0; j < count && j < 64; j++)
            print_device(number++, devices[j]);
    }
    fflush(stdout);
    _Exit(0); /* nothing of OpenCL is torn down */
}
