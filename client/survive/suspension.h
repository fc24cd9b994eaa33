/* A suspended session, as suspend.c and resume.c share it. */
#ifndef VOCL_CLIENT_SURVIVE_SUSPENSION_H
#define VOCL_CLIENT_SURVIVE_SUSPENSION_H

#include "client/survive/moving.h"

struct suspended_node {
    struct move move;
    char host[256];
    bool came;
};

struct suspension {
    struct pause pause;
    struct store *store;
    struct suspended_node *nodes;
    unsigned count;
    long contents;            /* ns to take them, or give them back */
    uint64_t suspended_since; /* timeline_now() at the suspension */
    bool lost;                /* a worker was lost while the session resumed */
};

/* ---- suspend.c ---- */
/* Calls what() for each node until one fails. Returns 0 or the error. */
int suspended_each(struct suspension *r, int (*what)(struct suspension *r, struct suspended_node *node));
/* Releases the collected objects: those that the program has released meanwhile are destroyed. */
void suspended_drop(struct suspension *r);

/* ---- resume.c ---- */
/* Resumes the session and the calls that wait. Returns 0, or an error, and it is still suspended. */
int suspension_resume(struct suspension *r);

#endif
