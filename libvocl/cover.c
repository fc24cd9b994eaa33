/*
 * Devices of another kind in a device's place: one will do if it covers the answers that the program has got. The
 * queries that the program has made are noted in some bits for each device; the answers are stored in any case, and
 * later queries get them, too. Queries that only describe a device (its name, its compute units, its preferences) need
 * not be covered.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libvocl/internal.h"
#include "libvocl/platform.h"
#include "wire/tables.h"

#define FIRST CL_DEVICE_TYPE /* of 256 queries with a bit each; all others share 64 bits */

enum rule {
    SAME,   /* queries without another rule */
    MORE,   /* numbers, none of which may be smaller */
    LESS,   /* an alignment, which may not be larger */
    BITS,   /* all of them must be set */
    WORDS,  /* all of them must be listed */
    NUMBER, /* the version number in a text */
    OPEN,   /* only descriptive */
    LISTED, /* extensions, which are all in CL_DEVICE_EXTENSIONS */
};

#define QUERY(param, rule, name, always)                                                                               \
    {                                                                                                                  \
        param, #param, rule, name, always                                                                              \
    }

static const struct query {
    cl_device_info param;
    const char *query; /* OpenCL's name */
    enum rule rule;
    const char *name;
    bool always; /* the library itself depends on it */
} queries[] = {
    QUERY(CL_DEVICE_VERSION, NUMBER, "its version", true),
    QUERY(CL_DEVICE_ADDRESS_BITS, SAME, "bits of addresses", true),
    QUERY(CL_DEVICE_ENDIAN_LITTLE, SAME, "the order of bytes", true),
    QUERY(CL_DEVICE_IMAGE_SUPPORT, MORE, "images", true),
    QUERY(CL_DEVICE_COMPILER_AVAILABLE, MORE, "a compiler", true),
    QUERY(CL_DEVICE_LINKER_AVAILABLE, MORE, "a linker", false),
    QUERY(CL_DEVICE_EXTENSIONS, WORDS, "extensions", false),
    QUERY(CL_DEVICE_EXTENSIONS_WITH_VERSION, LISTED, "extensions", false),
    QUERY(CL_DEVICE_BUILT_IN_KERNELS, WORDS, "built-in kernels", false),
    QUERY(CL_DEVICE_OPENCL_C_VERSION, NUMBER, "OpenCL C", false),
    QUERY(CL_DEVICE_NUMERIC_VERSION, MORE, "its version", false),
    QUERY(CL_DEVICE_GLOBAL_MEM_SIZE, MORE, "memory", false),
    QUERY(CL_DEVICE_MAX_MEM_ALLOC_SIZE, MORE, "memory of one object", false),
    QUERY(CL_DEVICE_LOCAL_MEM_SIZE, MORE, "local memory", false),
    QUERY(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, MORE, "constant memory", false),
    QUERY(CL_DEVICE_MAX_CONSTANT_ARGS, MORE, "constant arguments", false),
    QUERY(CL_DEVICE_MAX_PARAMETER_SIZE, MORE, "size of arguments", false),
    QUERY(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, MORE, "dimensions", false),
    QUERY(CL_DEVICE_MAX_WORK_ITEM_SIZES, MORE, "work-items of a dimension", false),
    QUERY(CL_DEVICE_MAX_WORK_GROUP_SIZE, MORE, "work-items of a group", false),
    QUERY(CL_DEVICE_MAX_NUM_SUB_GROUPS, MORE, "sub-groups", false),
    QUERY(CL_DEVICE_MAX_READ_IMAGE_ARGS, MORE, "images to read", false),
    QUERY(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, MORE, "images to write", false),
    QUERY(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, MORE, "images to read and write", false),
    QUERY(CL_DEVICE_IMAGE2D_MAX_WIDTH, MORE, "width of images", false),
    QUERY(CL_DEVICE_IMAGE2D_MAX_HEIGHT, MORE, "height of images", false),
    QUERY(CL_DEVICE_IMAGE3D_MAX_WIDTH, MORE, "width of images", false),
    QUERY(CL_DEVICE_IMAGE3D_MAX_HEIGHT, MORE, "height of images", false),
    QUERY(CL_DEVICE_IMAGE3D_MAX_DEPTH, MORE, "depth of images", false),
    QUERY(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, MORE, "images of buffers", false),
    QUERY(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, MORE, "arrays of images", false),
    QUERY(CL_DEVICE_MAX_SAMPLERS, MORE, "samplers", false),
    QUERY(CL_DEVICE_PRINTF_BUFFER_SIZE, MORE, "printf", false),
    QUERY(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, MORE, "global variables", false),
    QUERY(CL_DEVICE_MAX_PIPE_ARGS, MORE, "pipes", false),
    QUERY(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, MORE, "pipes", false),
    QUERY(CL_DEVICE_PIPE_MAX_PACKET_SIZE, MORE, "pipes", false),
    QUERY(CL_DEVICE_PIPE_SUPPORT, MORE, "pipes", false),
    QUERY(CL_DEVICE_MAX_ON_DEVICE_QUEUES, MORE, "queues on the device", false),
    QUERY(CL_DEVICE_MAX_ON_DEVICE_EVENTS, MORE, "events on the device", false),
    QUERY(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, MORE, "queues on the device", false),
    QUERY(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, MORE, "sub-devices", false),
    QUERY(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, MORE, "groups of different size", false),
    QUERY(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, MORE, "the generic address space", false),
    QUERY(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, MORE, "functions of groups", false),
    QUERY(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, MORE, "independent sub-groups", false),
    QUERY(CL_DEVICE_ERROR_CORRECTION_SUPPORT, MORE, "error correction", false),
    QUERY(CL_DEVICE_MEM_BASE_ADDR_ALIGN, LESS, "alignment", false),
    QUERY(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, LESS, "alignment", false),
    QUERY(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, LESS, "alignment of images", false),
    QUERY(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, LESS, "alignment of images", false),
    QUERY(CL_DEVICE_SINGLE_FP_CONFIG, BITS, "floating point", false),
    QUERY(CL_DEVICE_DOUBLE_FP_CONFIG, BITS, "double precision", false),
    QUERY(CL_DEVICE_HALF_FP_CONFIG, BITS, "half precision", false),
    QUERY(CL_DEVICE_EXECUTION_CAPABILITIES, BITS, "kinds of kernels", false),
    QUERY(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, BITS, "properties of queues", false),
    QUERY(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, BITS, "properties of queues", false),
    QUERY(CL_DEVICE_SVM_CAPABILITIES, BITS, "shared virtual memory", false),
    QUERY(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, BITS, "atomics", false),
    QUERY(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, BITS, "fences", false),
    QUERY(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, BITS, "queues on the device", false),
    QUERY(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, BITS, "sub-devices", false),
    QUERY(CL_DEVICE_TYPE, OPEN, "", false),
    QUERY(CL_DEVICE_VENDOR_ID, OPEN, "", false),
    QUERY(CL_DEVICE_MAX_COMPUTE_UNITS, OPEN, "", false),
    QUERY(CL_DEVICE_MAX_CLOCK_FREQUENCY, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, OPEN, "", false),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, OPEN, "", false),
    QUERY(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, OPEN, "", false),
    QUERY(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, OPEN, "", false),
    QUERY(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, OPEN, "", false),
    QUERY(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, OPEN, "", false),
    QUERY(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, OPEN, "", false),
    QUERY(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, OPEN, "", false),
    QUERY(CL_DEVICE_LOCAL_MEM_TYPE, OPEN, "", false),
    QUERY(CL_DEVICE_PROFILING_TIMER_RESOLUTION, OPEN, "", false),
    QUERY(CL_DEVICE_HOST_UNIFIED_MEMORY, OPEN, "", false),
    QUERY(CL_DEVICE_AVAILABLE, OPEN, "", false),
    QUERY(CL_DEVICE_NAME, OPEN, "", false),
    QUERY(CL_DEVICE_VENDOR, OPEN, "", false),
    QUERY(CL_DRIVER_VERSION, OPEN, "", false),
    QUERY(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, OPEN, "", false),
    QUERY(CL_DEVICE_PROFILE, SAME, "", false),
    QUERY(CL_DEVICE_PARTITION_PROPERTIES, SAME, "", false),
    QUERY(CL_DEVICE_PARTITION_TYPE, SAME, "", false),
    QUERY(CL_DEVICE_IL_VERSION, SAME, "", false),
    QUERY(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR, SAME, "", false),
    QUERY(CL_DEVICE_ILS_WITH_VERSION, SAME, "", false),
    QUERY(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, SAME, "", false),
    QUERY(CL_DEVICE_OPENCL_C_ALL_VERSIONS, SAME, "", false),
    QUERY(CL_DEVICE_OPENCL_C_FEATURES, SAME, "", false),
    QUERY(CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR, SAME, "", false),
    QUERY(CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR, SAME, "", false),
};

#undef QUERY

/* ---- the program's queries ---- */

static unsigned word_of(cl_device_info param)
{
    return param >= FIRST && param < FIRST + 256 ? (param - FIRST) / 64 : 4;
}

void cover_note(cl_device_id device, cl_device_info param)
{
    atomic_uint_fast64_t *word = &device->asked[word_of(param)];
    const uint64_t bit = UINT64_C(1) << param % 64;

    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
        atomic_fetch_or(word, bit);
}

static bool was_asked(cl_device_id device, cl_device_info param)
{
    return atomic_load(&device->asked[word_of(param)]) >> param % 64 & 1;
}

/* ---- the rules ---- */

static uint64_t number_at(const void *list, size_t at, size_t each)
{
    uint64_t number = 0;

    memcpy(&number, (const char *)list + at * each, each);
    return number;
}

static bool numbers_cover(enum rule rule, const void *told, uint32_t told_length, const void *there,
                          uint32_t there_length)
{
    const size_t each = told_length % 8 ? 4 : 8;

    if (told_length % 4 || there_length < told_length)
        return false;
    for (size_t i = 0; i < told_length / each; i++) {
        const uint64_t had = number_at(told, i, each), has = number_at(there, i, each);

        if (rule == MORE ? has < had : rule == LESS ? has > had : (had & ~has) != 0)
            return false;
    }
    return true;
}

static const char *find_word(const char *in, const char *word, size_t length)
{
    while (*in && strncmp(in, word, length))
        in++;
    return *in ? in : NULL;
}

/* Whether all words of told are in there; writes the first that is not to missing. */
static bool words_cover(const char *told, const char *there, char *missing, size_t size)
{
    bool all = true;

    for (const char *word = told; all && *word; word += strcspn(word, " ;")) {
        const size_t length = strcspn(word += strspn(word, " ;"), " ;");
        const char *found = there;

        while (length && (found = find_word(found, word, length)) &&
               !((found == there || strchr(" ;", found[-1])) && strchr(" ;", found[length])))
            found++;
        all = !length || found;
        if (!all)
            snprintf(missing, size, " (%.*s)", (int)length, word);
    }
    return all;
}

static unsigned version_in(const char *text)
{
    unsigned major = 0, minor = 0;

    text += strcspn(text, "0123456789");
    sscanf(text, "%u.%u", &major, &minor);
    return major * 100 + minor;
}

/* Compares extensions as the program sees them: without those that VOCL does not carry. */
static bool extensions_cover(const struct info_table *told, const struct info_table *there, char *missing, size_t size)
{
    static const size_t room = 16384;
    char *had = calloc(2, room), *has = had + room;
    uint32_t had_length = 0, has_length = 0;
    const void *had_all = info_find(told, CL_DEVICE_EXTENSIONS, &had_length);
    const void *has_all = info_find(there, CL_DEVICE_EXTENSIONS, &has_length);
    bool good = had && had_all && has_all;

    if (good && had_length)
        good = !extension_return(told, had_all, had_length, room, had, NULL);
    if (good && has_length)
        good = !extension_return(there, has_all, has_length, room, has, NULL);
    good = good && words_cover(had, has, missing, size);
    free(had);
    return good;
}

static bool covers(const struct query *query, const struct info_table *told, const struct info_table *there,
                   char *missing, size_t size)
{
    uint32_t told_length, there_length = 0;
    const void *had = info_find(told, query->param, &told_length), *has = info_find(there, query->param, &there_length);

    *missing = '\0';
    if (!had || query->rule == OPEN)
        return true;
    if (query->rule == LISTED || query->param == CL_DEVICE_EXTENSIONS)
        return extensions_cover(told, there, missing, size);
    if (!has)
        return false;
    switch (query->rule) {
    case MORE:
    case LESS:
    case BITS:
        return numbers_cover(query->rule, had, told_length, has, there_length);
    case WORDS:
        return info_text(told, query->param) && info_text(there, query->param) &&
               words_cover(info_text(told, query->param), info_text(there, query->param), missing, size);
    case NUMBER:
        return info_text(told, query->param) && info_text(there, query->param) &&
               version_in(info_text(told, query->param)) <= version_in(info_text(there, query->param));
    default:
        return told_length == there_length && !memcmp(had, has, told_length);
    }
}

/* ---- the device ---- */

static const struct query *find_query(cl_device_info param)
{
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
        if (queries[i].param == param)
            return &queries[i];
    }
    return NULL;
}

void cover_query_name(cl_device_info param, char *name, size_t size)
{
    const struct query *query = find_query(param);

    if (query)
        snprintf(name, size, "%s", query->query);
    else
        snprintf(name, size, "query 0x%x", param);
}

static void add(char *reason, size_t size, const char *what, const char *missing)
{
    const size_t length = strlen(reason);

    if (!strstr(reason, what) || *missing)
        snprintf(reason + length, size - length, "%s %s%s", reason[length - 1] == ':' ? "" : ",", what, missing);
}

int device_covers(cl_device_id device, const struct info_table *there, char *reason, size_t size)
{
    const char *name = info_text(there, CL_DEVICE_NAME);
    struct wire_cursor in = wire_cursor(device->infos.bytes, device->infos.length);
    uint32_t param, length;
    const void *told;
    char text[64], missing[64];
    bool good = true;

    snprintf(reason, size, "%s lacks features that the program was told of:", name ? name : "its device");
    while (wire_get_info(&in, &param, &told, &length)) {
        const struct query plain = {param, "", SAME, "", false}, *known = find_query(param),
                           *query = known ? known : &plain;

        if (!query->always && !was_asked(device, param))
            continue;
        if (param == WIRE_INFO_LIMITED || identity_has(param) ||
            covers(query, &device->infos, there, missing, sizeof(missing)))
            continue;
        cover_query_name(param, text, sizeof(text));
        add(reason, size, *query->name ? query->name : text, missing);
        good = false;
    }
    return good ? 0 : -EXDEV;
}
