/* The ranks of a session: see ranks.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "proxy/launch/ranks.h"
#include "transport/starter.h"

/* ---- PMI ---- */

static void say(void *owner, unsigned rank, const char *line, size_t length)
{
    const struct ranks *ranks = owner;

    /* who does not read its answers, a few lines, is no rank of MPI's: its PMI ends */
    if (ranks->pmi[rank] >= 0 && send(ranks->pmi[rank], line, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        shutdown(ranks->pmi[rank], SHUT_RDWR);
}

int ranks_open(struct ranks *ranks, unsigned workers)
{
    *ranks = (struct ranks){.size = workers + 1, .calls = -1};
    ranks->pmi = malloc(ranks->size * sizeof(*ranks->pmi));
    ranks->pids = calloc(ranks->size, sizeof(*ranks->pids));
    ranks->server = pmi_open(ranks->size, say, ranks);
    if (!ranks->pmi || !ranks->pids || !ranks->server)
        return -ENOMEM;
    for (unsigned i = 0; i < ranks->size; i++)
        ranks->pmi[i] = -1;
    return 0;
}

static void close_pmi(struct ranks *ranks, unsigned rank)
{
    if (ranks->pmi[rank] >= 0)
        close(ranks->pmi[rank]);
    ranks->pmi[rank] = -1;
}

int ranks_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

/* ---- a process ---- */

/* The child's start: it ends with this process, and its words go to output. */
void rank_become(int output)
{
    pid_t parent = getppid();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent == 1 || getppid() != parent)
        _exit(127);
    setpgid(0, 0);
    dup2(output, 1);
    dup2(output, 2);
}

void rank_execute(char *const *arguments)
{
    execvp(arguments[0], arguments);
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* ---- here ---- */

/* The descriptors of a session: of each worker its bell, and those to the other workers (a square of them). */
struct wires {
    unsigned workers;
    int *bells, *far_bells, *far_pmi, *peers;
};

static int *wire(struct wires *wires, unsigned from, unsigned to)
{
    return &wires->peers[(from - 1) * wires->workers + to - 1];
}

static int wires_open(struct wires *wires, struct ranks *ranks)
{
    const unsigned workers = ranks->size - 1;
    int ends[2], error = 0;

    *wires = (struct wires){workers, calloc(ranks->size, sizeof(int)), calloc(ranks->size, sizeof(int)),
                            calloc(ranks->size, sizeof(int)), calloc((size_t)workers * workers, sizeof(int))};
    if (!wires->bells || !wires->far_bells || !wires->far_pmi || !wires->peers)
        return -ENOMEM;
    for (unsigned i = 0; !error && i < ranks->size; i++) {
        error = ranks_pair(ends);
        if (error)
            break;
        ranks->pmi[i] = ends[0];
        wires->far_pmi[i] = ends[1];
        error = i ? ranks_pair(ends) : 0;
        if (error)
            break;
        wires->bells[i] = ends[0];
        wires->far_bells[i] = ends[1];
        for (unsigned j = 1; !error && j < i; j++) {
            error = ranks_pair(ends);
            *wire(wires, i, j) = ends[0];
            *wire(wires, j, i) = ends[1];
        }
    }
    return error;
}

/* The program's ends: rank 0's PMI, then the bells. */
static int hand_over(const struct wires *wires, int lifeline)
{
    unsigned count = wires->workers + 1, sent = 0;
    int error = 0;

    wires->bells[0] = wires->far_pmi[0];
    while (!error && sent < count) {
        unsigned some = count - sent < MOST_DESCRIPTORS ? count - sent : MOST_DESCRIPTORS;

        error = socket_send_descriptors(lifeline, "", 1, wires->bells + sent, some);
        sent += some;
    }
    return error;
}

static void inherit(int fd)
{
    fcntl(fd, F_SETFD, 0);
}

static void set_number(const char *name, int number)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", number);
    setenv(name, text, 1);
}

static void become_worker(struct wires *wires, unsigned rank, const char *program, int output)
{
    char *list = calloc(wires->workers + 1, 32), *at = list;
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--worker", NULL};

    rank_become(output);
    for (unsigned other = 1; list && other <= wires->workers; other++) {
        if (other == rank)
            continue;
        inherit(*wire(wires, rank, other));
        at += sprintf(at, "%s%u:%d", at == list ? "" : ",", other, *wire(wires, rank, other));
    }
    inherit(wires->far_bells[rank]);
    inherit(wires->far_pmi[rank]);
    set_number("PMI_FD", wires->far_pmi[rank]);
    set_number("PMI_RANK", (int)rank);
    set_number("PMI_SIZE", (int)wires->workers + 1);
    set_number(SESSION_BELL, wires->far_bells[rank]);
    if (list && *list)
        setenv(SESSION_PEERS, list, 1);
    rank_execute(arguments);
}

static int fork_workers(struct ranks *ranks, struct wires *wires, const char *program, int output)
{
    for (unsigned i = 1; i < ranks->size; i++) {
        pid_t pid = fork();

        if (pid == 0)
            become_worker(wires, i, program, output);
        if (pid < 0)
            return -errno;
        ranks->pids[i] = pid;
        ranks->running++;
    }
    return 0;
}

static void wires_close(struct wires *wires)
{
    for (unsigned i = 0; wires->bells && wires->far_pmi && i <= wires->workers; i++) {
        if (wires->far_pmi[i])
            close(wires->far_pmi[i]);
        if (i && wires->bells[i])
            close(wires->bells[i]);
        if (i && wires->far_bells[i])
            close(wires->far_bells[i]);
    }
    for (unsigned i = 0; wires->peers && i < wires->workers * wires->workers; i++) {
        if (wires->peers[i])
            close(wires->peers[i]);
    }
    free(wires->bells);
    free(wires->far_bells);
    free(wires->far_pmi);
    free(wires->peers);
}

int ranks_here(struct ranks *ranks, const char *program, unsigned workers, int lifeline, int output, char *why,
               size_t why_size)
{
    struct wires wires = {.workers = workers};
    int error = ranks_open(ranks, workers);

    if (!error)
        error = wires_open(&wires, ranks);
    if (!error)
        error = hand_over(&wires, lifeline);
    if (!error)
        error = fork_workers(ranks, &wires, program, output);
    wires_close(&wires);
    if (error)
        snprintf(why, why_size, "%u workers cannot be started: %s", workers, strerror(-error));
    return error;
}

/* ---- all of them ---- */

unsigned ranks_width(const struct ranks *ranks)
{
    return ranks->size + hosts_width(ranks);
}

unsigned ranks_poll(struct ranks *ranks, struct pollfd *fds)
{
    for (unsigned i = 0; i < ranks->size; i++)
        fds[i] = (struct pollfd){ranks->pmi[i], (short)(POLLIN | (host_tells(ranks, i) ? POLLOUT : 0)), 0};
    return ranks->size + hosts_poll(ranks, fds + ranks->size);
}

static int hear_one(struct ranks *ranks, unsigned rank)
{
    char bytes[4096];
    ssize_t got = recv(ranks->pmi[rank], bytes, sizeof(bytes), MSG_DONTWAIT), others;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_pmi(ranks, rank);
        return pmi_lose(ranks->server, rank);
    }
    others = host_hear(ranks, rank, bytes, (size_t)got);
    return others < 0 ? (int)others : pmi_hear(ranks->server, rank, bytes + others, (size_t)(got - others));
}

int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size)
{
    int error = 0;

    hosts_turn(ranks, fds + ranks->size);
    for (unsigned i = 0; !error && i < ranks->size; i++) {
        if (ranks->pmi[i] < 0)
            continue;
        if (fds[i].revents & POLLOUT)
            host_tell(ranks, i);
        if (fds[i].revents & ~POLLOUT)
            error = hear_one(ranks, i);
    }
    if (!error)
        return 0;
    snprintf(why, why_size, "%s cannot start: %s", ranks->calls < 0 ? "MPI" : "the workers",
             *pmi_why(ranks->server) ? pmi_why(ranks->server) : strerror(-error));
    for (unsigned i = 0; i < ranks->size; i++)
        close_pmi(ranks, i);
    return error;
}

unsigned ranks_reaped(struct ranks *ranks, pid_t pid)
{
    for (unsigned i = 1; i < ranks->size; i++) {
        if (ranks->pids[i] == pid) {
            ranks->pids[i] = 0;
            ranks->running--;
            return i;
        }
    }
    return 0;
}

void ranks_close(struct ranks *ranks)
{
    for (unsigned i = 0; ranks->pmi && i < ranks->size; i++)
        close_pmi(ranks, i);
    hosts_close(ranks);
    free(ranks->pids);
    free(ranks->pmi);
    pmi_close(ranks->server);
    *ranks = (struct ranks){.size = 0};
}
