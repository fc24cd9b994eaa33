/* Commands as text, for people: VOCL_TRACE, logs, and the dump of the protocol that tests compare. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire/wire.h"

struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= text->left)
        length = text->left ? (int)text->left - 1 : 0;
    text->at += length;
    text->left -= (size_t)length;
}

static void add_u32s(struct text *text, const char *name, const uint32_t *items, uint32_t count)
{
    add(text, " %s=[", name);
    for (uint32_t i = 0; i < count && i < 16; i++)
        add(text, "%s%" PRIu32, i ? "," : "", items[i]);
    add(text, count > 16 ? ",...]" : "]");
}

static void add_u64s(struct text *text, const char *name, const uint64_t *items, uint32_t count)
{
    add(text, " %s=[", name);
    for (uint32_t i = 0; i < count; i++)
        add(text, "%s%" PRIu64, i ? "," : "", items[i]);
    add(text, "]");
}

static void add_region(struct text *text, const char *name, const struct wire_region *part)
{
    add(text, " %s=%s of %" PRIu64, name,
        part->kind == WIRE_PIECE  ? "piece"
        : part->kind == WIRE_RECT ? "rect"
                                  : "image",
        part->size);
    add_u64s(text, "origin", part->origin, part->kind == WIRE_PIECE ? 1 : 3);
    add_u64s(text, "region", part->region, part->kind == WIRE_PIECE ? 0 : 3);
    add_u64s(text, "pitch", part->pitch, part->kind == WIRE_RECT ? 2 : 0);
}

#define SHOW(name)                                                                                                     \
    static void show_##name(struct wire_cursor *in, struct text *text)                                                 \
    {                                                                                                                  \
        struct wire_##name m;                                                                                          \
        bool ok = wire_get_##name(in, &m);                                                                             \
        add(text, "%s%s", #name, ok ? "" : " (malformed)");                                                            \
        if (!ok)                                                                                                       \
            return;
#define SEND(name, number) SHOW(name)
#define NOTE(name, number) SHOW(name)
#define PEER(name, number) SHOW(name)
#define CALL(name, number)                                                                                             \
    SHOW(name)                                                                                                         \
    add(text, " call=%" PRIu32, m.call);
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    SHOW(name##_reply)                                                                                                 \
    add(text, " call=%" PRIu32, m.call);
#define END }
#define NUMBER(name) add(text, " " #name "=%" PRIu32, m.name);
#define U32(name) add(text, " " #name "=%" PRIu32, m.name);
#define I32(name) add(text, " " #name "=%" PRId32, m.name);
#define U64(name) add(text, " " #name "=%" PRIu64, m.name);
#define RANGE(name, low, high) add(text, " " #name "=%" PRIu32, m.name);
#define BITS(name, mask) add(text, " " #name "=%#" PRIx64, m.name);
#define NUMBERS(name, most) add_u32s(text, #name, m.name, m.name##_count);
#define STATUS(name) add(text, " " #name "=%" PRId32, m.name);
#define XYZ(name) add_u64s(text, #name, m.name, 3);
#define U64S(name, most) add_u64s(text, #name, m.name, m.name##_count);
#define REGION(name, kinds) add_region(text, #name, &m.name);
#define BLOB(name, most) add(text, " " #name "=<%" PRIu32 " bytes>", m.name##_length);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

static void show_fields(uint16_t number, struct wire_cursor *in, struct text *text)
{
    switch (number) {
#define SEND(name, number)                                                                                             \
    case number:                                                                                                       \
        show_##name(in, text);                                                                                         \
        break;
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define CALL(name, number) SEND(name, number)
#define REPLY(name)                                                                                                    \
    case WIRE_##name | WIRE_REPLY:                                                                                     \
        show_##name##_reply(in, text);                                                                                 \
        break;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    default:
        add(text, "unknown command %u", number);
    }
}

void wire_show(const void *command, size_t length, char *buffer, size_t size)
{
    struct wire_cursor frame = wire_cursor(command, length), fields;
    struct text text = {buffer, size};
    uint16_t number;

    if (size)
        buffer[0] = '\0';
    if (wire_next(&frame, &number, &fields) != 1)
        add(&text, "malformed command");
    else
        show_fields(number, &fields, &text);
}

const char *wire_name(uint16_t number)
{
    switch (number & ~WIRE_REPLY) {
#define SEND(name, number)                                                                                             \
    case number:                                                                                                       \
        return #name;
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define CALL(name, number) SEND(name, number)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return "unknown";
}
