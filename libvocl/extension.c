/* Functions of extensions, which are available by name only. */
#include "libvocl/internal.h"

typedef void function(void);

/* The condition under which a function is returned, as in base/opencl.def; otherwise it is the name of an extension. */
#define ANYWHERE ""
#define WITH_PLATFORM NULL

static const struct {
    const char *name, *extension;
    function *function;
} functions[] = {
#define EXPORTED_BY_NAME(name, first, since, offered) BY_NAME(name, offered, name)
#define BY_NAME(name, offered, own) {#name, offered, (function *)own},
#include "base/opencl.def"
};

/* Extensions whose entry points VOCL does not carry, or that concern objects of another process. A name that ends in
 * an underscore stands for all names that begin with it. */
static const char *const withheld[] = {
    "cl_khr_gl_",
    "cl_khr_egl_",
    "cl_khr_d3d10_",
    "cl_khr_d3d11_",
    "cl_khr_dx9_",
    "cl_khr_external_",
    "cl_khr_semaphore",
    "cl_khr_command_buffer_",
    "cl_khr_terminate_",
    "cl_khr_device_enqueue_local_arg_types",
    "cl_khr_icd_unloadable", /* newer loaders ask such a platform, and drop it if it does not answer */
    "cl_apple_",
    "cl_arm_",
    "cl_img_",
    "cl_qcom_",
    "cl_nv_d3d",
    "cl_nv_create_buffer",
    "cl_ext_device_",
    "cl_ext_migrate_",
    "cl_ext_image_",
    "cl_intel_accelerator",
    "cl_intel_va_",
    "cl_intel_dx9_",
    "cl_intel_d3d11_",
    "cl_intel_command_",
    "cl_intel_mem_",
    "cl_intel_program_",
    "cl_intel_sharing_",
    "cl_intel_simultaneous_",
    "cl_pocl_svm_",
    "cl_pocl_command_",
    "cl_pocl_pinned_",
};

/* Extensions of which only some versions are carried: drafts of the first had other names and numbers; for the second,
 * which is provisional, the functions that record a command must take properties if those of the headers do
 * (base/cl_ext.h). Versions that do not exist yet may change anything. */
#define DEVICE_ADDRESSES "cl_ext_buffer_device_address"
#define RECORD_BEFORE CL_MAKE_VERSION(0, 9, 9)
struct versions {
    const char *name;
    cl_version from, before;
};
static const struct versions versioned[] = {
    {DEVICE_ADDRESSES, CL_MAKE_VERSION(1, 0, 0), CL_MAKE_VERSION(2, 0, 0)},
    {CL_KHR_COMMAND_BUFFER_EXTENSION_NAME, RECORD_TAKES_PROPERTIES ? RECORD_SINCE : 0,
     RECORD_TAKES_PROPERTIES ? RECORD_BEFORE : RECORD_SINCE},
};

static const struct versions *find_versions(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(versioned) / sizeof(*versioned); i++) {
        if (strlen(versioned[i].name) == length && !memcmp(versioned[i].name, name, length))
            return &versioned[i];
    }
    return NULL;
}

/* Returns the version that a platform or a device has; 0: old drivers do not report it. */
static cl_version version_of(const struct info_table *infos, const char *name)
{
    uint32_t length;
    const uint8_t *list = info_find(infos, CL_DEVICE_EXTENSIONS_WITH_VERSION, &length);
    cl_name_version item;

    if (!list)
        list = info_find(infos, CL_PLATFORM_EXTENSIONS_WITH_VERSION, &length);
    for (uint32_t at = 0; list && at + sizeof(item) <= length; at += sizeof(item)) {
        memcpy(&item, list + at, sizeof(item));
        if (!strncmp(item.name, name, sizeof(item.name)))
            return item.version;
    }
    return 0;
}

static bool is_withheld(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(withheld) / sizeof(*withheld); i++) {
        size_t known = strlen(withheld[i]);

        if (length >= known && !memcmp(withheld[i], name, known))
            return true;
    }
    return false;
}

static bool is_among(const struct versions *carried, cl_version version)
{
    return version >= carried->from && version < carried->before;
}

static bool is_carried(const struct info_table *infos, const char *name, size_t length)
{
    const struct versions *carried = find_versions(name, length);

    return carried ? is_among(carried, version_of(infos, carried->name)) : !is_withheld(name, length);
}

static bool is_item_carried(const cl_name_version *item)
{
    const size_t length = strnlen(item->name, sizeof(item->name));
    const struct versions *carried = find_versions(item->name, length);

    return carried ? is_among(carried, item->version) : !is_withheld(item->name, length);
}

bool extension_has_device_addresses(const struct info_table *infos)
{
    return is_carried(infos, DEVICE_ADDRESSES, sizeof(DEVICE_ADDRESSES) - 1);
}

cl_int extension_return(const struct info_table *infos, const char *native, uint32_t length, size_t size, void *value,
                        size_t *size_ret)
{
    char *text = calloc(1, length + 1);
    char *to = text;
    cl_int error;

    if (!text)
        return CL_OUT_OF_HOST_MEMORY;
    for (const char *at = native; *at;) {
        size_t word = strcspn(at, " "), space = strspn(at + word, " ");

        if (is_carried(infos, at, word)) {
            memcpy(to, at, word + space);
            to += word + space;
        }
        at += word + space;
    }
    error = info_string(text, size, value, size_ret);
    free(text);
    return error;
}

cl_int extension_return_versions(const cl_name_version *native, uint32_t length, size_t size, void *value,
                                 size_t *size_ret)
{
    cl_name_version *list = malloc(length + 1);
    size_t count = 0;
    cl_int error;

    if (!list)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < length / sizeof(*native); i++) {
        memcpy(&list[count], &native[i], sizeof(*list));
        count += is_item_carried(&list[count]);
    }
    error = info_return(list, count * sizeof(*list), size, value, size_ret);
    free(list);
    return error;
}

/* ---- functions ---- */

bool extension_lists(const struct info_table *infos, cl_uint param, const char *extension)
{
    size_t known = strlen(extension);
    const char *at = info_text(infos, param);

    while (at && *at) {
        size_t word = strcspn(at, " ");

        if (word == known && !memcmp(at, extension, known))
            return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

static bool is_in(const struct info_table *infos, cl_uint param, const char *extension)
{
    return extension_lists(infos, param, extension) && is_carried(infos, extension, strlen(extension));
}

static bool is_offered(cl_platform_id platform, const char *extension)
{
    struct session *session = vocl_session();

    if (is_in(&platform->infos, CL_PLATFORM_EXTENSIONS, extension))
        return true;
    for (unsigned i = 0; session && i < session_device_count(session); i++) {
        if (is_in(&session_device(session, i)->infos, CL_DEVICE_EXTENSIONS, extension))
            return true;
    }
    return false;
}

void *extension_function(cl_platform_id platform, const char *name)
{
    for (size_t i = 0; name && i < sizeof(functions) / sizeof(*functions); i++) {
        const char *extension = functions[i].extension;
        bool given;

        if (strcmp(functions[i].name, name))
            continue;
        given = extension && !*extension;
        if (platform && !given)
            given = !extension || is_offered(platform, extension);
        return given ? (void *)(uintptr_t)functions[i].function : NULL;
    }
    return NULL;
}
