/* Zeroing small structs. */
#ifndef VOCL_BASE_CLEAR_H
#define VOCL_BASE_CLEAR_H

#include <stddef.h>

/* Zeroes a multiple of eight bytes. For a struct of some hundred bytes compilers use a string instruction, whose start
 * takes longer than these stores. They are volatile so that the compiler leaves them alone. */
static inline void clear_words(void *at, size_t bytes)
{
    typedef long long pair __attribute__((vector_size(16), aligned(8), may_alias));
    volatile pair *pairs = at;

#pragma GCC unroll 16
    for (size_t i = 0; i < bytes / 16; i++)
        pairs[i] = (pair){0};
    if (bytes % 16)
        *(volatile long long __attribute__((may_alias)) *)((char *)at + bytes - 8) = 0;
}

#endif
