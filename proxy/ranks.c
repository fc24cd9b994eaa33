/* The ranks of a session: see ranks.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/ranks.h"
#include "proxy/remote.h"

#define MOST_JUNK (64u << 10) /* that a host's shell may say before the worker's starter does */
#define MOST_WORDS 32

extern char **environ;

/* The way to a rank on another host: first it is told all, then it says that it is there, and then it speaks PMI. */
struct stages {
    char *header;
    size_t length, sent, junk, line_length;
    bool there;
    char line[64];
};

/* ---- PMI ---- */

static void say(void *owner, unsigned rank, const char *line, size_t length)
{
    const struct ranks *ranks = owner;

    /* who does not read its answers, a few lines, is no rank of MPI's: its PMI ends */
    if (ranks->pmi[rank] >= 0 && send(ranks->pmi[rank], line, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        shutdown(ranks->pmi[rank], SHUT_RDWR);
}

static int ranks_open(struct ranks *ranks, unsigned workers)
{
    *ranks = (struct ranks){.size = workers + 1};
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

static int pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

/* ---- a process ---- */

/* The child's start: it ends with this process, and its words go to output. */
static void become(int output)
{
    pid_t parent = getppid();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent == 1 || getppid() != parent)
        _exit(127);
    setpgid(0, 0);
    dup2(output, 1);
    dup2(output, 2);
}

static void execute(char *const *arguments)
{
    execvp(arguments[0], arguments);
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* ---- here ---- */

/* The descriptors of a session: of each worker its bell, and those to the other workers (a square of them). */
struct wires {
    unsigned workers;
    int *bells, *far_bells, *far_pmi, *fellows;
};

static int *wire(struct wires *wires, unsigned from, unsigned to)
{
    return &wires->fellows[(from - 1) * wires->workers + to - 1];
}

static int wires_open(struct wires *wires, struct ranks *ranks)
{
    const unsigned workers = ranks->size - 1;
    int ends[2], error = 0;

    *wires = (struct wires){workers, calloc(ranks->size, sizeof(int)), calloc(ranks->size, sizeof(int)),
                            calloc(ranks->size, sizeof(int)), calloc((size_t)workers * workers, sizeof(int))};
    if (!wires->bells || !wires->far_bells || !wires->far_pmi || !wires->fellows)
        return -ENOMEM;
    for (unsigned i = 0; !error && i < ranks->size; i++) {
        error = pair(ends);
        if (error)
            break;
        ranks->pmi[i] = ends[0];
        wires->far_pmi[i] = ends[1];
        error = i ? pair(ends) : 0;
        if (error)
            break;
        wires->bells[i] = ends[0];
        wires->far_bells[i] = ends[1];
        for (unsigned j = 1; !error && j < i; j++) {
            error = pair(ends);
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

    become(output);
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
    set_number("VOCL_SESSION_BELL", wires->far_bells[rank]);
    if (list && *list)
        setenv("VOCL_SESSION_FELLOWS", list, 1);
    execute(arguments);
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
    for (unsigned i = 0; wires->fellows && i < wires->workers * wires->workers; i++) {
        if (wires->fellows[i])
            close(wires->fellows[i]);
    }
    free(wires->bells);
    free(wires->far_bells);
    free(wires->far_pmi);
    free(wires->fellows);
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

/* ---- there ---- */

/* Whether the host is this one: then there is no need to ask ssh. */
static bool is_here(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    bool here = false;

    if (!strcmp(host, "localhost") || getaddrinfo(host, NULL, &hints, &found))
        return !strcmp(host, "localhost");
    for (const struct addrinfo *at = found; at && !here; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        here = fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen);
        if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(found);
    return here;
}

/* What starts a command on another host: words, before the host's name. */
static const char *remote_shell(void)
{
    const char *shell = settings_string(SETTING_RSH);

    if (!*shell)
        shell = getenv("HYDRA_LAUNCHER_EXEC");
    return shell && *shell ? shell : "ssh -x -T -o BatchMode=yes";
}

static void become_remote(const char *host, const char *program, int end, int output)
{
    char *words[MOST_WORDS], *command = NULL, *shell = strdup(remote_shell()), *save = NULL;
    char *here[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--remote", NULL};
    unsigned count = 0;

    become(output);
    dup2(end, 0);
    dup2(end, 1);
    if (is_here(host))
        execute(here);
    for (char *word = strtok_r(shell, " ", &save); word && count < MOST_WORDS - 3; word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    if (asprintf(&command, "'%s' --remote", program) < 0)
        _exit(127);
    words[count++] = (char *)(uintptr_t)host;
    words[count++] = command;
    words[count] = NULL;
    execute(words);
}

/* Nothing of how this process itself was reached. */
static bool goes_along(const char *variable)
{
    return strncmp(variable, "SSH_", 4) && strncmp(variable, "_=", 2) && strncmp(variable, "PWD=", 4);
}

/* All in one: the length, then strings with their ends: the folder, and the environment. */
static int make_header(struct stages *stages, unsigned rank, unsigned size)
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
        if (goes_along(*at))
            fprintf(file, "%s%c", *at, 0);
    }
    fprintf(file, "PMI_RANK=%u%cPMI_SIZE=%u%c", rank, 0, size, 0);
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

static int start_there(struct ranks *ranks, unsigned rank, const char *host, const char *program, int output)
{
    int ends[2], error = make_header(&ranks->stages[rank], rank, ranks->size);
    pid_t pid = -1;

    if (!error)
        error = pair(ends);
    if (error)
        return error;
    pid = fork();
    if (pid == 0)
        become_remote(host, program, ends[1], output);
    error = pid < 0 ? -errno : 0;
    close(ends[1]);
    ranks->pmi[rank] = ends[0];
    ranks->pids[rank] = pid;
    ranks->running += pid > 0;
    return error;
}

int ranks_there(struct ranks *ranks, const char *program, const char *hosts, int lifeline, int output, char *why,
                size_t why_size)
{
    char *list = strdup(hosts), *save = NULL;
    unsigned rank = 0, workers = 1;
    int own[2], error;

    for (const char *at = hosts; *at; at++)
        workers += *at == ',';
    error = list ? ranks_open(ranks, workers) : -ENOMEM;
    if (!error && !(ranks->stages = calloc(ranks->size, sizeof(*ranks->stages))))
        error = -ENOMEM;
    if (!error)
        error = pair(own);
    if (!error) {
        ranks->pmi[0] = own[0];
        error = socket_send_descriptors(lifeline, "", 1, &own[1], 1);
        close(own[1]);
    }
    for (char *host = strtok_r(list, ",", &save); !error && host; host = strtok_r(NULL, ",", &save))
        error = ++rank < ranks->size ? start_there(ranks, rank, host, program, output) : -EINVAL;
    if (!error && rank + 1 != ranks->size)
        error = -EINVAL; /* "a,,b" */
    free(list);
    if (error)
        snprintf(why, why_size, "workers on %s cannot be started: %s", hosts, strerror(-error));
    return error;
}

static bool tells(const struct ranks *ranks, unsigned rank)
{
    return ranks->stages && rank && ranks->stages[rank].sent < ranks->stages[rank].length;
}

static void tell_more(struct ranks *ranks, unsigned rank)
{
    struct stages *stages = &ranks->stages[rank];
    ssize_t sent = send(ranks->pmi[rank], stages->header + stages->sent, stages->length - stages->sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent > 0)
        stages->sent += (size_t)sent;
}

/* A host's shell may greet first. How many bytes are to be skipped, or negative errno. */
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

/* ---- all of them ---- */

void ranks_poll(const struct ranks *ranks, struct pollfd *fds)
{
    for (unsigned i = 0; i < ranks->size; i++)
        fds[i] = (struct pollfd){ranks->pmi[i], (short)(POLLIN | (tells(ranks, i) ? POLLOUT : 0)), 0};
}

static int hear_one(struct ranks *ranks, unsigned rank)
{
    char bytes[4096];
    ssize_t got = recv(ranks->pmi[rank], bytes, sizeof(bytes), MSG_DONTWAIT), skipped = 0;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_pmi(ranks, rank);
        return pmi_lose(ranks->server, rank);
    }
    if (ranks->stages && rank && !ranks->stages[rank].there)
        skipped = skip_greeting(&ranks->stages[rank], bytes, (size_t)got);
    return skipped < 0 ? (int)skipped : pmi_hear(ranks->server, rank, bytes + skipped, (size_t)(got - skipped));
}

int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size)
{
    int error = 0;

    for (unsigned i = 0; !error && i < ranks->size; i++) {
        if (ranks->pmi[i] < 0)
            continue;
        if (fds[i].revents & POLLOUT)
            tell_more(ranks, i);
        if (fds[i].revents & ~POLLOUT)
            error = hear_one(ranks, i);
    }
    if (!error)
        return 0;
    snprintf(why, why_size, "MPI cannot start: %s",
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
    for (unsigned i = 0; i < ranks->size; i++) {
        if (ranks->pmi)
            close_pmi(ranks, i);
        if (ranks->stages)
            free(ranks->stages[i].header);
    }
    free(ranks->stages);
    free(ranks->pids);
    free(ranks->pmi);
    pmi_close(ranks->server);
    *ranks = (struct ranks){.size = 0};
}
