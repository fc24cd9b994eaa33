/* The tests' own generator of random numbers, the same in every run with the same seed (Knuth's MMIX). */
#ifndef VOCL_TESTS_DRAW_H
#define VOCL_TESTS_DRAW_H

#include <stdint.h>

/* Returns a number of 51 bits. */
static inline uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 13;
}

/* Returns a number below limit. */
static inline uint32_t draw_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(draw(state) >> 20) % limit;
}

#endif
