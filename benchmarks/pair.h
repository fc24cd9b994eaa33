/*
 * Two processes that write to each other, by devcom, MPI, OpenSHMEM, GASPI or a plain copy: the same figures over the
 * same sizes for all. The first process prints them.
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
    const char *name;                          /* of what is measured: NAME_8B */
    void (*ping)(size_t bytes, int64_t round); /* data, and behind it a flag that says which round */
    void (*pong)(int64_t round);               /* until the other's flag says so */
    void (*write)(size_t bytes);               /* data alone: begun */
    void (*written)(void);                     /* until all that was begun is there */
    void (*barrier)(void);                     /* in which both sides make progress */
    void (*accept)(void);                      /* what the second process does meanwhile; NULL: nothing */
};

size_t pair_largest(const struct pair *p);
/* The next size after bytes; 0 before the first. */
size_t pair_next(const struct pair *p, size_t bytes);
int pair_rounds(const struct pair *p, size_t bytes);
void pair_report(const struct pair *p, struct series *series, const char *what, size_t bytes, const char *unit);

/* Half round trips, us. */
void pair_half_round_trips(const struct pair *p, const struct pair_way *way);
/* Many writes, then one wait: MB/s. */
void pair_bandwidth(const struct pair *p, const struct pair_way *way);
/* us */
void pair_barrier(const struct pair *p, const struct pair_way *way);

#endif
