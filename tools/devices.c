/* `vocl devices`: asks libvocl as any program would, but by name, so that no other OpenCL can
 * answer. */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/tools.h"
#include "vocl.h"

static struct {
    __typeof__(clGetPlatformIDs) *platform_ids;
    __typeof__(clGetDeviceIDs) *device_ids;
    __typeof__(clGetDeviceInfo) *device_info;
    __typeof__(voclGetDeviceHost) *device_host;
} cl;

static void *entry(void *library, const char *name)
{
    void *address = dlsym(library, name);

    if (!address)
        fail(EXIT_BROKEN, "%s", dlerror());
    return address;
}

static void load(void)
{
    char *path = library_path();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        fail(EXIT_BROKEN, "%s", dlerror());
    cl.platform_ids = entry(library, "clGetPlatformIDs");
    cl.device_ids = entry(library, "clGetDeviceIDs");
    cl.device_info = entry(library, "clGetDeviceInfo");
    cl.device_host = entry(library, "voclGetDeviceHost");
    free(path);
}

static const char *type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "GPU";
    if (type & CL_DEVICE_TYPE_CPU)
        return "CPU";
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return "accelerator";
    return "other";
}

static void print_device(cl_device_id device)
{
    char name[256] = "?", host[256] = "?";
    cl_device_type type = 0;
    cl_uint units = 0;
    cl_ulong memory = 0;

    cl.device_info(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
    cl.device_info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    cl.device_info(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    cl.device_info(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    cl.device_host(device, sizeof(host), host, NULL);
    printf("%-20s %-11s %5u %6llu MiB  %s\n", host, type_name(type), units, (unsigned long long)(memory >> 20), name);
}

int devices_list(void)
{
    cl_platform_id platform;
    cl_device_id *devices;
    cl_uint count = 0;

    load();
    if (cl.platform_ids(1, &platform, NULL) != CL_SUCCESS ||
        cl.device_ids(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || !count)
        fail(EXIT_FAILURE, "no devices; `vocl doctor`, with the same options, looks for what is wrong");

    devices = calloc(count, sizeof(*devices));
    if (!devices || cl.device_ids(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) != CL_SUCCESS)
        fail(EXIT_FAILURE, "the devices went away");
    printf("%-20s %-11s %5s %10s  %s\n", "HOST", "TYPE", "UNITS", "MEMORY", "NAME");
    for (cl_uint i = 0; i < count; i++)
        print_device(devices[i]);
    free(devices);
    return 0;
}
