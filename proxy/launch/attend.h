/* What vocl-join does while a session runs: it represents the program at the daemons that have started its workers. */
#ifndef VOCL_PROXY_LAUNCH_ATTEND_H
#define VOCL_PROXY_LAUNCH_ATTEND_H

#include "proxy/launch/session.h"

/* The functions that attend() calls. */
struct attend_hooks {
    void (*ended)(const char *node, const char *why);           /* a node's worker has ended */
    void (*over)(struct attended *node);                        /* the daemon no longer has anything of the session */
    void (*said)(struct attended *node, const json_t *message); /* a daemon has sent another message */
    void (*lost)(struct attended *node);                        /* the connection to a daemon is lost */
    requests_heard *heard;                                      /* called for the program's messages */
    struct inquiry *const *inquiries;                           /* polled besides those of the nodes */
    unsigned inquiry_count;
    unsigned width;                         /* how many more descriptors to poll */
    bool (*poll)(struct pollfd *fds);       /* fills these; returns true if turn() has to be called every second */
    void (*turn)(const struct pollfd *fds); /* handles what poll() found */
};

/* Returns when the control socket closes. Bells arrive on it, for the program's heartbeats (heartbeat_proxy.h).
 * Connects again and again to a daemon that is lost or does not answer, because the workers run without it. */
void attend(int control, const struct attend_hooks *hooks);

#endif
