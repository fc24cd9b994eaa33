/* What vocl-join does while a session runs: it stands for the program with the daemons that have started the workers.
 */
#ifndef VOCL_PROXY_LAUNCH_ATTEND_H
#define VOCL_PROXY_LAUNCH_ATTEND_H

#include "proxy/launch/session.h"

/* What else happens meanwhile. */
struct attend_hooks {
    void (*ended)(const char *node, const char *why);           /* a node's worker */
    void (*over)(struct attended *node);                        /* the daemon has nothing of the session any more */
    void (*said)(struct attended *node, const json_t *message); /* its daemon, anything else */
    void (*lost)(struct attended *node);                        /* its daemon */
    requests_heard *heard;                                      /* the program */
    struct inquiry *const *inquiries;                           /* besides the nodes' */
    unsigned inquiry_count;
    unsigned width;                         /* of what is to be waited for besides */
    bool (*poll)(struct pollfd *fds);       /* fills these; true: turn() is to be called every second */
    void (*turn)(const struct pollfd *fds); /* what was found */
};

/* Until the control socket closes, where bells come to stand in for the program with (heartbeat_proxy.h). A daemon that
 * is lost, or does not answer, is tried again and again, for the workers go on without it. */
void attend(int control, const struct attend_hooks *hooks);

#endif
