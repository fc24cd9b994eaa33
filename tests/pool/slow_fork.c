/*
 * Preloaded into a daemon, by starts.sh: whenever the fork server has answered, a child of the daemon is being forked
 * that takes a second until it has closed the daemon's descriptors.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void fork_slowly(void)
{
    const pid_t pid = fork();

    if (pid) {
        waitpid(pid, NULL, 0);
        return;
    }
    if (!fork())
        sleep(1);
    _exit(0);
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    ssize_t (*real)(int, void *, size_t, int) = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    const ssize_t got = real(fd, bytes, size, flags);

    if (got == sizeof(pid_t) && size == sizeof(pid_t) && flags == MSG_DONTWAIT)
        fork_slowly();
    return got;
}
