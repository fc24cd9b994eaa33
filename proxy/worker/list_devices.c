/* vocl-proxy --probe: prints the native devices, one a line, in the order in which a worker numbers them; then the
 * node's PCIe tree, if it is known, each line after the word tree. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/worker/near.h"
#include "proxy/worker/worker.h"
#include "topology/topology.h"

static const char *type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_CPU)
        return "cpu";
    return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "custom";
}

static void print_device(struct near *near, unsigned number, cl_device_id device)
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
    near_device(near, number, number, device);
    printf("%u %s %u %llu %d %s\n", number, type_name(type), units, (unsigned long long)memory,
           near_device_at(near, number), name);
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

int list_devices(void)
{
    cl_platform_id platforms[32];
    cl_device_id devices[64];
    cl_uint platform_count = 0, count = 0;
    struct near *near = near_new();
    unsigned number = 0;

    if (!near)
        _Exit(1);
    setenv("VOCL_WORKER", "1", 1); /* libvocl, should an ICD loader bring it in, offers nothing here */
    clGetPlatformIDs(32, platforms, &platform_count);
    for (cl_uint i = 0; i < platform_count && i < 32; i++) {
        char name[64] = "";

        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
        if (!strcmp(name, "VOCL") || clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &count))
            continue;
        for (cl_uint j = 0; j < count && j < 64; j++)
            print_device(near, number++, devices[j]);
    }
    print_tree(near_tree(near));
    fflush(stdout);
    _Exit(0); /* nothing of OpenCL is torn down */
}
