/* Sleeping until a word of memory changes, also one that processes share. */
#ifndef VOCL_BASE_FUTEX_H
#define VOCL_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word has this value, `us` microseconds at most. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, long us)
{
    struct timespec most = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
