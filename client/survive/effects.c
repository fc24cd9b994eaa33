/* Passes over commands.def for what journals need to know about commands. */
#include "client/survive/effects.h"

#include "client/memory/arena.h"

/* Needs exactly one word for each command: with none, or with two, this does not compile. */
static const uint8_t effects[] = {
#define SEND(name, number) [number] =
#define ENQUEUE(name, number) [number] = EFFECT_RUNS
#define CALL(name, number) [number] =
#define NOTE(name, number) [number] = EFFECT_NONE
#define PEER(name, number) [number] = EFFECT_NONE
#define MAKES EFFECT_MAKES
#define CHANGES EFFECT_CHANGES
#define RELEASES EFFECT_RELEASES
#define RUNS EFFECT_RUNS
#define PASSES EFFECT_PASSES
#define END ,
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
};

enum effect effect_of(uint16_t number)
{
    return number < sizeof(effects) ? effects[number] : EFFECT_NONE;
}

#define DECODED(name, number)                                                                                          \
    case number: {                                                                                                     \
        struct wire_##name m;                                                                                          \
                                                                                                                       \
        if (!wire_get_##name(&fields, &m))                                                                             \
            return false;

static void visit_each(effect_visit *visit, void *argument, unsigned kind, const uint32_t *ids, uint32_t count,
                       bool makes)
{
    for (uint32_t i = 0; i < count && visit; i++)
        visit(argument, kind, ids[i], makes);
}

/* Gets the outline, and calls visit, which may be NULL. */
static bool read_command(uint16_t number, struct wire_cursor fields, struct outline *out, effect_visit *visit,
                         void *argument)
{
    *out = (struct outline){0};
    switch (number) {
#define SEND(name, number) DECODED(name, number)
#define ENQUEUE(name, number)                                                                                          \
    DECODED(name, number) out->queue = m.queue;                                                                        \
    ID(QUEUE, queue)
#define CALL(name, number) DECODED(name, number) out->call = m.call;
#define SLOW_CALL(name, number) CALL(name, number) out->slow = true;
#define NOTE(name, number) DECODED(name, number)
#define PEER(name, number) DECODED(name, number)
#define REPLY(name)                                                                                                    \
    return true;                                                                                                       \
    }                                                                                                                  \
    DECODED(name##_reply, WIRE_##name | WIRE_REPLY)
#define END                                                                                                            \
    return true;                                                                                                       \
    }
#define BINDS(why) out->bound = why;
#define BINDS_UNLESS(field, why) out->bound = m.field ? NULL : why;
#define NEW_EVENT                                                                                                      \
    out->event = m.event;                                                                                              \
    out->subscribe = m.subscribe;                                                                                      \
    NEW_ID(EVENT, event)
#define WAIT_LIST                                                                                                      \
    out->wait = m.wait;                                                                                                \
    out->wait_count = m.wait_count;                                                                                    \
    IDS(EVENT, wait, WIRE_MAX_WAIT)
#define DATA_IN(name) out->data_in = m.name;
#define DATA_OUT(name) out->data_out = m.name;
#define CONTENTS(name, most) out->contents = true;
#define OTHER_WORKER(name) out->worker = m.name;
#define SHARED_AT(name) out->shared = m.name;
#define ID(kind, name) visit_each(visit, argument, WIRE_##kind, &m.name, 1, false);
#define ID_OF(field, name) visit_each(visit, argument, m.field, &m.name, 1, false);
#define NEW_ID(kind, name) visit_each(visit, argument, WIRE_##kind, &m.name, 1, true);
#define IDS(kind, name, most) visit_each(visit, argument, WIRE_##kind, m.name, m.name##_count, false);
#define NEW_IDS(kind, name, most) visit_each(visit, argument, WIRE_##kind, m.name, m.name##_count, true);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return false;
}

bool outline_get(uint16_t number, struct wire_cursor fields, struct outline *out)
{
    return read_command(number, fields, out, NULL, NULL);
}

bool effect_each_object(uint16_t number, struct wire_cursor fields, effect_visit *visit, void *argument)
{
    struct outline outline;

    return read_command(number, fields, &outline, visit, argument);
}

/* ---- rewriting commands ---- */

static bool put_zero(uint32_t *field, bool wanted)
{
    const bool changes = wanted && *field;

    if (changes)
        *field = 0;
    return changes;
}

static bool put_number(uint32_t *worker, const unsigned *now)
{
    const bool changes = now && now[*worker];

    if (changes)
        *worker = now[*worker];
    return changes;
}

static bool put_apart(uint64_t *address, bool wanted)
{
    const bool changes = wanted && arena_has((void *)(uintptr_t)*address);

    if (changes)
        *address = 0;
    return changes;
}

bool effect_rewrite(struct wire_buffer *out, uint16_t number, struct wire_cursor fields, const struct rewriting *how)
{
    bool changed = false;

    switch (number) {
#define AGAIN(name, number) DECODED(name, number) typeof(wire_put_##name) *const again = wire_put_##name;
#define SEND(name, number) AGAIN(name, number)
#define CALL(name, number) AGAIN(name, number)
#define NOTE(name, number) AGAIN(name, number)
#define PEER(name, number) AGAIN(name, number)
#define END                                                                                                            \
    if (changed)                                                                                                       \
        again(out, &m);                                                                                                \
    break;                                                                                                             \
    }
#define REPLY(name) END AGAIN(name##_reply, WIRE_##name | WIRE_REPLY)
#define DATA_IN(name) changed |= put_zero(&m.name, how->empty);
#define CONTENTS(name, most) changed |= put_zero(&m.name##_length, how->empty);
#define OTHER_WORKER(name) changed |= put_number(&m.name, how->now);
#define SHARED_AT(name) changed |= put_apart(&m.name, how->apart);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return changed;
}

void effect_rewrite_all(struct wire_buffer *commands, const struct rewriting *how)
{
    struct wire_cursor at = wire_cursor(commands->bytes, commands->length), fields;
    struct wire_buffer out = {0};
    uint16_t number;

    while (wire_next(&at, &number, &fields) == 1) {
        const size_t length = fields.left + WIRE_HEADER, place = (size_t)(fields.at - commands->bytes) - WIRE_HEADER;

        out.length = 0;
        if (effect_rewrite(&out, number, fields, how) && out.length == length)
            memcpy(commands->bytes + place, out.bytes, length);
        commands->failed |= out.failed;
    }
    wire_buffer_free(&out);
}
