/*
 * vocl-proxy --nursery: what a worker's start costs most, loading drivers and MPI and relocating them, is done here
 * once; a session's keeper is a copy of this process, and its worker one of that. Nothing but loading is done here, for
 * what has threads, or descriptors of a device, cannot be copied: drivers that have them already when they are loaded
 * are left to each worker. Nothing that is a session's comes here: a copy hears what it is to be over a socket of its
 * own.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/socket.h"
#include "proxy/keep.h"
#include "proxy/worker/worker.h"
#include "transport/plugin/loader.h"

#define PLAN_MS 5000
#define MOST_BYTES (1u << 20)

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

static char *own_word;

bool worker_load(char *word, bool carriers)
{
    own_word = word;
    return load(carriers);
}

int worker_as_copy(void)
{
    memset(own_word, 0, strlen(own_word));
    strcpy(own_word, "--worker");
    prctl(PR_SET_NAME, "vocl-proxy");
    return worker_run();
}

static bool take_environment(int socket, const struct keep_plan *plan, char **environment)
{
    char *bytes = plan->length && plan->length <= MOST_BYTES ? calloc(1, plan->length + 1) : NULL, *at = bytes;

    if (!bytes || plan->count >= KEEP_ENVIRONMENT || socket_read_all(socket, bytes, plan->length, PLAN_MS))
        return false;
    for (unsigned i = 0; i < plan->count; i++, at += strlen(at) + 1) {
        if (at >= bytes + plan->length)
            return false;
        environment[i] = at;
    }
    environment[plan->count] = NULL;
    return true;
}

/* In a copy of this process, whose parent is the daemon. Does not return. */
static void be_keeper(int socket)
{
    static char *environment[KEEP_ENVIRONMENT];
    static struct keep_plan plan;
    pid_t self = (pid_t)syscall(SYS_getpid);
    int given[2] = {-1, -1};
    unsigned count = 2;
    char byte;

    prctl(PR_SET_NAME, "vocl-keeper");
    close(CHILD_FD);
    if (socket_receive_descriptors(socket, &byte, 1, given, &count, PLAN_MS) != 1 || !count ||
        socket_read_all(socket, &plan, sizeof(plan), PLAN_MS) || !take_environment(socket, &plan, environment) ||
        socket_write_all(socket, &self, sizeof(self)))
        _exit(126);
    close(socket);
    keep_run(&plan, environment, count > 1 ? given[1] : -1, given[0], worker_as_copy);
}

int nursery_run(char *word)
{
    prctl(PR_SET_NAME, "vocl-nursery");
    if (!worker_load(word, true)) {
        fprintf(stderr,
                "vocl-proxy: notice: with these drivers loaded no process can be copied: each worker loads them\n");
        return NURSERY_USELESS;
    }
    for (;;) {
        struct pollfd asked = {.fd = CHILD_FD, .events = POLLIN};
        unsigned count = 1;
        int socket = -1;
        char byte;

        poll(&asked, 1, -1);
        if (!asked.revents)
            continue;
        if (socket_receive_descriptors(CHILD_FD, &byte, 1, &socket, &count, PLAN_MS) <= 0)
            return 0;
        if (count != 1)
            continue;
        /* The daemon is to be the parent of keepers, as of those that it starts itself. The copy makes no use of what
         * the C library would do after fork() but to call fork() itself. */
        if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
            be_keeper(socket);
        close(socket);
    }
}
