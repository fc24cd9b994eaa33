/* A suspended session, and what the files of that share: suspend.c, resume.c. */
#ifndef VOCL_CLIENT_SURVIVE_SUSPENSION_H
#define VOCL_CLIENT_SURVIVE_SUSPENSION_H

#include "client/survive/moving.h"

struct suspended_node { /* a node */
    struct move move;
    char host[256];
    bool came;
};

struct suspension {
    struct pause pause;
    struct store *store;
    struct suspended_node *nodes;
    unsigned count;
    long contents;            /* how many ns they took */
    uint64_t suspended_since; /* of the timeline */
    bool lost;                /* as they came, one of the workers was */
};

/* ---- suspend.c ---- */
/* Of each node until one fails: 0, or its error. */
int suspended_each(struct suspension *r, int (*what)(struct suspension *r, struct suspended_node *node));
/* The program has its objects back: what it has released meanwhile goes. */
void suspended_drop(struct suspension *r);

/* ---- resume.c ---- */
/* It goes on, and calls with it: 0; or it is still suspended. */
int suspension_resume(struct suspension *r);

#endif
