/* Decodes bytes to structs, checking every length and range. */
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

size_t wire_whole(const uint8_t *bytes, size_t length, size_t most)
{
    size_t whole = 0;

    while (whole < length) {
        uint32_t next;

        memcpy(&next, bytes + whole, sizeof(next));
        if (whole && next > most - whole)
            break;
        whole += next;
        if (whole >= most)
            break;
    }
    return whole;
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

static void get_words(struct wire_cursor *in, uint64_t *values, uint32_t count)
{
    const void *bytes = wire_get_bytes(in, count * sizeof(*values));

    memset(values, 0, count * sizeof(*values));
    if (bytes)
        memcpy(values, bytes, count * sizeof(*values));
}

static bool is_one_of(unsigned kind, unsigned kinds)
{
    return kind & kinds && !(kind & (kind - 1));
}

static bool is_size_of(const uint64_t region[3], uint64_t size)
{
    const unsigned __int128 area = (unsigned __int128)region[0] * region[1];

    return area <= WIRE_MAX_REGION && area * region[2] == size;
}

static void get_region(struct wire_cursor *in, struct wire_region *part, unsigned kinds)
{
    memset(part, 0, sizeof(*part));
    part->kind = wire_get_u32(in);
    part->size = wire_get_u64(in);
    if (part->kind == WIRE_PIECE) {
        part->origin[0] = wire_get_u64(in);
    } else {
        get_words(in, part->origin, 3);
        get_words(in, part->region, 3);
        if (part->kind == WIRE_RECT)
            get_words(in, part->pitch, 2);
    }
    if (!is_one_of(part->kind, kinds) || !part->size || part->size > WIRE_MAX_REGION ||
        (part->kind == WIRE_RECT && !is_size_of(part->region, part->size)))
        in->failed = true;
}

/* Only padding to 8 bytes may follow the fields. */
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
#define STATUS(name)                                                                                                   \
    m->name = (int32_t)wire_get_u32(in);                                                                               \
    if (m->name > 0)                                                                                                   \
        in->failed = true;
#define XYZ(name) get_words(in, m->name, 3);
#define U64S(name, most) get_u64s(in, &m->name##_count, m->name, most);
#define REGION(name, kinds) get_region(in, &m->name, kinds);
#define BLOB(name, most) m->name = get_list(in, &m->name##_length, 1, most);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

bool wire_is_enqueue(uint16_t number)
{
    switch (number) {
#define ENQUEUE(name, number)                                                                                          \
    case number:                                                                                                       \
        return true;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return false;
}

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
