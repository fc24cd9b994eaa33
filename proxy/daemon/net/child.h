/* The daemon's own child processes. */
#ifndef VOCL_PROXY_DAEMON_NET_CHILD_H
#define VOCL_PROXY_DAEMON_NET_CHILD_H

#include "proxy/daemon/daemon.h"

struct child {
    pid_t pid;
    int fd, pidfd;
    struct event *exited;
    void (*over)(struct child *child, int status);
};
/* Starts a process that calls run(), with its end of a socket (SOCK_SEQPACKET) as CHILD_FD and none of the daemon's
 * other descriptors. When it has ended, over() is called, which may be NULL, and child is freed. Returns NULL on
 * failure. */
struct child *child_fork(struct daemon *d, void (*run)(const void *argument), const void *argument,
                         void (*over)(struct child *child, int status));
void child_kill(struct child *child);

#endif
