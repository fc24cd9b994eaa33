/*
 * Two processes that write to each other, by devcom, MPI, OpenSHMEM, GASPI or a plain copy: the same figures and sizes
 * for all. The first process prints them.
 */
#ifndef PAIR_H
#define PAIR_H

#include "bench.h"

enum { PAIR_MOST = 16 << 20 };

struct pair {
    int rank;
    bool quick;
    size_t least; /* bytes */
};

struct pair_way {
    const char *name;                          /* the figures' prefix: NAME_8B */
    void (*ping)(size_t bytes, int64_t round); /* sends data, then a flag with the round's number */
    void (*pong)(int64_t round);               /* waits for the other's flag of this round */
    void (*write)(size_t bytes);               /* starts a write of data alone */
    void (*written)(void);                     /* waits until all writes have arrived */
    void (*barrier)(void);                     /* both sides make progress in it */
    void (*accept)(void);                      /* what the second process does meanwhile, or NULL */
};

size_t pair_largest(const struct pair *p);
/* Returns the next size after bytes; 0 stands before the first. */
size_t pair_next(const struct pair *p, size_t bytes);
int pair_rounds(const struct pair *p, size_t bytes);
void pair_report(const struct pair *p, struct series *series, const char *what, size_t bytes, const char *unit);

/* Reports half round trips, in us. */
void pair_half_round_trips(const struct pair *p, const struct pair_way *way);
/* Reports many writes with one wait at the end, in MB/s. */
void pair_bandwidth(const struct pair *p, const struct pair_way *way);
/* Reports a barrier, in us. */
void pair_barrier(const struct pair *p, const struct pair_way *way);

#endif
