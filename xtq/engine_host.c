/*
 * The command processor: takes packets from the lanes of one queue, rewrites them, runs functions and launches kernels.
 * Kernels end in any order, but the memory of a lane is released in order.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xtq/internal.h"

#define FLIGHTS 64  /* pending kernels of one lane ("flights") */
#define LOOKED_AT 4 /* kernels of a lane that are polled each time: mostly they end in order */
#define BATCH 32    /* packets of one lane before the next lane is served */

struct lane;

struct flight {
    struct lane *lane;
    struct table_entry *entry;
    struct xtq_signal *signal;
    uint64_t end;
    struct launch *launch; /* of a kernel; changed by the thread that polls, under the lane's lock */
    uint64_t since;        /* if not 0, when it began, for the trace: */
    struct timeline_message message;
    _Atomic bool done;
};

struct lane {
    struct host_queue *queue;
    struct ring ring;
    uint64_t next; /* position of the packet to look at */
    struct lock retiring;
    _Atomic unsigned first; /* first pending flight; modulo FLIGHTS */
    unsigned last;
    _Atomic bool stalled; /* waits for a flight to end */
    struct flight flights[FLIGHTS];
};

struct host_queue {
    struct host_queue *following;
    struct server server;
    unsigned index;
    struct launcher *launcher; /* NULL: functions only */
    _Atomic unsigned flying;
    struct lane *lanes; /* by initiator */
};

/* ---- the end of a task ---- */

static void retire(struct lane *lane)
{
    uint64_t tail = 0;

    lock_hold(&lane->retiring);
    while (lane->first != lane->last && atomic_load(&lane->flights[lane->first % FLIGHTS].done))
        tail = lane->flights[lane->first++ % FLIGHTS].end;
    if (tail)
        ring_retire(&lane->ring, tail);
    lock_release(&lane->retiring);
}

static bool is_full(const struct lane *lane)
{
    return lane->last - atomic_load(&lane->first) == FLIGHTS;
}

static bool nothing_flies(struct lane *lane)
{
    bool none;

    lock_hold(&lane->retiring);
    none = lane->first == lane->last;
    lock_release(&lane->retiring);
    return none;
}

/* Ends a task: signals completion; the caller then releases its place in the lane, and wakes waiting threads. The entry
 * is released last, since the signal may be freed after that. */
static void task_end(struct lane *lane, struct table_entry *entry, struct xtq_signal *signal, int error)
{
    if (error)
        context_refuse(lane->queue->server.x, &lane->ring, error);
    if (signal)
        xtq_signal_add(signal, -1);
    table_release(entry);
}

static void flight_end(void *argument, int error)
{
    struct flight *flight = argument;
    struct lane *lane = flight->lane;
    struct host_queue *queue = lane->queue;
    struct xtq *x = queue->server.x;

    timeline_of_task(x, flight->since, (int)(lane - queue->lanes), &flight->message, flight->signal, error);
    task_end(lane, flight->entry, flight->signal, error);
    atomic_store(&flight->done, true);
    retire(lane);
    if (atomic_exchange(&lane->stalled, false))
        region_wake(&x->region, (unsigned)x->rank, queue->index, false);
    context_tick(x);
    atomic_fetch_sub(&queue->flying, 1); /* the queue may be closed from here on */
}

/* Releases the launch of the flight that used this slot before. Called under the lane's lock. */
static void flight_clear(struct flight *flight)
{
    launch_release(flight->launch);
    flight->launch = NULL;
}

/* Releases the place of a task that has ended, or never began, after earlier tasks of the lane. */
static void end_in_turn(struct lane *lane, uint64_t end)
{
    lock_hold(&lane->retiring);
    if (lane->first == lane->last) {
        ring_retire(&lane->ring, end);
    } else {
        struct flight *flight = &lane->flights[lane->last++ % FLIGHTS];

        flight_clear(flight);
        flight->end = end;
        atomic_store(&flight->done, true);
    }
    lock_release(&lane->retiring);
}

/* Releases the launch of a flight that has ended, so that OpenCL can reuse its memory for the next. */
static void flight_forget(struct flight *flight)
{
    struct launch *launch;

    lock_hold(&flight->lane->retiring);
    launch = flight->launch;
    flight->launch = NULL;
    lock_release(&flight->lane->retiring);
    launch_release(launch);
}

/* Polls the first pending kernels of a lane. Returns how many have ended. */
static int lane_look(struct lane *lane)
{
    unsigned under_way = 0;
    int count = 0;

    for (unsigned i = atomic_load(&lane->first); i != lane->last && under_way < LOOKED_AT; i++) {
        struct flight *flight = &lane->flights[i % FLIGHTS];

        if (atomic_load(&flight->done))
            continue;
        if (!launch_poll(flight->launch)) {
            under_way++;
            continue;
        }
        flight_forget(flight);
        count++;
    }
    return count;
}

static void lane_settle(struct lane *lane)
{
    for (unsigned i = 0; i < FLIGHTS; i++) {
        struct launch *launch;

        lock_hold(&lane->retiring);
        launch = atomic_load(&lane->flights[i].done) ? NULL : lane->flights[i].launch;
        if (launch)
            launch_keep(launch);
        lock_release(&lane->retiring);
        if (launch)
            launch_watch(launch);
        launch_release(launch);
    }
}

static void queue_settle(void *argument)
{
    struct host_queue *queue = argument;

    for (int initiator = 0; initiator < queue->server.x->size && atomic_load(&queue->flying); initiator++)
        lane_settle(&queue->lanes[initiator]);
}

void host_queues_settle(struct xtq *x)
{
    for (unsigned i = 0; i < x->queues; i++) {
        struct host_queue *queue = atomic_load(&x->queue_slots[i].host);

        if (queue)
            queue_settle(queue);
    }
}

/* ---- one packet ---- */

/* Launches a kernel. Returns 1, or a negative errno. */
static int fly(struct lane *lane, const struct rewritten *task, const struct ring_message *message, uint64_t since,
               const struct timeline_message *written)
{
    struct flight *flight = &lane->flights[lane->last % FLIGHTS];
    struct host_queue *queue = lane->queue;
    struct launch *launch = NULL;
    int error;

    if (!queue->launcher) {
        table_release(task->entry);
        return -ENOTSUP;
    }
    flight->lane = lane;
    flight->entry = task->entry;
    flight->signal = task->signal;
    flight->end = message->end;
    flight->since = since;
    flight->message = *written;
    atomic_fetch_add(&queue->flying, 1);
    lock_hold(&lane->retiring);
    flight_clear(flight);
    atomic_store(&flight->done, false);
    lane->last++;
    lock_release(&lane->retiring);
    error = launcher_start(queue->launcher, task, &message->packet.kernel, flight_end, flight, &launch);
    if (error)
        flight_end(flight, error);
    lock_hold(&lane->retiring);
    flight->launch = launch;
    lock_release(&lane->retiring);
    return 1;
}

static int run(struct lane *lane, struct ring_message *message)
{
    struct xtq *x = lane->queue->server.x;
    int initiator = (int)(lane - lane->queue->lanes);
    const uint64_t since = timeline_since();
    struct timeline_message written = timeline_of_packet(&message->packet);
    struct rewritten task;
    int error = rewrite(x, initiator, message, &task);

    if (error)
        return error;
    written.end = message->end;
    written.bytes = message->argument_bytes + message->payload_bytes;
    if (task.kernel)
        return fly(lane, &task, message, since, &written);
    error = task.function->function(&task.task, task.function->argument);
    timeline_of_task(x, since, initiator, &written, task.signal, error);
    task_end(lane, task.entry, task.signal, error);
    end_in_turn(lane, message->end);
    context_tick(x);
    return 1;
}

/* Takes the next packet of a lane. Returns the number of packets taken: 0 or 1. */
static int lane_step(struct lane *lane)
{
    struct ring_message message;
    int found, error;

    if (ring_broken(&lane->ring) || is_full(lane))
        return 0;
    found = ring_next(&lane->ring, lane->next, &message);
    if (found <= 0) {
        if (found) {
            vocl_log(LOG_WARN, "xtq: rank %d sent an invalid message; its lane is closed",
                     (int)(lane - lane->queue->lanes));
            context_refuse(lane->queue->server.x, &lane->ring, found);
            ring_break(&lane->ring);
        }
        return 0;
    }
    if (message.packet.header & XTQ_BARRIER && !nothing_flies(lane)) {
        atomic_store(&lane->stalled, true);
        if (!nothing_flies(lane))
            return 0;
    }
    lane->next = message.end;
    context_received(lane->queue->server.x);
    error = (message.packet.header & 0xff) == XTQ_PAD ? 0 : run(lane, &message);
    if (error <= 0) {
        if (error)
            context_refuse(lane->queue->server.x, &lane->ring, error);
        end_in_turn(lane, message.end);
    }
    return 1;
}

static int queue_poll(void *argument)
{
    struct host_queue *queue = argument;
    int count = 0;

    for (int initiator = 0; initiator < queue->server.x->size; initiator++) {
        struct lane *lane = &queue->lanes[initiator];

        for (int i = 0; i < BATCH && lane_step(lane); i++)
            count++;
        count += lane_look(lane); /* a short kernel has ended when the call that launches it returns */
        if (is_full(lane)) {
            atomic_store(&lane->stalled, true);
            count += !is_full(lane); /* a flight ended in between, and did not see stalled */
        }
    }
    return count;
}

int refuse_lane(struct xtq *x, unsigned queue, unsigned initiator, int error)
{
    struct ring ring = region_lane(&x->region, (unsigned)x->rank, queue, initiator);
    struct ring_message message;
    int found, count = 0;

    while (!ring_broken(&ring) && (found = ring_next(&ring, atomic_load(&ring.credit->tail), &message)) != 0) {
        if (found < 0) {
            context_refuse(x, &ring, found);
            ring_break(&ring);
            break;
        }
        if ((message.packet.header & 0xff) != XTQ_PAD)
            context_refuse(x, &ring, error);
        ring_retire(&ring, message.end);
        count++;
    }
    return count;
}

int refuse_unserved(void *argument)
{
    struct xtq *x = argument;
    int count = 0;

    for (unsigned queue = 0; queue < x->queues; queue++) {
        for (unsigned i = 0; i < (unsigned)x->size && atomic_load(&x->unserved[queue]); i++)
            count += refuse_lane(x, queue, i, -ENOENT);
    }
    return count;
}

/* ---- open and close ---- */

struct server *host_queue_server(struct host_queue *queue)
{
    return &queue->server;
}

int host_queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry, struct host_queue **out)
{
    struct host_queue *queue = calloc(1, sizeof(*queue));
    int error;

    if (!queue)
        return -ENOMEM;
    queue->index = index;
    queue->lanes = calloc((size_t)x->size, sizeof(*queue->lanes));
    error = queue->lanes ? 0 : -ENOMEM;
    if (!error && entry->commands)
        error = launcher_open(entry->commands, &queue->launcher);
    for (int initiator = 0; initiator < x->size && !error; initiator++) {
        struct lane *lane = &queue->lanes[initiator];

        lane->queue = queue;
        lane->ring = region_lane(&x->region, (unsigned)x->rank, index, (unsigned)initiator);
        lane->next = atomic_load(&lane->ring.credit->tail);
    }
    if (!error) {
        queue->server =
            (struct server){.x = x, .number = index, .poll = queue_poll, .settle = queue_settle, .argument = queue};
        error = server_open(&queue->server, entry->manual);
    }
    if (error) {
        host_queue_free(queue);
        return error;
    }
    *out = queue;
    return 0;
}

void host_queue_stop(struct host_queue *queue)
{
    struct xtq *x = queue->server.x;

    server_close(&queue->server);
    queue_settle(queue);
    while (atomic_load(&queue->flying))
        sched_yield();
    queue->following = x->stopped;
    x->stopped = queue;
}

void host_queue_free(struct host_queue *queue)
{
    while (queue) {
        struct host_queue *following = queue->following;

        for (int i = 0; queue->lanes && queue->server.x && i < queue->server.x->size * FLIGHTS; i++)
            flight_clear(&queue->lanes[i / FLIGHTS].flights[i % FLIGHTS]);
        if (queue->launcher)
            launcher_close(queue->launcher);
        free(queue->lanes);
        free(queue);
        queue = following;
    }
}
