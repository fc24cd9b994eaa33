/* Queries that nodes answer, and saved answers. */
#include <errno.h>
#include <string.h>

#include <stddef.h>

#include "client/core/info.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "wire/tables.h"

int info_copy(const void *value, size_t size, size_t capacity, void *to, size_t *size_ret)
{
    if (to) {
        if (capacity < size)
            return -EINVAL;
        if (size)
            memcpy(to, value, size);
    }
    if (size_ret)
        *size_ret = size;
    return 0;
}

#define FIRSTS (sizeof(((struct info_table *)0)->first) / sizeof(uint32_t))

const void *info_find(const struct info_table *table, cl_uint param, uint32_t *length)
{
    const uint32_t first = table->first[param % FIRSTS];
    struct wire_cursor in;
    const void *bytes;
    uint32_t found;

    if (!first)
        return NULL;
    in = wire_cursor(table->bytes + first - 1, table->length - (first - 1));
    while (wire_get_info(&in, &found, &bytes, length)) {
        if (found == param)
            return bytes;
    }
    return NULL;
}

/* ---- texts from nodes, which are terminated here ---- */

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

/* Terminates texts, which programs read up to their ends. */
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
    struct info_table taken = {.bytes = copy, .length = length};
    const void *bytes;
    uint32_t param, size, at = 0;

    if (!copy)
        return false;
    if (length)
        memcpy(copy, infos, length);
    for (; wire_get_info(&in, &param, &bytes, &size); at = (uint32_t)(in.at - copy)) {
        end_texts(param, copy + ((const uint8_t *)bytes - copy), size);
        if (!taken.first[param % FIRSTS])
            taken.first[param % FIRSTS] = at + 1;
    }
    if (in.failed) {
        free(copy);
        return false;
    }
    *table = taken;
    return true;
}

const char *info_text(const struct info_table *table, cl_uint param)
{
    uint32_t length;
    const char *text = info_find(table, param, &length);

    return text && length ? text : NULL;
}

/* Asks the node. The caller frees the answer. */
static int ask(struct node *node, const struct wire_get_info *question, void **bytes, size_t *length)
{
    struct wire_get_info m = *question;
    struct wire_get_info_reply reply;
    struct call call;
    int error = call_get_info(node, &m, &reply, &call);

    *bytes = NULL;
    *length = 0;
    if (error)
        return error;
    error = call_verdict(reply.error);
    if (!error && !(*bytes = malloc(reply.value_length + 1)))
        error = -ENOMEM;
    if (!error) {
        memcpy(*bytes, reply.value, reply.value_length);
        *length = reply.value_length;
        end_texts(m.param, *bytes, *length);
    }
    call_free(&call);
    return error;
}

int info_take(struct node *node, unsigned kind, uint32_t object, void **bytes, size_t *length)
{
    const struct wire_get_info question = {.kind = kind, .object = object};

    return ask(node, &question, bytes, length);
}

int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
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
    int error = ask(node, &question, &bytes, &length);

    if (!error)
        error = info_copy(bytes, length, capacity, to, size_ret);
    free(bytes);
    return error;
}

/* ---- saved answers ---- */

struct answer {
    struct answer *next;
    uint32_t kind, second, param;
    uint32_t input_size;
    uint8_t input[64];
    size_t length;
    int error;
    void *bytes;
};

static PER_PROCESS struct lock answers_lock = LOCK(RANK_ANSWERS); /* held for a few steps */

static bool is_same(const struct answer *answer, const struct wire_get_info *question)
{
    return answer->param == question->param && answer->kind == question->kind && answer->second == question->second &&
           answer->input_size == question->input_length &&
           (!answer->input_size || !memcmp(answer->input, question->input, answer->input_size));
}

/* Whether the answer was known. *error is then the query's result. */
static bool recall(struct answer **kept, const struct wire_get_info *question, size_t capacity, void *to,
                   size_t *size_ret, int *error)
{
    const struct answer *answer;

    lock_hold(&answers_lock);
    for (answer = *kept; answer && !is_same(answer, question); answer = answer->next)
        ;
    if (answer)
        *error = answer->error ? answer->error : info_copy(answer->bytes, answer->length, capacity, to, size_ret);
    lock_release(&answers_lock);
    return answer != NULL;
}

static struct answer *answer_new(const struct wire_get_info *question)
{
    struct answer *answer = question->input_length <= sizeof(answer->input) ? calloc(1, sizeof(*answer)) : NULL;

    if (!answer)
        return NULL;
    answer->kind = question->kind;
    answer->second = question->second;
    answer->param = question->param;
    answer->input_size = question->input_length;
    if (answer->input_size)
        memcpy(answer->input, question->input, answer->input_size);
    return answer;
}

int info_ask_kept(struct answer **kept, struct node *node, unsigned kind, uint32_t object, uint32_t second,
                  cl_uint param, const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    const struct wire_get_info question = {.kind = kind,
                                           .object = object,
                                           .second = second,
                                           .param = param,
                                           .input = input,
                                           .input_length = (uint32_t)input_size};
    struct answer *answer;
    int error;

    if (recall(kept, &question, capacity, to, size_ret, &error))
        return error;
    answer = answer_new(&question);
    if (!answer)
        return info_ask(node, kind, object, second, param, input, input_size, capacity, to, size_ret);
    error = answer->error = ask(node, &question, &answer->bytes, &answer->length);
    if (!error)
        error = info_copy(answer->bytes, answer->length, capacity, to, size_ret);
    if (!node->alive) { /* the node was lost: that is no answer */
        free(answer->bytes);
        free(answer);
        return error;
    }
    lock_hold(&answers_lock);
    answer->next = *kept;
    *kept = answer;
    lock_release(&answers_lock);
    return error;
}

int info_ask_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                  const void *input, size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    return info_ask_kept(&object->answers, node, kind, object->id, second, param, input, input_size, capacity, to,
                         size_ret);
}

int info_take_once(struct node *node, unsigned kind, struct object *object, uint32_t second, cl_uint param,
                   const void *input, size_t input_size, void **bytes, size_t *length)
{
    int error = 0;

    *bytes = NULL;
    *length = 0;
    for (int i = 0; !error && i < 2; i++) { /* first the length; the node is asked once */
        error = info_ask_once(node, kind, object, second, param, input, input_size, *length, *bytes, length);
        if (!error && !*bytes && !(*bytes = malloc(*length + 1)))
            error = -ENOMEM;
    }
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

void info_forget(struct answer **kept)
{
    struct answer *answer, *next;

    lock_hold(&answers_lock);
    answer = *kept;
    *kept = NULL;
    lock_release(&answers_lock);
    for (; answer; answer = next) {
        next = answer->next;
        free(answer->bytes);
        free(answer);
    }
}
