/* The daemon's own child processes, which work for it at the other end of a socket, and end with it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/spawn.h"
#include "proxy/daemon/net/child.h"
#include "proxy/supervisor.h"

static void on_exit_of(evutil_socket_t fd, short what, void *argument)
{
    struct child *child = argument;
    int status = 0;

    (void)fd;
    (void)what;
    waitpid(child->pid, &status, WNOHANG);
    if (child->over)
        child->over(child, status);
    event_free(child->exited);
    close(child->pidfd);
    close(child->fd);
    free(child);
}

/* Keeps nothing of the daemon except the descriptor of its log. */
static void leave_daemon(int fd)
{
    spawn_detach();
    if (!spawn_take_descriptors((int[]){-1, -1, 2, fd}, CHILD_FD + 1))
        _exit(127);
}

struct child *child_fork(struct daemon *d, void (*run)(const void *argument), const void *argument,
                         void (*over)(struct child *child, int status))
{
    struct child *child = calloc(1, sizeof(*child));
    int ends[2];

    if (!child || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        free(child);
        return NULL;
    }
    child->pid = process_fork(SIGKILL);
    if (child->pid == 0) {
        leave_daemon(ends[1]);
        run(argument);
        _exit(127);
    }
    close(ends[1]);
    child->over = over;
    child->fd = ends[0];
    child->pidfd = child->pid > 0 ? process_open(child->pid) : -1;
    child->exited = child->pidfd >= 0 ? event_new(d->base, child->pidfd, EV_READ, on_exit_of, child) : NULL;
    if (child->exited) {
        event_add(child->exited, NULL);
        return child;
    }
    close(child->fd); /* which ends the process */
    if (child->pidfd >= 0)
        close(child->pidfd);
    free(child);
    return NULL;
}

void child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
}
