/* The keeper of descriptors: see keeper.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/socket.h"
#include "base/thread.h"
#include "transport/keeper.h"

#define ANSWER_MS 2000
#define TRIES 10
#define ABOVE 128        /* so many numbers are ours at the upper end of what a program may have */
#define LAST_NUMBER 1024 /* or of what programs have at most: the kernel's table grows with the numbers */

enum wish { WISH_TAKE = 1, WISH_GIVE, WISH_END };

struct request {
    uint32_t wish, slot;
};

struct keeper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { STARTING, RUNNING, IMPOSSIBLE } state;
    void (*run)(void *);
    void *argument;
    atomic_bool needed;
    struct endpoint endpoint;
    int *held;
    unsigned count;
};

/* ---- what goes through a socket ---- */

static int send_with(int socket, const struct request *request, int fd)
{
    return socket_give(socket, request, sizeof(*request), fd);
}

/* *fd: what came along, or -1. */
static int receive_with(int socket, struct request *request, int *fd)
{
    struct pollfd ready = {socket, POLLIN, 0};

    *fd = -1;
    if (poll(&ready, 1, ANSWER_MS) <= 0)
        return -ETIMEDOUT;
    return socket_take(socket, request, sizeof(*request), fd) == sizeof(*request) ? 0 : -EIO;
}

/* ---- the thread ---- */

/* A table in which there is nothing but standard output and error: run() may say something, and what it calls may flush
 * what the program has printed and not yet written. */
static int leave_table(void)
{
    int null;

    if (close_range(3, ~0u, CLOSE_RANGE_UNSHARE))
        return -ENOTSUP;
    close(0);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        null = memfd_create("null", MFD_CLOEXEC);
    if (null != 0)
        return -EIO;
    for (int fd = 1; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && dup2(0, fd) < 0)
            return -EIO;
    }
    return 0;
}

static bool hold(struct keeper *keeper, int fd)
{
    int *more = fd < 0 ? NULL : realloc(keeper->held, (keeper->count + 1) * sizeof(*more));

    if (!more)
        return false;
    keeper->held = more;
    keeper->held[keeper->count++] = fd;
    return true;
}

/* One request of a thread of this very process; false when it was the last. */
static bool serve(struct keeper *keeper, int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    struct request request;
    int fd = -1;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) || peer.pid != getpid() ||
        receive_with(socket, &request, &fd))
        return true;
    if (request.wish == WISH_TAKE) {
        request.slot = keeper->count;
        if (hold(keeper, fd))
            send_with(socket, &request, -1);
        else
            close(fd);
    }
    if (request.wish == WISH_GIVE && request.slot < keeper->count)
        send_with(socket, &request, keeper->held[request.slot]);
    return request.wish != WISH_END;
}

static void tell(struct keeper *keeper, int state)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->state = state;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

static void *keeper_run(void *argument)
{
    struct keeper *keeper = argument;
    bool more = true;

    if (leave_table() || endpoint_listen_unix(&keeper->endpoint)) {
        tell(keeper, IMPOSSIBLE);
        return NULL;
    }
    if (keeper->run)
        keeper->run(keeper->argument);
    dup2(0, 1); /* who waits for the end of the program's output must not wait for us */
    dup2(0, 2);
    tell(keeper, RUNNING);
    while (more) {
        struct pollfd ready = {keeper->endpoint.fd, POLLIN, 0};
        int socket = poll(&ready, 1, -1) > 0 ? accept4(keeper->endpoint.fd, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (socket < 0)
            continue;
        more = serve(keeper, socket);
        close(socket);
    }
    close(keeper->endpoint.fd);
    for (unsigned i = 0; i < keeper->count; i++) /* threads of run() still have this table */
        close(keeper->held[i]);
    return NULL;
}

struct keeper *keeper_start(void (*run)(void *), void *argument)
{
    struct keeper *keeper = calloc(1, sizeof(*keeper));

    if (!keeper)
        return NULL;
    *keeper = (struct keeper){
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .run = run, .argument = argument};
    if (thread_start(&keeper->thread, keeper_run, keeper)) {
        free(keeper);
        return NULL;
    }
    pthread_mutex_lock(&keeper->lock);
    while (keeper->state == STARTING)
        pthread_cond_wait(&keeper->changed, &keeper->lock);
    pthread_mutex_unlock(&keeper->lock);
    if (keeper->state == RUNNING) {
        pthread_detach(keeper->thread); /* its end is waited for by nobody: keeper_end() */
        return keeper;
    }
    pthread_join(keeper->thread, NULL);
    vocl_log(LOG_INFO, "the program must not close descriptors that it does not know: they cannot be kept here");
    free(keeper);
    return NULL;
}

/* ---- the other threads ---- */

static void look(struct kept *kept, int fd)
{
    struct stat file = {0};

    *kept = (struct kept){.fd = fd};
    if (fstat(fd, &file))
        return;
    kept->device = file.st_dev;
    kept->inode = file.st_ino;
}

static bool still_ours(const struct kept *kept)
{
    struct stat file;

    return !kept->inode || (!fstat(kept->fd, &file) && file.st_ino == kept->inode && file.st_dev == kept->device);
}

void kept_close(struct kept *kept)
{
    if (kept->fd >= 0 && still_ours(kept))
        close(kept->fd);
    kept->fd = -1;
}

/* 0 or negative errno; *got: what came with the answer, or -1. A thread of the program may be closing all the time. */
static int ask(struct keeper *keeper, struct request *request, int fd, int *got)
{
    struct kept connection;
    int error, socket = endpoint_connect(keeper->endpoint.text);

    *got = -1;
    if (socket < 0)
        return socket;
    look(&connection, socket);
    error = send_with(socket, request, fd);
    if (!error && request->wish != WISH_END)
        error = receive_with(socket, request, got);
    kept_close(&connection);
    return error;
}

bool keeper_was_needed(const struct keeper *keeper)
{
    return keeper && keeper->needed;
}

void keeper_end(struct keeper *keeper)
{
    struct request request = {.wish = WISH_END};
    int none;

    if (ask(keeper, &request, -1, &none))
        vocl_log(LOG_DEBUG, "the keeper of descriptors stays until the process ends");
}

bool keeper_take(struct keeper *keeper, int fd)
{
    struct request request = {.wish = WISH_TAKE};
    int none;

    if (ask(keeper, &request, fd, &none))
        return false;
    close(fd);
    return true;
}

/* High numbers are none that a program would give to its own, nor take for them. */
static int raise_number(int fd)
{
    struct rlimit limit;
    int high;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 2 * ABOVE)
        return fd;
    high = (int)(limit.rlim_cur < LAST_NUMBER ? limit.rlim_cur : LAST_NUMBER) - ABOVE;
    high = fcntl(fd, F_DUPFD_CLOEXEC, high);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

void kept_trust(struct kept *kept, int fd)
{
    *kept = (struct kept){.fd = fd};
}

void kept_hold(struct kept *kept, struct keeper *keeper, int fd)
{
    struct request request = {.wish = WISH_TAKE};
    int none;

    look(kept, raise_number(fd));
    if (keeper && !ask(keeper, &request, kept->fd, &none)) {
        kept->keeper = keeper;
        kept->slot = request.slot;
    }
}

static int replace(struct kept *kept)
{
    struct request request = {.wish = WISH_GIVE, .slot = kept->slot};
    int fd = -1;

    for (int i = 0; fd < 0 && i < TRIES; i++)
        ask(kept->keeper, &request, -1, &fd);
    if (fd < 0)
        return -1;
    kept->keeper->needed = true;
    vocl_log(LOG_INFO, "the program has closed descriptor %d of the session, which has another now", kept->fd);
    kept->fd = raise_number(fd);
    return kept->fd;
}

int kept_fd(struct kept *kept)
{
    int fd;

    if (still_ours(kept))
        return kept->fd;
    if (!kept->keeper)
        return -1;
    pthread_mutex_lock(&kept->keeper->lock);
    fd = still_ours(kept) ? kept->fd : replace(kept);
    pthread_mutex_unlock(&kept->keeper->lock);
    return fd;
}
