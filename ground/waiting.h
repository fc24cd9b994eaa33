/*
 * How a thread waits for what others do: it polls for a while, and helps meanwhile; then it says that it sleeps, looks
 * once more, and sleeps, a while at a time, until it is rung (doze.h). Compiled for each MPI.
 */
#ifndef VOCL_GROUND_WAITING_H
#define VOCL_GROUND_WAITING_H

#include "ground/doze.h"
#include "ground/neighbours.h"
#include "vocl_words.h"

struct waiting;

/* What the threads of a context have in common. */
struct waits {
    void *owner;
    struct neighbours *neighbours;
    _Atomic uint32_t *doze;
    long spin_us;                /* so long they poll */
    unsigned yield_every, alone; /* see struct polling */
    bool crowds;                 /* nobody polls where others want the processor */
    struct adapter *adapter;     /* NULL, or whose work they do while they poll */
    /* NULL, or other work, also between sleeps; true: it has done something, or something has happened. And what is
     * done less often. */
    void (*help_begin)(void *owner);
    bool (*help)(void *owner, struct waiting *waiting);
    void (*help_end)(void *owner);
    void (*look)(void *owner);
    /* The time-out of a sleep, for what nobody rings for: the first, the longest; and if this is not 0. */
    long first_us, longest_us;
    const _Atomic uint32_t *mute;
};

struct waiting {
    const struct waits *how;
    struct polling polling;
    long spin_us;
    long until_us; /* LONG_MAX: however long it takes */
    int rank;      /* whose loss ends it; -1: anybody's, if it has no time-out */
    uint32_t lain_down;
    unsigned naps, ticks; /* ticks: the owner's */
    bool once;            /* it neither polls nor sleeps, and asks for no time */
    bool helping;
    bool tired;     /* it has polled for long enough */
    bool listening; /* it has said that it sleeps */
};

/* timeout_us < 0: none; 0: once. Between begin and end, step until it holds: 0, or -ETIMEDOUT or -ECONNRESET, after
 * which it may hold all the same. */
void waiting_begin(struct waiting *waiting, const struct waits *how, long timeout_us);
int waiting_step(struct waiting *waiting);
void waiting_end(struct waiting *waiting);

bool word_holds(int64_t now, enum vocl_condition condition, int64_t value);
/* Wait until a word is so; *out, or NULL: what it was then. Errors likewise, if it is not. */
int waiting_for_word(const struct waits *how, const _Atomic int64_t *word, enum vocl_condition condition, int64_t value,
                     long timeout_us, int64_t *out);

#endif
