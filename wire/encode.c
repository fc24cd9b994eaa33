/* Encodes structs to bytes: one function for each command. */
#include "wire/wire.h"

void *wire_reserve_slow(struct wire_buffer *out, size_t padded)
{
    size_t capacity = out->capacity ? out->capacity : 1024;
    uint8_t *bytes;

    while (capacity - out->length < padded)
        capacity *= 2;
    bytes = realloc(out->bytes, capacity);
    if (!bytes) {
        out->failed = true;
        return NULL;
    }
    out->bytes = bytes;
    out->capacity = capacity;
    bytes += out->length;
    out->length += padded;
    if (padded)
        memset(bytes + padded - 4, 0, 4);
    return bytes;
}

static size_t begin(struct wire_buffer *out, uint16_t number)
{
    size_t start = out->length;
    uint32_t header[2] = {0, number};

    wire_put_bytes(out, header, sizeof(header));
    return start;
}

static void end(struct wire_buffer *out, size_t start)
{
    uint32_t length;

    if ((out->length - start) % 8)
        wire_put_u32(out, 0);
    if (out->failed) {
        out->length = start;
        return;
    }
    length = (uint32_t)(out->length - start);
    memcpy(out->bytes + start, &length, sizeof(length));
}

static void put_list(struct wire_buffer *out, const void *items, uint32_t count, size_t size, uint32_t most)
{
    if (count > most) {
        out->failed = true;
        return;
    }
    wire_put_u32(out, count);
    wire_put_bytes(out, items, count * size);
}

static void put_region(struct wire_buffer *out, const struct wire_region *part, unsigned kinds)
{
    if (!(part->kind & kinds))
        out->failed = true;
    wire_put_u32(out, part->kind);
    wire_put_u64(out, part->size);
    if (part->kind == WIRE_PIECE) {
        wire_put_u64(out, part->origin[0]);
        return;
    }
    wire_put_bytes(out, part->origin, sizeof(part->origin));
    wire_put_bytes(out, part->region, sizeof(part->region));
    if (part->kind == WIRE_RECT)
        wire_put_bytes(out, part->pitch, sizeof(part->pitch));
}

#define PUT(name, number)                                                                                              \
    void wire_put_##name(struct wire_buffer *out, const struct wire_##name *m)                                         \
    {                                                                                                                  \
        size_t start = begin(out, number);                                                                             \
        (void)m;
#define SEND(name, number) PUT(name, number)
#define NOTE(name, number) PUT(name, number)
#define PEER(name, number) PUT(name, number)
#define CALL(name, number)                                                                                             \
    PUT(name, number)                                                                                                  \
    wire_put_u32(out, m->call);
#define REPLY(name)                                                                                                    \
    end(out, start);                                                                                                   \
    }                                                                                                                  \
    PUT(name##_reply, WIRE_##name | WIRE_REPLY)                                                                        \
    wire_put_u32(out, m->call);
#define END                                                                                                            \
    end(out, start);                                                                                                   \
    }
#define NUMBER(name) wire_put_u32(out, m->name);
#define U32(name) wire_put_u32(out, m->name);
#define I32(name) wire_put_u32(out, (uint32_t)m->name);
#define U64(name) wire_put_u64(out, m->name);
#define RANGE(name, low, high) wire_put_u32(out, m->name);
#define BITS(name, mask) wire_put_u64(out, m->name);
#define NUMBERS(name, most) put_list(out, m->name, m->name##_count, 4, most);
#define STATUS(name) wire_put_u32(out, (uint32_t)m->name);
#define XYZ(name) wire_put_bytes(out, m->name, sizeof(m->name));
#define U64S(name, most) put_list(out, m->name, m->name##_count, 8, most);
#define REGION(name, kinds) put_region(out, &m->name, kinds);
#define BLOB(name, most) put_list(out, m->name, m->name##_length, 1, most);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
