#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/daemon.h"
#include "proxy/daemon/net/message.h"

const char *message_text(const json_t *message, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(message, name));

    return text ? text : fallback;
}

bool message_is_id(const char *text)
{
    return strlen(text) == SESSION_ID - 1 && strspn(text, "0123456789abcdef") == SESSION_ID - 1;
}

long long message_number(const json_t *message, const char *name, long long fallback)
{
    const json_t *number = json_object_get(message, name);

    return json_is_integer(number) ? (long long)json_integer_value(number) : fallback;
}

json_t *message_pack(const char *format, ...)
{
    json_error_t error;
    va_list arguments;
    json_t *message;

    va_start(arguments, format);
    message = json_vpack_ex(&error, 0, format, arguments);
    va_end(arguments);
    if (!message)
        daemon_log("error", "a message or record cannot be made: %s", error.text);
    return message;
}

json_t *message_error(const char *why)
{
    return message_pack("{s:s}", "error", why);
}

void message_append(json_t **list, json_t *value)
{
    if (!json_array_append_new(*list, value))
        return;
    json_decref(*list);
    *list = NULL;
}

void message_set(json_t **object, const char *name, json_t *value)
{
    if (!json_object_set_new(*object, name, value))
        return;
    json_decref(*object);
    *object = NULL;
}

json_t *message_list(const unsigned *numbers, unsigned count)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < count; i++)
        message_append(&list, json_integer(numbers[i]));
    return list;
}

/* ---- fields ---- */

static json_t *print_field(const struct field *field, const char *at)
{
    const unsigned *list = (const void *)at;

    switch (field->kind) {
    case FIELD_TEXT:
        return json_string(at);
    case FIELD_BORROWED:
        return json_string(*(const char *const *)at);
    case FIELD_INT:
        return json_integer(*(const int *)at);
    case FIELD_UNSIGNED:
        return json_integer(*(const unsigned *)at);
    case FIELD_UINT64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case FIELD_REAL:
        return json_real(*(const double *)at);
    case FIELD_FLAG:
        return json_boolean(*(const bool *)at);
    case FIELD_LIST:
        return message_list(list, list[field->size / sizeof(*list)]);
    case FIELD_JSON:
        return json_incref(*(json_t *const *)at);
    }
    return NULL;
}

static bool is_left_out(const struct field *field, const char *at)
{
    static const uint64_t nothing;

    if (field->kind == FIELD_JSON)
        return !*(json_t *const *)at;
    if (field->if_set && field->kind == FIELD_TEXT)
        return !*at;
    return field->if_set && field->size <= sizeof(nothing) && !memcmp(at, &nothing, field->size);
}

static bool print_fields(const struct field *fields, const void *object, json_t *message)
{
    for (; fields && fields->name; fields++) {
        const char *at = (const char *)object + fields->offset;

        if (is_left_out(fields, at) || !json_object_set_new(message, fields->name, print_field(fields, at)))
            continue;
        daemon_log("error", "a message or record cannot be made: %s", fields->name);
        return false;
    }
    return true;
}

json_t *fields_print(const struct field *fields, const struct field *more, const void *object)
{
    json_t *message = json_object();

    if (print_fields(fields, object, message) && print_fields(more, object, message))
        return message;
    json_decref(message);
    return NULL;
}

json_t *fields_print_all(const struct field *fields, const struct field *more, const void *objects, unsigned count,
                         size_t size)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < count; i++)
        message_append(&list, fields_print(fields, more, (const char *)objects + i * size));
    return list;
}

static void read_list(const json_t *value, size_t size, unsigned *list)
{
    const size_t most = size / sizeof(*list);
    unsigned count = 0;

    for (size_t i = 0; i < json_array_size(value) && count < most; i++)
        list[count++] = (unsigned)json_integer_value(json_array_get(value, i));
    list[most] = count;
}

static void read_integer(enum field_kind kind, long long number, void *at)
{
    if (kind == FIELD_UINT64)
        *(uint64_t *)at = (uint64_t)number;
    else if (kind == FIELD_INT && number >= INT32_MIN && number <= INT32_MAX)
        *(int *)at = (int)number;
    else if (kind == FIELD_UNSIGNED && number >= 0 && number <= UINT32_MAX)
        *(unsigned *)at = (unsigned)number;
}

static void read_field(const struct field *field, json_t *value, char *at)
{
    switch (field->kind) {
    case FIELD_TEXT:
        if (json_is_string(value))
            text_print(at, field->size, "%s", json_string_value(value));
        break;
    case FIELD_BORROWED:
        *(const char **)at = json_is_string(value) ? json_string_value(value) : "";
        break;
    case FIELD_INT:
    case FIELD_UNSIGNED:
    case FIELD_UINT64:
        if (json_is_integer(value))
            read_integer(field->kind, json_integer_value(value), at);
        break;
    case FIELD_REAL:
        if (json_is_number(value))
            *(double *)at = json_number_value(value);
        break;
    case FIELD_FLAG:
        if (json_is_boolean(value))
            *(bool *)at = json_is_true(value);
        break;
    case FIELD_LIST:
        read_list(value, field->size, (void *)at);
        break;
    case FIELD_JSON:
        *(json_t **)at = value;
    }
}

void fields_read(const struct field *fields, const struct field *more, const json_t *message, void *object)
{
    for (; fields && fields->name; fields++)
        read_field(fields, json_object_get(message, fields->name), (char *)object + fields->offset);
    if (more)
        fields_read(more, NULL, message, object);
}

void *fields_read_all(const struct field *fields, const struct field *more, const json_t *list, size_t size,
                      unsigned *count)
{
    const size_t length = json_array_size(list);
    char *objects = calloc(length + 1, size);

    *count = objects ? (unsigned)length : 0;
    for (unsigned i = 0; i < *count; i++)
        fields_read(fields, more, json_array_get(list, i), objects + i * size);
    return objects;
}
