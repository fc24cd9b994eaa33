/* Answers to clGet*Info. */
#include <string.h>

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

cl_int info_ask(struct node *node, unsigned kind, uint32_t object, uint32_t second, cl_uint param, const void *input,
                size_t input_size, size_t capacity, void *to, size_t *size_ret)
{
    struct wire_get_info m = {.kind = kind,
                              .object = object,
                              .second = second,
                              .param = param,
                              .input = input,
                              .input_length = (uint32_t)input_size};
    struct wire_get_info_reply reply;
    struct call call;
    struct wire_buffer *out = call_begin(node, WIRE_get_info, &call);
    cl_int error;

    m.call = call.id;
    wire_put_get_info(out, &m);
    error = call_end(&call);
    if (error)
        return error;
    if (!wire_get_get_info_reply(&call.fields, &reply))
        error = CL_OUT_OF_RESOURCES;
    else if (reply.error)
        error = reply.error;
    else
        error = info_return(reply.value, reply.value_length, capacity, to, size_ret);
    call_free(&call);
    return error;
}

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
