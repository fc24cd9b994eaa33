/*
 * vocl-launcher: owns a session's mpiexec and all that it starts. Descriptor 3 is the lifeline to the application:
 * when it closes, however the application ended, everything is given a moment to end by itself and then killed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "proxy/standin.h"

#define LIFELINE 3
#define GRACE_MS 300
#define KILL_MS 1000
#define FILES 4096 /* descriptors that mpiexec and workers may have at least, if they may */

#define LOOK_MS 100
#define LOOKS 50 /* after mpiexec has said something */

static char reason[256];
static enum { SAYS_NOTHING, SAYS_SOMETHING, SAYS_PLAINLY, SAYS_WHY } reason_kind;

static pid_t start(char **arguments, int output)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0);
    dup2(output, 1);
    dup2(output, 2);
    close(output);
    close(LIFELINE);
    execvp(arguments[0], arguments);
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* Of what mpiexec says: what ssh says is why, plain words are likelier to be than what mpiexec says of itself, and what
 * comes first is likelier than what follows from it. */
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

/* Workers log for themselves, at the level that was asked for; mpiexec's own words are for the curious, and one of its
 * lines may say why it ended. */
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
        vocl_log(LOG_INFO, "mpiexec: %s", line);
        consider_line(line);
    }
    return 1;
}

/* All that is left of the session is this process' children, for it is their subreaper. */
static void kill_children(pid_t parent, int number)
{
    char path[64], text[8192];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    file = fopen(path, "re");
    if (!file)
        return;
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    for (char *save = NULL, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        pid_t pid = (pid_t)atoi(word);

        if (pid <= 1)
            continue;
        kill_children(pid, number);
        kill(pid, number);
    }
}

/* Reap for so long; true when no child is left. */
static int reap(int milliseconds)
{
    for (int waited = 0;; waited += 10) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return 1;
        if (waited >= milliseconds)
            return 0;
        usleep(10000);
    }
}

static void end_all(void)
{
    if (reap(GRACE_MS))
        return;
    kill_children(getpid(), SIGTERM);
    if (reap(GRACE_MS))
        return;
    kill_children(getpid(), SIGKILL);
    if (!reap(KILL_MS))
        vocl_log(LOG_ERROR, "processes of the session could not be killed");
}

/* The folder in which an Open MPI of this host keeps the memory that its ranks share: ours to make and to remove. */
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

static void tell_end(int status)
{
    char text[512];

    snprintf(text, sizeof(text), "mpiexec ended with %s %d%s%s", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), *reason ? ": " : "", reason);
    vocl_log(LOG_INFO, "%s", text);
    if (send(LIFELINE, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* the application is gone too */
}

/* mpiexec crashes in a folder that has been removed, and cannot start a worker in one to which there is no path. */
static void have_folder(void)
{
    char *folder = getcwd(NULL, 0);

    if ((!folder || chdir(folder)) && !chdir("/"))
        vocl_log(LOG_INFO, "the session's folder is /: the program's cannot be reached any more");
    free(folder);
}

/* The program's own limit may be as low as it likes. */
static void have_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= FILES)
        return;
    limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* MPICH's mpiexec waits for ever for a host to which its ssh did not come. */
static bool lost_a_host(pid_t mpiexec)
{
    char path[64], text[8192];
    bool lost = false;
    FILE *file;

    if (reason_kind != SAYS_WHY)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)mpiexec, (int)mpiexec);
    file = fopen(path, "re");
    if (!file)
        return false;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (char *save = NULL, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        lost |= process_state((pid_t)atoi(word)) == 'Z';
    return lost;
}

static void tell_lost(void)
{
    vocl_log(LOG_INFO, "%s", reason);
    if (send(LIFELINE, reason, strlen(reason), MSG_NOSIGNAL) < 0)
        return; /* the application is gone too */
}

int main(int count, char **arguments)
{
    int output[2], status = 0, talking = 1, looks = 0;
    pid_t mpiexec;

    if (count < 2) {
        fprintf(stderr, "vocl-launcher: started by VOCL only\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    have_folder();
    have_descriptors();
    if (pipe2(output, O_CLOEXEC))
        return 1;
    if (shared_folder() && mkdir(shared_folder(), 0700))
        vocl_log(LOG_WARN, "%s: %s", shared_folder(), strerror(errno));
    mpiexec = start(arguments + 1, output[1]);
    close(output[1]);
    if (mpiexec < 0)
        return 1;
    for (;;) {
        struct pollfd ready[] = {{LIFELINE, POLLIN, 0}, {talking ? output[0] : -1, POLLIN, 0}};

        const int most = standin_look(LIFELINE);

        poll(ready, 2, !talking ? 50 : looks ? LOOK_MS : most);
        if (ready[1].revents) {
            talking = listen_to(output[0]);
            looks = LOOKS;
        } else if (looks) {
            looks--;
        }
        if (looks && lost_a_host(mpiexec)) { /* told once: who has its workers already goes on without it */
            looks = 0;
            tell_lost();
        }
        if (ready[0].revents && !standin_hear(LIFELINE))
            break;
        if (!talking && waitpid(mpiexec, &status, WNOHANG) == mpiexec) {
            tell_end(status);
            break;
        }
    }
    standin_end();
    end_all();
    remove_folder(shared_folder());
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    while (listen_to(output[0])) /* a worker's last words */
        ;
    return 0;
}
