/*
 * Starts the worker's process. It runs as the session's user, in a POSIX session and process group of its own, and in a
 * control group if there are any. It inherits nothing of the daemon, and from outside gets only what session_start()
 * has checked. Between it and the daemon is its supervisor (proxy/supervisor.c), which is the process that the daemon
 * sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/variable.h"
#include "proxy/daemon/net/child.h"
#include "proxy/daemon/node/internal.h"
#include "proxy/fork_server.h"

#define START_MS 5000
#define PMI_FD 4 /* in the worker */

static bool signal_supervisor(const struct session *s, int number)
{
    if (s->pidfd < 0) /* there was no descriptor left */
        return s->supervisor > 1 && !kill(s->supervisor, number);
    return !process_signal(s->pidfd, number);
}

/* The supervisor passes the signal on. */
bool worker_contained(const struct session *s, int number)
{
    const bool killed = number == SIGKILL && worker_kill_group(s);

    return signal_supervisor(s, number == SIGKILL ? SIGQUIT : number) || killed;
}

/* ---- the process ---- */

struct plan {
    struct supervisor_plan keep;
    char *environment[SUPERVISOR_ENVIRONMENT];
};

__attribute__((format(printf, 2, 3))) static void add(struct plan *plan, const char *format, ...)
{
    va_list arguments;

    if (plan->keep.count + 1 >= SUPERVISOR_ENVIRONMENT)
        return;
    va_start(arguments, format);
    if (vasprintf(&plan->environment[plan->keep.count], format, arguments) < 0)
        plan->environment[plan->keep.count] = NULL;
    else
        plan->keep.count++;
    va_end(arguments);
}

static void add_variables(struct plan *plan, char *const *variables)
{
    for (; *variables; variables++) {
        if (variable_has_value(*variables))
            add(plan, "%s", *variables);
    }
}

/* Adds what all workers have, and what exists when the fork server loads the drivers. */
static void add_common(struct plan *plan, const struct daemon *d)
{
    const char *log = getenv("VOCL_LOG");

    add(plan, "PATH=/usr/local/bin:/usr/bin:/bin");
    add(plan, "VOCL_LIBEXECDIR=%s", settings_string(SETTING_LIBEXECDIR));
    add(plan, "VOCL_LOG=%s", log ? log : "error");
    add(plan, "VOCL_MPI=mpich");
    add(plan, "MPIR_CVAR_NOLOCAL=1");
    add(plan, "UCX_HANDLE_ERRORS=none");
    add(plan, "UCX_LOG_LEVEL=error");
    add_variables(plan, d->config->environment);
}

static void make_plan(const struct session *s, char *const *environment, struct plan *plan)
{
    char list[MOST_DEVICES * 4] = "", path[4096];
    struct supervisor_plan *keep = &plan->keep;

    *keep = (struct supervisor_plan){.uid = s->uid, .gid = s->gid, .drop = geteuid() == 0};
    snprintf(keep->session, sizeof(keep->session), "%s", s->id);
    snprintf(keep->user, sizeof(keep->user), "%s", s->user);
    snprintf(keep->folder, sizeof(keep->folder), "%s", *s->home ? s->home : "/");
    snprintf(keep->program, sizeof(keep->program), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    state_status_path(s->daemon, s->id, keep->status, sizeof(keep->status));
    add_common(plan, s->daemon);
    add(plan, "HOME=%s", keep->folder);
    add(plan, "USER=%s", keep->user);
    add(plan, "PMI_FD=%d", PMI_FD);
    for (unsigned i = 0; i < s->device_count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u", i ? "," : "", s->devices[i]);
    add(plan, "VOCL_WORKER_DEVICES=%s", list);
    add(plan, "VOCL_WORKER_MEMORY=%llu", (unsigned long long)s->memory);
    add(plan, "VOCL_WORKER_SCRUB=%s", s->daemon->config->scrub);
    state_path(s->daemon, "control", path, sizeof(path));
    add(plan, "VOCL_WORKER_CONTROL=%s", path);
    add_variables(plan, environment);
}

static void free_plan(struct plan *plan)
{
    for (unsigned i = 0; i < plan->keep.count; i++)
        free(plan->environment[i]);
}

/* ---- the fork server: a process with the drivers loaded, of which workers are copies ---- */

#define FORK_SERVER_MS 30000 /* after a failure, until another is tried */

static struct child *fork_server; /* or NULL */
static struct {
    long ms;
    char **environment; /* from the configuration, when it was started */
    bool useless;       /* it cannot be copied with these drivers */
} tried;

static void fork_server_over(struct child *child, int status)
{
    if (child != fork_server)
        return;
    fork_server = NULL;
    tried.useless = WIFEXITED(status) && WEXITSTATUS(status) == FORK_SERVER_USELESS;
    if (tried.useless)
        daemon_log("notice", "these drivers do not allow a fork server: each worker loads them itself");
    else
        daemon_log("warning", "the fork server does not answer: workers load their drivers themselves");
}

static void become_fork_server(const void *argument)
{
    const struct plan *plan = argument;
    char *arguments[] = {(char *)(uintptr_t)plan->keep.program, (char *)(uintptr_t)FORK_SERVER, NULL};

    execve(plan->keep.program, arguments, (char **)(uintptr_t)plan->environment);
}

void fork_server_open(struct daemon *d)
{
    const char *journal = getenv("JOURNAL_STREAM");
    struct plan plan = {.keep = {.count = 0}};

    if (fork_server)
        child_kill(fork_server);
    fork_server = NULL;
    tried.ms = clock_ms();
    tried.environment = d->config->environment;
    tried.useless = false;
    if (!d->config->prefork)
        return;
    snprintf(plan.keep.program, sizeof(plan.keep.program), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    add_common(&plan, d);
    if (journal)
        add(&plan, "JOURNAL_STREAM=%s", journal);
    fork_server = child_fork(d, become_fork_server, &plan, fork_server_over);
    free_plan(&plan);
}

/* ---- a start that is under way: the daemon never blocks for it ---- */

struct start {
    struct session *session;
    struct plan plan;
    int pmi, problem; /* the worker's ends, until there is a supervisor; or -1 */
    int words;        /* where start_words arrive */
    int answer;       /* where the fork server's copy reports its PID, or -1 */
    pid_t asked;      /* PID of the fork server that was asked */
    pid_t worker;
    int error;
    struct event *ready;
    struct timer late;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void stop_waiting(struct start *start)
{
    if (start->ready)
        event_free(start->ready);
    start->ready = NULL;
}

/* The event goes first: a child that is being forked has the socket as well, so epoll would go on reporting it under a
 * number that may be another descriptor's by then. */
static void close_answer(struct start *start)
{
    stop_waiting(start);
    close_fd(&start->answer);
}

static void start_free(struct start *start)
{
    close_answer(start);
    timer_stop(&start->late);
    close_fd(&start->pmi);
    close_fd(&start->problem);
    close_fd(&start->words);
    free_plan(&start->plan);
    free(start);
}

static void finish(struct start *start, int error)
{
    struct session *s = start->session;
    const pid_t worker = start->worker;

    s->start = NULL;
    start_free(start);
    session_started(s, worker, error);
}

static void finish_by_words(struct start *start)
{
    finish(start, start->error ? start->error : start->worker > 0 ? 0 : EIO);
}

static void on_ready(evutil_socket_t fd, short what, void *argument);
static void on_late(void *argument);

/* Waits for input on fd, for at most START_MS. */
static bool await(struct start *start, int fd)
{
    stop_waiting(start);
    start->ready = event_new(start->session->daemon->base, fd, EV_READ | EV_PERSIST, on_ready, start);
    return start->ready && !event_add(start->ready, NULL) &&
           timer_set(&start->late, start->session->daemon, on_late, start, START_MS);
}

static void take_supervisor(struct start *start, pid_t supervisor)
{
    start->session->supervisor = supervisor;
    close_answer(start);
    close_fd(&start->pmi);
    close_fd(&start->problem);
    session_keep(start->session);
    if (start->session->state == SESSION_ENDING)
        finish(start, ECANCELED);
    else if (!await(start, start->words))
        finish(start, ENOMEM);
}

/* Returns 0 or an errno. */
static int fork_supervisor(struct start *start)
{
    pid_t supervisor = fork();

    if (supervisor == 0)
        supervisor_run(&start->plan.keep, start->plan.environment, start->pmi, start->problem, NULL);
    if (supervisor < 0)
        return errno;
    take_supervisor(start, supervisor);
    return 0;
}

static void without_fork_server(struct start *start)
{
    int error;

    close_answer(start);
    if (fork_server && fork_server->pid == start->asked)
        child_kill(fork_server); /* fork_server_over() handles its end */
    error = start->session->state == SESSION_ENDING ? ECANCELED : fork_supervisor(start);
    if (error)
        finish(start, error);
}

static bool has_room(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};

    return poll(&ready, 1, 0) == 1 && !(ready.revents & (POLLHUP | POLLERR));
}

/* Asks the fork server for a copy, over a socket for this copy alone, because the request contains secrets. The PID of
 * the supervisor, a child of this process, is returned there. */
static bool ask_fork_server(struct start *start)
{
    const int given[2] = {start->problem, start->pmi};
    struct daemon *d = start->session->daemon;

    if (tried.environment != d->config->environment ||
        (!fork_server && !tried.useless && clock_ms() - tried.ms > FORK_SERVER_MS))
        fork_server_open(d);
    if (!fork_server || !has_room(fork_server->fd))
        return false;
    start->asked = fork_server->pid;
    start->answer =
        fork_server_ask(fork_server->fd, &start->plan.keep, start->plan.environment, given, start->pmi >= 0 ? 2 : 1);
    if (start->answer >= 0 && await(start, start->answer))
        return true;
    close_answer(start);
    return false;
}

static void take_answer(struct start *start)
{
    pid_t supervisor = -1;
    const ssize_t got = recv(start->answer, &supervisor, sizeof(supervisor), MSG_DONTWAIT);

    if (got == sizeof(supervisor) && supervisor > 0)
        take_supervisor(start, supervisor);
    else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        without_fork_server(start);
}

/* Reads until exec closes the pipe, which does not take long. */
static void take_words(struct start *start)
{
    struct start_word word;
    ssize_t got;

    while ((got = read(start->words, &word, sizeof(word))) == sizeof(word)) {
        start->worker = word.error ? start->worker : word.worker;
        start->error = word.error ? word.error : start->error;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        finish_by_words(start);
}

static void on_ready(evutil_socket_t fd, short what, void *argument)
{
    struct start *start = argument;

    (void)fd;
    (void)what;
    if (start->answer >= 0)
        take_answer(start);
    else
        take_words(start);
}

void worker_start_review(struct session *s)
{
    if (s->start && s->start->answer >= 0)
        take_answer(s->start);
    if (s->start && s->start->answer < 0)
        take_words(s->start);
}

/* Another process may have the pipe, too, so that its end does not come. */
void worker_start_over(struct session *s)
{
    worker_start_review(s);
    if (s->start)
        finish_by_words(s->start);
}

/* For example if a folder does not answer, or the user stops the worker. */
static void on_late(void *argument)
{
    struct start *start = argument;

    if (start->answer >= 0)
        without_fork_server(start);
    else
        finish(start, ETIMEDOUT);
}

void worker_start_cancel(struct session *s)
{
    if (s->supervisor > 0)
        finish(s->start, ECANCELED);
}

int worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size)
{
    struct start *start = calloc(1, sizeof(*start));
    int problem[2] = {-1, -1}, error = start ? 0 : ENOMEM;

    if (start) {
        if (pipe2(problem, O_CLOEXEC))
            error = errno;
        *start = (struct start){.session = s, .pmi = pmi, .words = problem[0], .problem = problem[1], .answer = -1};
        s->start = start;
    }
    if (!error && geteuid() != 0 && s->uid != geteuid()) {
        snprintf(why, why_size, "a daemon that is not root's serves its own user only");
        error = EPERM;
    } else if (!error) {
        fcntl(problem[0], F_SETFL, O_NONBLOCK);
        make_plan(s, environment, &start->plan);
        if (worker_group_make(s))
            worker_group_path(s, "", start->plan.keep.group, sizeof(start->plan.keep.group));
        error = ask_fork_server(start) ? 0 : fork_supervisor(start);
        if (error)
            worker_clean(s);
    }
    if (!error)
        return 0;
    if (error != EPERM)
        snprintf(why, why_size, "the worker does not start: %s", strerror(error));
    s->start = NULL;
    if (start)
        start_free(start);
    else
        close_fd(&pmi);
    return -error;
}
