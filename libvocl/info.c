/* Answers to clGet*Info. */
#include <string.h>

#include <stddef.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

cl_int info_return(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to) {
        if (capacity < size)
            return CL_INVALID_VALUE;
        if (size)
            memcpy(to, value, size);
    }
    if (size_ret)
        *size_ret = size;
    return CL_SUCCESS;
}

cl_int info_string(const char *string, size_t capacity, void *to, size_t *size_ret)
{
    return info_return(string ? string : "", string ? strlen(string) + 1 : 1, capacity, to, size_ret);
}

const void *info_find(const struct info_table *table, cl_uint param, uint32_t *length)
{
    struct wire_cursor in = wire_cursor(table->bytes, table->length);
    const void *bytes;
    uint32_t found;

    while (wire_get_info(&in, &found, &bytes, length)) {
        if (found == param)
            return bytes;
    }
    return NULL;
}

bool info_is_newer(cl_device_id device, cl_uint param)
{
    switch (param) { /* those that are answered here, or may be: the others the node knows, or not */
    case CL_DEVICE_PARENT_DEVICE:
    case CL_DEVICE_REFERENCE_COUNT:
    case CL_IMAGE_ARRAY_SIZE:
    case CL_IMAGE_BUFFER:
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES:
    case CL_PROGRAM_NUM_KERNELS:
    case CL_PROGRAM_KERNEL_NAMES:
    case CL_KERNEL_ATTRIBUTES:
        return device->version < 120;
    case CL_QUEUE_SIZE:
    case CL_MEM_USES_SVM_POINTER:
    case CL_PROFILING_COMMAND_COMPLETE:
        return device->version < 200;
    case CL_QUEUE_DEVICE_DEFAULT:
    case CL_PROGRAM_IL:
        return device->version < 210;
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
        return device->version < 220;
    case CL_QUEUE_PROPERTIES_ARRAY:
    case CL_MEM_PROPERTIES:
    case CL_SAMPLER_PROPERTIES:
    case CL_PIPE_PROPERTIES:
        return device->version < 300;
    }
    return false;
}

/* ---- what a node tells ends where it says that it does ---- */

static bool is_text(cl_uint param)
{
    switch (param) {
    case CL_PLATFORM_PROFILE:
    case CL_PLATFORM_VERSION:
    case CL_PLATFORM_NAME:
    case CL_PLATFORM_VENDOR:
    case CL_PLATFORM_EXTENSIONS:
    case CL_PLATFORM_ICD_SUFFIX_KHR:
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_PROFILE:
    case CL_DEVICE_VERSION:
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_OPENCL_C_VERSION:
    case CL_DEVICE_BUILT_IN_KERNELS:
    case CL_DEVICE_IL_VERSION:
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED:
    case CL_PROGRAM_SOURCE:
    case CL_PROGRAM_KERNEL_NAMES:
    case CL_PROGRAM_BUILD_OPTIONS:
    case CL_PROGRAM_BUILD_LOG:
    case CL_KERNEL_FUNCTION_NAME:
    case CL_KERNEL_ATTRIBUTES:
    case CL_KERNEL_ARG_TYPE_NAME:
    case CL_KERNEL_ARG_NAME:
        return true;
    }
    return false;
}

static bool is_list_of_names(cl_uint param)
{
    switch (param) {
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
    case CL_DEVICE_ILS_WITH_VERSION:
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
    case CL_DEVICE_OPENCL_C_FEATURES:
        return true;
    }
    return false;
}

/* Programs read texts to their ends. */
static void end_texts(cl_uint param, uint8_t *bytes, size_t length)
{
    const size_t name_end = offsetof(cl_name_version, name) + sizeof(((cl_name_version *)0)->name) - 1;

    if (is_text(param) && length)
        bytes[length - 1] = '\0';
    if (!is_list_of_names(param))
        return;
    for (size_t at = 0; at + sizeof(cl_name_version) <= length; at += sizeof(cl_name_version))
        bytes[at + name_end] = '\0';
}

bool info_table_take(struct info_table *table, const void *infos, size_t length)
{
    uint8_t *copy = malloc(length + 1);
    struct wire_cursor in = wire_cursor(copy, length);
    const void *bytes;
    uint32_t param, size;

    if (!copy)
        return false;
    if (length)
        memcpy(copy, infos, length);
    while (wire_get_info(&in, &param, &bytes, &size))
        end_texts(param, copy + ((const uint8_t *)bytes - copy), size);
    if (in.failed) {
        free(copy);
        return false;
    }
    *table = (struct info_table){.bytes = copy, .length = length};
    return true;
}

const char *info_text(const struct info_table *table, cl_uint param)
{
    uint32_t length;
    const char *text = info_find(table, param, &length);

    return text && length ? text : NULL;
}

/* What the node answers, in memory to be freed. */
static cl_int ask(struct node *node, const struct wire_get_info *question, void **bytes, size_t *length)
{
    struct wire_get_info m = *question;
    struct wire_get_info_reply reply;
    struct call call;
    cl_int error = call_get_info(node, &m, &reply, &call);

    *bytes = NULL;
    *length = 0;
    if (error)
        return error;
    error = reply.error;
    if (!error && !(*bytes = malloc(reply.value_length + 1)))
        error = CL_OUT_OF_HOST_MEMORY;
    if (!error) {
        memcpy(*bytes, reply.value, reply.value_length);
        *length = reply.value_length;
        end_texts(m.param, *bytes, *length);
    }
    call_free(&call);
    return error;
}

cl_int info_take(struct node *node, unsigned kind, uint32_t object, void **bytes, size_t *length)
{
    const struct wire_get_info question = {.kind = kind, .object = object};

    return ask(node, &question, bytes, length);
}

cl_int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
                size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    const struct wire_get_info question = {.kind = kind,
                                           .object = object,
                                           .second = second,
                                           .param = param,
                                           .input = input,
                                           .input_length = (uint32_t)input_size};
    size_t length;
    void *bytes;
    cl_int error = ask(node, &question, &bytes, &length);

    if (!error)
        error = info_return(bytes, length, capacity, to, size_ret);
    free(bytes);
    return error;
}

/* ---- answers that are kept ---- */

struct answer {
    struct answer *next;
    unsigned kind;
    uint32_t second;
    cl_uint param;
    uint8_t input[64];
    size_t input_size, length;
    cl_int error;
    void *bytes;
};

static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct answer *a, const struct answer *b)
{
    return a->kind == b->kind && a->second == b->second && a->param == b->param && a->input_size == b->input_size &&
           !memcmp(a->input, b->input, a->input_size);
}

/* Whether it was known; *error is then the query's. */
static bool recall(struct answer **kept, const struct answer *wanted, size_t capacity, void *to, size_t *size_ret,
                   cl_int *error)
{
    const struct answer *answer;

    pthread_mutex_lock(&answers_lock);
    for (answer = *kept; answer && !is_same(answer, wanted); answer = answer->next)
        ;
    if (answer)
        *error = answer->error ? answer->error : info_return(answer->bytes, answer->length, capacity, to, size_ret);
    pthread_mutex_unlock(&answers_lock);
    return answer != NULL;
}

cl_int info_ask_kept(struct answer **kept, struct node *node, unsigned kind, uint32_t object, uint32_t second,
                     cl_uint param, const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    const struct wire_get_info question = {.kind = kind,
                                           .object = object,
                                           .second = second,
                                           .param = param,
                                           .input = input,
                                           .input_length = (uint32_t)input_size};
    struct answer *answer = calloc(1, sizeof(*answer));
    cl_int error;

    if (!answer || input_size > sizeof(answer->input)) {
        free(answer);
        return info_ask(node, kind, object, second, param, input, input_size, capacity, to, size_ret);
    }
    *answer = (struct answer){.kind = kind, .second = second, .param = param, .input_size = input_size};
    if (input_size)
        memcpy(answer->input, input, input_size);
    if (recall(kept, answer, capacity, to, size_ret, &error)) {
        free(answer);
        return error;
    }
    error = answer->error = ask(node, &question, &answer->bytes, &answer->length);
    if (!error)
        error = info_return(answer->bytes, answer->length, capacity, to, size_ret);
    if (!node->alive) { /* that is no answer */
        free(answer->bytes);
        free(answer);
        return error;
    }
    pthread_mutex_lock(&answers_lock);
    answer->next = *kept;
    *kept = answer;
    pthread_mutex_unlock(&answers_lock);
    return error;
}

cl_int info_ask_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                     const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    return info_ask_kept(&object->answers, node, kind, object->id, second, param, input, input_size, capacity, to,
                         size_ret);
}

void info_forget(struct answer **kept)
{
    struct answer *answer, *next;

    pthread_mutex_lock(&answers_lock);
    answer = *kept;
    *kept = NULL;
    pthread_mutex_unlock(&answers_lock);
    for (; answer; answer = next) {
        next = answer->next;
        free(answer->bytes);
        free(answer);
    }
}

void info_after_fork(void)
{
    pthread_mutex_init(&answers_lock, NULL);
}

/* ---- */

cl_int properties_copy(const void *list, size_t item_size, void **out, size_t *size_out)
{
    const uint8_t *at = list;
    size_t size = 0;
    uint64_t item = 1;

    *out = NULL;
    *size_out = 0;
    if (!list)
        return CL_SUCCESS;
    while (item) { /* name, value, name, value, ..., 0 */
        item = 0;
        memcpy(&item, at + size, item_size);
        size += item ? 2 * item_size : item_size;
    }
    *out = malloc(size);
    if (!*out)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(*out, list, size);
    *size_out = size;
    return CL_SUCCESS;
}
