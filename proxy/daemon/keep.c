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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/children.h"
#include "proxy/daemon/daemon.h"

#define MOST_LINES 20 /* in a second */
#define LINE 400      /* bytes, before they are made visible */
#define GRACE_MS 300  /* for the worker's children to end by themselves when it has */
#define NAP_MS 20

struct keeper {
    const struct session *session;
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

static void tell_left_out(struct keeper *k)
{
    if (k->left_out)
        daemon_log("notice", "session %s: %u lines of its worker are left out", k->session->id, k->left_out);
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
        daemon_log("notice", "session %s: worker: %s%s", k->session->id,
                   text_visible(k->line, visible, sizeof(visible)), k->cut ? "..." : "");
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

static void kill_all(const struct keeper *k)
{
    worker_kill_group(k->session);
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

/* Nothing of the daemon's but where its log goes. */
static void close_others(int log, int problem)
{
    int low = log < problem ? log : problem, high = log < problem ? problem : log;

    if (low > 3)
        close_range(3, (unsigned)low - 1, 0);
    if (high > low + 1)
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0u, 0);
}

void keeper_run(const struct session *s, void (*become)(void *argument, int log, int problem), void *argument,
                int problem)
{
    struct keeper k = {.session = s, .second_ms = clock_ms()};
    struct start_word word;
    int log[2], signals;
    sigset_t set;

    if (pipe2(log, O_CLOEXEC))
        _exit(126);
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    k.worker = fork();
    if (k.worker == 0)
        become(argument, log[1], problem);
    close(log[1]);
    close_others(log[0], problem);
    k.log = log[0];
    fcntl(k.log, F_SETFL, O_NONBLOCK);
    word = (struct start_word){k.worker, k.worker < 0 ? errno : 0};
    if (write(problem, &word, sizeof(word)) < 0 || k.worker < 0)
        _exit(126);
    close(problem);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    keep(&k, signals);
    _exit(k.status);
}
