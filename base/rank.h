/*
 * Ranks of locks: a thread takes a lock only if its rank is above those of all that it holds (doc/internals/locks.md).
 * Sanitizer builds check each acquisition, and a wrong one aborts; elsewhere a rank takes no memory and its functions
 * do nothing.
 */
#ifndef VOCL_BASE_RANK_H
#define VOCL_BASE_RANK_H

#if !defined(RANKS_CHECKED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define RANKS_CHECKED
#endif

#ifdef RANKS_CHECKED
#include <stdbool.h>

/* Part of a lock. All zero, the lock has no rank and is not checked. */
struct rank {
    unsigned number; /* from 1 on */
    bool again;      /* its holder may take it again */
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

/* Called before the lock is taken, since a thread in a deadlock could report nothing. */
void rank_take(const struct rank *rank);
void rank_release(const struct rank *rank);
/* Called before a wait that releases the lock and takes it again. */
void rank_wait(const struct rank *rank);
/* Reinitializes the lock: its holder has ended, or this process is the child of a fork. */
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
