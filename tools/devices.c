/* `vocl devices`: calls libvocl as any program would, but by name, so that no other OpenCL can answer. */
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

struct shown {
    char name[256], host[256];
    const char *type;
    cl_uint units;
    cl_ulong memory;
};

static void look_at(cl_device_id device, struct shown *shown)
{
    cl_device_type type = 0;

    *shown = (struct shown){.name = "?", .host = "?"};
    cl.device_info(device, CL_DEVICE_NAME, sizeof(shown->name), shown->name, NULL);
    cl.device_info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    cl.device_info(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(shown->units), &shown->units, NULL);
    cl.device_info(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(shown->memory), &shown->memory, NULL);
    cl.device_host(device, sizeof(shown->host), shown->host, NULL);
    shown->type = type_name(type);
}

static void print_table(const cl_device_id *devices, cl_uint count)
{
    struct shown one;

    printf("%-20s %-11s %5s %10s  %s\n", "HOST", "TYPE", "UNITS", "MEMORY", "NAME");
    for (cl_uint i = 0; i < count; i++) {
        look_at(devices[i], &one);
        printf("%-20s %-11s %5u %6llu MiB  %s\n", one.host, one.type, one.units, (unsigned long long)(one.memory >> 20),
               one.name);
    }
}

static void print_json(const cl_device_id *devices, cl_uint count)
{
    struct shown one;

    for (cl_uint i = 0; i < count; i++) {
        look_at(devices[i], &one);
        fputs(i ? ",\n {\"host\": " : "[{\"host\": ", stdout);
        json_text(one.host);
        printf(", \"type\": \"%s\", \"compute_units\": %u, \"memory_bytes\": %llu, \"name\": ", one.type, one.units,
               (unsigned long long)one.memory);
        json_text(one.name);
        putchar('}');
    }
    puts("]");
}

int devices_list(bool json)
{
    cl_platform_id platform;
    cl_device_id *devices;
    cl_uint count = 0;

    load();
    if (cl.platform_ids(1, &platform, NULL) != CL_SUCCESS ||
        cl.device_ids(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || !count)
        fail(EXIT_FAILURE, "no devices; run `vocl doctor` with the same options to find the reason");

    devices = calloc(count, sizeof(*devices));
    if (!devices || cl.device_ids(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) != CL_SUCCESS)
        fail(EXIT_FAILURE, "the devices were lost while they were listed");
    (json ? print_json : print_table)(devices, count);
    free(devices);
    return 0;
}
