/*
 * A worker: one session's end on a node that has devices. One loop polls the transport, runs the executor and sends its
 * messages; it sleeps when there is nothing to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crowd.h"
#include "base/log.h"
#include "base/settings.h"
#include "proxy/worker/affinity.h"
#include "proxy/worker/worker.h"

#define NOTES_FULL (48u << 10)
#define NOTES_MOST (256u << 10) /* bytes sent at a time, unless one message is longer */

/* ---- from the transport ---- */

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct worker *worker = owner;
    int error;

    wire_trace("<-", peer, bytes, length);
    if (peer)
        return executor_run_peer(worker->executor, peer, bytes, length);
    error = executor_run(worker->executor, bytes, length);
    if (error) {
        vocl_log(LOG_ERROR, "the application broke the protocol (%s): its session ends", strerror(-error));
        worker->over = true;
        worker->status = 1;
    }
    return error;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    struct worker *worker = owner;

    if (peer && why) {
        vocl_log(LOG_INFO, "worker %u is gone: %s", peer, why);
        executor_lose(worker->executor, peer);
        return;
    }
    vocl_log(LOG_INFO, "the application is gone: %s", why ? why : "MPI has ended");
    worker->over = true;
}

static void on_joined(void *owner, unsigned peer)
{
    struct worker *worker = owner;

    executor_meet(worker->executor, peer);
}

/* ---- from the executor ---- */

/* Sends what has accumulated while the program did not read, in pieces: the program can handle each as soon as it is
 * complete. */
static void flush_notes(struct worker *worker)
{
    struct wire_buffer *notes = &worker->notes;

    while (worker->notes_sent < notes->length) {
        const uint8_t *next = notes->bytes + worker->notes_sent;
        const size_t length = wire_whole(next, notes->length - worker->notes_sent, NOTES_MOST);

        if (transport_send(worker->transport, 0, next, length) == -EAGAIN)
            break;
        wire_trace("->", 0, next, length);
        worker->notes_sent += length;
    }
    if (worker->notes_sent < notes->length / 2)
        return;
    notes->length -= worker->notes_sent;
    if (notes->length)
        memmove(notes->bytes, notes->bytes + worker->notes_sent, notes->length);
    else if (notes->capacity > (1u << 20))
        wire_buffer_free(notes);
    worker->notes_sent = 0;
}

static void host_send(void *owner, const void *command, size_t length)
{
    struct worker *worker = owner;

    if (worker->notes.length + length > NOTES_FULL)
        flush_notes(worker);
    wire_put_bytes(&worker->notes, command, length);
    if (worker->notes.failed) {
        vocl_log(LOG_ERROR, "out of memory for what is to be sent: the session ends");
        worker->over = true;
        worker->status = 1;
    }
}

static void flush_peer(struct worker *worker, unsigned peer)
{
    struct wire_buffer *buffer = &worker->peers[peer];

    if (!buffer->length || transport_send(worker->transport, peer, buffer->bytes, buffer->length) == -EAGAIN)
        return;
    wire_trace("->", peer, buffer->bytes, buffer->length);
    wire_buffer_free(buffer);
    worker->waiting--;
}

static void flush_peers(struct worker *worker)
{
    for (unsigned peer = 1; worker->waiting && peer < transport_peers(worker->transport); peer++)
        flush_peer(worker, peer);
}

static int send_peer(void *owner, unsigned peer, const void *command, size_t length)
{
    struct worker *worker = owner;
    struct wire_buffer *buffer = peer < transport_peers(worker->transport) ? &worker->peers[peer] : NULL;

    if (!buffer || !transport_peer_alive(worker->transport, peer))
        return -ECONNRESET;
    if (buffer->length + length > NOTES_FULL)
        flush_peer(worker, peer);
    worker->waiting += !buffer->length;
    wire_put_bytes(buffer, command, length);
    if (!buffer->failed)
        return 0;
    worker->waiting -= !buffer->length;
    buffer->failed = false;
    return -ENOMEM;
}

static int host_give(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length,
                     void (*done)(void *, int), void *argument)
{
    return transport_give(((struct worker *)owner)->transport, peer, tag, memory, length, done, argument);
}

static int host_take(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length, void (*done)(void *, int),
                     void *argument)
{
    return transport_take(((struct worker *)owner)->transport, peer, tag, memory, length, done, argument);
}

static void host_wake(void *owner)
{
    transport_wake(((struct worker *)owner)->transport);
}

/* ---- output of kernels and the native OpenCL goes to the application's own stdout and stderr ---- */

static int redirect(struct worker *worker)
{
    int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);

    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (log < 0 || worker->epoll < 0)
        return -errno;
    vocl_log_to(log);
    for (int stream = 0; stream < 2; stream++) {
        struct epoll_event event = {.events = EPOLLIN};
        int pipe_ends[2];

        if (pipe2(pipe_ends, O_CLOEXEC))
            return -errno;
        fcntl(pipe_ends[1], F_SETPIPE_SZ, 1 << 20);
        fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
        dup2(pipe_ends[1], stream + 1);
        close(pipe_ends[1]);
        worker->output[stream] = pipe_ends[0];
        epoll_ctl(worker->epoll, EPOLL_CTL_ADD, pipe_ends[0], &event);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    return 0;
}

static int forward_output(struct worker *worker)
{
    static char text[WIRE_MAX_INLINE];
    int count = 0;

    for (int stream = 0; stream < 2; stream++) {
        ssize_t got;

        while ((got = read(worker->output[stream], text, sizeof(text))) > 0) {
            struct wire_output m = {(uint32_t)stream + 1, text, (uint32_t)got};

            if (worker->notes.length > NOTES_FULL)
                flush_notes(worker);
            wire_put_output(&worker->notes, &m);
            count++;
        }
    }
    return count;
}

static bool output_waits(struct worker *worker)
{
    struct epoll_event event;

    return epoll_wait(worker->epoll, &event, 1, 0) > 0;
}

static void host_collect(void *owner)
{
    struct worker *worker = owner;

    if (output_waits(worker))
        forward_output(worker);
}

static void host_device(void *owner, unsigned ordinal, unsigned number, void *device)
{
    affinity_device(((struct worker *)owner)->affinity, ordinal, number, device);
}

static bool host_devices_known(void *owner)
{
    return affinity_devices_known(((struct worker *)owner)->affinity);
}

static bool host_moves(void *owner, unsigned source, unsigned target)
{
    return affinity_moves(((struct worker *)owner)->affinity, source, target);
}

static int host_move(void *owner, struct arbitration *move)
{
    return affinity_move(((struct worker *)owner)->affinity, move);
}

static void host_moved(void *owner, struct arbitration *move)
{
    affinity_moved(((struct worker *)owner)->affinity, move);
}

/* ---- the loop ---- */

static int turn(struct worker *worker, bool idle)
{
    int count = transport_poll(worker->transport), done;

    if (worker->over)
        return 0;
    done = executor_poll(worker->executor);
    if (done < 0) {
        worker->over = true;
        worker->status = 1;
        return 0;
    }
    worker->arbitrations_wait = affinity_decide(worker->affinity);
    if (idle && output_waits(worker))
        count += forward_output(worker);
    if (worker->control)
        control_look(worker, idle);
    flush_notes(worker);
    flush_peers(worker);
    return count + done;
}

static void loop(struct worker *worker)
{
    long spin = settings_number(SETTING_SPIN_US), active = clock_us(), busy = active, look, most;
    struct crowd crowd = {0, 0};

    while (!worker->over) {
        if (turn(worker, false)) {
            active = busy = clock_us();
            continue;
        }
        if ((clock_us() - active < spin && !crowd_here(&crowd)) || transport_bulk_pending(worker->transport)) {
            crowd_yield(&crowd);
            continue;
        }
        executor_check(worker->executor);
        transport_announce(worker->transport);
        if (turn(worker, true) || worker->over)
            continue;
        most = worker->control ? executor_slices(worker->executor) : 1000000;
        if (worker->notes.length || worker->waiting || worker->arbitrations_wait)
            most = 1000;
        look = executor_look_us(worker->executor, clock_us() - busy);
        if (look && most > look)
            most = look;
        transport_sleep(worker->transport, worker->epoll, most);
        active = clock_us();
    }
}

/* Blocks of data are allocated and freed all the time: keeps freed memory, whose pages exist, for the next. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

/* Takes the limits set by the daemon that started this worker. */
static void take_limits(struct executor_host *host)
{
    const char *devices = getenv("VOCL_WORKER_DEVICES"), *memory = getenv("VOCL_WORKER_MEMORY"),
               *scrub = getenv("VOCL_WORKER_SCRUB");

    for (const char *at = devices; at && *at; at += strcspn(at, ","), at += *at == ',')
        host->devices |= 1ull << (strtoul(at, NULL, 10) & 63);
    host->memory = memory ? strtoull(memory, NULL, 10) : 0;
    if (scrub && strcmp(scrub, "none"))
        host->scrub = strcmp(scrub, "all") ? EXECUTOR_SCRUB_OWN : EXECUTOR_SCRUB_ALL;
}

int worker_run(void)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    const struct transport_callbacks callbacks = {
        .owner = worker, .frame = on_frame, .lost = on_lost, .joined = on_joined};
    struct executor_host host = {.owner = worker,
                                 .send = host_send,
                                 .send_peer = send_peer,
                                 .give = host_give,
                                 .take = host_take,
                                 .collect = host_collect,
                                 .device = host_device,
                                 .devices_known = host_devices_known,
                                 .moves = host_moves,
                                 .move = host_move,
                                 .moved = host_moved,
                                 .wake = host_wake};
    char why[512] = "";
    int error;

    if (!worker)
        return 1;
    keep_memory();
    setenv("VOCL_WORKER", "1", 1); /* if an ICD loader loads libvocl here, it offers no devices */
    error = transport_open_worker(&callbacks, why, sizeof(why), &worker->transport);
    if (error) {
        fprintf(stderr, "vocl-proxy: %s\n", *why ? why : strerror(-error));
        return 1;
    }
    worker->peers = calloc(transport_most_peers(worker->transport), sizeof(*worker->peers));
    worker->affinity = affinity_new();
    if (!worker->peers || !worker->affinity)
        return 1;
    host.zero_copy = settings_number(SETTING_ZERO_COPY) != 0;
    host.may_come_again = *settings_string(SETTING_RECOVER) != '\0';
    host.pipeline = settings_pipeline();
    host.members = transport_peers(worker->transport);
    host.own = transport_rank(worker->transport);
    take_limits(&host);
    if (getenv("VOCL_WORKER_CONTROL"))
        host.slice = control_slice;
    error = redirect(worker);
    if (!error)
        error = executor_open(&host, &worker->executor);
    if (error) {
        vocl_log(LOG_ERROR, "starting: %s", strerror(-error));
        return 1;
    }
    control_open(worker);
    loop(worker);
    control_close(worker);
    transport_close(worker->transport);
    /* Native OpenCL and MPI are not torn down: either could hang, and the kernel releases everything. */
    _exit(worker->status);
}
