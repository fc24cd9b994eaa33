/* The ranks of a session: see ranks.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/socket.h"
#include "proxy/launch/plan.h"
#include "proxy/launch/ranks.h"
#include "proxy/launch/tunnel.h"
#include "transport/starter.h"

#define END_MS 3000 /* for a worker to end by itself */

/* ---- PMI ---- */

static void say(void *owner, unsigned rank, const char *line, size_t length)
{
    const struct ranks *ranks = owner;

    /* a peer that does not read its few lines of answers is not MPI: its PMI ends */
    if (ranks->pmi[rank] >= 0 && send(ranks->pmi[rank], line, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        shutdown(ranks->pmi[rank], SHUT_RDWR);
}

int ranks_open(struct ranks *ranks, unsigned workers)
{
    *ranks = (struct ranks){.size = workers + 1, .calls = -1};
    ranks->most = SESSION_MOST_NUMBERS(workers);
    ranks->pmi = malloc(ranks->most * sizeof(*ranks->pmi));
    ranks->members = malloc(ranks->most * sizeof(*ranks->members));
    ranks->pids = calloc(ranks->most, sizeof(*ranks->pids));
    ranks->ends_ms = calloc(ranks->most, sizeof(*ranks->ends_ms));
    ranks->server = pmi_open(ranks->size, say, ranks);
    if (!ranks->pmi || !ranks->members || !ranks->pids || !ranks->ends_ms || !ranks->server)
        return -ENOMEM;
    for (unsigned i = 0; i < ranks->most; i++)
        ranks->pmi[i] = ranks->members[i] = -1;
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

/* ---- workers on this host ---- */

/* The descriptors of a session: those of its workers, and the program's ends of them. */
struct wires {
    unsigned workers, count;
    int *ends;
    struct plan *plans; /* by rank */
};

static int open_calls(struct wires *wires, struct ranks *ranks, unsigned rank)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    ranks->members[rank] = ends[0];
    plan_descriptor(&wires->plans[rank], SESSION_CALLS, ends[1]);
    return 0;
}

/* Makes a socket pair between the program and this worker. */
static int open_pair(struct wires *wires, unsigned rank, const char *name)
{
    int ends[2], error = ranks_pair(ends);

    if (error)
        return error;
    wires->ends[wires->count++] = ends[0];
    plan_descriptor(&wires->plans[rank], name, ends[1]);
    return 0;
}

static int open_pmi(struct wires *wires, struct ranks *ranks, unsigned rank)
{
    int ends[2], error = ranks_pair(ends);

    if (error)
        return error;
    ranks->pmi[rank] = ends[0];
    if (rank)
        plan_descriptor(&wires->plans[rank], "PMI_FD", ends[1]);
    else
        wires->ends[wires->count++] = ends[1];
    return 0;
}

/* Makes the worker's connections with those before it, `each` with every one: bells, or by pairs all of them. */
static int open_peers(struct wires *wires, unsigned rank, unsigned each)
{
    for (unsigned i = 0; i < each * (rank - 1); i++) {
        const unsigned other = i / each + 1;
        int ends[2], error = ranks_pair(ends);

        if (error)
            return error;
        plan_peer(&wires->plans[rank], other, ends[0]);
        plan_peer(&wires->plans[other], rank, ends[1]);
    }
    return 0;
}

/* Over TLS the workers make their own. */
bool ranks_have_bells(bool pairs)
{
    return !pairs && !getenv(SESSION_SECRET);
}

/* Returns how many connections two workers share from the start. */
static unsigned between(unsigned workers, bool pairs)
{
    if (!pairs)
        return ranks_have_bells(pairs);
    return workers < WORKERS_LATER ? PAIR_SOCKETS : 0;
}

/* The program's ends are rank 0's PMI and a bell of each worker, or by pairs the PAIR_SOCKETS of each. */
static int wires_open(struct wires *wires, struct ranks *ranks, bool pairs)
{
    static const char *const names[PAIR_SOCKETS] = {SESSION_BELL, SESSION_BEAT, SESSION_BULK};
    const unsigned workers = ranks->size - 1;
    int error = 0;

    *wires = (struct wires){.workers = workers,
                            .ends = calloc((size_t)PAIR_SOCKETS * ranks->size, sizeof(int)),
                            .plans = calloc(ranks->size, sizeof(*wires->plans))};
    if (!wires->ends || !wires->plans)
        return -ENOMEM;
    if (!pairs)
        error = open_pmi(wires, ranks, 0);
    for (unsigned i = 1; !error && i < ranks->size; i++) {
        plan_variable(&wires->plans[i], "PMI_RANK=%u", i);
        plan_variable(&wires->plans[i], "PMI_SIZE=%u", ranks->size);
        error = open_calls(wires, ranks, i);
        for (unsigned kind = 0; !error && kind < (pairs ? PAIR_SOCKETS : 1); kind++)
            error = open_pair(wires, i, names[kind]);
        if (!error && !pairs)
            error = open_pmi(wires, ranks, i);
        if (!error)
            error = open_peers(wires, i, between(workers, pairs));
    }
    return error;
}

static int hand_over(const struct wires *wires, int control)
{
    unsigned sent = 0;
    int error = 0;

    while (!error && sent < wires->count) {
        unsigned some = wires->count - sent < MOST_DESCRIPTORS ? wires->count - sent : MOST_DESCRIPTORS;

        error = socket_send_descriptors(control, "", 1, wires->ends + sent, some);
        sent += some;
    }
    return error;
}

/* Many workers start as copies of one process, unless their drivers cannot be copied. */
static int start_workers(struct ranks *ranks, struct wires *wires, bool pairs, const char *program, int control,
                         int output)
{
    int error = -ENOTSUP;

    if (wires->workers >= PLANS_MANY)
        error = plans_start(wires->plans + 1, wires->workers, pairs, program, control, output, ranks->pids + 1);
    if (!error)
        vocl_log(LOG_INFO, "%u workers begin as copies of one process", wires->workers);
    if (error == -ENOTSUP) {
        error = 0;
        for (unsigned i = 1; !error && i < ranks->size; i++) {
            const pid_t pid = plan_start(&wires->plans[i], program, output);

            error = pid < 0 ? pid : 0;
            ranks->pids[i] = pid > 0 ? pid : 0;
        }
    }
    for (unsigned i = 1; i < ranks->size; i++)
        ranks->running += ranks->pids[i] > 0;
    return error;
}

static void wires_close(struct wires *wires)
{
    while (wires->count)
        close(wires->ends[--wires->count]);
    for (unsigned i = 0; wires->plans && i <= wires->workers; i++)
        plan_free(&wires->plans[i]);
    free(wires->ends);
    free(wires->plans);
}

int ranks_here(struct ranks *ranks, const char *program, unsigned workers, bool pairs, int control, int output,
               char *why, size_t why_size)
{
    struct wires wires = {.workers = workers};
    int error = ranks_open(ranks, workers);

    if (!error)
        error = wires_open(&wires, ranks, pairs);
    if (!error && pairs && !between(workers, pairs) && !(ranks->broker = pair_broker_new(ranks->most)))
        error = -ENOMEM;
    if (!error)
        error = hand_over(&wires, control);
    if (!error)
        error = start_workers(ranks, &wires, pairs, program, control, output);
    wires_close(&wires);
    if (error)
        snprintf(why, why_size, "%u workers cannot be started: %s", workers, strerror(-error));
    return error;
}

/* ---- workers that come later ---- */

static int add_here(struct ranks *ranks, unsigned rank, const char *program, int output)
{
    const char *secret = getenv(SESSION_SECRET);
    struct plan plan = {.count = 0};
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    plan_descriptor(&plan, SESSION_TUNNEL, ends[1]);
    plan_variable(&plan, SESSION_JOINS "=%u", rank);
    plan_variable(&plan, "PMI_RANK=%u", rank);
    plan_variable(&plan, SESSION_PLAIN "=1");
    plan_variable(&plan, SESSION_ENDPOINT "=" TUNNEL_ENDPOINT);
    if (secret) { /* it needs TLS only with members on other hosts */
        plan_variable(&plan, SESSION_GUESTS "=%s", secret);
        plan_variable(&plan, SESSION_SECRET);
    }
    pid = plan_start(&plan, program, output);
    plan_free(&plan);
    if (pid < 0) {
        close(ends[0]);
        return pid;
    }
    ranks->members[rank] = ends[0];
    ranks->pids[rank] = pid;
    ranks->running++;
    return 0;
}

int ranks_add(struct ranks *ranks, unsigned rank, const char *place, const char *program, int calls, int output,
              pid_t *process, char *why, size_t why_size)
{
    char host[256];
    const char *endpoint = strchr(place, '\t');
    int error = 0;

    *process = 0;
    if (calls < 0 || rank <= ranks->size || rank >= ranks->most || ranks->pids[rank] || !endpoint ||
        endpoint - place >= (ptrdiff_t)sizeof(host))
        error = -EINVAL;
    if (error && calls >= 0)
        close(calls);
    if (!error) {
        snprintf(host, sizeof(host), "%.*s", (int)(endpoint - place), place);
        if (ranks->calls >= 0)
            close(ranks->calls);
        ranks->calls = calls;
        ranks->ends_ms[rank] = 0;
        error =
            *host ? host_add(ranks, rank, host, endpoint + 1, program, output) : add_here(ranks, rank, program, output);
    }
    if (!error && !*host)
        *process = ranks->pids[rank];
    if (error)
        snprintf(why, why_size, "a worker cannot be started: %s", strerror(-error));
    return error;
}

static void end_one(struct ranks *ranks, unsigned rank)
{
    ranks->ends_ms[rank] = 0;
    if (host_has(ranks, rank))
        host_end(ranks, rank);
    else
        kill(ranks->pids[rank], SIGKILL);
}

void ranks_end(struct ranks *ranks, unsigned rank, bool now)
{
    if (!rank || rank >= ranks->most || ranks->pids[rank] <= 0)
        return;
    ranks->ends_ms[rank] = clock_ms() + END_MS;
    if (now)
        end_one(ranks, rank);
}

int ranks_kill(struct ranks *ranks)
{
    const long now = clock_ms();
    long first = -1;

    for (unsigned i = 1; i < ranks->most; i++) {
        const long left = ranks->ends_ms[i] - now;

        if (!ranks->ends_ms[i])
            continue;
        if (left <= 0)
            end_one(ranks, i);
        else if (first < 0 || left < first)
            first = left;
    }
    return (int)first;
}

bool ranks_hand(struct ranks *ranks, unsigned to, int fd)
{
    if (to >= ranks->most)
        return false;
    if (to && host_has(ranks, to))
        return host_call(ranks, to, fd);
    return tunnel_hand(to ? ranks->members[to] : ranks->calls, fd);
}

/* A worker of this host connects to another member. */
static void pass_call(struct ranks *ranks, unsigned from)
{
    struct tunnel_call call;
    unsigned count = 1;
    int fd = -1;
    ssize_t got = socket_receive_descriptors(ranks->members[from], &call, sizeof(call), &fd, &count, 1);

    if (got == (ssize_t)sizeof(call) && !count && ranks->broker)
        pair_broker_ask(ranks, from, call.to);
    else if (got == (ssize_t)sizeof(call) && count && call.to != from)
        ranks_hand(ranks, call.to, fd);
    if (count)
        close(fd);
    if (got > 0 || got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT)
        return;
    close(ranks->members[from]);
    ranks->members[from] = -1;
}

/* ---- all ranks ---- */

unsigned ranks_width(const struct ranks *ranks)
{
    return 2 * ranks->most + hosts_width(ranks);
}

unsigned ranks_poll(struct ranks *ranks, struct pollfd *fds)
{
    for (unsigned i = 0; i < ranks->most; i++) {
        fds[i] = (struct pollfd){ranks->pmi[i], (short)(POLLIN | (host_tells(ranks, i) ? POLLOUT : 0)), 0};
        fds[ranks->most + i] = (struct pollfd){ranks->members[i], POLLIN, 0};
    }
    return 2 * ranks->most + hosts_poll(ranks, fds + 2 * ranks->most);
}

static int hear_one(struct ranks *ranks, unsigned rank)
{
    char bytes[4096];
    ssize_t got = recv(ranks->pmi[rank], bytes, sizeof(bytes), MSG_DONTWAIT), others;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_pmi(ranks, rank);
        return rank < ranks->size ? pmi_lose(ranks->server, rank) : 0;
    }
    others = host_hear(ranks, rank, bytes, (size_t)got);
    if (rank >= ranks->size) { /* such a worker uses TLS, not PMI */
        if (others < 0)
            close_pmi(ranks, rank);
        return 0;
    }
    return others < 0 ? (int)others : pmi_hear(ranks->server, rank, bytes + others, (size_t)(got - others));
}

int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size)
{
    int error = 0;

    hosts_turn(ranks, fds + 2 * ranks->most);
    pair_broker_turn(ranks);
    for (unsigned i = 0; i < ranks->most; i++) {
        if (ranks->members[i] >= 0 && ranks->members[i] == fds[ranks->most + i].fd && fds[ranks->most + i].revents)
            pass_call(ranks, i);
    }
    for (unsigned i = 0; !error && i < ranks->most; i++) {
        if (ranks->pmi[i] < 0 || ranks->pmi[i] != fds[i].fd)
            continue;
        if (fds[i].revents & POLLOUT)
            host_tell(ranks, i);
        if (fds[i].revents & ~POLLOUT)
            error = hear_one(ranks, i);
    }
    if (!error)
        return 0;
    snprintf(why, why_size, "%s cannot start: %s", ranks->server && !host_has(ranks, 1) ? "MPI" : "the workers",
             *pmi_why(ranks->server) ? pmi_why(ranks->server) : strerror(-error));
    for (unsigned i = 0; i < ranks->size; i++)
        close_pmi(ranks, i);
    return error;
}

unsigned ranks_reaped(struct ranks *ranks, pid_t pid)
{
    for (unsigned i = 1; i < ranks->most; i++) {
        if (ranks->pids[i] == pid) {
            ranks->pids[i] = 0;
            ranks->ends_ms[i] = 0;
            ranks->running--;
            if (ranks->members[i] >= 0)
                close(ranks->members[i]);
            ranks->members[i] = -1;
            if (i >= ranks->size)
                host_forget(ranks, i);
            pair_broker_forget(ranks, i);
            return i;
        }
    }
    return 0;
}

void ranks_close(struct ranks *ranks)
{
    for (unsigned i = 0; ranks->pmi && i < ranks->size; i++)
        close_pmi(ranks, i);
    for (unsigned i = 0; ranks->members && i < ranks->most; i++) {
        if (ranks->members[i] >= 0)
            close(ranks->members[i]);
    }
    hosts_close(ranks);
    pair_broker_free(ranks->broker);
    free(ranks->members);
    free(ranks->ends_ms);
    free(ranks->pids);
    free(ranks->pmi);
    pmi_close(ranks->server);
    *ranks = (struct ranks){.size = 0};
}
