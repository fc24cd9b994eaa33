/*
 * How a thread waits for an event: it polls for a while, and helps other threads meanwhile; then it announces that it
 * sleeps, checks once more, and sleeps, for a limited time each, until it is rung (doze.h). Compiled for each MPI.
 */
#ifndef VOCL_GROUND_WAITING_H
#define VOCL_GROUND_WAITING_H

#include "ground/doze.h"
#include "ground/neighbours.h"
#include "vocl_words.h"

struct waiting;

/* How the threads of a context wait. */
struct waits {
    void *owner;
    struct neighbours *neighbours;
    const int *ranks; /* the ranks whose loss ends waits for any rank; NULL: all */
    int rank_count;
    _Atomic uint32_t *doze;
    long spin_us;                /* how long they poll */
    unsigned yield_every, alone; /* see struct polling */
    bool crowds;                 /* they do not poll if other threads want the processor */
    struct adapter *adapter;     /* NULL, or the adapter whose work they do while they poll */
    /* NULL, or other work that they do, also between sleeps. help() returns whether it has done something, or something
     * has happened. look() is called less often. */
    void (*help_begin)(void *owner);
    bool (*help)(void *owner, struct waiting *waiting);
    void (*help_end)(void *owner);
    void (*look)(void *owner);
    /* The time-out of a sleep, for events without a ring: of the first sleep, and the longest. It is short if *mute is
     * not 0. */
    long first_us, longest_us;
    const _Atomic uint32_t *mute;
};

struct waiting {
    const struct waits *how;
    struct polling polling;
    long spin_us;
    long until_us; /* LONG_MAX: no limit */
    int rank;      /* see waiting_begin() */
    int error;     /* what has ended the wait */
    uint32_t lain_down;
    unsigned naps, ticks; /* ticks: for the owner */
    bool once;            /* it checks once: neither polls nor sleeps, nor reads the clock */
    bool helping;
    bool tired;     /* it has polled long enough */
    bool listening; /* it has announced that it sleeps */
};

/*
 * A wait:
 *
 *     waiting_begin(&waiting, waits, rank, timeout_us);
 *     while (!condition && waiting_step(&waiting))
 *         ;
 *     error = waiting_end(&waiting);
 *
 * rank: the rank whose loss ends the wait; -1: any rank of waits->ranks, if there is no time-out. timeout_us < 0: no
 * time-out; 0: checks once. waiting_step() returns whether to check again, and waiting_end() 0, -ETIMEDOUT or
 * -ECONNRESET; after an error the condition may hold nevertheless.
 */
void waiting_begin(struct waiting *waiting, const struct waits *how, int rank, long timeout_us);
bool waiting_step(struct waiting *waiting);
/* Ends a wait with an error of the caller's. */
bool waiting_fail(struct waiting *waiting, int error);
int waiting_end(struct waiting *waiting);

static inline bool condition_valid(enum vocl_condition condition)
{
    return (unsigned)condition <= VOCL_LE;
}

bool word_holds(int64_t now, enum vocl_condition condition, int64_t value);
/* Waits until a word satisfies a condition. *out, if not NULL, receives its value then. Returns 0, or an error as above
 * if the condition does not hold. */
int waiting_for_word(const struct waits *how, const _Atomic int64_t *word, enum vocl_condition condition, int64_t value,
                     long timeout_us, int64_t *out);

#endif
