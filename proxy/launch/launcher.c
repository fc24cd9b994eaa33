/*
 * vocl-launcher: owns a session's processes. Descriptor 3 is the control socket to the application: when it closes,
 * however the application ended, all processes get a moment to end by themselves and are then killed.
 *
 *    vocl-launcher --workers N        workers on this host
 *    vocl-launcher --pairs N          the same, without MPI; many start without connections between them
 *    vocl-launcher --hosts A,B,...    a worker on each of these, by ssh
 *    vocl-launcher MPIEXEC WORDS...   Open MPI's own starter
 *
 * On the control socket it sends descriptors to the application, which transport/start/local.c and
 * transport/start/hosts.c receive, and then at most the line `failed WHY`.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "base/children.h"
#include "proxy/launch/ranks.h"
#include "proxy/launch/requests.h"
#include "proxy/launch/heartbeat_proxy.h"
#include "transport/starter.h"

#define CONTROL_SOCKET 3
#define FILES 4096    /* descriptors that mpiexec and workers may have at least, if the limit permits */
#define FILES_EACH 16 /* more for each of many workers */
#define LOOK_MS 100
#define OTHERS (3 + REQUESTS_WIDTH) /* descriptors polled besides those of ranks */
#define WORDS_MS 50                 /* time limit for the last output of a process */

static char reason[256];
static enum { SAYS_NOTHING, SAYS_SOMETHING, SAYS_PLAINLY, SAYS_WHY } reason_kind;

/* Chooses the line most likely to be the reason among the output of starters. ssh's messages are reasons; plain text is
 * more likely one than mpiexec's own messages; and the first line is more likely one than its consequences. */
static void consider_line(const char *line)
{
    static const char *const whys[] = {"ssh", "Permission denied", "Host key verification", "Connection ", "kex_"};
    int kind = strchr("=- *\r", *line) || !strncmp(line, "Warning:", 8) ? SAYS_NOTHING
               : *line == '['                                           ? SAYS_SOMETHING
                                                                        : SAYS_PLAINLY;

    for (size_t i = 0; i < sizeof(whys) / sizeof(*whys); i++) {
        if (!strncmp(line, whys[i], strlen(whys[i])))
            kind = SAYS_WHY;
    }
    if (strstr(line, ": Permission denied ("))
        kind = SAYS_WHY;
    if (kind <= (int)reason_kind)
        return;
    reason_kind = kind;
    snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(line, "\r"), line);
}

/* Workers log for themselves, at the level that the user chose. Other processes' output is logged at level info, and
 * one of its lines may say why they ended. */
static int listen_to(int output)
{
    char text[4096];
    ssize_t got = read(output, text, sizeof(text) - 1);

    if (got <= 0)
        return 0;
    text[got] = '\0';
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, "vocl", 4)) {
            fprintf(stderr, "%s\n", line);
            continue;
        }
        vocl_log(LOG_INFO, "a process of the session: %s", line);
        consider_line(line);
    }
    return 1;
}

/* The folder in which Open MPI on this host keeps the memory that its ranks share: this process makes and removes
 * it. */
static const char *shared_folder(void)
{
    const char *folder = getenv("OMPI_MCA_btl_vader_backing_directory");

    return folder && !strncmp(folder, "/dev/shm/vocl-", 14) ? folder : NULL;
}

static void remove_folder(const char *folder)
{
    DIR *directory = folder ? opendir(folder) : NULL;

    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    rmdir(folder);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char text[512];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof(text) - 1, format, arguments);
    va_end(arguments);
    length = length < (int)sizeof(text) - 1 ? length : (int)sizeof(text) - 2;
    vocl_log(LOG_INFO, "%s", text);
    text[length++] = '\n';
    if (send(CONTROL_SOCKET, "failed ", 7, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
        send(CONTROL_SOCKET, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* the application has ended too, or no longer reads */
}

static const char *end_of(const char *who, int status)
{
    static char text[384];

    snprintf(text, sizeof(text), "%s ended with %s %d%s%s", who, WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), *reason ? ": " : "", reason);
    return text;
}

static void tell_end(const char *who, int status)
{
    tell("%s", end_of(who, status));
}

/* mpiexec crashes in a folder that was removed, and cannot start a worker in one to which there is no path. */
static void have_folder(void)
{
    char *folder = getcwd(NULL, 0);

    if ((!folder || chdir(folder)) && !chdir("/"))
        vocl_log(LOG_INFO, "the session's folder is /: the program's cannot be reached any more");
    free(folder);
}

/* The program's own limit may be low, and over MPI each two of the workers here share a bell. */
static void have_descriptors(unsigned workers, bool pairs)
{
    const rlim_t wanted = FILES + (rlim_t)workers * (ranks_have_bells(pairs) ? workers : FILES_EACH);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- workers ---- */

struct serving {
    struct ranks *ranks;
    const char *program; /* the worker's program */
    int output;          /* where the workers' output goes */
};

static void listen_for(int output, int milliseconds)
{
    struct pollfd ready = {output, POLLIN, 0};

    while (poll(&ready, 1, milliseconds) > 0 && listen_to(output))
        ;
}

/* Handles a request of the program. */
static void hear_program(void *owner, const struct starter_message *message, int fd)
{
    const struct serving *serving = owner;
    char why[256], text[32];
    pid_t process;

    if (message->kind == STARTER_START && ranks_add(serving->ranks, message->number, message->text, serving->program,
                                                    fd, serving->output, &process, why, sizeof(why))) {
        tell_program(STARTER_ENDED, message->number, why);
    } else if (message->kind == STARTER_START) {
        snprintf(text, sizeof(text), "%d", (int)process);
        tell_program(STARTER_STARTED, message->number, text);
    } else {
        if (message->kind == STARTER_END)
            ranks_end(serving->ranks, message->number, !strcmp(message->text, "now"));
        if (fd >= 0)
            close(fd);
    }
}

static void reap_workers(struct ranks *ranks, int output)
{
    char who[32];
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        unsigned rank = ranks_reaped(ranks, pid);

        if (!rank)
            continue;
        listen_for(output, WORDS_MS);
        snprintf(who, sizeof(who), "worker %u", rank);
        tell_program(STARTER_ENDED, rank, reason_kind == SAYS_WHY ? reason : end_of(who, status));
        if (rank >= ranks->size)
            *reason = '\0', reason_kind = SAYS_NOTHING;
        else if (reason_kind == SAYS_WHY)
            tell("%s", reason);
        else
            tell_end(who, status);
    }
}

/* Returns the shorter of two times, of which -1 is infinite. */
static int sooner(int one, int other)
{
    return one < 0 || (other >= 0 && other < one) ? other : one;
}

/* Serves until the application has ended, or all workers have and the application has not sent its packet socket. */
static void serve_workers(struct serving *serving, int output, int ended)
{
    struct ranks *ranks = serving->ranks;
    struct pollfd *ready = NULL;
    char why[256];

    while (ranks->running || requests_has_program()) {
        struct pollfd *more = realloc(ready, (ranks_width(ranks) + OTHERS) * sizeof(*ready));
        struct signalfd_siginfo info;
        unsigned count;

        if (!more)
            break;
        ready = more;
        ready[0] = (struct pollfd){CONTROL_SOCKET, POLLIN, 0};
        ready[1] = (struct pollfd){output, POLLIN, 0};
        ready[2] = (struct pollfd){ended, POLLIN, 0};
        requests_poll(ready + 3);
        count = ranks_poll(ranks, ready + OTHERS);
        if (socket_poll(ready, count + OTHERS,
                        sooner(ranks_kill(ranks), sooner(heartbeat_proxy_look(CONTROL_SOCKET),
                                                         sooner(hosts_nap(ranks), pair_broker_nap(ranks))))) < 0)
            continue;
        if (ready[1].revents)
            listen_to(output);
        if (ready[0].revents && !heartbeat_proxy_hear(CONTROL_SOCKET))
            break;
        requests_turn(ready + 3, hear_program, serving);
        if (ranks_hear(ranks, ready + OTHERS, why, sizeof(why)))
            tell("%s", why);
        if (ready[2].revents && read(ended, &info, sizeof(info)) > 0)
            reap_workers(ranks, output);
    }
    hosts_finish(ranks);
    free(ready);
}

static bool is_by_pairs(char **arguments)
{
    return !strcmp(arguments[1], "--pairs");
}

static void run_workers(char **arguments, int output[2])
{
    char program[4096], why[256];
    struct ranks ranks;
    sigset_t children;
    int ended, error;

    snprintf(program, sizeof(program), "%s/vocl-proxy", settings_string(SETTING_LIBEXECDIR));
    if (strcmp(arguments[1], "--hosts"))
        error = ranks_here(&ranks, program, (unsigned)atoi(arguments[2]), is_by_pairs(arguments), CONTROL_SOCKET,
                           output[1], why, sizeof(why));
    else
        error = ranks_there(&ranks, program, arguments[2], CONTROL_SOCKET, output[1], why, sizeof(why));
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    ended = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (error || ended < 0) {
        tell("%s", error ? why : strerror(errno));
    } else {
        struct serving serving = {&ranks, program, output[1]};

        kill(getpid(), SIGCHLD); /* for workers that ended before signalfd() */
        serve_workers(&serving, output[0], ended);
    }
    ranks_close(&ranks);
}

/* ---- mpiexec ---- */

static void run_mpiexec(char **arguments, int output[2])
{
    bool talking = true;
    int status = 0;
    pid_t mpiexec;

    if (shared_folder() && mkdir(shared_folder(), 0700))
        vocl_log(LOG_WARN, "%s: %s", shared_folder(), strerror(errno));
    mpiexec = spawn(&(struct spawn){.arguments = arguments + 1,
                                    .descriptors = (int[]){0, output[1], output[1]},
                                    .count = 3,
                                    .signal = SIGTERM,
                                    .group = true});
    close(output[1]);
    for (;;) {
        struct pollfd ready[2 + REQUESTS_WIDTH] = {{CONTROL_SOCKET, POLLIN, 0}, {talking ? output[0] : -1, POLLIN, 0}};

        requests_poll(ready + 2);
        socket_poll(ready, 2 + REQUESTS_WIDTH, talking ? heartbeat_proxy_look(CONTROL_SOCKET) : LOOK_MS);
        if (ready[1].revents)
            talking = listen_to(output[0]);
        if (mpiexec < 0 || (ready[0].revents && !heartbeat_proxy_hear(CONTROL_SOCKET)))
            return;
        requests_turn(ready + 2, NULL, NULL);
        if (!talking && waitpid(mpiexec, &status, WNOHANG) == mpiexec) {
            tell_end("mpiexec", status);
            return;
        }
    }
}

/* Describes the session, for users that ask. workers: how many there are if none is on another host. */
static void describe(unsigned workers, bool pairs)
{
    const char *hosts = settings_string(SETTING_HOSTS);
    char own[65] = "", list[512] = "";

    gethostname(own, sizeof(own) - 1);
    for (unsigned i = 0; i < workers && strlen(list) + strlen(own) + 2 < sizeof(list); i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "", own);
    requests_describe(*hosts ? hosts : list, getenv(SESSION_SECRET) ? "tls" : pairs ? "pairs" : "mpi", NULL);
}

int main(int count, char **arguments)
{
    const bool pairs = count == 3 && is_by_pairs(arguments);
    const unsigned here =
        count == 3 && (pairs || !strcmp(arguments[1], "--workers")) ? (unsigned)atoi(arguments[2]) : 0;
    int output[2];

    if (count < 2 || fcntl(CONTROL_SOCKET, F_SETFD, FD_CLOEXEC)) {
        fprintf(stderr, "vocl-launcher: started by VOCL only\n");
        return 2;
    }
    requests_open(CONTROL_SOCKET);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    have_folder();
    have_descriptors(here, pairs);
    if (pipe2(output, O_CLOEXEC))
        return 1;
    describe(here ? here : 1, pairs);
    if (here || (count == 3 && !strcmp(arguments[1], "--hosts")))
        run_workers(arguments, output);
    else
        run_mpiexec(arguments, output);
    heartbeat_proxy_end();
    requests_close();
    children_end();
    remove_folder(shared_folder());
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    while (listen_to(output[0])) /* a worker's last output */
        ;
    return 0;
}
