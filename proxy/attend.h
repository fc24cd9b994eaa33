/* What vocl-join does while a session runs: it stands for the program with the daemons that have started the workers.
 */
#ifndef VOCL_PROXY_ATTEND_H
#define VOCL_PROXY_ATTEND_H

#include "pool/client.h"

struct attended {
    char name[64], address[128];
    struct client client;
    bool over, told; /* there is no session any more; and why was said */
};

/* Until the lifeline closes. A daemon that is lost, or does not answer, is tried again and again, for the workers go on
 * without it. ended: of a node's worker, and why. */
void attend(struct attended *nodes, unsigned count, const struct poolfile *pool, const char *session, int lifeline,
            void (*ended)(const char *node, const char *why));
/* Once, before that: to those that are connected already. */
void attend_beat(struct attended *nodes, unsigned count);

#endif
