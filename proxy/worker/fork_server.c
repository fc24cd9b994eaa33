/*
 * vocl-proxy --fork-server (proxy/fork_server.h). It only loads libraries, because a process with threads or with a
 * device's descriptors cannot be copied: drivers that have these as soon as they are loaded are left to each worker.
 * Nothing of a session comes here: a copy gets its task on a socket of its own.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "proxy/fork_server.h"
#include "proxy/worker/worker.h"
#include "transport/plugin/loader.h"

#define PLAN_MS 5000
#define MOST_BYTES (16u << 20)
#define MOST_ENTRIES (1u << 16)

static char *own_word; /* the argument of this process, which copies overwrite with a worker's */

static unsigned count_entries(const char *folder)
{
    DIR *entries = opendir(folder);
    unsigned count = 0;

    while (entries && readdir(entries))
        count++;
    if (entries)
        closedir(entries);
    return count;
}

/* Loads what workers need. Returns false if the process cannot be copied after that. */
static bool load(bool carriers)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false; /* the sanitizer's run-time library needs to handle fork() */
#endif
    const unsigned before = count_entries("/proc/self/fd");
    char why[512];

    executor_load_drivers();
    if (carriers) { /* if one fails, it is not needed, or the worker that needs it reports it */
        loader_open_tls(why, sizeof(why));
        loader_open("mpich", false, why, sizeof(why));
    }
    /* One thread, and the entries . and .. */
    return count_entries("/proc/self/task") == 3 && count_entries("/proc/self/fd") == before;
}

/* ---- a copy ---- */

struct copy {
    struct fork_request request;
    int *descriptors; /* with room for the first FORK_FIRST and one more */
    char **environment;
    struct supervisor_plan plan;
};

static bool take_descriptors(int socket, int *descriptors, unsigned count)
{
    unsigned got = 0, more;
    char byte;

    while (got < count) {
        more = count - got;
        if (socket_receive_descriptors(socket, &byte, 1, descriptors + got, &more, PLAN_MS) != 1 || !more)
            return false;
        got += more;
    }
    return true;
}

static bool take_environment(int socket, const struct fork_request *request, char **environment)
{
    char *bytes = calloc(1, (size_t)request->length + 1), *at = bytes;

    if (!bytes || socket_read_all(socket, bytes, request->length, PLAN_MS))
        return false;
    for (unsigned i = 0; i < request->variables; i++, at += strlen(at) + 1) {
        if (at >= bytes + request->length)
            return false;
        environment[i] = at;
    }
    environment[request->variables] = NULL;
    return true;
}

static bool take(int socket, struct copy *copy, bool supervisor)
{
    struct fork_request *request = &copy->request;

    if (socket_read_all(socket, request, sizeof(*request), PLAN_MS) || request->length > MOST_BYTES ||
        request->variables > MOST_ENTRIES || request->descriptors > MOST_ENTRIES)
        return false;
    copy->descriptors = calloc((size_t)request->descriptors + FORK_FIRST + 1, sizeof(int));
    copy->environment = calloc((size_t)request->variables + 1, sizeof(char *));
    return copy->descriptors && copy->environment &&
           take_descriptors(socket, copy->descriptors + FORK_FIRST, request->descriptors) &&
           (!supervisor || !socket_read_all(socket, &copy->plan, sizeof(copy->plan), PLAN_MS)) &&
           take_environment(socket, request, copy->environment);
}

/* Becomes the worker that the environment describes, also by the name of its process. */
static int be_worker(void)
{
    memset(own_word, 0, strlen(own_word));
    strcpy(own_word, "--worker");
    prctl(PR_SET_NAME, "vocl-proxy");
    return worker_run();
}

/* Makes a supervisor whose parent is the daemon, like those that the daemon starts itself. The system call bypasses
 * what the C library does in fork(); the copy depends on that only in calling fork() itself, for its worker. */
static void make_supervisor(int socket)
{
    static struct copy copy;
    pid_t self;

    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL))
        return;
    self = (pid_t)syscall(SYS_getpid);
    prctl(PR_SET_NAME, "vocl-supervisor");
    close(CHILD_FD);
    if (!take(socket, &copy, true) || !copy.request.descriptors || socket_write_all(socket, &self, sizeof(self)))
        _exit(126);
    close(socket);
    supervisor_run(&copy.plan, copy.environment, copy.request.descriptors > 1 ? copy.descriptors[FORK_FIRST + 1] : -1,
                   copy.descriptors[FORK_FIRST], be_worker);
}

/* Waits until the worker is a child of the process that started the fork server. */
static void await_parent(int socket, pid_t server)
{
    char byte;

    while (read(socket, &byte, 1) < 0 && errno == EINTR)
        ;
    close(socket);
    while (getppid() == server) /* the server is ending */
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void make_worker(int socket)
{
    const pid_t server = getpid(), parent = getppid();
    struct copy copy = {.descriptors = NULL};
    unsigned count;
    pid_t self = fork();

    if (self < 0) {
        self = -errno;
        write_all(socket, &self, sizeof(self));
    }
    if (self)
        return;
    self = getpid();
    setpgid(0, 0);
    if (!take(socket, &copy, false))
        _exit(126);
    for (int i = 0; i < FORK_FIRST; i++)
        copy.descriptors[i] = i;
    count = FORK_FIRST + copy.request.descriptors;
    copy.descriptors[count] = socket;
    if (!spawn_take_descriptors(copy.descriptors, count + 1) || write_all((int)count, &self, sizeof(self)))
        _exit(126);
    free(copy.descriptors);
    environ = copy.environment;
    await_parent((int)count, server);
    process_end_with(parent, SIGKILL);
    _exit(be_worker());
}

/* ---- the server ---- */

int fork_server_run(char *word)
{
    prctl(PR_SET_NAME, "vocl-forkserver");
    own_word = word;
    if (!load(strcmp(word, FORK_SERVER_PAIRS)))
        return FORK_SERVER_USELESS;
    for (;;) {
        unsigned count = 1;
        int socket = -1;
        char kind = 0;
        ssize_t got = socket_receive_descriptors(CHILD_FD, &kind, 1, &socket, &count, INT_MAX);

        if (got == -ETIMEDOUT || got == -EINTR || got == -EAGAIN)
            continue;
        if (got <= 0)
            return 0;
        if (count && kind == *FORK_SUPERVISOR)
            make_supervisor(socket);
        else if (count)
            make_worker(socket);
        if (count)
            close(socket);
    }
}
