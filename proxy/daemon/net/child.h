/* Processes of the daemon's own. */
#ifndef VOCL_PROXY_DAEMON_NET_CHILD_H
#define VOCL_PROXY_DAEMON_NET_CHILD_H

#include "proxy/daemon/daemon.h"

struct child {
    pid_t pid;
    int fd, pidfd;
    struct event *exited;
    void (*over)(struct child *child, int status);
};
/* A process that runs that, with its end of a socket (SOCK_SEQPACKET) as CHILD_FD and nothing else of the daemon's. It
 * is watched until it has ended, which over(), that may be NULL, is told; then it is freed. NULL: there is none. */
struct child *child_fork(struct daemon *d, void (*run)(const void *argument), const void *argument,
                         void (*over)(struct child *child, int status));
void child_kill(struct child *child);

#endif
