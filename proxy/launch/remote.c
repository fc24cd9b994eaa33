/*
 * vocl-proxy --remote: started by ssh, or its replacement, on a host that is to have a worker. What the worker needs to
 * know arrives on standard input, so that it does not show in a list of processes. Then the connection carries the
 * worker's PMI, or, in a session over TLS, those of its connections that cannot be made directly. When the connection
 * closes, for whatever reason, the worker and all that it has started end.
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
#include "base/process.h"
#include "base/rsh.h"
#include "base/settings.h"
#include "base/spawn.h"
#include "base/socket.h"
#include "base/children.h"
#include "proxy/launch/remote.h"
#include "proxy/launch/tunnel.h"
#include "transport/starter.h"

#define HEADER_MS 30000
#define LOOK_MS 100
#define LAST_WORDS_MS 500

/* Reads exactly this many bytes of standard input, which need not be a socket. */
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

/* The address at which sshd was reached may also reach a worker. */
static char *keep_address(void)
{
    static char line[sizeof(SESSION_HOST "=") + 63] = SESSION_HOST "=";
    const char *connection = getenv("SSH_CONNECTION");

    return connection && sscanf(connection, "%*s %*s %63s", strchr(line, '\0')) == 1 ? line : NULL;
}

/* Changes to the program's folder, if it exists here, too. */
static int take_header(void)
{
    size_t length, folder;
    char *header = read_header(&length), *address = keep_address();
    int error;

    if (!header)
        return -EPROTO;
    if (chdir(header) && chdir("/"))
        vocl_log(LOG_INFO, "no folder: %s", strerror(errno));
    folder = strlen(header) + 1;
    error = folder < length ? rsh_take_environment(header + folder, length - folder) : -EPROTO;
    return error || !address || !putenv(address) ? error : -ENOMEM;
}

/* The variable names the worker's descriptor for PMI, or for connections through the tunnel. */
static pid_t start_worker(int end, const char *variable)
{
    char program[4096], *arguments[] = {program, (char *)(uintptr_t) "--worker", NULL};
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length < 0 || setenv(variable, "3", 1))
        return -1;
    program[length] = '\0';
    return spawn(&(struct spawn){
        .arguments = arguments, .descriptors = (int[]){-1, 2, 2, end}, .count = 4, .signal = SIGKILL, .group = true});
}

/* Copies what arrives on one side to the other. Returns false at the end. */
static bool carry(int from, int to)
{
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof(bytes));

    return got > 0 ? !write_all(to, bytes, (size_t)got) : got < 0 && (errno == EINTR || errno == EAGAIN);
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Relays until the connection closes or the worker ends. Returns the worker's status. */
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
            return status_of(status);
    }
}

/* ---- over TLS ---- */

/* The worker connects to another member. Returns false if it makes no more connections. */
static bool hear_worker(struct tunnel *tunnel, int worker)
{
    struct tunnel_call call;
    unsigned count = 1;
    int fd = -1;
    ssize_t got = socket_receive_descriptors(worker, &call, sizeof(call), &fd, &count, 1);

    if (got == (ssize_t)sizeof(call) && count)
        tunnel_call(tunnel, call.to, fd);
    else if (count)
        close(fd);
    return got > 0 || got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT;
}

/* Reports to the worker that the program's host is alive, whatever the program does. */
static void vouch(int worker, long *vouched_ms)
{
    const long now = clock_ms();

    if (worker < 0 || now - *vouched_ms < settings_tick_ms())
        return;
    *vouched_ms = now;
    send(worker, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool on_call(void *owner, unsigned from, unsigned to, int fd)
{
    const int *worker = owner;

    (void)from, (void)to;
    return *worker >= 0 && tunnel_hand(*worker, fd);
}

/* Carries connections until ssh's connection closes, its other end does not answer, or the worker has ended and its
 * last data have been sent. Returns the worker's status. */
static int carry_calls(pid_t pid, int worker)
{
    const char *size = getenv("PMI_SIZE");
    struct tunnel *tunnel =
        tunnel_open(0, 1, false, REMOTE_MOST_CALLS * (size ? (unsigned)atoi(size) : 2), on_call, &worker, 0);
    int process = process_open(pid), status = 0, error = tunnel && process >= 0 ? 0 : -ENOMEM;
    struct pollfd *ready = NULL;
    long until = -1, vouched_ms = 0;

    while (!error && (until < 0 || (clock_ms() < until && !tunnel_is_idle(tunnel)))) {
        struct pollfd *more = realloc(ready, (tunnel_width(tunnel) + 2) * sizeof(*ready));
        unsigned count;

        if (!more)
            break;
        ready = more;
        ready[0] = (struct pollfd){until < 0 ? process : -1, POLLIN, 0};
        ready[1] = (struct pollfd){worker, POLLIN, 0};
        count = tunnel_poll(tunnel, ready + 2);
        if (poll(ready, count + 2, until < 0 ? tunnel_nap() : LOOK_MS) < 0)
            continue;
        if (ready[1].revents && !hear_worker(tunnel, worker)) {
            close(worker);
            worker = -1;
        }
        error = tunnel_turn(tunnel, ready + 2, count);
        vouch(worker, &vouched_ms);
        if (ready[0].revents && waitpid(pid, &status, WNOHANG) == pid)
            until = clock_ms() + LAST_WORDS_MS;
    }
    if (worker >= 0)
        close(worker);
    if (process >= 0)
        close(process);
    free(ready);
    tunnel_close(tunnel);
    return error && until < 0 ? 0 : status_of(status);
}

int remote_run(void)
{
    bool tls;
    int ends[2], status = 1;
    pid_t worker;

    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (take_header()) {
        fprintf(stderr, "vocl-proxy --remote: started by VOCL only\n");
        return 2;
    }
    tls = getenv(SESSION_SECRET) != NULL;
    if (write_all(1, "\n" REMOTE_THERE "\n", strlen(REMOTE_THERE) + 2) ||
        socketpair(AF_UNIX, (tls ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC, 0, ends))
        return 1;
    worker = start_worker(ends[1], tls ? SESSION_TUNNEL : "PMI_FD");
    close(ends[1]);
    if (worker > 0 && tls)
        status = carry_calls(worker, ends[0]);
    else if (worker > 0)
        status = relay(worker, ends[0]);
    if (!tls)
        close(ends[0]);
    children_end();
    return status;
}
