/*
 * Sums and products of sizes from outside. Each function returns false, and leaves the result alone, on overflow: a
 * size that has wrapped around passes for a small one.
 */
#ifndef VOCL_BASE_SIZE_H
#define VOCL_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

static inline bool size_add(size_t *sum, size_t a, size_t b)
{
    size_t result;

    if (__builtin_add_overflow(a, b, &result))
        return false;
    *sum = result;
    return true;
}

static inline bool size_multiply(size_t *product, size_t a, size_t b)
{
    size_t result;

    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *product = result;
    return true;
}

/* sum += count * each. */
static inline bool size_add_product(size_t *sum, size_t count, size_t each)
{
    size_t product;

    return size_multiply(&product, count, each) && size_add(sum, *sum, product);
}

/* Whether size bytes from offset on are within the whole. */
static inline bool size_within(size_t offset, size_t size, size_t whole)
{
    return offset <= whole && size <= whole - offset;
}

/* Computes the size in bytes of a region of bytes, rows and slices. */
static inline bool size_of_region(size_t *size, const size_t region[3])
{
    size_t rows;

    return size_multiply(&rows, region[0], region[1]) && size_multiply(size, rows, region[2]);
}

/* Computes where a non-empty region ends in memory of these pitches. */
static inline bool size_of_rect(size_t *end, const size_t origin[3], const size_t region[3], size_t row_pitch,
                                size_t slice_pitch)
{
    size_t bytes, rows, slices;

    if (!size_add(&bytes, origin[0], region[0]) || !size_add(&rows, origin[1], region[1] - 1) ||
        !size_add(&slices, origin[2], region[2] - 1))
        return false;
    if (!size_add_product(&bytes, rows, row_pitch) || !size_add_product(&bytes, slices, slice_pitch))
        return false;
    *end = bytes;
    return true;
}

#endif
