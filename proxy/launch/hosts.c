/*
 * Ranks on other hosts. The process that starts one, ssh or its replacement, is sent all that the worker needs to know.
 * Then its connection carries the worker's PMI, or, in a session over TLS, those connections between members that
 * cannot be made directly (tunnel.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "base/rsh.h"
#include "base/settings.h"
#include "base/spawn.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/launch/ranks.h"
#include "proxy/launch/remote.h"
#include "proxy/launch/tunnel.h"
#include "transport/starter.h"

#define MOST_JUNK (64u << 10) /* bytes that a host's shell may print before the worker's starter does */
#define LAST_WORDS_MS 300

extern char **environ;

/* The connection to a rank on another host: first it carries the header, then the starter's line, then PMI or a
 * tunnel. */
struct stages {
    char *header;
    size_t length, sent, junk, line_length;
    bool there;
    char line[64];
    struct tunnel *tunnel;
    unsigned width; /* how many descriptors it is polled for */
};

/* Names are looked up in this child process, because that may take long. */
static void become_remote(const char *host, const char *program, int end, int output)
{
    char *here[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--remote", NULL};
    char *words[RSH_WORDS], *command = rsh_proxy(program, "--remote");
    const bool is_here = rsh_is_here(host);

    if (!is_here && (!command || !rsh_words(host, command, words)))
        _exit(127);
    spawn_become(&(struct spawn){
        .arguments = is_here ? here : words, .descriptors = (int[]){end, end, output}, .count = 3, .group = true});
}

/* Makes the header: the length, then strings with their terminating 0: the folder, and the environment. endpoint: of a
 * worker that comes later, or NULL. */
static int make_header(struct stages *stages, unsigned rank, unsigned size, const char *host, const char *endpoint)
{
    char *folder = getcwd(NULL, 0);
    size_t length = 0;
    char *body = NULL;
    FILE *file = open_memstream(&body, &length);
    int count;

    if (!file)
        return -ENOMEM;
    fprintf(file, "%s%c", folder ? folder : "/", 0);
    free(folder);
    for (char **at = environ; *at; at++) {
        if (rsh_takes(*at))
            fprintf(file, "%s%c", *at, 0);
    }
    fprintf(file, "PMI_RANK=%u%cPMI_SIZE=%u%c" SESSION_HOST "=%s%c", rank, 0, size, 0, host, 0);
    if (endpoint && getenv(SESSION_GUESTS)) /* the other workers use MPI */
        fprintf(file, SESSION_SECRET "=%s%c", getenv(SESSION_GUESTS), 0);
    if (endpoint)
        fprintf(file, SESSION_JOINS "=%u%c" SESSION_ENDPOINT "=%s%c", rank, 0, endpoint, 0);
    if (fclose(file) || length > REMOTE_MOST_HEADER) {
        free(body);
        return -E2BIG;
    }
    count = asprintf(&stages->header, REMOTE_HEADER, length);
    stages->length = (size_t)(count < 0 ? 0 : count) + length;
    stages->header = count < 0 ? NULL : realloc(stages->header, stages->length);
    if (stages->header)
        memcpy(stages->header + count, body, length);
    free(body);
    return stages->header ? 0 : -ENOMEM;
}

static int start_there(struct ranks *ranks, unsigned rank, const char *host, const char *endpoint, const char *program,
                       int output)
{
    int ends[2],
        error = !rsh_is_host(host) ? -EINVAL : make_header(&ranks->stages[rank], rank, ranks->size, host, endpoint);
    pid_t pid = -1;

    if (!error)
        error = ranks_pair(ends);
    if (error)
        return error;
    pid = process_fork(SIGKILL);
    if (pid == 0)
        become_remote(host, program, ends[1], output);
    error = pid < 0 ? -errno : 0;
    close(ends[1]);
    ranks->pmi[rank] = ends[0];
    ranks->pids[rank] = pid;
    ranks->running += pid > 0;
    return error;
}

/* Sends the program its end: of rank 0's PMI, or of the socket on which it receives connections. */
static int hand_over(struct ranks *ranks, int control)
{
    const bool tls = getenv(SESSION_SECRET) != NULL;
    int ends[2], error = tls ? -socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) : ranks_pair(ends);

    if (error)
        return tls ? -errno : error;
    if (tls)
        ranks->calls = ends[0];
    else
        ranks->pmi[0] = ends[0];
    error = socket_send_descriptors(control, "", 1, &ends[1], 1);
    close(ends[1]);
    return error;
}

int ranks_there(struct ranks *ranks, const char *program, const char *hosts, int control, int output, char *why,
                size_t why_size)
{
    char *list = strdup(hosts), *save = NULL;
    unsigned rank = 0, workers = 1;
    int error;

    for (const char *at = hosts; *at; at++)
        workers += *at == ',';
    error = list ? ranks_open(ranks, workers) : -ENOMEM;
    if (!error && !(ranks->stages = calloc(ranks->most, sizeof(*ranks->stages))))
        error = -ENOMEM;
    if (!error)
        error = hand_over(ranks, control);
    for (char *host = strtok_r(list, ",", &save); !error && host; host = strtok_r(NULL, ",", &save))
        error = ++rank < ranks->size ? start_there(ranks, rank, host, NULL, program, output) : -EINVAL;
    if (!error && rank + 1 != ranks->size)
        error = -EINVAL; /* "a,,b" */
    free(list);
    if (error)
        snprintf(why, why_size, "workers on %s cannot be started: %s", hosts, strerror(-error));
    return error;
}

int host_add(struct ranks *ranks, unsigned rank, const char *host, const char *endpoint, const char *program,
             int output)
{
    if (!ranks->stages && !(ranks->stages = calloc(ranks->most, sizeof(*ranks->stages))))
        return -ENOMEM;
    return start_there(ranks, rank, host, endpoint, program, output);
}

bool host_has(const struct ranks *ranks, unsigned rank)
{
    return ranks->stages && ranks->stages[rank].header;
}

void host_end(struct ranks *ranks, unsigned rank)
{
    tunnel_close(ranks->stages[rank].tunnel);
    ranks->stages[rank].tunnel = NULL;
    if (ranks->pids[rank] > 0)
        kill(ranks->pids[rank], SIGTERM);
}

void host_forget(struct ranks *ranks, unsigned rank)
{
    if (!ranks->stages)
        return;
    tunnel_close(ranks->stages[rank].tunnel);
    free(ranks->stages[rank].header);
    ranks->stages[rank] = (struct stages){0};
    if (ranks->pmi[rank] >= 0)
        close(ranks->pmi[rank]);
    ranks->pmi[rank] = -1;
}

bool host_tells(const struct ranks *ranks, unsigned rank)
{
    return host_has(ranks, rank) && ranks->stages[rank].sent < ranks->stages[rank].length;
}

void host_tell(struct ranks *ranks, unsigned rank)
{
    struct stages *stages = &ranks->stages[rank];
    ssize_t sent = send(ranks->pmi[rank], stages->header + stages->sent, stages->length - stages->sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent > 0)
        stages->sent += (size_t)sent;
}

/* Skips what a host's shell may print first. Returns how many bytes to skip, or a negative errno. */
static ssize_t skip_greeting(struct stages *stages, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (stages->there)
            return (ssize_t)i;
        if (++stages->junk > MOST_JUNK)
            return -EPROTO;
        if (bytes[i] != '\n') {
            if (stages->line_length < sizeof(stages->line))
                stages->line[stages->line_length++] = bytes[i];
            continue;
        }
        stages->there =
            stages->line_length == strlen(REMOTE_THERE) && !memcmp(stages->line, REMOTE_THERE, stages->line_length);
        stages->line_length = 0;
    }
    return (ssize_t)length;
}

/* A worker connects to another member. */
static bool on_call(void *owner, unsigned from, unsigned to, int fd)
{
    return to != from && ranks_hand(owner, to, fd);
}

bool host_call(struct ranks *ranks, unsigned rank, int fd)
{
    struct tunnel *tunnel = ranks->stages[rank].tunnel;
    const int copy = tunnel ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

    return copy >= 0 && tunnel_call(tunnel, rank, copy);
}

/* Turns the connection into a tunnel. */
static ssize_t dig(struct ranks *ranks, unsigned rank, const char *bytes, size_t length)
{
    struct stages *stages = &ranks->stages[rank];
    int error;

    stages->tunnel =
        tunnel_open(ranks->pmi[rank], ranks->pmi[rank], true, REMOTE_MOST_CALLS * ranks->size, on_call, ranks, rank);
    if (!stages->tunnel)
        return -ENOMEM;
    ranks->pmi[rank] = -1;
    error = tunnel_feed(stages->tunnel, (const uint8_t *)bytes, length);
    return error ? error : (ssize_t)length;
}

ssize_t host_hear(struct ranks *ranks, unsigned rank, const char *bytes, size_t length)
{
    struct stages *stages = host_has(ranks, rank) ? &ranks->stages[rank] : NULL;
    ssize_t skipped, rest;

    if (!stages || stages->there)
        return 0;
    skipped = skip_greeting(stages, bytes, length);
    if (skipped < 0 || !stages->there || ranks->calls < 0)
        return skipped;
    rest = dig(ranks, rank, bytes + skipped, length - (size_t)skipped);
    return rest < 0 ? rest : skipped + rest;
}

/* ---- tunnels ---- */

unsigned hosts_width(const struct ranks *ranks)
{
    unsigned width = 0;

    for (unsigned i = 1; ranks->stages && i < ranks->most; i++)
        width += ranks->stages[i].tunnel ? tunnel_width(ranks->stages[i].tunnel) : 0;
    return width;
}

unsigned hosts_poll(struct ranks *ranks, struct pollfd *fds)
{
    unsigned count = 0;

    for (unsigned i = 1; ranks->stages && i < ranks->most; i++) {
        struct stages *stages = &ranks->stages[i];

        stages->width = stages->tunnel ? tunnel_poll(stages->tunnel, fds + count) : 0;
        count += stages->width;
    }
    return count;
}

/* Ends the connections of a tunnel, which the members notice. The end of a starter is reported when it is reaped. */
static void lose(struct ranks *ranks, unsigned rank, int error)
{
    vocl_log(error == -ECONNRESET ? LOG_DEBUG : LOG_WARN, "the connection by which worker %u was started: %s", rank,
             error == -ETIMEDOUT ? "its other end does not answer" : strerror(-error));
    tunnel_close(ranks->stages[rank].tunnel);
    ranks->stages[rank].tunnel = NULL;
    if (error == -ECONNRESET) /* it is about to report why */
        ranks->ends_ms[rank] = clock_ms() + LAST_WORDS_MS;
    else if (ranks->pids[rank] > 0)
        kill(ranks->pids[rank], SIGTERM);
}

void hosts_turn(struct ranks *ranks, const struct pollfd *fds)
{
    for (unsigned i = 1; ranks->stages && i < ranks->most; i++) {
        struct stages *stages = &ranks->stages[i];
        int error = stages->tunnel && stages->width ? tunnel_turn(stages->tunnel, fds, stages->width) : 0;

        fds += stages->width;
        stages->width = 0;
        if (error)
            lose(ranks, i, error);
    }
}

int hosts_nap(const struct ranks *ranks)
{
    return ranks->calls < 0 || !ranks->stages ? -1 : tunnel_nap();
}

static bool are_idle(const struct ranks *ranks)
{
    bool idle = true;

    for (unsigned i = 1; idle && i < ranks->most; i++)
        idle = !ranks->stages[i].tunnel || tunnel_is_idle(ranks->stages[i].tunnel);
    return idle;
}

void hosts_finish(struct ranks *ranks)
{
    const long until = clock_ms() + LAST_WORDS_MS;

    while (ranks->stages && ranks->calls >= 0 && !are_idle(ranks) && clock_ms() < until) {
        struct pollfd *fds = calloc(hosts_width(ranks), sizeof(*fds));

        if (!fds)
            return;
        socket_poll(fds, hosts_poll(ranks, fds), (int)(until - clock_ms()));
        hosts_turn(ranks, fds);
        free(fds);
    }
}

void hosts_close(struct ranks *ranks)
{
    for (unsigned i = 0; ranks->stages && i < ranks->most; i++) {
        tunnel_close(ranks->stages[i].tunnel);
        free(ranks->stages[i].header);
    }
    free(ranks->stages);
    if (ranks->calls >= 0)
        close(ranks->calls);
}
