/* What vocl-join does while a session runs: it stands for the program with the daemons that have started the workers.
 */
#ifndef VOCL_PROXY_LAUNCH_ATTEND_H
#define VOCL_PROXY_LAUNCH_ATTEND_H

#include <poll.h>

#include "pool/client.h"
#include "proxy/launch/requests.h"

#define ATTEND_FIRST 256 /* nodes that a session begins with */
#define ATTEND_MOST (ATTEND_FIRST + SESSION_MOST_ADDED(ATTEND_FIRST) + 1)

struct attended {
    char name[64], address[128];
    char part[64];   /* the daemon's name for what it has of the session */
    unsigned member; /* its worker's number */
    struct client client;
    bool over, told; /* there is no session any more; and why was said */
    bool leaving;    /* that is as it is to be: */
    bool rests;      /* for a while; */
    char why[128];   /* this for, and */
    bool now;        /* without a moment for the worker to end by itself */
    json_t *wish;    /* how such a place is asked for, or NULL */
    json_t *devices; /* what it has there, or NULL; */
    json_t *unfit;   /* and what did not fit before (unfit.h), or NULL */
};

/* What else happens meanwhile. */
struct attend_hooks {
    void (*ended)(const char *node, const char *why);           /* a node's worker */
    void (*over)(struct attended *node);                        /* the daemon has nothing of the session any more */
    void (*said)(struct attended *node, const json_t *message); /* its daemon, anything else */
    void (*lost)(struct attended *node);                        /* its daemon */
    requests_heard *heard;                                      /* the program */
    unsigned width;                                             /* of what is to be waited for besides */
    void (*poll)(struct pollfd *fds);                           /* fills these */
    void (*turn)(const struct pollfd *fds);                     /* what was found */
    bool (*busy)(void);                                         /* it is to be called every second */
};

/* Until the lifeline closes, where bells come to stand in for the program with (surrogate.h). A daemon that is lost, or
 * does not answer, is tried again and again, for the workers go on without it. There may come more nodes, up to
 * ATTEND_MOST. */
void attend(struct attended *nodes, const unsigned *count, const struct poolfile *pool, int lifeline,
            const struct attend_hooks *hooks);
/* Once, before that: to those that are connected already. */
void attend_beat(struct attended *nodes, unsigned count);
/* A node's worker is to end, at once or, if it does not by itself, in a moment; now, or when its daemon is there again.
 */
void attend_leave(struct attended *node, bool now, const char *why);

#endif
