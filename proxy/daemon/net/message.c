#include <stdarg.h>
#include <string.h>

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
        daemon_log("error", "what is to be said or recorded cannot be: %s", error.text);
    return message;
}

json_t *message_list(const unsigned *numbers, unsigned count)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < count; i++)
        json_array_append_new(list, json_integer(numbers[i]));
    return list;
}
