/*
 * The keeper: a process between the daemon and each session's worker, of the daemon's user. What the worker, and
 * kernels in it, say on standard error comes through here, and so much of it goes on to the daemon's log as others
 * bear. It is the parent of all that they leave behind, and ends with the last of that; it stays when the daemon is
 * started anew.
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
#include "proxy/keep.h"

#define MOST_LINES 20 /* in a second */
#define LINE 400      /* bytes, before they are made visible */
#define GRACE_MS 300  /* for the worker's children to end by themselves when it has */
#define NAP_MS 20
#define PROBLEM_FD 3 /* the worker's, until it is one, and its keeper's; PMI is the next */

struct keeper {
    const struct keep_plan *plan;
    pid_t worker;
    int log, status;
    bool worker_over, killing;
    long over_ms;
    /* the log */
    char line[LINE + 1];
    size_t length;
    bool cut; /* of the rest of this line nothing is told */
    unsigned lines, left_out;
    long second_ms;
};

/* ---- what they say ---- */

__attribute__((format(printf, 2, 3))) static void tell(const struct keeper *k, const char *format, ...)
{
    char text[4 * LINE + 64], line[4 * LINE + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(line, sizeof(line), "session %s: %s", k->plan->session, text);
    journal_print("notice", line);
}

static void tell_left_out(struct keeper *k)
{
    if (k->left_out)
        tell(k, "%u lines of its worker are left out", k->left_out);
    k->left_out = 0;
}

static void tell_line(struct keeper *k)
{
    char visible[4 * LINE + 8];
    const long now = clock_ms();

    k->line[k->length] = '\0';
    if (now - k->second_ms >= 1000) {
        tell_left_out(k);
        k->second_ms = now;
        k->lines = 0;
    }
    if (k->length && k->lines++ < MOST_LINES)
        tell(k, "worker: %s%s", text_visible(k->line, visible, sizeof(visible)), k->cut ? "..." : "");
    else
        k->left_out += k->length != 0;
    k->length = 0;
    k->cut = false;
}

/* False: nobody is left who could say anything. */
static bool hear(struct keeper *k)
{
    char text[4096];
    ssize_t got = read(k->log, text, sizeof(text));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] == '\n')
            tell_line(k);
        else if (k->length < LINE)
            k->line[k->length++] = text[i] ? text[i] : ' ';
        else
            k->cut = true;
    }
    return got > 0;
}

/* ---- what they leave ---- */

bool keep_write_group(const char *group, const char *file, const char *text)
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

bool keep_kill_group(const char *group)
{
    return keep_write_group(group, "cgroup.kill", "1");
}

static void kill_all(const struct keeper *k)
{
    keep_kill_group(k->plan->group);
    children_kill(getpid(), SIGKILL, 8);
}

/* False: no child is left. */
static bool reap(struct keeper *k)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != k->worker)
            continue;
        k->worker_over = true;
        k->over_ms = clock_ms();
        k->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return pid == 0;
}

/* ---- the process ---- */

static void take_signals(struct keeper *k, int signals)
{
    struct signalfd_siginfo info;

    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM && !k->worker_over) {
            kill(-k->worker, SIGTERM);
            kill(-k->worker, SIGCONT);
        } else if (info.ssi_signo == SIGQUIT) {
            k->killing = true;
        }
    }
}

static void keep(struct keeper *k, int signals)
{
    bool heard = true;

    while (reap(k)) {
        struct pollfd ready[] = {{signals, POLLIN, 0}, {heard ? k->log : -1, POLLIN, 0}};

        k->killing |= k->worker_over && clock_ms() - k->over_ms >= GRACE_MS;
        if (k->killing)
            kill_all(k);
        poll(ready, 2, signals < 0 || k->killing || k->worker_over ? NAP_MS : -1);
        if (ready[0].revents)
            take_signals(k, signals);
        if (ready[1].revents)
            heard = hear(k);
    }
    for (int i = 0; heard && i < 32; i++) /* last words; somebody may have been given the pipe */
        heard = hear(k);
    tell_line(k);
    tell_left_out(k);
}

static void leave_status(const struct keeper *k)
{
    FILE *file = fopen(k->plan->status, "we");

    if (!file)
        return; /* there is no daemon's folder any more */
    fprintf(file, "%d\n", k->status);
    fclose(file);
}

/* 0 or errno. */
static int become_the_user(const struct keep_plan *plan, pid_t keeper)
{
    int error = 0;

    if (*plan->group && !keep_write_group(plan->group, "cgroup.procs", "0"))
        error = errno;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!error && plan->drop &&
        (initgroups(plan->user, plan->gid) || setresgid(plan->gid, plan->gid, plan->gid) ||
         setresuid(plan->uid, plan->uid, plan->uid)))
        error = errno;
    process_end_with(keeper, SIGKILL); /* without its keeper nobody would see to it */
    if (!error && chdir(plan->folder) && chdir("/"))
        error = errno;
    return error;
}

/* In the keeper's child. Does not return. */
static void become_worker(const struct keep_plan *plan, pid_t keeper, char **environment, int pmi, int log, int problem,
                          int (*run)(void))
{
    char *arguments[] = {(char *)(uintptr_t)plan->program, (char *)(uintptr_t) "--worker", NULL};
    struct start_word word = {.worker = -1};

    spawn_detach();
    if (!spawn_take_descriptors((int[]){-1, -1, log, problem, pmi}, pmi < 0 ? 4 : 5))
        _exit(126);
    fcntl(PROBLEM_FD, F_SETFD, FD_CLOEXEC);
    word.error = become_the_user(plan, keeper); /* from then on its user may stop it, with all that it has */
    if (!word.error && run) {
        environ = environment;
        prctl(PR_SET_DUMPABLE, 1); /* as after exec: nothing is in it that is not the user's */
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

void keep_run(const struct keep_plan *plan, char **environment, int pmi, int problem, int (*run)(void))
{
    struct keeper k = {.plan = plan, .second_ms = clock_ms()};
    const pid_t keeper = getpid();
    struct start_word word;
    int log[2], signals;
    sigset_t set;

    if (pipe2(log, O_CLOEXEC))
        _exit(126);
    spawn_detach();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0); /* it outlives the daemon */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    k.worker = fork();
    if (k.worker == 0)
        become_worker(plan, keeper, environment, pmi, log[1], problem, run);
    word = (struct start_word){k.worker, k.worker < 0 ? errno : 0};
    if (!spawn_take_descriptors((int[]){0, 1, 2, problem, log[0]}, 5)) /* of the daemon's no more than its log */
        _exit(126);
    k.log = PROBLEM_FD + 1;
    fcntl(k.log, F_SETFL, O_NONBLOCK);
    if (write(PROBLEM_FD, &word, sizeof(word)) < 0 && k.worker > 0) /* nobody wants it any more */
        kill(k.worker, SIGKILL);
    if (k.worker < 0)
        _exit(126);
    close(PROBLEM_FD);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    keep(&k, signals);
    leave_status(&k);
    _exit(k.status);
}
