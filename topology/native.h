/*
 * The native platforms and devices of this host, enumerated in one way everywhere: a device has the same number for a
 * worker, for its pool, and in the PCIe tree. Everything is in the header, so that callers may reach OpenCL in
 * different ways.
 */
#ifndef VOCL_TOPOLOGY_NATIVE_H
#define VOCL_TOPOLOGY_NATIVE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NATIVE_MOST_PLATFORMS 32
#define NATIVE_MOST_DEVICES 256

struct native_device {
    cl_platform_id platform;
    cl_device_id device;
};

/* Platforms of OpenCL 1.0 are left out. */
static inline bool native_is_too_old(cl_platform_id platform)
{
    unsigned major, minor;
    char version[128] = "";

    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
    return sscanf(version, "OpenCL %u.%u", &major, &minor) != 2 || 100 * major + 10 * minor < 110;
}

/* All but VOCL's own platform, as a worker must not find other workers. Returns how many there are. */
static inline unsigned native_platforms(cl_platform_id platforms[NATIVE_MOST_PLATFORMS])
{
    unsigned kept = 0;
    cl_uint count = 0;

    if (clGetPlatformIDs(NATIVE_MOST_PLATFORMS, platforms, &count))
        return 0;
    for (cl_uint i = 0; i < count && i < NATIVE_MOST_PLATFORMS; i++) {
        char name[64] = "";

        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
        if (strcmp(name, "VOCL"))
            platforms[kept++] = platforms[i];
    }
    return kept;
}

/* The devices of the platforms that are not too old; a device's index is its number. Returns how many there are. */
static inline unsigned native_devices(struct native_device devices[NATIVE_MOST_DEVICES])
{
    cl_platform_id platforms[NATIVE_MOST_PLATFORMS];
    const unsigned platform_count = native_platforms(platforms);
    cl_device_id found[NATIVE_MOST_DEVICES];
    unsigned count = 0;

    for (unsigned i = 0; i < platform_count; i++) {
        cl_uint more = 0;

        if (native_is_too_old(platforms[i]) ||
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, NATIVE_MOST_DEVICES, found, &more))
            continue;
        for (cl_uint j = 0; j < more && count < NATIVE_MOST_DEVICES; j++)
            devices[count++] = (struct native_device){platforms[i], found[j]};
    }
    return count;
}

#endif
