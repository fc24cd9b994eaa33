/* One sample of every command, made from commands.def: fill_X(m, state) and same_X(a, b), for the codec's test. */
#ifndef VOCL_TESTS_WIRE_SAMPLES_H
#define VOCL_TESTS_WIRE_SAMPLES_H

#include "tests/draw.h"
#include "wire/wire.h"

enum { SAMPLE_ITEMS = 5 };

struct sampler_state {
    uint64_t random;
};

static const uint32_t sample_ids[SAMPLE_ITEMS] = {1, 0x01000002, 3, UINT32_MAX, 5};
static const char sample_bytes[] = "some bytes, and an odd number";

static uint32_t items(struct sampler_state *state, uint32_t most)
{
    return (uint32_t)(draw(&state->random) % ((most < SAMPLE_ITEMS ? most : SAMPLE_ITEMS) + 1));
}

static inline struct wire_region region(struct sampler_state *state, unsigned kinds)
{
    struct wire_region part = {.size = 1 + draw(&state->random) % WIRE_MAX_REGION, .origin = {draw(&state->random)}};

    do
        part.kind = 1u << draw(&state->random) % 3;
    while (!(part.kind & kinds));
    for (int i = 0; part.kind != WIRE_PIECE && i < 3; i++) {
        part.origin[i] = draw(&state->random);
        part.region[i] = 1 + draw(&state->random) % 4096;
    }
    for (int i = 0; part.kind == WIRE_RECT && i < 2; i++)
        part.pitch[i] = draw(&state->random);
    if (part.kind == WIRE_RECT)
        part.size = part.region[0] * part.region[1] * part.region[2];
    return part;
}

#define FILL(name)                                                                                                     \
    static void fill_##name(struct wire_##name *m, struct sampler_state *state)                                        \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        memset(m, 0, sizeof(*m));
#define SEND(name, number) FILL(name)
#define NOTE(name, number) FILL(name)
#define PEER(name, number) FILL(name)
#define CALL(name, number) FILL(name) m->call = (uint32_t)draw(&state->random);
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    FILL(name##_reply) m->call = (uint32_t)draw(&state->random);
#define END }
#define NUMBER(name) m->name = (uint32_t)draw(&state->random);
#define U32(name) m->name = (uint32_t)draw(&state->random);
#define I32(name) m->name = (int32_t)draw(&state->random);
#define U64(name) m->name = draw(&state->random);
#define RANGE(name, low, high) m->name = (uint32_t)((low) + draw(&state->random) % ((high) - (low) + 1));
#define BITS(name, mask) m->name = draw(&state->random) & (mask);
#define NUMBERS(name, most)                                                                                            \
    m->name = sample_ids;                                                                                              \
    m->name##_count = items(state, most);
#define STATUS(name) m->name = -(int32_t)(draw(&state->random) >> 34);
#define XYZ(name)                                                                                                      \
    for (int i = 0; i < 3; i++)                                                                                        \
        m->name[i] = draw(&state->random);
#define U64S(name, most)                                                                                               \
    m->name##_count = items(state, most);                                                                              \
    for (uint32_t i = 0; i < m->name##_count; i++)                                                                     \
        m->name[i] = draw(&state->random);
#define REGION(name, kinds) m->name = region(state, kinds);
#define BLOB(name, most)                                                                                               \
    m->name = sample_bytes;                                                                                            \
    m->name##_length =                                                                                                 \
        (uint32_t)(draw(&state->random) % ((most) < sizeof(sample_bytes) ? (most) + 1 : sizeof(sample_bytes)));
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

#define SAME(name)                                                                                                     \
    static bool same_##name(const struct wire_##name *a, const struct wire_##name *b)                                  \
    {                                                                                                                  \
        bool same = true;                                                                                              \
        (void)a, (void)b;
#define SEND(name, number) SAME(name)
#define NOTE(name, number) SAME(name)
#define PEER(name, number) SAME(name)
#define CALL(name, number) SAME(name) same &= a->call == b->call;
#define REPLY(name)                                                                                                    \
    return same;                                                                                                       \
    }                                                                                                                  \
    SAME(name##_reply) same &= a->call == b->call;
#define END                                                                                                            \
    return same;                                                                                                       \
    }
#define NUMBER(name) same &= a->name == b->name;
#define U32(name) same &= a->name == b->name;
#define I32(name) same &= a->name == b->name;
#define U64(name) same &= a->name == b->name;
#define RANGE(name, low, high) same &= a->name == b->name;
#define BITS(name, mask) same &= a->name == b->name;
#define NUMBERS(name, most)                                                                                            \
    same &= a->name##_count == b->name##_count && !memcmp(a->name, b->name, 4 * a->name##_count);
#define STATUS(name) same &= a->name == b->name;
#define XYZ(name) same &= !memcmp(a->name, b->name, sizeof(a->name));
#define U64S(name, most) same &= a->name##_count == b->name##_count && !memcmp(a->name, b->name, 8 * a->name##_count);
#define REGION(name, kinds) same &= !memcmp(&a->name, &b->name, sizeof(a->name));
#define BLOB(name, most) same &= a->name##_length == b->name##_length && !memcmp(a->name, b->name, a->name##_length);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

#endif
