/* What vocl-join does while a session runs: it stands for the program with the daemons that have started the workers.
 */
#ifndef VOCL_PROXY_LAUNCH_ATTEND_H
#define VOCL_PROXY_LAUNCH_ATTEND_H

#include "pool/client.h"

struct attended {
    char name[64], address[128];
    struct client client;
    bool over, told; /* there is no session any more; and why was said */
};

/* What else happens meanwhile. */
struct attend_hooks {
    void (*ended)(const char *node, const char *why); /* a node's worker */
    void (*pmi)(unsigned node, const char *text);     /* what its worker says to PMI */
    void (*lost)(unsigned node);                      /* its daemon */
    const int *own;                                   /* a descriptor, or -1 in it: it may change */
    void (*readable)(void);                           /* that is */
};

/* Until the lifeline closes, where bells come to stand in for the program with (surrogate.h). A daemon that is lost, or
 * does not answer, is tried again and again, for the workers go on without it. */
void attend(struct attended *nodes, unsigned count, const struct poolfile *pool, const char *session, int lifeline,
            const struct attend_hooks *hooks);
/* Once, before that: to those that are connected already. */
void attend_beat(struct attended *nodes, unsigned count);

#endif
