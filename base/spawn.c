/* See spawn.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/spawn.h"

/* Descriptors are copied first, as they may be in each other's way. One that this process does not have is closed in
 * the child, too. */
bool spawn_take_descriptors(const int *descriptors, unsigned count)
{
    int copies[count];

    for (unsigned i = 0; i < count; i++) {
        const int fd = descriptors[i] < 0 ? open("/dev/null", O_RDWR) : descriptors[i];

        copies[i] = fcntl(fd, F_DUPFD, (int)count);
        if (copies[i] < 0 && errno != EBADF)
            return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (copies[i] < 0)
            close((int)i);
        else if (dup2(copies[i], (int)i) < 0)
            return false;
    }
    close_range(count, ~0u, 0);
    return true;
}

static void free_signals(bool all)
{
    sigset_t none;

    for (int number = all ? 1 : SIGPIPE; number < (all ? NSIG : SIGPIPE + 1); number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void spawn_detach(void)
{
    setsid();
    free_signals(true);
}

void spawn_become(const struct spawn *how)
{
    if (how->session)
        spawn_detach();
    if (how->group)
        setpgid(0, 0);
    free_signals(how->fresh);
    if (how->count && !spawn_take_descriptors(how->descriptors, how->count))
        _exit(127);
    if (how->environment)
        environ = (char **)(uintptr_t)how->environment;
    execvp(how->arguments[0], how->arguments);
    fprintf(stderr, "%s: %s\n", how->arguments[0], strerror(errno));
    _exit(127);
}

pid_t spawn(const struct spawn *how)
{
    const pid_t pid = how->signal ? process_fork(how->signal) : fork();

    if (pid < 0)
        return -errno;
    if (!pid && how->apart && fork())
        _exit(0);
    if (!pid)
        spawn_become(how);
    return how->apart ? -spawn_wait(pid) : pid;
}

int spawn_wait(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
