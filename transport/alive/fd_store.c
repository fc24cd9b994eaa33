/* The store of descriptors: see fd_store.h. */
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
#include "transport/alive/fd_store.h"

#define ANSWER_MS 2000
#define GIVE_MS 5000     /* for so long the store replaces what a program closes again and again */
#define ABOVE 128        /* numbers that are used for the session, at the upper end of the program's */
#define LAST_NUMBER 1024 /* upper end at most, as of most programs: the kernel's table grows with the numbers */

enum task { TASK_NONE, TASK_DROP, TASK_TAKE, TASK_GIVE, TASK_LISTEN, TASK_ACCEPT, TASK_END };

struct fd_store {
    pthread_t thread;
    pthread_mutex_t lock, asking, replacing;
    pthread_cond_t changed;
    enum { STARTING, RUNNING, IMPOSSIBLE } state;
    void (*run)(void *);
    void *argument;
    const int *needs;
    unsigned need_count;
    atomic_bool needed;
    bool ended;     /* or about to end: it gets no more tasks */
    enum task task; /* for the store's thread, by the thread that holds `asking` */
    int error;      /* the result of the task */
    unsigned slot;
    struct stored_fd line; /* descriptors pass through it: the end in the program's table, and the one in the store's */
    int inside;
    struct endpoint endpoint; /* for a new line, if the program has closed its end */
    int *held;
    unsigned count;
};

/* ---- messages through the line ---- */

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

/* ---- the store's thread ---- */

/* Makes a table that holds only standard output and error, and the descriptors that run() needs: run() may print, and
 * its callees may flush what the program has printed and not written yet. */
static int leave_table(const struct fd_store *store)
{
    int null;

    if (unshare(CLONE_FILES))
        return -ENOTSUP;
    for (int first = 3, last; first >= 0; first = last + 1) {
        last = store->inside;
        for (unsigned i = 0; i < store->need_count; i++) {
            if (store->needs[i] >= first && (store->needs[i] < last || last < first))
                last = store->needs[i];
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

static int take(struct fd_store *store)
{
    int fd, *more, error = receive_one(store->inside, &fd);

    if (error)
        return error;
    for (unsigned i = 0; i < store->count; i++) {
        if (store->held[i] < 0) {
            store->held[store->slot = i] = fd;
            return 0;
        }
    }
    more = realloc(store->held, (store->count + 1) * sizeof(*more));
    if (!more) {
        close(fd);
        return -ENOMEM;
    }
    store->held = more;
    store->slot = store->count;
    store->held[store->count++] = fd;
    return 0;
}

/* Accepts the connection of the asking thread; other processes may have connected, too. */
static int accept_line(struct fd_store *store)
{
    int fd;

    while ((fd = accept4(store->endpoint.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct ucred peer;
        socklen_t length = sizeof(peer);

        if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.pid == getpid())
            break;
        close(fd);
    }
    close(store->endpoint.fd);
    if (fd < 0)
        return -ECONNREFUSED;
    close(store->inside);
    store->inside = fd;
    return 0;
}

static int serve(struct fd_store *store)
{
    switch (store->task) {
    case TASK_TAKE:
        return take(store);
    case TASK_DROP:
        if (store->slot < store->count)
            close(store->held[store->slot]);
        if (store->slot < store->count)
            store->held[store->slot] = -1;
        return 0;
    case TASK_GIVE:
        return store->slot < store->count ? send_one(store->inside, store->held[store->slot]) : -EINVAL;
    case TASK_LISTEN:
        return endpoint_listen_unix(&store->endpoint);
    case TASK_ACCEPT:
        return accept_line(store);
    default:
        return 0;
    }
}

static void tell(struct fd_store *store, int state)
{
    pthread_mutex_lock(&store->lock);
    store->state = state;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

static void *store_run(void *argument)
{
    struct fd_store *store = argument;
    bool more = true;

    if (leave_table(store)) {
        tell(store, IMPOSSIBLE);
        return NULL;
    }
    if (store->run)
        store->run(store->argument);
    dup2(0, 1); /* a reader that waits for the end of the program's output must not wait for the store */
    dup2(0, 2);
    tell(store, RUNNING);
    pthread_mutex_lock(&store->lock);
    while (more) {
        while (store->task == TASK_NONE)
            pthread_cond_wait(&store->changed, &store->lock);
        store->error = serve(store);
        more = store->task != TASK_END;
        store->task = TASK_NONE;
        pthread_cond_broadcast(&store->changed);
    }
    pthread_mutex_unlock(&store->lock);
    close(store->inside);
    for (unsigned i = 0; i < store->count; i++) { /* threads of run() still use this table */
        if (store->held[i] >= 0)
            close(store->held[i]);
    }
    return NULL;
}

static void look(struct stored_fd *stored, int fd);
static int raise_number(int fd);

struct fd_store *fd_store_start(void (*run)(void *), void *argument, const int *needs, unsigned count)
{
    struct fd_store *store = calloc(1, sizeof(*store));
    int pair[2];

    if (!store || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        free(store);
        return NULL;
    }
    pair[0] = raise_number(pair[0]);
    pair[1] = raise_number(pair[1]);
    *store = (struct fd_store){.lock = PTHREAD_MUTEX_INITIALIZER,
                               .asking = PTHREAD_MUTEX_INITIALIZER,
                               .replacing = PTHREAD_MUTEX_INITIALIZER,
                               .changed = PTHREAD_COND_INITIALIZER,
                               .run = run,
                               .argument = argument,
                               .needs = needs,
                               .need_count = count,
                               .inside = pair[1]};
    if (thread_start(&store->thread, store_run, store)) {
        close(pair[0]);
        close(pair[1]);
        free(store);
        return NULL;
    }
    pthread_mutex_lock(&store->lock);
    while (store->state == STARTING)
        pthread_cond_wait(&store->changed, &store->lock);
    pthread_mutex_unlock(&store->lock);
    close(pair[1]);
    if (store->state == RUNNING) {
        look(&store->line, pair[0]);
        pthread_detach(store->thread); /* nobody waits for its end: fd_store_end() */
        return store;
    }
    close(pair[0]);
    pthread_join(store->thread, NULL);
    vocl_log(LOG_INFO, "this system cannot protect the session's descriptors: the program must not close descriptors "
                       "that it does not know");
    free(store);
    return NULL;
}

/* ---- the other threads ---- */

/* If the program has closed fd already, stored holds none. */
static void look(struct stored_fd *stored, int fd)
{
    *stored = (struct stored_fd){.fd = -1};
    if (file_mark_get(fd, &stored->file))
        stored->fd = fd;
}

static bool still_ours(const struct stored_fd *stored)
{
    return !stored->file.inode || file_mark_fits(stored->fd, &stored->file);
}

void stored_close(struct stored_fd *stored)
{
    if (stored->fd >= 0 && still_ours(stored))
        close(stored->fd);
    stored->fd = -1;
}

/* Gives the thread a task and returns its result. That may take long, where many threads share a processor, but the
 * thread never blocks. */
static int ask(struct fd_store *store, enum task task)
{
    int error = -ESRCH;

    pthread_mutex_lock(&store->lock);
    if (!store->ended) {
        store->ended = task == TASK_END;
        store->task = task;
        pthread_cond_broadcast(&store->changed);
        while (store->task != TASK_NONE)
            pthread_cond_wait(&store->changed, &store->lock);
        error = store->error;
    }
    pthread_mutex_unlock(&store->lock);
    return error;
}

/* Makes a new line. This is the only time at which the store listens. */
static int renew_line(struct fd_store *store)
{
    int error = ask(store, TASK_LISTEN), fd;

    if (error)
        return error;
    fd = endpoint_connect(store->endpoint.text);
    error = ask(store, TASK_ACCEPT); /* also stops listening */
    if (fd < 0)
        return fd;
    look(&store->line, raise_number(fd));
    if (error)
        stored_close(&store->line);
    return error;
}

static bool line_is_there(const struct fd_store *store)
{
    return store->line.fd >= 0 && still_ours(&store->line);
}

static int have_line(struct fd_store *store)
{
    return line_is_there(store) ? 0 : renew_line(store);
}

static int ask_take(struct fd_store *store, int fd, unsigned *slot)
{
    int error;

    pthread_mutex_lock(&store->asking);
    error = have_line(store);
    if (!error)
        error = send_one(store->line.fd, fd);
    if (!error)
        error = ask(store, TASK_TAKE);
    *slot = store->slot;
    pthread_mutex_unlock(&store->asking);
    return error;
}

/* Another thread of the program may keep closing descriptors. */
static int ask_give(struct fd_store *store, unsigned slot, int *fd)
{
    int error;

    pthread_mutex_lock(&store->asking);
    error = have_line(store);
    store->slot = slot;
    if (!error)
        error = ask(store, TASK_GIVE);
    if (!error)
        error = receive_one(store->line.fd, fd);
    if (error)
        stored_close(&store->line);
    pthread_mutex_unlock(&store->asking);
    return error;
}

bool fd_store_was_needed(const struct fd_store *store)
{
    return store && store->needed;
}

void fd_store_end(struct fd_store *store)
{
    pthread_mutex_lock(&store->asking);
    ask(store, TASK_END);
    stored_close(&store->line);
    pthread_mutex_unlock(&store->asking);
}

void fd_store_forget(struct fd_store *store)
{
    if (store)
        stored_close(&store->line);
}

bool fd_store_take(struct fd_store *store, int fd)
{
    unsigned slot;

    if (ask_take(store, fd, &slot))
        return false;
    close(fd);
    return true;
}

/* Moves fd to the first free number from `from` on, if there is one. */
static int renumber(int fd, int from)
{
    const int number = fcntl(fd, F_DUPFD_CLOEXEC, from);

    if (number < 0)
        return fd;
    close(fd);
    return number;
}

/* Moves fd to a high number, which a program neither gives to a descriptor of its own nor takes for one; the numbers of
 * the standard streams are those that a program closes first. Each descriptor begins at another number, since a thread
 * may use the number that it read a moment ago, while another thread is given it for another descriptor. */
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

void stored_release(struct stored_fd *stored)
{
    struct fd_store *store = stored->store;

    stored->store = NULL;
    if (store) {
        pthread_mutex_lock(&store->asking);
        store->slot = stored->slot;
        ask(store, TASK_DROP);
        pthread_mutex_unlock(&store->asking);
    }
    stored_close(stored);
}

void stored_trust(struct stored_fd *stored, int fd)
{
    *stored = (struct stored_fd){.fd = fd};
}

void stored_hold(struct stored_fd *stored, struct fd_store *store, int fd)
{
    const long until = clock_ms() + GIVE_MS;
    unsigned slot;
    int error;

    look(stored, raise_number(fd));
    if (!store)
        return;
    do
        error = ask_take(store, stored->fd, &slot);
    while (error && stored->fd >= 0 && !line_is_there(store) && clock_ms() < until);
    if (error)
        return;
    stored->store = store;
    stored->slot = slot;
}

/* Replaces a descriptor, under its old number if that is free: see raise_number(). */
static int replace(struct stored_fd *stored)
{
    const long until = clock_ms() + GIVE_MS;
    const int number = stored->fd;
    int fd;

    do {
        if (ask_give(stored->store, stored->slot, &fd))
            continue;
        stored->fd = renumber(fd, number);
        if (!still_ours(stored))
            continue;
        stored->store->needed = true;
        vocl_log(LOG_INFO, "the program closed descriptor %d of the session: replaced by %d", number, stored->fd);
        return stored->fd;
    } while (clock_ms() < until);
    return -1;
}

int stored_fd(struct stored_fd *stored)
{
    int fd;

    if (still_ours(stored))
        return stored->fd;
    if (!stored->store)
        return -1;
    pthread_mutex_lock(&stored->store->replacing);
    fd = still_ours(stored) ? stored->fd : replace(stored);
    pthread_mutex_unlock(&stored->store->replacing);
    return fd;
}
