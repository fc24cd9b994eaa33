/*
 * The descriptors with which workers on this host are born: vocl-launcher makes them, a worker has its own of them.
 * Where there are many workers all go to one process that has drivers and MPI loaded, and of which the workers are
 * copies (proxy/worker/brood.c).
 */
#ifndef VOCL_PROXY_BIRTHS_H
#define VOCL_PROXY_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BROOD_WORD "--workers" /* longer than that of a worker, whose place it takes */
#define BROOD_FD 3             /* a file with a struct births */
#define BROOD_LEAST 4          /* workers: fewer are sooner there if each loads drivers for itself */

/* Ranks begin at 1. A descriptor that is 0 is none. */
struct births {
    uint32_t workers;
    uint32_t pairs; /* without MPI: more than a bell with the program, */
    uint32_t each;  /* and so many between two workers; by MPI it is one, a bell */
    int32_t report; /* where their process numbers go, of each rank one, or negative errno */
    int32_t descriptors[];
};

/* Of a session by pairs the first three are the PAIR_SOCKETS. */
enum birth { BIRTH_BELL, BIRTH_BEAT, BIRTH_BULK, BIRTH_PMI, BIRTH_CALLS, BIRTH_KINDS };

size_t births_size(unsigned workers, unsigned each);
struct births *births_new(unsigned workers, bool pairs, unsigned each);
/* What this worker has of a kind; rank 0: the program's. */
int32_t *births_of(struct births *births, unsigned rank, enum birth kind);
/* What it has between itself and that other one, births->each of them. */
int32_t *births_peer(struct births *births, unsigned rank, unsigned other);
/* In the process that is to be this worker: what it has is inherited, and in its environment. False: no memory. */
bool births_take(struct births *births, unsigned rank);
/* A variable of the environment; and one that is a descriptor, which is then inherited. */
void births_number(const char *name, int number);
void births_inherit(const char *name, int fd);
void births_free(struct births *births);

#endif
