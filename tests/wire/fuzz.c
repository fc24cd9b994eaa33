/* libFuzzer target: takes any bytes for a frame, decodes each command by its number, and prints it. */
#include "wire/tables.h"
#include "wire/wire.h"

static unsigned sum;

static void use(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < length; i++)
        sum += at[i];
}

/* Decodes tables inside blobs likewise. */
static void read_tables(const void *bytes, size_t length)
{
    struct wire_cursor in = wire_cursor(bytes, length);
    struct wire_kernel_argument argument;
    const void *value;
    uint32_t param, size;

    while (wire_get_info(&in, &param, &value, &size))
        use(value, size);
    in = wire_cursor(bytes, length);
    while (in.left && wire_get_kernel_argument(&in, &argument)) {
        use(argument.name, argument.name_length);
        use(argument.type_name, argument.type_name_length);
    }
}

static void decode(uint16_t number, struct wire_cursor *fields)
{
    switch (number) {
#define TAKE(name, number)                                                                                             \
    case number: {                                                                                                     \
        struct wire_##name m;                                                                                          \
        if (wire_get_##name(fields, &m)) {
#define SEND(name, number) TAKE(name, number)
#define NOTE(name, number) TAKE(name, number)
#define PEER(name, number) TAKE(name, number)
#define CALL(name, number) TAKE(name, number)
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    break;                                                                                                             \
    }                                                                                                                  \
    TAKE(name##_reply, WIRE_##name | WIRE_REPLY)
#define END                                                                                                            \
    }                                                                                                                  \
    break;                                                                                                             \
    }
#define NUMBERS(name, most) use(m.name, 4 * m.name##_count);
#define U64S(name, most) use(m.name, 8 * m.name##_count);
#define BLOB(name, most)                                                                                               \
    use(m.name, m.name##_length);                                                                                      \
    read_tables(m.name, m.name##_length);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    const uint8_t *command = bytes;
    uint16_t number;
    char text[256];

    wire_show(bytes, length, text, sizeof(text));
    while (wire_next(&frame, &number, &fields) == 1) {
        wire_show(command, (size_t)(frame.at - command), text, sizeof(text));
        command = frame.at;
        decode(number, &fields);
    }
    return 0;
}
