/* The VOCL platform: one for all the devices of the session. */
#include <stdio.h>

#include "libvocl/internal.h"

#include "config.h"

#include "base/settings.h"

static cl_int platform_ids(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret, cl_int none)
{
    struct session *session;

    if ((!count && platforms) || (!platforms && !count_ret))
        return CL_INVALID_VALUE;
    session = vocl_session();
    if (count_ret)
        *count_ret = session && session_device_count(session) ? 1 : 0;
    if (!session || !session_device_count(session))
        return none;
    if (platforms)
        platforms[0] = session_platform(session);
    return CL_SUCCESS;
}

cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    TIMELINE(clIcdGetPlatformIDsKHR);

    return platform_ids(count, platforms, count_ret, CL_PLATFORM_NOT_FOUND_KHR);
}

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret)
{
    TIMELINE(clGetPlatformIDs);

    return platform_ids(count, platforms, count_ret, CL_PLATFORM_NOT_FOUND_KHR);
}

/* NULL stands for the only platform, as with the ICD loader. */
static cl_platform_id check(cl_platform_id platform)
{
    struct session *session;

    if (platform)
        return handle_check(platform, KIND_PLATFORM);
    session = vocl_session();
    return session ? session_platform(session) : NULL;
}

unsigned platform_version(const struct info_table *infos)
{
    unsigned major, minor;
    const char *native = info_text(infos, CL_PLATFORM_VERSION);

    return native && sscanf(native, "OpenCL %2u.%2u", &major, &minor) == 2 ? 100 * major + 10 * minor : 110;
}

static cl_int version(cl_platform_id platform, size_t size, void *value, size_t *size_ret)
{
    const char *native = info_text(&platform->infos, CL_PLATFORM_VERSION);
    char text[64] = "OpenCL 1.2";

    if (native && strlen(native) >= 10)
        memcpy(text, native, 10); /* "OpenCL x.y" */
    strcpy(text + 10, " VOCL " PACKAGE_VERSION);
    return info_string(text, size, value, size_ret);
}

/* For programs that choose their platform by name or vendor. */
bool platform_is_native(void)
{
    return !strcmp(settings_string(SETTING_PLATFORM), "native");
}

/* Adds the extension by which a program recognizes VOCL behind the native name. */
static cl_int extensions(const struct info_table *infos, const char *native, uint32_t length, size_t size, void *value,
                         size_t *size_ret)
{
    char *text = calloc(1, length + sizeof(CL_VOCL_REMOTE_EXTENSION_NAME) + 2);
    cl_int error;

    if (!text)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(text, native, length);
    length = (uint32_t)strlen(text);
    sprintf(text + length, "%s" CL_VOCL_REMOTE_EXTENSION_NAME, length && text[length - 1] != ' ' ? " " : "");
    error = extension_return(infos, text, (uint32_t)strlen(text) + 1, size, value, size_ret);
    free(text);
    return error;
}

static cl_int extension_versions(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                 size_t *size_ret)
{
    static const cl_name_version own = {CL_MAKE_VERSION(1, 0, 0), CL_VOCL_REMOTE_EXTENSION_NAME};
    cl_name_version *list = malloc(length + sizeof(own));
    cl_int error;

    if (!list)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(list, native, length);
    memcpy((char *)list + length, &own, sizeof(own));
    error = extension_return_versions(list, length + sizeof(own), size, value, size_ret);
    free(list);
    return error;
}

static cl_int own_answer(cl_platform_id platform, cl_platform_info param, size_t size, void *value, size_t *size_ret)
{
    return param == CL_PLATFORM_VERSION ? version(platform, size, value, size_ret)
                                        : info_string("VOCL", size, value, size_ret);
}

static char *list_extensions(cl_platform_id platform, const char *native, uint32_t length)
{
    cl_int (*const list)(const struct info_table *, const char *, uint32_t, size_t, void *, size_t *) =
        platform->native ? extensions : extension_return;
    size_t size = 0;
    char *text;

    if (list(&platform->infos, native, length, 0, NULL, &size) || !(text = malloc(size)))
        return NULL;
    if (!list(&platform->infos, native, length, size, text, NULL))
        return text;
    free(text);
    return NULL;
}

/* The list does not change, and programs ask for it often. */
static const char *kept_extensions(cl_platform_id platform, const char *native, uint32_t length)
{
    char *kept = atomic_load(&platform->extensions), *text;

    if (kept)
        return kept;
    text = list_extensions(platform, native, length);
    if (!text || atomic_compare_exchange_strong(&platform->extensions, &kept, text))
        return text;
    free(text);
    return kept; /* another thread's */
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetPlatformInfo);

    const char *kept;
    const void *native;
    uint32_t length;

    platform = check(platform);
    if (!platform)
        return CL_INVALID_PLATFORM;
    switch (param) {
    case WIRE_INFO_NO_SUCH_TYPE:
        return CL_INVALID_VALUE;
    case CL_PLATFORM_NAME:
    case CL_PLATFORM_VENDOR:
    case CL_PLATFORM_ICD_SUFFIX_KHR:
    case CL_PLATFORM_VERSION:
        if (!platform->native)
            return own_answer(platform, param, size, value, size_ret);
    }
    native = info_find(&platform->infos, param, &length);
    if (native && param == CL_PLATFORM_EXTENSIONS && length) {
        kept = kept_extensions(platform, native, length);
        return kept ? info_string(kept, size, value, size_ret) : CL_OUT_OF_HOST_MEMORY;
    }
    if (native && param == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return (platform->native ? extension_versions : extension_return_versions)(native, length, size, value,
                                                                                   size_ret);
    if (!native && param == CL_PLATFORM_ICD_SUFFIX_KHR) /* the loader refuses a platform without a suffix */
        return info_string("VOCL", size, value, size_ret);
    return native ? info_return(native, length, size, value, size_ret) : CL_INVALID_VALUE;
}

/* Types that OpenCL does not have are refused as the node's driver does it. */
static bool is_refused(cl_platform_id platform, cl_device_type type)
{
    const cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                 CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    uint32_t length;

    return !(type & known) && !info_find(&platform->infos, WIRE_INFO_NO_SUCH_TYPE, &length);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
                      cl_uint *count_ret)
{
    TIMELINE(clGetDeviceIDs);

    struct session *session;
    cl_uint found = 0;

    platform = check(platform);
    if (!platform)
        return CL_INVALID_PLATFORM;
    if ((!count && devices) || (!devices && !count_ret))
        return CL_INVALID_VALUE;
    if (is_refused(platform, type))
        return CL_INVALID_DEVICE_TYPE;
    session = vocl_session();
    for (unsigned i = 0; session && i < session_device_count(session); i++) {
        cl_device_id device = session_device(session, i);
        cl_device_type own = 0;

        device_number(device, CL_DEVICE_TYPE, &own, sizeof(own));
        if (found == 0 || own & CL_DEVICE_TYPE_DEFAULT)
            own |= found == 0 ? CL_DEVICE_TYPE_DEFAULT : 0;
        if (type == CL_DEVICE_TYPE_DEFAULT && found)
            break;
        if (type == CL_DEVICE_TYPE_ALL ? own == CL_DEVICE_TYPE_CUSTOM : !(own & type))
            continue;
        if (devices && found < count)
            devices[found] = device;
        found++;
    }
    if (!found || (count && !devices)) /* as PoCL, which does not set the count then */
        return CL_DEVICE_NOT_FOUND;
    if (count_ret)
        *count_ret = found;
    return CL_SUCCESS;
}

cl_int clUnloadPlatformCompiler(cl_platform_id platform)
{
    TIMELINE(clUnloadPlatformCompiler);

    return check(platform) ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

cl_int clUnloadCompiler(void)
{
    TIMELINE(clUnloadCompiler);

    return CL_SUCCESS;
}

void *clGetExtensionFunctionAddress(const char *name)
{
    TIMELINE(clGetExtensionFunctionAddress);

    return extension_function(NULL, name);
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    TIMELINE(clGetExtensionFunctionAddressForPlatform);

    platform = check(platform);
    return platform ? extension_function(platform, name) : NULL;
}
