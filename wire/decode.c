/* Bytes to structs, every length and range checked. */
#include "wire/wire.h"

int wire_next(struct wire_cursor *frame, uint16_t *number, struct wire_cursor *fields)
{
    uint32_t header[2];

    if (!frame->failed && frame->left == 0)
        return 0;
    if (frame->failed || frame->left < WIRE_HEADER)
        return -1;
    memcpy(header, frame->at, sizeof(header));
    if (header[0] < WIRE_HEADER || header[0] % 8 || header[0] > frame->left || header[1] > UINT16_MAX)
        return -1;
    *number = (uint16_t)header[1];
    *fields = wire_cursor(frame->at + WIRE_HEADER, header[0] - WIRE_HEADER);
    frame->at += header[0];
    frame->left -= header[0];
    return 1;
}

static const void *get_list(struct wire_cursor *in, uint32_t *count, size_t size, uint32_t most)
{
    uint32_t claimed = wire_get_u32(in);
    const void *items;

    *count = 0;
    if (claimed > most)
        in->failed = true;
    items = wire_get_bytes(in, (size_t)claimed * size);
    if (items)
        *count = claimed;
    return items;
}

static void get_u64s(struct wire_cursor *in, uint32_t *count, uint64_t *values, uint32_t most)
{
    const void *items = get_list(in, count, sizeof(*values), most);

    memset(values, 0, most * sizeof(*values));
    if (items)
        memcpy(values, items, *count * sizeof(*values));
}

static void get_region(struct wire_cursor *in, struct wire_region *part, unsigned kinds)
{
    uint32_t origin, region, pitch = 0;

    memset(part, 0, sizeof(*part));
    part->size = wire_get_u64(in);
    get_u64s(in, &origin, part->origin, 3);
    get_u64s(in, &region, part->region, 3);
    if (kinds & WIRE_RECT)
        get_u64s(in, &pitch, part->pitch, 2);
    if (origin == 1 && !region && !pitch)
        part->kind = WIRE_PIECE;
    else if (origin == 3 && region == 3 && pitch == 2)
        part->kind = WIRE_RECT;
    else if (origin == 3 && region == 3 && !pitch)
        part->kind = WIRE_IMAGE;
    else
        in->failed = true;
}

/* What is left after the fields can only be the padding to 8 bytes. */
static bool finished(const struct wire_cursor *in)
{
    return !in->failed && in->left < 8;
}

#define GET(name)                                                                                                      \
    bool wire_get_##name(struct wire_cursor *in, struct wire_##name *m)                                                \
    {                                                                                                                  \
        (void)m;
#define SEND(name, number) GET(name)
#define NOTE(name, number) GET(name)
#define PEER(name, number) GET(name)
#define CALL(name, number)                                                                                             \
    GET(name)                                                                                                          \
    m->call = wire_get_u32(in);
#define REPLY(name)                                                                                                    \
    return finished(in);                                                                                               \
    }                                                                                                                  \
    GET(name##_reply)                                                                                                  \
    m->call = wire_get_u32(in);
#define END                                                                                                            \
    return finished(in);                                                                                               \
    }
#define NUMBER(name) m->name = wire_get_u32(in);
#define U32(name) m->name = wire_get_u32(in);
#define I32(name) m->name = (int32_t)wire_get_u32(in);
#define U64(name) m->name = wire_get_u64(in);
#define RANGE(name, low, high)                                                                                         \
    m->name = wire_get_u32(in);                                                                                        \
    if (m->name < (low) || m->name > (high))                                                                           \
        in->failed = true;
#define BITS(name, mask)                                                                                               \
    m->name = wire_get_u64(in);                                                                                        \
    if (m->name & ~(uint64_t)(mask))                                                                                   \
        in->failed = true;
#define NUMBERS(name, most) m->name = get_list(in, &m->name##_count, 4, most);
#define U64S(name, most) get_u64s(in, &m->name##_count, m->name, most);
#define REGION(name, kinds) get_region(in, &m->name, kinds);
#define BLOB(name, most) m->name = get_list(in, &m->name##_length, 1, most);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

unsigned wire_flags(uint16_t number)
{
    switch (number) {
#define SEND(name, number)                                                                                             \
    case number:                                                                                                       \
        return 0
#define RECORDABLE | WIRE_RECORDABLE
#define LAUNCH | WIRE_LAUNCH
#define END ;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return 0;
}
