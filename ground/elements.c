/* See elements.h. */
#include <stdint.h>

#include "ground/elements.h"

/* gcc does not vectorise loops at -O2; clang does, and lacks this attribute. */
#ifdef __clang__
#define VECTORIZED
#else
#define VECTORIZED __attribute__((optimize("O3")))
#endif

/* Defines the function for a type. It computes in `wide`, in which no sum or product is undefined. */
#define COMBINE(type, wide)                                                                                            \
    VECTORIZED static void combine_##type(void *into, const void *from, size_t count, unsigned op)                     \
    {                                                                                                                  \
        type *restrict a = into;                                                                                       \
        const type *restrict b = from;                                                                                 \
                                                                                                                       \
        switch (op) {                                                                                                  \
        case VOCL_SUM:                                                                                                 \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = (type)((wide)a[i] + (wide)b[i]);                                                                \
            break;                                                                                                     \
        case VOCL_PROD:                                                                                                \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = (type)((wide)a[i] * (wide)b[i]);                                                                \
            break;                                                                                                     \
        case VOCL_MIN:                                                                                                 \
            for (size_t i = 0; i < count; i++)                                                                         \
                a[i] = b[i] < a[i] ? b[i] : a[i];                                                                      \
            break;                                                                                                     \
        case VOCL_MAX:                                                                                                 \
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
} types[] = {
    [VOCL_INT8] = {1, combine_int8_t},     [VOCL_UINT8] = {1, combine_uint8_t},   [VOCL_INT16] = {2, combine_int16_t},
    [VOCL_UINT16] = {2, combine_uint16_t}, [VOCL_INT32] = {4, combine_int32_t},   [VOCL_UINT32] = {4, combine_uint32_t},
    [VOCL_INT64] = {8, combine_int64_t},   [VOCL_UINT64] = {8, combine_uint64_t}, [VOCL_FLOAT] = {4, combine_float},
    [VOCL_DOUBLE] = {8, combine_double},
};

size_t elements_bytes(enum vocl_type type)
{
    return (unsigned)type <= VOCL_DOUBLE ? types[type].bytes : 0;
}

void elements_combine(void *into, const void *from, size_t count, enum vocl_type type, enum vocl_op op)
{
    types[type].combine(into, from, count, op);
}
