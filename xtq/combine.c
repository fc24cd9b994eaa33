/* See combine.h. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "xtq/combine.h"

__asm__(".section .rodata\n"
        ".globl combine_source\n"
        ".hidden combine_source\n"
        "combine_source:\n"
        ".incbin \"" XTQ_SOURCE_DIR "/combine.cl\"\n"
        ".byte 0\n"
        ".previous\n");
const char *const combine_bodies[1] = {"xtq_combine"};

/* gcc leaves loops as they are at -O2; clang does not, and knows no such attribute. */
#ifdef __clang__
#define VECTORIZED
#else
#define VECTORIZED __attribute__((optimize("O3")))
#endif

/* One function for each type. They compute in `wide`, where no sum or product is undefined. */
#define COMBINE(type, wide)                                                                                            \
    VECTORIZED static void combine_##type(void *into, const void *from, size_t count, unsigned op)                     \
    {                                                                                                                  \
        type *restrict a = into;                                                                                       \
        const type *restrict b = from;                                                                                 \
                                                                                                                       \
        switch (op) {                                                                                                  \
        case XTQ_SUM:                                                                                                  \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = (type)((wide)a[i] + (wide)b[i]);                                                                \
            break;                                                                                                     \
        case XTQ_PROD:                                                                                                 \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = (type)((wide)a[i] * (wide)b[i]);                                                                \
            break;                                                                                                     \
        case XTQ_MIN:                                                                                                  \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = b[i] < a[i] ? b[i] : a[i];                                                                      \
            break;                                                                                                     \
        case XTQ_MAX:                                                                                                  \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = b[i] > a[i] ? b[i] : a[i];                                                                      \
            break;                                                                                                     \
        }                                                                                                              \
    }
COMBINE(int8_t, uint32_t)
COMBINE(uint8_t, uint32_t)
COMBINE(int16_t, uint32_t)
COMBINE(uint16_t, uint32_t)
COMBINE(int32_t, uint32_t)
COMBINE(uint32_t, uint32_t)
COMBINE(int64_t, uint64_t)
COMBINE(uint64_t, uint64_t)
COMBINE(float, float)
COMBINE(double, double)
#undef COMBINE

static const struct {
    size_t bytes;
    void (*combine)(void *into, const void *from, size_t count, unsigned op);
} types[COMBINE_TYPES] = {
    [XTQ_INT8] = {1, combine_int8_t},     [XTQ_UINT8] = {1, combine_uint8_t},   [XTQ_INT16] = {2, combine_int16_t},
    [XTQ_UINT16] = {2, combine_uint16_t}, [XTQ_INT32] = {4, combine_int32_t},   [XTQ_UINT32] = {4, combine_uint32_t},
    [XTQ_INT64] = {8, combine_int64_t},   [XTQ_UINT64] = {8, combine_uint64_t}, [XTQ_FLOAT] = {4, combine_float},
    [XTQ_DOUBLE] = {8, combine_double},
};

size_t xtq_type_bytes(enum xtq_type type)
{
    return (unsigned)type < COMBINE_TYPES ? types[type].bytes : 0;
}

void combine_elements(void *into, const void *from, size_t count, enum xtq_type type, enum xtq_op op)
{
    types[type].combine(into, from, count, op);
}

static int ready(const struct xtq_task *task, uint64_t number)
{
    struct xtq_signal *const *signals = task->buffer;
    uint64_t count = task->buffer_bytes / sizeof(*signals);

    if (number >= count || (uint64_t)task->initiator >= count - number)
        return -EINVAL;
    xtq_signal_add(signals[number + (uint64_t)task->initiator], 1);
    return 0;
}

int combine(const struct xtq_task *task, void *argument)
{
    struct combine_arguments a;
    uint8_t *into = task->buffer;
    size_t bytes;

    (void)argument;
    if (task->argument_bytes != sizeof(a))
        return -EINVAL;
    memcpy(&a, task->arguments, sizeof(a));
    if (a.op == COMBINE_READY)
        return ready(task, a.offset);
    bytes = xtq_type_bytes(a.type);
    if (!bytes || a.op >= COMBINE_READY || a.offset % bytes || task->payload_bytes % bytes ||
        a.offset > task->buffer_bytes || task->payload_bytes > task->buffer_bytes - a.offset)
        return -EINVAL;
    if (a.op == XTQ_REPLACE)
        memcpy(into + a.offset, task->payload, task->payload_bytes);
    else
        combine_elements(into + a.offset, task->payload, task->payload_bytes / bytes, a.type, a.op);
    return 0;
}
