/*
 * Devices of this process: an executor in it, opened as a plugin, is the session's local member. It does what a worker
 * does on another node, on the thread that enqueues, under the session's lock.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plugin.h"
#include "base/settings.h"
#include "base/thread.h"
#include "executor/plugin.h"
#include "client/core/session.h"
#include "client/core/stream.h"

#define OFTEN 64

static struct {
    const struct executor_plugin *plugin;
    struct session *session;
    pid_t process; /* a child has the driver's memory, and none of its threads */
    struct transport *transport;
    struct executor *executor;
    unsigned frames;           /* frames handled so far */
    struct wire_buffer *peers; /* by number: what is still to be sent to each worker */
    unsigned peer_count;
} local;

static _Thread_local struct {
    bool runs;    /* it has run a frame, so settle() comes before the driver's own handlers of its end */
    bool settled; /* settle() has been called: the thread ends */
} thread;

/* Sends what waits for workers. What the transport does not take now is sent at the next poll. */
static void flush_peers(void)
{
    for (unsigned peer = 1; peer < local.peer_count; peer++) {
        struct wire_buffer *buffer = &local.peers[peer];

        if (buffer->length && transport_local_send(local.transport, peer, buffer->bytes, buffer->length) != -EAGAIN)
            wire_buffer_free(buffer);
    }
}

/* ---- when the process ends ---- */

/* Stops the executor, the first time that it is called: by the next time the driver may be down. */
static void stop(void)
{
    static atomic_flag stopped = ATOMIC_FLAG_INIT;

    if (local.process != getpid() || atomic_flag_test_and_set(&stopped))
        return;
    session_lock(local.session);
    local.plugin->stop(local.executor);
    session_unlock(local.session);
}

/* Exit handlers run in reverse order, and a driver registers its own when it is loaded, when it compiles for the first
 * time, and maybe later. So stop() is registered again and again, though ever more seldom. */
static void stop_at_exit(void)
{
    if (++local.frames <= OFTEN || !(local.frames & (local.frames - 1)))
        atexit(stop);
}

/* Carries out what the program has enqueued, which natively would be done by now, before anything is taken down: stop()
 * cannot wait for a driver that is still creating a context. */
static void settle(void *unused)
{
    struct node *node = session_node(local.session, session_node_count(local.session) - 1);
    struct wire_list_platforms m = {0};
    struct wire_list_platforms_reply reply;
    struct call call;
    bool over;

    (void)unused;
    if (thread.settled || local.process != getpid())
        return; /* what the driver keeps for this thread may be gone */
    thread.settled = true;
    session_lock(local.session);
    over = session_stops(local.session); /* this is one of the session's own threads */
    session_unlock(local.session);
    if (!over && node->in_process && !call_list_platforms(node, &m, &reply, &call))
        call_free(&call);
}

/* Handlers of a thread's end run in reverse order. After the thread's first frame the driver has registered its own, so
 * that what it keeps for the thread still exists when settle() is called. */
static void settle_at_end(void)
{
    if (thread.runs)
        return;
    thread.runs = true;
    thread_at_end(settle, NULL);
}

/* ---- from the transport ---- */

static int frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    int error;

    (void)owner;
    error = peer ? local.plugin->run_peer(local.executor, peer, bytes, length)
                 : local.plugin->run(local.executor, bytes, length);
    flush_peers();
    stop_at_exit();
    settle_at_end();
    return error;
}

static void joined(void *owner, unsigned peer)
{
    (void)owner;
    if (peer < local.peer_count)
        wire_buffer_free(&local.peers[peer]); /* it was for the previous peer of that number */
    local.plugin->meet(local.executor, peer);
}

static void lost(void *owner, unsigned peer)
{
    (void)owner;
    local.plugin->lose(local.executor, peer);
}

static int poll(void *owner, bool idle)
{
    int count;

    (void)owner;

    if (idle)
        local.plugin->check(local.executor);
    count = local.plugin->poll(local.executor);
    flush_peers();
    return count;
}

static bool unseen(void *owner)
{
    (void)owner;
    return local.plugin->told_late(local.executor);
}

/* ---- from the executor ---- */

static void host_send(void *owner, const void *command, size_t length)
{
    (void)owner;
    if (transport_local_send(local.transport, 0, command, length))
        vocl_log(LOG_ERROR, "out of memory for a message of a local device");
}

static int host_send_peer(void *owner, unsigned peer, const void *command, size_t length)
{
    struct wire_buffer *buffer = peer < local.peer_count ? &local.peers[peer] : NULL;

    (void)owner;
    if (!buffer || !transport_peer_alive(local.transport, peer))
        return -ECONNRESET;
    wire_put_bytes(buffer, command, length);
    if (!buffer->failed)
        return 0;
    buffer->failed = false;
    return -ENOMEM;
}

static int host_give(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length,
                     void (*done)(void *, int), void *argument)
{
    (void)owner;
    return transport_local_give(local.transport, peer, tag, memory, length, done, argument);
}

static int host_take(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length, void (*done)(void *, int),
                     void *argument)
{
    (void)owner;
    return transport_local_take(local.transport, peer, tag, memory, length, done, argument);
}

static void host_collect(void *owner)
{
    (void)owner; /* what kernels print is printed by this process itself */
}

static void host_wake(void *owner)
{
    (void)owner;
    transport_wake(local.transport);
}

bool local_open(struct session *session, struct transport *transport)
{
    const struct executor_host host = {.send = host_send,
                                       .send_peer = host_send_peer,
                                       .give = host_give,
                                       .take = host_take,
                                       .collect = host_collect,
                                       .wake = host_wake,
                                       .same_process = true,
                                       .zero_copy = settings_number(SETTING_ZERO_COPY) != 0,
                                       .pipeline = settings_pipeline(),
                                       .members = transport_peers(transport),
                                       .own = transport_peers(transport)};
    const struct transport_local member = {NULL, frame, joined, lost, poll, unseen};
    char why[512];

    local.plugin = plugin_open("local", EXECUTOR_PLUGIN_SYMBOL, WIRE_VERSION, 0, false, why, sizeof(why));
    if (!local.plugin) {
        vocl_log(LOG_ERROR, "no local devices: %s", why);
        return false;
    }
    local.transport = transport;
    local.peer_count = transport_most_peers(transport);
    local.peers = calloc(local.peer_count, sizeof(*local.peers));
    if (!local.peers)
        return false;
    if (local.plugin->open(&host, &local.executor) || transport_add_local(transport, &member)) {
        vocl_log(LOG_ERROR, "no local devices: %s", strerror(ENOMEM));
        return false;
    }
    local.session = session;
    local.process = getpid();
    thread_at_end(settle, NULL); /* for a program whose frames are run by another thread */
    return true;
}
