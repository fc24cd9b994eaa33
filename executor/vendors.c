/* The drivers of this machine, as the ICD loader finds them (cl_khr_icd). */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "executor/icd.h"

enum { MOST_PLATFORMS = 32 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cl_platform_id found[MOST_PLATFORMS];
static cl_uint found_count;

typedef cl_int platform_ids(cl_uint, cl_platform_id *, cl_uint *);
typedef void *extension_address(const char *);

static void add_driver(const char *library)
{
    const char *name = strrchr(library, '/');
    extension_address *address;
    platform_ids *ids;
    cl_uint count = 0;
    void *handle;

    if (!strncmp(name ? name + 1 : library, "libvocl", 7))
        return;
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        vocl_log(LOG_WARN, "%s", dlerror());
        return;
    }
    address = (extension_address *)dlsym(handle, "clGetExtensionFunctionAddress");
    ids = (platform_ids *)dlsym(handle, "clIcdGetPlatformIDsKHR");
    if (!ids && address)
        ids = (platform_ids *)address("clIcdGetPlatformIDsKHR");
    if (ids && !ids(MOST_PLATFORMS - found_count, found + found_count, &count))
        found_count = found_count + count < MOST_PLATFORMS ? found_count + count : MOST_PLATFORMS;
}

static void find(void)
{
    icd_each(add_driver);
}

cl_int vendors_platforms(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    pthread_once(&once, find);
    for (cl_uint i = 0; platforms && i < count && i < found_count; i++)
        platforms[i] = found[i];
    if (count_ret)
        *count_ret = found_count;
    return found_count ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}
