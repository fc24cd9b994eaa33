/*
 * vocl-proxy --remote: started by ssh, or what is used in its place, on a host that is to have a worker. What the
 * worker needs to know comes on standard input, so that nobody sees it in a list of processes; then both sides of the
 * connection carry the worker's PMI. When the connection closes, whyever, the worker and what it has started end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proxy/children.h"
#include "proxy/remote.h"

#define HEADER_MS 30000
#define LOOK_MS 100

/* Exactly so many bytes of standard input, which need not be a socket. */
static int read_all(char *bytes, size_t length, long until)
{
    while (length) {
        struct pollfd ready = {0, POLLIN, 0};
        long left = until - clock_ms();
        ssize_t got;

        if (left <= 0 || poll(&ready, 1, (int)left) <= 0)
            return -ETIMEDOUT;
        got = read(0, bytes, length);
        if (got == 0)
            return -ECONNRESET;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        bytes += got > 0 ? got : 0;
        length -= got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t sent = write(fd, bytes, length);

        if (sent < 0 && errno != EINTR)
            return -errno;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

static char *read_header(size_t *length)
{
    const long until = clock_ms() + HEADER_MS;
    char line[32] = "", *header;
    size_t at = 0;

    while (!read_all(line + at, 1, until) && line[at] != '\n' && at + 2 < sizeof(line))
        at++;
    line[at] = line[at] == '\n' ? '\n' : '\0';
    if (sscanf(line, REMOTE_HEADER, length) != 1 || !*length || *length > REMOTE_MOST_HEADER)
        return NULL;
    header = malloc(*length + 1);
    if (!header || read_all(header, *length, until)) {
        free(header);
        return NULL;
    }
    header[*length] = '\0';
    return header;
}

/* The folder is the program's, if it is here, too. */
static int take_header(void)
{
    size_t length;
    char *header = read_header(&length), *at;

    if (!header)
        return -EPROTO;
    if (chdir(header) && chdir("/"))
        vocl_log(LOG_INFO, "no folder: %s", strerror(errno));
    clearenv();
    for (at = header + strlen(header) + 1; at < header + length; at += strlen(at) + 1) {
        if (strchr(at, '=') > at && putenv(at))
            return -ENOMEM;
    }
    return 0; /* the environment is in it, so it stays */
}

static pid_t start_worker(int pmi)
{
    char program[4096], text[16], *arguments[] = {program, (char *)(uintptr_t) "--worker", NULL};
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    pid_t pid = length < 0 ? -1 : fork();

    if (pid)
        return pid;
    program[length] = '\0';
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(2, 1);
    close(0);
    if (open("/dev/null", O_RDONLY) < 0)
        _exit(127);
    snprintf(text, sizeof(text), "%d", pmi);
    setenv("PMI_FD", text, 1);
    fcntl(pmi, F_SETFD, 0);
    execv(program, arguments);
    fprintf(stderr, "vocl-proxy: %s\n", strerror(errno));
    _exit(127);
}

/* What came on one side goes to the other; false at the end. */
static bool carry(int from, int to)
{
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof(bytes));

    return got > 0 ? !write_all(to, bytes, (size_t)got) : got < 0 && (errno == EINTR || errno == EAGAIN);
}

/* Until the connection closes or the worker ends; its status. */
static int relay(pid_t worker, int pmi)
{
    bool speaks = true;
    int status = 0;

    for (;;) {
        struct pollfd ready[] = {{0, POLLIN, 0}, {speaks ? pmi : -1, POLLIN, 0}};

        poll(ready, 2, speaks ? -1 : LOOK_MS);
        if (ready[0].revents && !carry(0, pmi))
            return 0;
        if (ready[1].revents)
            speaks = carry(pmi, 1);
        if (!speaks && waitpid(worker, &status, WNOHANG) == worker)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
}

int remote_run(void)
{
    int ends[2], status = 1;
    pid_t worker;

    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (take_header()) {
        fprintf(stderr, "vocl-proxy --remote: started by VOCL only\n");
        return 2;
    }
    if (write_all(1, "\n" REMOTE_THERE "\n", strlen(REMOTE_THERE) + 2) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return 1;
    worker = start_worker(ends[1]);
    close(ends[1]);
    if (worker > 0)
        status = relay(worker, ends[0]);
    close(ends[0]);
    children_end();
    return status;
}
