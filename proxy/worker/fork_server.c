/*
 * vocl-proxy --fork-server (proxy/fork_server.h). Nothing but loading is done here, for what has threads, or
 * descriptors of a device, cannot be copied: drivers that have them already when they are loaded are left to each
 * worker. Nothing that is a session's comes here: a copy hears what it is to be over a socket of its own.
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

static char *own_word; /* an argument of this process, which is a worker's in its copies */

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

/* What workers load. False: a process that has it cannot be copied. */
static bool load(bool carriers)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false; /* the sanitizer's run-time library wants to be told of fork() */
#endif
    const unsigned before = count_entries("/proc/self/fd");
    char why[512];

    executor_load_drivers();
    if (carriers) { /* what there is not is not needed, or said by the worker that needs it */
        loader_open_tls(why, sizeof(why));
        loader_open("mpich", false, why, sizeof(why));
    }
    return count_entries("/proc/self/task") == 3 && count_entries("/proc/self/fd") == before; /* with . and .. */
}

/* ---- a copy ---- */

struct copy {
    struct fork_request request;
    int *descriptors; /* with room for some more */
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

/* The worker that the environment says, by name, too. */
static int be_worker(void)
{
    memset(own_word, 0, strlen(own_word));
    strcpy(own_word, "--worker");
    prctl(PR_SET_NAME, "vocl-proxy");
    return worker_run();
}

/* The daemon is the parent of supervisors, as of those that it starts itself. The copy makes no use of what the C
 * library would do after fork() but to call fork() itself, for its worker. */
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

/* A worker is to be a child of who started this process: it waits until it is one. */
static void await_parent(int socket, pid_t server)
{
    char byte;

    while (read(socket, &byte, 1) < 0 && errno == EINTR)
        ;
    close(socket);
    while (getppid() == server) /* it is ending */
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
