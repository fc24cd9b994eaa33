/* See pocl.h. */
#include <dlfcn.h>
#include <stdio.h>

#include "pocl.h"

#define EXPORTED __attribute__((visibility("default")))

typedef void *address(const char *);
typedef cl_int platform_ids(cl_uint, cl_platform_id *, cl_uint *);

struct _cl_icd_dispatch pocl;

static struct _cl_icd_dispatch *table;
static address *pocl_address;
static cl_platform_id platform;

__attribute__((constructor)) static void load(void)
{
    void *library = dlopen("libpocl.so.2", RTLD_NOW | RTLD_LOCAL);
    struct _cl_icd_dispatch *found;
    platform_ids *ids;

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return;
    }
    pocl_address = (address *)dlsym(library, "clGetExtensionFunctionAddress");
    ids = pocl_address ? (platform_ids *)pocl_address("clIcdGetPlatformIDsKHR") : NULL;
    if (!ids || ids(1, &platform, NULL))
        return;
    found = *(struct _cl_icd_dispatch **)platform;
    pocl = *found;
    if (driver_change(found))
        table = found;
}

EXPORTED cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    if (!table)
        return CL_PLATFORM_NOT_FOUND_KHR;
    if (platforms && count)
        platforms[0] = platform;
    if (count_ret)
        *count_ret = 1;
    return CL_SUCCESS;
}

EXPORTED void *clGetExtensionFunctionAddress(const char *name)
{
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        return (void *)clIcdGetPlatformIDsKHR;
    if (table && !strcmp(name, "clGetPlatformInfo"))
        return (void *)table->clGetPlatformInfo;
    return table ? pocl_address(name) : NULL;
}
