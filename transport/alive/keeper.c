/* The keeper of descriptors: see keeper.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/socket.h"
#include "base/thread.h"
#include "transport/alive/keeper.h"

#define ANSWER_MS 2000
#define GIVE_MS 5000     /* how long a program that closes all the time may undo what the keeper gives */
#define ABOVE 128        /* so many numbers are ours at the upper end of what a program may have */
#define LAST_NUMBER 1024 /* or of what programs have at most: the kernel's table grows with the numbers */

enum task { TASK_NONE, TASK_DROP, TASK_TAKE, TASK_GIVE, TASK_LISTEN, TASK_ACCEPT, TASK_END };

struct keeper {
    pthread_t thread;
    pthread_mutex_t lock, asking, replacing;
    pthread_cond_t changed;
    enum { STARTING, RUNNING, IMPOSSIBLE } state;
    void (*run)(void *);
    void *argument;
    const int *needs;
    unsigned need_count;
    atomic_bool needed;
    bool ended;     /* or about to: it is asked nothing more */
    enum task task; /* of the thread that holds asking */
    int error;      /* and what became of it */
    unsigned slot;
    struct kept line; /* descriptors go through it: the end in the program's table, and the one in the keeper's */
    int inside;
    struct endpoint endpoint; /* where a new line is made, if the program has closed its end */
    int *held;
    unsigned count;
};

/* ---- what goes through the line ---- */

static int send_one(int socket, int fd)
{
    return socket_send_descriptors(socket, "", 1, &fd, 1);
}

static int receive_one(int socket, int *fd)
{
    unsigned count = 1;
    char byte;
    ssize_t got = socket_receive_descriptors(socket, &byte, 1, fd, &count, ANSWER_MS);

    return got == 1 && count == 1 ? 0 : got < 0 ? (int)got : -EIO;
}

/* ---- the thread ---- */

/* A table in which there is nothing but standard output and error, and what is needed: run() may say something, and
 * what it calls may flush what the program has printed and not yet written. */
static int leave_table(const struct keeper *keeper)
{
    int null;

    if (unshare(CLONE_FILES))
        return -ENOTSUP;
    for (int first = 3, last; first >= 0; first = last + 1) {
        last = keeper->inside;
        for (unsigned i = 0; i < keeper->need_count; i++) {
            if (keeper->needs[i] >= first && (keeper->needs[i] < last || last < first))
                last = keeper->needs[i];
        }
        if (last < first) {
            if (close_range((unsigned)first, ~0u, 0))
                return -ENOTSUP;
            break;
        }
        if (last > first && close_range((unsigned)first, (unsigned)last - 1, 0))
            return -ENOTSUP;
    }
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

static int take(struct keeper *keeper)
{
    int fd, *more, error = receive_one(keeper->inside, &fd);

    if (error)
        return error;
    for (unsigned i = 0; i < keeper->count; i++) {
        if (keeper->held[i] < 0) {
            keeper->held[keeper->slot = i] = fd;
            return 0;
        }
    }
    more = realloc(keeper->held, (keeper->count + 1) * sizeof(*more));
    if (!more) {
        close(fd);
        return -ENOMEM;
    }
    keeper->held = more;
    keeper->slot = keeper->count;
    keeper->held[keeper->count++] = fd;
    return 0;
}

/* The thread that asks has connected; strangers may have, too. */
static int accept_line(struct keeper *keeper)
{
    int fd;

    while ((fd = accept4(keeper->endpoint.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct ucred peer;
        socklen_t length = sizeof(peer);

        if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.pid == getpid())
            break;
        close(fd);
    }
    close(keeper->endpoint.fd);
    if (fd < 0)
        return -ECONNREFUSED;
    close(keeper->inside);
    keeper->inside = fd;
    return 0;
}

static int serve(struct keeper *keeper)
{
    switch (keeper->task) {
    case TASK_TAKE:
        return take(keeper);
    case TASK_DROP:
        if (keeper->slot < keeper->count)
            close(keeper->held[keeper->slot]);
        if (keeper->slot < keeper->count)
            keeper->held[keeper->slot] = -1;
        return 0;
    case TASK_GIVE:
        return keeper->slot < keeper->count ? send_one(keeper->inside, keeper->held[keeper->slot]) : -EINVAL;
    case TASK_LISTEN:
        return endpoint_listen_unix(&keeper->endpoint);
    case TASK_ACCEPT:
        return accept_line(keeper);
    default:
        return 0;
    }
}

static void tell(struct keeper *keeper, int state)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->state = state;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

static void *keeper_run(void *argument)
{
    struct keeper *keeper = argument;
    bool more = true;

    if (leave_table(keeper)) {
        tell(keeper, IMPOSSIBLE);
        return NULL;
    }
    if (keeper->run)
        keeper->run(keeper->argument);
    dup2(0, 1); /* who waits for the end of the program's output must not wait for us */
    dup2(0, 2);
    tell(keeper, RUNNING);
    pthread_mutex_lock(&keeper->lock);
    while (more) {
        while (keeper->task == TASK_NONE)
            pthread_cond_wait(&keeper->changed, &keeper->lock);
        keeper->error = serve(keeper);
        more = keeper->task != TASK_END;
        keeper->task = TASK_NONE;
        pthread_cond_broadcast(&keeper->changed);
    }
    pthread_mutex_unlock(&keeper->lock);
    close(keeper->inside);
    for (unsigned i = 0; i < keeper->count; i++) { /* threads of run() still have this table */
        if (keeper->held[i] >= 0)
            close(keeper->held[i]);
    }
    return NULL;
}

static void look(struct kept *kept, int fd);
static int raise_number(int fd);

struct keeper *keeper_start(void (*run)(void *), void *argument, const int *needs, unsigned count)
{
    struct keeper *keeper = calloc(1, sizeof(*keeper));
    int pair[2];

    if (!keeper || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        free(keeper);
        return NULL;
    }
    pair[0] = raise_number(pair[0]);
    pair[1] = raise_number(pair[1]);
    *keeper = (struct keeper){.lock = PTHREAD_MUTEX_INITIALIZER,
                              .asking = PTHREAD_MUTEX_INITIALIZER,
                              .replacing = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER,
                              .run = run,
                              .argument = argument,
                              .needs = needs,
                              .need_count = count,
                              .inside = pair[1]};
    if (thread_start(&keeper->thread, keeper_run, keeper)) {
        close(pair[0]);
        close(pair[1]);
        free(keeper);
        return NULL;
    }
    pthread_mutex_lock(&keeper->lock);
    while (keeper->state == STARTING)
        pthread_cond_wait(&keeper->changed, &keeper->lock);
    pthread_mutex_unlock(&keeper->lock);
    close(pair[1]);
    if (keeper->state == RUNNING) {
        look(&keeper->line, pair[0]);
        pthread_detach(keeper->thread); /* its end is waited for by nobody: keeper_end() */
        return keeper;
    }
    close(pair[0]);
    pthread_join(keeper->thread, NULL);
    vocl_log(LOG_INFO, "the program must not close descriptors that it does not know: they cannot be kept here");
    free(keeper);
    return NULL;
}

/* ---- the other threads ---- */

/* One that the program has closed already is none. */
static void look(struct kept *kept, int fd)
{
    struct stat file;

    *kept = (struct kept){.fd = -1};
    if (fstat(fd, &file))
        return;
    *kept = (struct kept){.fd = fd, .device = file.st_dev, .inode = file.st_ino};
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

/* What the thread answers, if it is there yet. It may be slow, where there is one processor for many, but it does
 * nothing that waits. */
static int ask(struct keeper *keeper, enum task task)
{
    int error = -ESRCH;

    pthread_mutex_lock(&keeper->lock);
    if (!keeper->ended) {
        keeper->ended = task == TASK_END;
        keeper->task = task;
        pthread_cond_broadcast(&keeper->changed);
        while (keeper->task != TASK_NONE)
            pthread_cond_wait(&keeper->changed, &keeper->lock);
        error = keeper->error;
    }
    pthread_mutex_unlock(&keeper->lock);
    return error;
}

/* The only moment at which something listens. */
static int renew_line(struct keeper *keeper)
{
    int error = ask(keeper, TASK_LISTEN), fd;

    if (error)
        return error;
    fd = endpoint_connect(keeper->endpoint.text);
    error = ask(keeper, TASK_ACCEPT); /* which also ends the listening */
    if (fd < 0)
        return fd;
    look(&keeper->line, raise_number(fd));
    if (error)
        kept_close(&keeper->line);
    return error;
}

static bool line_is_there(const struct keeper *keeper)
{
    return keeper->line.fd >= 0 && still_ours(&keeper->line);
}

static int have_line(struct keeper *keeper)
{
    return line_is_there(keeper) ? 0 : renew_line(keeper);
}

static int ask_take(struct keeper *keeper, int fd, unsigned *slot)
{
    int error;

    pthread_mutex_lock(&keeper->asking);
    error = have_line(keeper);
    if (!error)
        error = send_one(keeper->line.fd, fd);
    if (!error)
        error = ask(keeper, TASK_TAKE);
    *slot = keeper->slot;
    pthread_mutex_unlock(&keeper->asking);
    return error;
}

/* A thread of the program may be closing all the time. */
static int ask_give(struct keeper *keeper, unsigned slot, int *fd)
{
    int error;

    pthread_mutex_lock(&keeper->asking);
    error = have_line(keeper);
    keeper->slot = slot;
    if (!error)
        error = ask(keeper, TASK_GIVE);
    if (!error)
        error = receive_one(keeper->line.fd, fd);
    if (error)
        kept_close(&keeper->line);
    pthread_mutex_unlock(&keeper->asking);
    return error;
}

bool keeper_was_needed(const struct keeper *keeper)
{
    return keeper && keeper->needed;
}

void keeper_end(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->asking);
    ask(keeper, TASK_END);
    kept_close(&keeper->line);
    pthread_mutex_unlock(&keeper->asking);
}

void keeper_forget(struct keeper *keeper)
{
    if (keeper)
        kept_close(&keeper->line);
}

bool keeper_take(struct keeper *keeper, int fd)
{
    unsigned slot;

    if (ask_take(keeper, fd, &slot))
        return false;
    close(fd);
    return true;
}

/* fd under the first free number from `from` on, where there is one. */
static int renumber(int fd, int from)
{
    const int number = fcntl(fd, F_DUPFD_CLOEXEC, from);

    if (number < 0)
        return fd;
    close(fd);
    return number;
}

/* High numbers are none that a program would give to its own, nor take for them; those of the standard streams are
 * what a program closes first. Each begins at another, for a thread may use the number that it was told a moment ago
 * while another thread is given one for something else. */
static int raise_number(int fd)
{
    static atomic_uint given;
    struct rlimit limit;
    int high = 3;

    if (getrlimit(RLIMIT_NOFILE, &limit) || (limit.rlim_cur < 2 * ABOVE && fd >= high))
        return fd;
    if (limit.rlim_cur >= 2 * ABOVE)
        high = (int)(limit.rlim_cur < LAST_NUMBER ? limit.rlim_cur : LAST_NUMBER) - ABOVE +
               (int)(atomic_fetch_add(&given, 1) % (ABOVE / 2));
    return renumber(fd, high);
}

void kept_release(struct kept *kept)
{
    struct keeper *keeper = kept->keeper;

    kept->keeper = NULL;
    if (keeper) {
        pthread_mutex_lock(&keeper->asking);
        keeper->slot = kept->slot;
        ask(keeper, TASK_DROP);
        pthread_mutex_unlock(&keeper->asking);
    }
    kept_close(kept);
}

void kept_trust(struct kept *kept, int fd)
{
    *kept = (struct kept){.fd = fd};
}

void kept_hold(struct kept *kept, struct keeper *keeper, int fd)
{
    const long until = clock_ms() + GIVE_MS;
    unsigned slot;
    int error;

    look(kept, raise_number(fd));
    if (!keeper)
        return;
    do
        error = ask_take(keeper, kept->fd, &slot);
    while (error && kept->fd >= 0 && !line_is_there(keeper) && clock_ms() < until);
    if (error)
        return;
    kept->keeper = keeper;
    kept->slot = slot;
}

/* Under the number that it had, if that is free: see raise_number(). */
static int replace(struct kept *kept)
{
    const long until = clock_ms() + GIVE_MS;
    const int number = kept->fd;
    int fd;

    do {
        if (ask_give(kept->keeper, kept->slot, &fd))
            continue;
        kept->fd = renumber(fd, number);
        if (!still_ours(kept))
            continue;
        kept->keeper->needed = true;
        vocl_log(LOG_INFO, "the program has closed descriptor %d of the session, which is %d now", number, kept->fd);
        return kept->fd;
    } while (clock_ms() < until);
    return -1;
}

int kept_fd(struct kept *kept)
{
    int fd;

    if (still_ours(kept))
        return kept->fd;
    if (!kept->keeper)
        return -1;
    pthread_mutex_lock(&kept->keeper->replacing);
    fd = still_ours(kept) ? kept->fd : replace(kept);
    pthread_mutex_unlock(&kept->keeper->replacing);
    return fd;
}
