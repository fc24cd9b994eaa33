/* vocl-proxy --probe: prints the native devices, one on each line, in the order in which a worker numbers them; then
 * lines that begin with a word: "tree", the node's PCIe tree, if it is known; "loader" and "driver", their versions. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clGetExtensionFunctionAddress, of the loader itself */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "proxy/worker/affinity.h"
#include "proxy/worker/worker.h"
#include "topology/native.h"
#include "topology/topology.h"
#include "wire/frame.h"

/* Queries of clGetICDLoaderInfoOCLICD, which has no header. */
enum { LOADER_VERSION = 2, LOADER_NAME = 3 };

static const char *type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_CPU)
        return "cpu";
    return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "custom";
}

static void print_device(struct affinity *affinity, unsigned number, cl_device_id device)
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
    affinity_device(affinity, number, number, device);
    printf("%u %s %u %llu %d %s\n", number, type_name(type), units, (unsigned long long)memory,
           affinity_device_at(affinity, number), name);
}

static void print_tree(const struct topology *tree)
{
    char *text = NULL, *save = NULL;
    size_t size;
    FILE *out = tree ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    topology_write(tree, out);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        printf("tree %s\n", line);
    free(text);
}

static void print_loader(void)
{
    int (*const info)(int, size_t, void *, size_t *) =
        (int (*)(int, size_t, void *, size_t *))clGetExtensionFunctionAddress("clGetICDLoaderInfoOCLICD");
    char name[128] = "?", version[128] = "";

    if (!info || info(LOADER_NAME, sizeof(name), name, NULL) || info(LOADER_VERSION, sizeof(version), version, NULL))
        return;
    printf("loader %s %s\n", name, version);
}

static void print_drivers(void)
{
    cl_platform_id platforms[NATIVE_MOST_PLATFORMS];
    const unsigned count = native_platforms(platforms);

    for (unsigned i = 0; i < count; i++) {
        char name[128] = "?", version[256] = "?", driver[128] = "";
        cl_device_id device;

        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
        clGetPlatformInfo(platforms[i], CL_PLATFORM_VERSION, sizeof(version), version, NULL);
        if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
            clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(driver), driver, NULL);
        printf("driver %s, %s%s%s\n", name, version, *driver ? ", driver " : "", driver);
    }
}

int worker_about(void)
{
    return printf("vocl-proxy " PACKAGE_VERSION ", protocol %d\n", WIRE_VERSION) < 0;
}

int list_devices(void)
{
    struct native_device devices[NATIVE_MOST_DEVICES];
    struct affinity *affinity = affinity_new();
    unsigned count;

    if (!affinity)
        _Exit(1);
    setenv("VOCL_WORKER", "1", 1); /* if an ICD loader loads libvocl here, it offers no devices */
    count = native_devices(devices);
    for (unsigned number = 0; number < count; number++)
        print_device(affinity, number, devices[number].device);
    print_tree(affinity_tree(affinity));
    print_loader();
    print_drivers();
    fflush(stdout);
    _Exit(0); /* without tearing down OpenCL */
}
