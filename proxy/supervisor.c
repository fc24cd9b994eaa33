/*
 * The supervisor: a process of the daemon's user, between the daemon and each session's worker. It reads what the
 * worker and its kernels write to standard error, and passes on a limited number of lines to the daemon's log. It
 * adopts all processes that they leave behind, and ends with the last of them. It survives a restart of the daemon.
 *
 * SIGTERM is passed on to the worker, SIGQUIT kills all.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/children.h"
#include "base/clock.h"
#include "base/journal.h"
#include "base/process.h"
#include "base/spawn.h"
#include "base/text.h"
#include "proxy/supervisor.h"

#define MOST_LINES 20 /* per second */
#define LINE 400      /* bytes, before unprintable ones are escaped */
#define GRACE_MS 300  /* for the worker's children to end by themselves after it */
#define NAP_MS 20
#define PROBLEM_FD 3 /* until exec in the worker, and in its supervisor; PMI is the next */

struct supervisor {
    const struct supervisor_plan *plan;
    pid_t worker;
    int log, status;
    bool worker_over, killing;
    long over_ms;
    /* the log */
    char line[LINE + 1];
    size_t length;
    bool cut; /* the rest of this line is dropped */
    unsigned lines, left_out;
    long second_ms;
};

/* ---- the worker's output ---- */

__attribute__((format(printf, 2, 3))) static void tell(const struct supervisor *s, const char *format, ...)
{
    char text[4 * LINE + 64], line[4 * LINE + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(line, sizeof(line), "session %s: %s", s->plan->session, text);
    journal_print("notice", line);
}

static void tell_left_out(struct supervisor *s)
{
    if (s->left_out)
        tell(s, "%u lines of its worker are left out", s->left_out);
    s->left_out = 0;
}

static void tell_line(struct supervisor *s)
{
    char visible[4 * LINE + 8];
    const long now = clock_ms();

    s->line[s->length] = '\0';
    if (now - s->second_ms >= 1000) {
        tell_left_out(s);
        s->second_ms = now;
        s->lines = 0;
    }
    if (s->length && s->lines++ < MOST_LINES)
        tell(s, "worker: %s%s", text_visible(s->line, visible, sizeof(visible)), s->cut ? "..." : "");
    else
        s->left_out += s->length != 0;
    s->length = 0;
    s->cut = false;
}

/* Reads output. Returns false if no process can write any more. */
static bool hear(struct supervisor *s)
{
    char text[4096];
    ssize_t got = read(s->log, text, sizeof(text));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] == '\n')
            tell_line(s);
        else if (s->length < LINE)
            s->line[s->length++] = text[i] ? text[i] : ' ';
        else
            s->cut = true;
    }
    return got > 0;
}

/* ---- the worker's processes ---- */

bool supervisor_write_group(const char *group, const char *file, const char *text)
{
    char path[4200];
    int fd;
    bool good;

    if (!*group)
        return false;
    snprintf(path, sizeof(path), "%s/%s", group, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

bool supervisor_kill_group(const char *group)
{
    return supervisor_write_group(group, "cgroup.kill", "1");
}

static void kill_all(const struct supervisor *s)
{
    supervisor_kill_group(s->plan->group);
    children_kill(getpid(), SIGKILL, 8);
}

/* Waits for ended children. Returns false if no child is left. */
static bool reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->worker)
            continue;
        s->worker_over = true;
        s->over_ms = clock_ms();
        s->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return pid == 0;
}

/* ---- the supervisor ---- */

static void take_signals(struct supervisor *s, int signals)
{
    struct signalfd_siginfo info;

    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM && !s->worker_over) {
            kill(-s->worker, SIGTERM);
            kill(-s->worker, SIGCONT);
        } else if (info.ssi_signo == SIGQUIT) {
            s->killing = true;
        }
    }
}

static void supervise(struct supervisor *s, int signals)
{
    bool heard = true;

    while (reap(s)) {
        struct pollfd ready[] = {{signals, POLLIN, 0}, {heard ? s->log : -1, POLLIN, 0}};

        s->killing |= s->worker_over && clock_ms() - s->over_ms >= GRACE_MS;
        if (s->killing)
            kill_all(s);
        poll(ready, 2, signals < 0 || s->killing || s->worker_over ? NAP_MS : -1);
        if (ready[0].revents)
            take_signals(s, signals);
        if (ready[1].revents)
            heard = hear(s);
    }
    for (int i = 0; heard && i < 32; i++) /* last output; another process may still have the pipe */
        heard = hear(s);
    tell_line(s);
    tell_left_out(s);
}

/* For the next daemon, if this one is killed before it has recorded its worker. */
static void leave_worker(const struct supervisor *s)
{
    FILE *file = fopen(s->plan->status, "we");

    if (!file)
        return;
    fprintf(file, SUPERVISOR_WORKER, (int)s->worker, (unsigned long long)process_start_time(s->worker), (int)getpid());
    fclose(file);
}

/* The daemon was killed before it could know of the worker, and the next one may have started another. */
static void take_back(const struct supervisor *s)
{
    unsigned long long start_time;
    int worker, supervisor = 0;
    FILE *file = fopen(s->plan->status, "re");

    if (file && fscanf(file, SUPERVISOR_WORKER, &worker, &start_time, &supervisor) == 3 && supervisor == getpid())
        unlink(s->plan->status);
    if (file)
        fclose(file);
}

static void leave_status(const struct supervisor *s)
{
    FILE *file = fopen(s->plan->status, "we");

    if (!file)
        return; /* the daemon's folder no longer exists */
    fprintf(file, "%d\n", s->status);
    fclose(file);
}

/* Returns 0 or an errno. */
static int become_the_user(const struct supervisor_plan *plan, pid_t supervisor)
{
    int error = 0;

    if (*plan->group && !supervisor_write_group(plan->group, "cgroup.procs", "0"))
        error = errno;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!error && plan->drop &&
        (initgroups(plan->user, plan->gid) || setresgid(plan->gid, plan->gid, plan->gid) ||
         setresuid(plan->uid, plan->uid, plan->uid)))
        error = errno;
    process_end_with(supervisor, SIGKILL); /* without its supervisor nothing would clean up after it */
    if (!error && chdir(plan->folder) && chdir("/"))
        error = errno;
    return error;
}

/* Runs in the supervisor's child. Does not return. */
static void become_worker(const struct supervisor_plan *plan, pid_t supervisor, char **environment, int pmi, int log,
                          int problem, int (*run)(void))
{
    char *arguments[] = {(char *)(uintptr_t)plan->program, (char *)(uintptr_t) "--worker", NULL};
    struct start_word word = {.worker = -1};

    spawn_detach();
    if (!spawn_take_descriptors((int[]){-1, -1, log, problem, pmi}, pmi < 0 ? 4 : 5))
        _exit(126);
    fcntl(PROBLEM_FD, F_SETFD, FD_CLOEXEC);
    word.error = become_the_user(plan, supervisor); /* from then on its user may stop it */
    if (!word.error && run) {
        environ = environment;
        prctl(PR_SET_DUMPABLE, 1); /* as after exec: it contains nothing that is not the user's */
        close(PROBLEM_FD);
        exit(run());
    }
    if (!word.error) {
        execve(plan->program, arguments, environment);
        word.error = errno;
    }
    if (write(PROBLEM_FD, &word, sizeof(word)) < 0)
        _exit(126);
    _exit(127);
}

void supervisor_run(const struct supervisor_plan *plan, char **environment, int pmi, int problem, int (*run)(void))
{
    struct supervisor s = {.plan = plan, .second_ms = clock_ms()};
    const pid_t supervisor = getpid();
    struct start_word word;
    int log[2], signals;
    sigset_t set;
    bool wanted;

    if (pipe2(log, O_CLOEXEC))
        _exit(126);
    spawn_detach();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0); /* it survives the daemon */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    s.worker = fork();
    if (s.worker == 0)
        become_worker(plan, supervisor, environment, pmi, log[1], problem, run);
    word = (struct start_word){s.worker, s.worker < 0 ? errno : 0};
    if (!spawn_take_descriptors((int[]){0, 1, 2, problem, log[0]}, 5)) /* it keeps only the daemon's log */
        _exit(126);
    s.log = PROBLEM_FD + 1;
    fcntl(s.log, F_SETFL, O_NONBLOCK);
    leave_worker(&s);
    wanted = write(PROBLEM_FD, &word, sizeof(word)) == sizeof(word);
    if (!wanted && s.worker > 0) {
        take_back(&s);
        kill(s.worker, SIGKILL);
    }
    if (s.worker < 0)
        _exit(126);
    close(PROBLEM_FD);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    supervise(&s, signals);
    if (wanted)
        leave_status(&s);
    _exit(s.status);
}
