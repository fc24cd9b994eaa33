/* The worker's end of its leash: see leash.h. A worker that no daemon started has none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proxy/leash.h"
#include "proxy/worker/worker.h"

#define RETRY_US 1000000
#define REPORT_US 1000000
#define LOOK_US 100 /* while there is other work */

struct leash {
    const char *path;
    int fd, epoll;
    long tried_us, reported_us, looked_us;
    struct executor *executor;
    struct transport *transport;
    uint64_t last[4];
};

static void lose(struct leash *leash)
{
    if (leash->fd >= 0)
        close(leash->fd);
    leash->fd = -1;
    /* without a daemon there is nobody to share with */
    for (unsigned place = 0; place < 64; place++)
        executor_turn(leash->executor, place, TURN_FREE);
}

static void say(struct leash *leash, const struct leash_message *message)
{
    if (leash->fd >= 0 && send(leash->fd, message, sizeof(*message), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno != EAGAIN)
        lose(leash);
}

void leash_turn(void *owner, unsigned place, enum turn_note note)
{
    const struct leash_message message = {
        .kind = note == TURN_WANTED ? LEASH_WANT : LEASH_DONE, .device = place, .values = {note == TURN_YIELDED}};

    say(((struct worker *)owner)->leash, &message);
}

static void connect_to_daemon(struct leash *leash)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct epoll_event event = {.events = EPOLLIN};

    leash->tried_us = clock_us();
    strncpy(address.sun_path, leash->path, sizeof(address.sun_path) - 1);
    leash->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (leash->fd < 0)
        return;
    if (connect(leash->fd, (struct sockaddr *)&address, sizeof(address)) ||
        epoll_ctl(leash->epoll, EPOLL_CTL_ADD, leash->fd, &event)) {
        close(leash->fd);
        leash->fd = -1;
    }
}

void leash_open(struct worker *worker)
{
    const char *path = getenv("VOCL_WORKER_LEASH");
    struct leash *leash = path ? calloc(1, sizeof(*leash)) : NULL;

    if (!leash)
        return;
    leash->path = path;
    leash->epoll = worker->epoll;
    leash->executor = worker->executor;
    leash->transport = worker->transport;
    worker->leash = leash;
    connect_to_daemon(leash);
}

static void hear(struct leash *leash)
{
    static const enum turn_note notes[] = {
        [LEASH_FREE] = TURN_FREE, [LEASH_ASK] = TURN_ASK, [LEASH_TURN] = TURN_YOURS, [LEASH_RECALL] = TURN_RECALLED};
    struct leash_message message;
    ssize_t got;

    while ((got = recv(leash->fd, &message, sizeof(message), MSG_DONTWAIT)) == sizeof(message)) {
        if (message.kind >= LEASH_FREE && message.kind <= LEASH_RECALL)
            executor_turn(leash->executor, message.device, notes[message.kind]);
        if (leash->fd < 0)
            return;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        lose(leash);
}

static void report(struct leash *leash)
{
    struct leash_message message = {.kind = LEASH_USED};
    struct executor_usage usage;

    executor_usage(leash->executor, &usage);
    message.values[0] = usage.launches;
    transport_bytes(leash->transport, &message.values[1], &message.values[2]);
    message.values[3] = usage.memory;
    message.values[4] = usage.busy_us;
    if (usage.busy_us || memcmp(message.values, leash->last, sizeof(leash->last)))
        say(leash, &message);
    memcpy(leash->last, message.values, sizeof(leash->last));
}

void leash_look(struct worker *worker, bool idle)
{
    struct leash *leash = worker->leash;
    const long now = clock_us();

    if (!idle && now - leash->looked_us < LOOK_US)
        return;
    leash->looked_us = now;
    if (leash->fd < 0 && now - leash->tried_us > RETRY_US)
        connect_to_daemon(leash);
    if (leash->fd >= 0)
        hear(leash);
    if (leash->fd >= 0 && now - leash->reported_us > REPORT_US) {
        leash->reported_us = now;
        report(leash);
    }
}

void leash_close(struct worker *worker)
{
    if (worker->leash && worker->leash->fd >= 0)
        report(worker->leash);
}
