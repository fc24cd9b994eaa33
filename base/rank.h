/*
 * Ranks of locks: a thread takes a lock only if its rank is above those of all that it holds (doc/internals/locks.md).
 * In sanitizer builds each taking is checked, and a wrong one aborts; elsewhere a rank takes no memory and its
 * functions do nothing.
 */
#ifndef VOCL_BASE_RANK_H
#define VOCL_BASE_RANK_H

#if !defined(RANKS_CHECKED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define RANKS_CHECKED
#endif

#ifdef RANKS_CHECKED
#include <stdbool.h>

/* Part of a lock. All zero, it has none, and is not checked. */
struct rank {
    unsigned number; /* from 1 on */
    bool again;      /* who holds it may take it again */
    const char *name;
};
#define RANK(number)                                                                                                   \
    {                                                                                                                  \
        (number), false, #number                                                                                       \
    }
#define RANK_AGAIN(number)                                                                                             \
    {                                                                                                                  \
        (number), true, #number                                                                                        \
    }

/* Before the lock is taken, for a thread that waits for itself says nothing more. */
void rank_take(const struct rank *rank);
void rank_release(const struct rank *rank);
/* Before a wait that lets the lock go and takes it again. */
void rank_wait(const struct rank *rank);
/* The lock is as new: what held it is gone, or it is the child of a fork. */
void rank_forget(const struct rank *rank);

#else

struct rank {
};
#define RANK(number)                                                                                                   \
    {                                                                                                                  \
    }
#define RANK_AGAIN(number)                                                                                             \
    {                                                                                                                  \
    }
static inline void rank_take(const struct rank *rank)
{
    (void)rank;
}
static inline void rank_release(const struct rank *rank)
{
    (void)rank;
}
static inline void rank_wait(const struct rank *rank)
{
    (void)rank;
}
static inline void rank_forget(const struct rank *rank)
{
    (void)rank;
}

#endif
#endif
