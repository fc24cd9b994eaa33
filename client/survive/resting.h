/* A session that rests, and what the files of that share: rest.c, wake.c. */
#ifndef VOCL_CLIENT_SURVIVE_RESTING_H
#define VOCL_CLIENT_SURVIVE_RESTING_H

#include "client/survive/moving.h"

struct resting { /* a node */
    struct move move;
    char host[256];
    bool came;
};

struct rest {
    struct pause pause;
    struct store *store;
    struct resting *nodes;
    unsigned count;
    long contents;        /* how many ns they took */
    uint64_t rests_since; /* of the timeline */
    bool lost;            /* as they came, one of the workers was */
};

/* ---- rest.c ---- */
/* Of each node until one fails: 0, or its error. */
int resting_each(struct rest *r, int (*what)(struct rest *r, struct resting *node));
/* The program has its objects back: what it has released meanwhile goes. */
void resting_drop(struct rest *r);

/* ---- wake.c ---- */
/* It goes on, and calls with it: 0; or it still rests. */
int rest_wake(struct rest *r);

#endif
