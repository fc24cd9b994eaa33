/* See plan.h. */
#include "proxy/launch/plan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "base/spawn.h"
#include "proxy/fork_server.h"
#include "transport/starter.h"

/* ---- descriptors and environment ---- */

/* Makes room for one more entry, and for the end of the list. */
static bool grow(void **list, unsigned count, size_t size)
{
    void *more = realloc(*list, ((size_t)count + 2) * size);

    if (more)
        *list = more;
    return more;
}

static void add(struct plan *plan, char *line)
{
    plan->failed |= !line || !grow((void **)&plan->environment, plan->variables, sizeof(char *));
    if (plan->failed)
        free(line);
    else
        plan->environment[plan->variables++] = line;
}

void plan_variable(struct plan *plan, const char *format, ...)
{
    va_list arguments;
    char *line;

    va_start(arguments, format);
    add(plan, vasprintf(&line, format, arguments) < 0 ? NULL : line);
    va_end(arguments);
}

/* Returns its number in the worker. */
static unsigned give(struct plan *plan, int fd)
{
    plan->failed |= !grow((void **)&plan->descriptors, plan->count, sizeof(int));
    if (plan->failed)
        close(fd);
    else
        plan->descriptors[plan->count++] = fd;
    return FORK_FIRST + plan->count - 1;
}

void plan_descriptor(struct plan *plan, const char *name, int fd)
{
    plan_variable(plan, "%s=%u", name, give(plan, fd));
}

void plan_peer(struct plan *plan, unsigned other, int fd)
{
    char *before = plan->peers;
    const unsigned number = give(plan, fd);

    if (asprintf(&plan->peers, "%s%s%u:%u", before ? before : "", before ? "," : "", other, number) < 0) {
        plan->peers = NULL;
        plan->failed = true;
    }
    free(before);
}

void plan_free(struct plan *plan)
{
    while (plan->variables)
        free(plan->environment[--plan->variables]);
    while (plan->count)
        close(plan->descriptors[--plan->count]);
    free(plan->environment);
    free(plan->descriptors);
    free(plan->peers);
}

static bool says(const struct plan *plan, unsigned own, const char *variable)
{
    const size_t length = strcspn(variable, "=");

    for (unsigned i = 0; i < own; i++) {
        if (!strncmp(plan->environment[i], variable, length) && strchr("=", plan->environment[i][length]))
            return true;
    }
    return false;
}

/* Adds the rest from this process' environment. Returns 0 or a negative errno. */
static int finish(struct plan *plan)
{
    unsigned own, kept = 0;

    if (plan->whole)
        return 0;
    if (plan->peers)
        plan_variable(plan, SESSION_PEERS "=%s", plan->peers);
    own = plan->variables;
    for (char **at = environ; *at; at++) {
        if (!says(plan, own, *at))
            add(plan, strdup(*at));
    }
    if (plan->failed)
        return -ENOMEM;
    for (unsigned i = 0; i < plan->variables; i++) {
        if (strchr(plan->environment[i], '='))
            plan->environment[kept++] = plan->environment[i];
        else
            free(plan->environment[i]);
    }
    plan->whole = true;
    plan->variables = kept;
    plan->environment[kept] = NULL;
    return 0;
}

/* ---- starting one worker ---- */

pid_t plan_start(struct plan *plan, const char *program, int output)
{
    const char *words[] = {program, "--worker", NULL};
    int descriptors[FORK_FIRST + plan->count], error = finish(plan);

    if (error)
        return error;
    for (unsigned i = 0; i < FORK_FIRST + plan->count; i++)
        descriptors[i] = !i ? 0 : i < FORK_FIRST ? output : plan->descriptors[i - FORK_FIRST];
    return spawn(&(struct spawn){.arguments = (char *const *)(uintptr_t)words,
                                 .environment = plan->environment,
                                 .descriptors = descriptors,
                                 .count = FORK_FIRST + plan->count,
                                 .signal = SIGKILL,
                                 .group = true});
}

/* ---- starting many workers ---- */

/* Receives the PID that a copy reports. Fails when the copy has ended, or the program has. */
static int hear_pid(int socket, int control, pid_t *pid)
{
    for (;;) {
        struct pollfd ready[] = {{socket, POLLIN, 0}, {control, 0, 0}};
        pid_t said = 0;
        ssize_t got;

        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return -errno;
        if (ready[1].revents)
            return -ECANCELED;
        got = recv(socket, &said, sizeof(said), MSG_DONTWAIT);
        if (got == sizeof(said) && said > 0)
            *pid = said;
        if (got == sizeof(said))
            return said > 0 ? 0 : (int)said;
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            return -ECHILD;
    }
}

/* The first is waited for, until the drivers are loaded; the others are then requested at once. */
static int ask_for_copies(int server, struct plan *plans, unsigned count, int control, int *sockets, pid_t *pids)
{
    int error = 0;

    for (unsigned i = 0; !error && i < count; i++) {
        error = finish(&plans[i]);
        if (!error)
            sockets[i] = fork_server_ask(server, NULL, plans[i].environment, plans[i].descriptors, plans[i].count);
        if (!error && sockets[i] < 0)
            error = sockets[i] == -EPIPE || sockets[i] == -ECONNRESET ? -ECHILD : sockets[i];
        if (!error && !i)
            error = hear_pid(sockets[i], control, &pids[i]);
    }
    for (unsigned i = 1; !error && i < count; i++)
        error = hear_pid(sockets[i], control, &pids[i]);
    return error;
}

int plans_start(struct plan *plans, unsigned count, bool pairs, const char *program, int control, int output,
                pid_t *pids)
{
    const char *words[] = {program, pairs ? FORK_SERVER_PAIRS : FORK_SERVER, NULL};
    int *sockets = malloc(count * sizeof(*sockets)), ends[2], error = sockets ? 0 : -ENOMEM;
    pid_t server;

    for (unsigned i = 0; sockets && i < count; i++)
        sockets[i] = -1;
    if (!error && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        error = -errno;
    if (error) {
        free(sockets);
        return error;
    }
    server = spawn(&(struct spawn){.arguments = (char *const *)(uintptr_t)words,
                                   .descriptors = (int[]){0, output, output, ends[1]},
                                   .count = CHILD_FD + 1,
                                   .signal = SIGKILL,
                                   .group = true});
    close(ends[1]);
    error = server < 0 ? server : ask_for_copies(ends[0], plans, count, control, sockets, pids);
    close(ends[0]);
    if (error == -ECHILD && spawn_wait(server) == FORK_SERVER_USELESS) /* it has ended without an answer */
        error = -ENOTSUP;
    for (unsigned i = 0; i < count; i++) {
        if (sockets[i] >= 0)
            close(sockets[i]);
    }
    free(sockets);
    return error;
}
