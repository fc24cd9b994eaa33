/* The worker's end of its control connection: see control.h. Only workers that a daemon started have one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proxy/control.h"
#include "proxy/worker/worker.h"

#define RETRY_US 1000000
#define REPORT_US 1000000
#define LOOK_US 100 /* interval while there is other work */

struct control {
    const char *path;
    int fd, epoll;
    long tried_us, reported_us, looked_us;
    struct executor *executor;
    struct transport *transport;
    uint64_t last[4];
};

static void lose(struct control *control)
{
    if (control->fd >= 0)
        close(control->fd);
    control->fd = -1;
    /* without a daemon no other worker gets time slices */
    for (unsigned ordinal = 0; ordinal < 64; ordinal++)
        executor_slice(control->executor, ordinal, SLICE_FREE);
}

static void say(struct control *control, const struct control_message *message)
{
    if (control->fd >= 0 && send(control->fd, message, sizeof(*message), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno != EAGAIN)
        lose(control);
}

void control_slice(void *owner, unsigned ordinal, enum slice_note note)
{
    const struct control_message message = {.kind = note == SLICE_WANTED ? CONTROL_WANT : CONTROL_DONE,
                                            .device = ordinal,
                                            .values = {note == SLICE_YIELDED}};

    say(((struct worker *)owner)->control, &message);
}

static void connect_to_daemon(struct control *control)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct epoll_event event = {.events = EPOLLIN};

    control->tried_us = clock_us();
    strncpy(address.sun_path, control->path, sizeof(address.sun_path) - 1);
    control->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (control->fd < 0)
        return;
    if (connect(control->fd, (struct sockaddr *)&address, sizeof(address)) ||
        epoll_ctl(control->epoll, EPOLL_CTL_ADD, control->fd, &event)) {
        close(control->fd);
        control->fd = -1;
    }
}

void control_open(struct worker *worker)
{
    const char *path = getenv("VOCL_WORKER_CONTROL");
    struct control *control = path ? calloc(1, sizeof(*control)) : NULL;

    if (path && !control)
        vocl_log(LOG_ERROR, "no memory for the connection to the daemon");
    if (!control)
        return;
    control->path = path;
    control->epoll = worker->epoll;
    control->executor = worker->executor;
    control->transport = worker->transport;
    worker->control = control;
    connect_to_daemon(control);
}

static void hear(struct control *control)
{
    static const enum slice_note notes[] = {[CONTROL_FREE] = SLICE_FREE,
                                            [CONTROL_ASK] = SLICE_ASK,
                                            [CONTROL_TURN] = SLICE_YOURS,
                                            [CONTROL_RECALL] = SLICE_RECALLED};
    struct control_message message;
    ssize_t got;

    while ((got = recv(control->fd, &message, sizeof(message), MSG_DONTWAIT)) == sizeof(message)) {
        if (message.kind >= CONTROL_FREE && message.kind <= CONTROL_RECALL)
            executor_slice(control->executor, message.device, notes[message.kind]);
        if (control->fd < 0)
            return;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        lose(control);
}

static void report(struct control *control)
{
    struct control_message message = {.kind = CONTROL_USED};
    struct executor_usage usage;

    executor_usage(control->executor, &usage);
    message.values[0] = usage.launches;
    transport_bytes(control->transport, &message.values[1], &message.values[2]);
    message.values[3] = usage.memory;
    message.values[4] = usage.busy_us;
    if (usage.busy_us || memcmp(message.values, control->last, sizeof(control->last)))
        say(control, &message);
    memcpy(control->last, message.values, sizeof(control->last));
}

void control_look(struct worker *worker, bool idle)
{
    struct control *control = worker->control;
    const long now = clock_us();

    if (!idle && now - control->looked_us < LOOK_US)
        return;
    control->looked_us = now;
    if (control->fd < 0 && now - control->tried_us > RETRY_US)
        connect_to_daemon(control);
    if (control->fd >= 0)
        hear(control);
    if (control->fd >= 0 && now - control->reported_us > REPORT_US) {
        control->reported_us = now;
        report(control);
    }
}

void control_close(struct worker *worker)
{
    if (worker->control && worker->control->fd >= 0)
        report(worker->control);
}
