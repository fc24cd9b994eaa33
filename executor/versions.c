/* A node with a newer OpenCL than VOCL carries says what VOCL carries: the rules of the newer one (local arguments of
 * size 0, new functions) do not hold for the program. */
#include <stdio.h>

#include "executor/internal.h"

#define NEWEST CL_MAKE_VERSION(3, 0, 0)
#define NEWEST_TEXT "3.0"
#define NEWEST_MINOR CL_MAKE_VERSION(3, 0, CL_VERSION_PATCH_MASK)

/* Replaces the version that follows before. The text is terminated. */
static void lower_text(char *text, size_t *size, const char *before)
{
    const size_t at = strlen(before);
    unsigned major, minor;
    int length = 0;

    if (strncmp(text, before, at) || sscanf(text + at, "%3u.%3u%n", &major, &minor, &length) != 2 ||
        CL_MAKE_VERSION(major, minor, 0) <= NEWEST)
        return;
    memcpy(text + at, NEWEST_TEXT, 3); /* as short as a version can be */
    memmove(text + at + 3, text + at + length, *size - at - (size_t)length);
    *size -= (size_t)length - 3;
}

static void lower_number(void *value, size_t size)
{
    cl_version version;

    if (size != sizeof(version))
        return;
    memcpy(&version, value, size);
    if (version > NEWEST_MINOR)
        memcpy(value, &(cl_version){NEWEST}, size);
}

static void drop_newer(cl_name_version *list, size_t *size)
{
    size_t count = 0;

    for (size_t i = 0; i < *size / sizeof(*list); i++) {
        if (list[i].version <= NEWEST_MINOR)
            list[count++] = list[i];
    }
    *size = count * sizeof(*list);
}

void version_lower(cl_uint param, void *value, size_t *size)
{
    const bool text = *size && !((char *)value)[*size - 1];

    switch (param) {
    case CL_PLATFORM_VERSION:
    case CL_DEVICE_VERSION:
        if (text)
            lower_text(value, size, "OpenCL ");
        return;
    case CL_DEVICE_OPENCL_C_VERSION:
        if (text)
            lower_text(value, size, "OpenCL C ");
        return;
    case CL_PLATFORM_NUMERIC_VERSION:
    case CL_DEVICE_NUMERIC_VERSION:
    case CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR:
        lower_number(value, *size);
        return;
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
        drop_newer(value, size);
    }
}
