/* The drivers of this machine, as the ICD loader finds them (cl_khr_icd). */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#ifndef VENDORS
#define VENDORS "/etc/OpenCL/vendors"
#endif

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

/* Its first line names the library. */
static void read_icd(const char *path)
{
    char line[PATH_MAX] = "";
    FILE *file = fopen(path, "re");

    if (!file)
        return;
    if (fgets(line, sizeof(line), file))
        line[strcspn(line, "\r\n")] = '\0';
    fclose(file);
    if (*line)
        add_driver(line);
}

static int is_icd(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && !strcmp(end, ".icd");
}

/* `vocl run` puts its own in the place of what there was. */
static const char *vendors(void)
{
    const char *before = getenv("VOCL_NATIVE_ICD_VENDORS");
    const char *now = before ? before : getenv("OCL_ICD_VENDORS");

    return now && *now ? now : VENDORS;
}

static void find(void)
{
    const char *where = vendors();
    struct dirent **entries;
    int count = scandir(where, &entries, is_icd, alphasort);

    if (count < 0) { /* one driver, not a folder of them */
        if (strstr(where, ".icd"))
            read_icd(where);
        else
            add_driver(where);
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", where, entries[i]->d_name) < (int)sizeof(path))
            read_icd(path);
        free(entries[i]);
    }
    free(entries);
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
