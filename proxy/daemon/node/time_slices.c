/*
 * Devices that several sessions share. One session at a time has a time slice of a device; next is, among those that
 * want one, the session with the least time so far, divided by its weight. The time is measured here: from the slice's
 * beginning until the worker reports that none of its commands run. While only one session uses a device, its worker
 * need not ask.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxy/control.h"
#include "proxy/daemon/node/internal.h"

#define SLICE_MS 20
#define CREDIT_US 50000   /* that a session which was idle is ahead of others, at most */
#define REST_MS 200       /* before accepting again if there are no descriptors */
#define MOST_LAUNCHES 1e7 /* per second */
#define MOST_BYTES 1e12
#define DEAF_MS 2000 /* after which a worker that does not return its slice loses it */

struct control {
    struct daemon *daemon;
    struct session *session; /* NULL until the process is known to be a session's worker */
    int fd;
    struct event *readable;
};

static void grant_next(struct daemon *d, unsigned device);

static void tell(struct session *s, enum control_kind kind, unsigned device, uint64_t value)
{
    struct control_message message = {.kind = kind, .device = device, .values = {value}};
    unsigned ordinal;

    if (!s->control || !session_uses(s, device, &ordinal))
        return;
    message.device = ordinal;
    if (send(s->control->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN)
        daemon_log("warning", "the worker of session %s does not read its control connection", s->id);
}

static unsigned users(const struct daemon *d, unsigned device)
{
    unsigned count = 0;

    for (const struct session *s = d->sessions; s; s = s->next)
        count += s->state == SESSION_RUNNING && session_uses(s, device, NULL);
    return count;
}

/* ---- slices ---- */

/* Charges the time of the slice so far to its session. */
static void charge(struct device *device)
{
    long now = clock_us();
    struct session *s = device->runs;
    unsigned ordinal;

    if (!s || !session_uses(s, device->index, &ordinal))
        return;
    device->busy_us += now - device->since_us;
    s->passed[ordinal] += (double)(now - device->since_us) * 100 / s->share;
    s->usage.device_ns += (uint64_t)(now - device->since_us) * 1000;
    s->daemon->totals.device_seconds += (double)(now - device->since_us) / 1e6;
    device->since_us = now;
}

static void end_slice(struct daemon *d, unsigned device)
{
    charge(&d->devices[device]);
    d->devices[device].runs = NULL;
    d->devices[device].recalled = false;
    timer_stop(&d->devices[device].slice);
}

/* Whether a session waits that has had less time. */
static bool others_are_behind(const struct daemon *d, unsigned device, const struct session *runs)
{
    unsigned ordinal, own;

    if (!session_uses(runs, device, &own))
        return true;
    for (const struct session *s = d->sessions; s; s = s->next) {
        if (s != runs && s->control && session_uses(s, device, &ordinal) && s->wants[ordinal] &&
            s->passed[ordinal] <= runs->passed[own])
            return true;
    }
    return false;
}

static void slice_over(void *argument)
{
    struct device *device = argument;
    struct session *s = device->runs;

    if (!s)
        return;
    if (device->recalled) {
        daemon_log("warning", "session %s does not give back its time slice", s->id);
        end_slice(s->daemon, device->index);
        grant_next(s->daemon, device->index);
        return;
    }
    charge(device);
    if (!others_are_behind(s->daemon, device->index, s)) {
        timer_set(&device->slice, s->daemon, slice_over, device, SLICE_MS);
        return;
    }
    device->recalled = true;
    tell(s, CONTROL_RECALL, device->index, 0);
    timer_set(&device->slice, s->daemon, slice_over, device, DEAF_MS);
}

static void grant(struct session *s, struct device *device)
{
    unsigned ordinal;

    if (!session_uses(s, device->index, &ordinal))
        return;
    s->wants[ordinal] = false;
    device->runs = s;
    device->since_us = clock_us();
    device->recalled = false;
    if (s->passed[ordinal] > device->least)
        device->least = s->passed[ordinal];
    tell(s, CONTROL_TURN, device->index, 0);
    timer_set(&device->slice, s->daemon, slice_over, device, SLICE_MS);
}

static void grant_next(struct daemon *d, unsigned index)
{
    struct device *device = &d->devices[index];
    struct session *next = NULL;
    double least = 0;
    unsigned ordinal;

    if (device->runs)
        return;
    for (struct session *s = d->sessions; s; s = s->next) {
        if (!s->control || !session_uses(s, index, &ordinal) || !s->wants[ordinal])
            continue;
        if (next && s->passed[ordinal] >= least)
            continue;
        next = s;
        least = s->passed[ordinal];
    }
    if (next)
        grant(next, device);
}

static void want(struct session *s, unsigned index)
{
    struct device *device = &s->daemon->devices[index];
    unsigned ordinal;

    if (!session_uses(s, index, &ordinal) || s->wants[ordinal] || device->runs == s)
        return;
    s->wants[ordinal] = true;
    if (s->passed[ordinal] < device->least - CREDIT_US)
        s->passed[ordinal] = device->least - CREDIT_US;
    if (!device->runs)
        grant_next(s->daemon, index);
}

static void done(struct session *s, unsigned index, bool wants_more)
{
    unsigned ordinal;

    if (session_uses(s, index, &ordinal))
        s->wants[ordinal] = wants_more;
    if (s->daemon->devices[index].runs == s)
        end_slice(s->daemon, index);
    grant_next(s->daemon, index);
}

void share_review(struct daemon *d, unsigned index)
{
    struct device *device = &d->devices[index];
    const bool shared = users(d, index) > 1;
    unsigned ordinal;

    for (struct session *s = d->sessions; s; s = s->next) {
        if (s->state != SESSION_RUNNING || !session_uses(s, index, &ordinal))
            continue;
        if (!shared && device->runs == s)
            end_slice(d, index);
        tell(s, shared ? CONTROL_ASK : CONTROL_FREE, index, 0);
        if (shared && !s->passed[ordinal])
            s->passed[ordinal] = device->least;
        if (!shared)
            s->wants[ordinal] = false;
    }
    if (shared)
        grant_next(d, index);
}

double device_load(struct device *device)
{
    const long now = clock_us(), passed = now - device->load_from_us;

    if (device->runs)
        charge(device);
    if (passed > 1000000) {
        device->load = (double)(device->busy_us - device->load_busy_us) / (double)passed;
        device->load_from_us = now;
        device->load_busy_us = device->busy_us;
    }
    return device->load;
}

/* ---- control connections ---- */

static void control_free(struct control *control)
{
    event_free(control->readable);
    close(control->fd);
    free(control);
}

void share_leave(struct session *s)
{
    if (s->control)
        control_free(s->control);
    s->control = NULL;
    for (unsigned i = 0; i < s->device_count; i++) {
        s->wants[i] = false;
        done(s, s->devices[i], false);
    }
}

/* A worker's kernels can make it report anything, so what is impossible since its start, or with its limits, does not
 * count. */
static void believe(uint64_t *own, uint64_t *total, uint64_t told, double most)
{
    const uint64_t now = (double)told > most ? (uint64_t)most : told;

    if (now <= *own)
        return;
    *total += now - *own;
    *own = now;
}

/* Returns the most memory it can have of all its devices. */
static uint64_t memory_at_most(const struct session *s)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < s->device_count; i++)
        most += s->memory ? s->memory : s->daemon->devices[s->devices[i]].memory;
    return most;
}

static void take_used(struct session *s, const uint64_t *values)
{
    const double seconds = wall_seconds() - s->began + 1; /* in case the clock was set */
    const double left_us = seconds * 1e6 * s->device_count - (double)s->usage.device_ns / 1e3;
    const double told_us = (double)values[4], us = told_us < left_us ? told_us : left_us > 0 ? left_us : 0;
    const uint64_t most = memory_at_most(s);
    struct daemon *d = s->daemon;

    s->active_ms = clock_ms();
    if (seconds > 0) {
        believe(&s->usage.launches, &d->totals.launches, values[0], seconds * MOST_LAUNCHES);
        believe(&s->usage.bytes_in, &d->totals.bytes_in, values[1], seconds * MOST_BYTES);
        believe(&s->usage.bytes_out, &d->totals.bytes_out, values[2], seconds * MOST_BYTES);
    }
    s->usage.memory = values[3] < most ? values[3] : most;
    s->usage.device_ns += (uint64_t)(us * 1e3);
    d->totals.device_seconds += us / 1e6;
    for (unsigned i = 0; i < s->device_count; i++)
        d->devices[s->devices[i]].busy_us += (long)(us / s->device_count);
}

static void take(struct session *s, const struct control_message *message)
{
    if (message->kind == CONTROL_USED) {
        take_used(s, message->values);
        return;
    }
    if (message->device >= s->device_count)
        return;
    if (message->kind == CONTROL_WANT)
        want(s, s->devices[message->device]);
    else if (message->kind == CONTROL_DONE)
        done(s, s->devices[message->device], message->values[0]);
}

static void on_control(evutil_socket_t fd, short what, void *argument)
{
    struct control *control = argument;
    struct control_message message;
    struct session *s = control->session;
    ssize_t got = recv(fd, &message, sizeof(message), MSG_DONTWAIT);

    (void)what;
    if (got == sizeof(message) && s) {
        take(s, &message);
    } else if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
        if (s) {
            s->control = NULL;
            for (unsigned i = 0; i < s->device_count; i++)
                done(s, s->devices[i], false);
        }
        control_free(control);
    }
}

static struct session *session_of_process(struct daemon *d, pid_t pid)
{
    struct session *s = d->sessions;

    while (s && (s->pid != pid || s->state == SESSION_RESERVED))
        s = s->next;
    return s;
}

static void review_starts(struct daemon *d)
{
    struct session *next;

    for (struct session *s = d->sessions; s; s = next) {
        next = s->next;
        worker_start_review(s);
    }
}

static void listen_again(void *argument)
{
    struct daemon *d = argument;

    event_add(d->control_listener, NULL);
}

static void on_worker(evutil_socket_t listener, short what, void *argument)
{
    static struct timer rest;
    struct daemon *d = argument;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred who;
    socklen_t length = sizeof(who);
    struct session *s = NULL;
    struct control *control;

    (void)what;
    if (fd < 0) {
        daemon_log("warning", "accepting a worker: %s", strerror(errno));
        event_del(d->control_listener); /* the socket would be ready again at once */
        timer_set(&rest, d, listen_again, d, REST_MS);
        return;
    }
    if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length)) {
        review_starts(d); /* the worker may connect before the report of its start is read */
        s = session_of_process(d, who.pid);
    }
    control = s && !s->control ? calloc(1, sizeof(*control)) : NULL;
    if (!control) {
        daemon_log("warning", "refused a process that is not a worker of a session");
        close(fd);
        return;
    }
    *control = (struct control){d, s, fd, event_new(d->base, fd, EV_READ | EV_PERSIST, on_control, control)};
    event_add(control->readable, NULL);
    s->control = control;
    for (unsigned i = 0; i < s->device_count; i++)
        share_review(d, s->devices[i]);
}

int share_listen(struct daemon *d, char *why, size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char path[4096];

    state_path(d, "control", path, sizeof(path));
    if (strlen(path) >= sizeof(address.sun_path)) {
        snprintf(why, why_size, "%s is too long a name for a socket", path);
        return -ENAMETOOLONG;
    }
    strcpy(address.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) || listen(fd, 64)) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return -errno;
    }
    d->control_listener = event_new(d->base, fd, EV_READ | EV_PERSIST, on_worker, d);
    event_add(d->control_listener, NULL);
    for (unsigned i = 0; i < d->device_count; i++)
        d->devices[i].load_from_us = clock_us();
    return 0;
}
