/*
 * Transport: carries frames and bulk data between the members of one session, and knows nothing of OpenCL. This header
 * is the session's interface to it; starter.h is for the programs that start a session's processes. transport.c opens,
 * polls and closes the transport. Its folders, each of which uses those above it:
 *
 *     plugin/      loader.c loads the plugins: mpi.c, tls.c (OpenSSL), pack.c (zstd)
 *     shm/         frames through shared memory of one host: ring.c; sleep.c, which of its two sides sleeps
 *     alive/       bell.c, the socket that reports the end of a process; heartbeat.c; fd_store.c, descriptors in a
 *                  program that may close them
 *     core/        the members of a session, whatever carries their bytes (provider.h): link.c, frames with windows
 *                  and losses; receive.c, incoming frames; bulk.c, bulk data; sleep.c; silence.c, members that do
 *                  not answer; requests.c, requests to the session; over_shm.c and loop.c, the providers through
 *                  shared memory and within this process
 *     stream/      the provider by sockets, with TLS or without (stream.h, which lists its files)
 *     mpi/         the provider by MPI: over_mpi.c; watch.c, MPI_Init; leaving.c, MPI_Finalize
 *     launch/      starts the programs that start a session's processes: launch.c, spawn.c; host.c, limits of the
 *                  host; network.c, which network the session has
 *     rendezvous/  members find each other: greeting.c, their first messages; pending.c, connections of unknown
 *                  peers; rendezvous.c; program.c and worker.c, the two sides
 *     join/        join.c, members that come and go while the session runs; where.c, from which hosts; later.c, two
 *                  of many workers are connected on demand; apart.c, the same over TLS
 *     start/       job.c chooses how a session starts, each way in a file: local.c, hosts.c, pool.c, openmpi.c,
 *                  mpmd.c; worker.c, the worker's side of all; enter.c, MPI_Init or its replacement
 *
 * Peer 0 is the application, peers 1..n-1 are the workers (doc/internals/transport.md). Frames are small, ordered per
 * pair of peers, and copied; bulk data moves from and into the caller's own memory, matched by a tag. Loss of a peer is
 * noticed by its bell, a socket that closes when the peer's process ends: MPI itself does not report it.
 *
 * Threads: every function but transport_wake() and transport_sleep() must be called under the owner's lock. The owner
 * is whoever opened the transport: the client's session, or the worker. Callbacks run inside the calls that say so, on
 * the calling thread, under that same lock.
 */
#ifndef VOCL_TRANSPORT_TRANSPORT_H
#define VOCL_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame up to this many bytes is eager; a longer one (up to TRANSPORT_MAX_LARGE) is announced, then sent whole. */
#define TRANSPORT_MAX_FRAME (64u << 10)
#define TRANSPORT_MAX_LARGE (256u << 20)
/* Unacknowledged eager frames a sender may have on the way to one peer. */
#define TRANSPORT_WINDOW 64

struct transport;

struct transport_callbacks {
    void *owner;
    /* One whole frame arrived. The bytes are private to this process and valid during the call. Return 0, or a
     * negative errno when the frame is malformed: the peer is then dropped as if lost. */
    int (*frame)(void *owner, unsigned peer, const void *bytes, size_t length);
    /* The peer is lost. Called once for each; why is NULL if this process itself ends or has dropped the peer. No
     * callback for this peer follows. The done() of its bulk operations has already been called, with -ECONNRESET. */
    void (*lost)(void *owner, unsigned peer, const char *why);
    /* The process ends and takes the MPI library with it: last chance for transport_close(). May be NULL. */
    void (*ending)(void *owner);
    /* On a worker: a member has joined the running session, and frames can be sent to it. It may have the number of one
     * that was lost. May be NULL. */
    void (*joined)(void *owner, unsigned peer);
    /* On the client's side: whether workers may still wait for data of a lost peer, by its number. A new member then
     * gets another number, if one is free. May be NULL. */
    bool (*keeps)(void *owner, unsigned peer);
};

/* Called when the caller's memory may be used again: status 0, or -ECONNRESET when the peer was lost. */
typedef void transport_done(void *argument, int status);

/*
 * Client side: starts the session's job (embedded, hosts) or joins the MPMD job this process was started in, as the
 * settings say, and waits until every worker has greeted this process. Blocks, at most VOCL_START_TIMEOUT seconds. On
 * failure returns a negative errno, leaves nothing behind, and writes the reason into why[why_size].
 */
int transport_open_client(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out);

/* Worker side: joins the session that this process was started for (VOCL_SESSION_* environment, or an MPMD job). */
int transport_open_worker(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out);

/*
 * The local member: devices of the application's own process, served there without MPI. On all members its number is
 * the one after the job's last, and it is used like any other peer. Only the application's side adds it. All callbacks
 * run under the owner's lock: frame (from 0, the application, or from a worker) inside transport_send() and
 * transport_poll(), the others inside transport_poll() and transport_announce().
 */
struct transport_local {
    void *owner;
    int (*frame)(void *owner, unsigned peer, const void *bytes, size_t length);
    /* A worker has joined later, before anything is received from it; and a worker is lost. */
    void (*joined)(void *owner, unsigned peer);
    void (*lost)(void *owner, unsigned peer);
    /* Makes progress; idle: nothing else is left to do. Returns the number of things done. */
    int (*poll)(void *owner, bool idle);
    /* Whether something may complete without a notification, so that it has to be polled for soon. */
    bool (*unseen)(void *owner);
};
int transport_add_local(struct transport *transport, const struct transport_local *local);
/* transport_send(), transport_give() and transport_take() as the local member calls them. */
int transport_local_send(struct transport *transport, unsigned peer, const void *bytes, size_t length);
int transport_local_give(struct transport *transport, unsigned peer, uint32_t tag, const void *memory, size_t length,
                         transport_done *done, void *argument);
int transport_local_take(struct transport *transport, unsigned peer, uint32_t tag, void *memory, size_t length,
                         transport_done *done, void *argument);

/*
 * Members that join and leave, on the client's side. transport_add_member() begins to start a worker: on this host
 * (host NULL or its name) if the other workers are there, or by ssh if the other workers were started so (VOCL_HOSTS,
 * over TLS). It never blocks; transport_poll() does the work. Returns the worker's number, or a negative errno and why:
 * -EBUSY while another worker joins, -ENOTSUP if the session cannot take any, -ENOSPC. joined() is called once, from
 * transport_poll(): with error 0 when this process and the other workers can send to the member; else with the reason
 * why it did not come, and the session is as before. It is not called if the session is closed first. The numbers
 * follow the local member's. A number is used again when its worker's process has ended and, as long as others are
 * free, when the owner does not keep it any more.
 */
typedef void transport_joined(void *argument, unsigned member, int error, const char *why);
int transport_add_member(struct transport *transport, const char *host, transport_joined *joined, void *argument,
                         char *why, size_t why_size);
/* Writes where a worker that replaces peer is to be started, in the form that transport_add_member() takes: peer's
 * host, or in a pool any host that has such a place. */
void transport_place(const struct transport *transport, unsigned peer, char *place, size_t size);
/* Refuses a member that was started for a place of transport_place() and does not fit. device: the number, from
 * 1 on, of the device that differs; 0: all do. The caller then drops the member. Returns whether another try may bring
 * other devices, as in a pool. */
bool transport_refuse_member(struct transport *transport, unsigned member, const char *place, unsigned device);
/* Whether place is another host than the one on which the whole session began, where workers can always be started. */
bool transport_is_away(const struct transport *transport, const char *place);
/* Whether the session can take members on host: 0, or -ENOTSUP and the reason. */
int transport_may_add_member(const struct transport *transport, const char *host, char *why, size_t why_size);
/* Sets the session's state as users see it when they list sessions ("": nothing of note). */
int transport_describe(struct transport *transport, const char *state);
/*
 * Ends a member; it still executes what was sent to it before. Its loss is reported at once, with why NULL, and with
 * all consequences for operations under way with it. Returns 0; -EINVAL: there is no such worker; -EBUSY: it has to
 * connect with a worker that is just joining.
 */
int transport_drop_member(struct transport *transport, unsigned member);
/* The largest possible number of peers, 0 included. */
unsigned transport_most_peers(const struct transport *transport);

/* Number of members of the session, this process and the local member included; this process' own number. */
unsigned transport_peers(const struct transport *transport);
unsigned transport_rank(const struct transport *transport);
bool transport_peer_alive(const struct transport *transport, unsigned peer);
/* Bytes received from and sent to all other processes so far, bulk data included. */
void transport_bytes(const struct transport *t, uint64_t *in, uint64_t *out);
/* The name of the host a peer runs on, as it said in its greeting ("" for this process). */
const char *transport_peer_host(const struct transport *transport, unsigned peer);
/* The PID of a peer on this host, else 0; also of a lost one. */
int transport_peer_process(const struct transport *transport, unsigned peer);

/*
 * Sends a frame, which is copied before the call returns. Never blocks. Returns -EAGAIN when the window to that peer is
 * full (poll, then try again), and -ECONNRESET after loss. If the frame cannot be sent, because memory is exhausted or
 * it is longer than TRANSPORT_MAX_LARGE, returns -ECONNRESET as well, and the peer is lost at the next poll. Returns
 * the local member's own error if it refuses the frame.
 */
int transport_send(struct transport *transport, unsigned peer, const void *bytes, size_t length);

/* True when the peer has consumed every frame sent to it: the next frame would find it idle. */
bool transport_drained(const struct transport *transport, unsigned peer);
/* The same; if false, the peer wakes this side when it has consumed them. */
bool transport_want_drained(const struct transport *transport, unsigned peer);

/*
 * Bulk data. Give sends length bytes from memory, take receives exactly length bytes into memory; the two meet by
 * (peer, tag), in order for the same tag. The memory belongs to the transport until done() is called, from
 * transport_poll(). If the start fails the error is returned, and done() is never called. Length may exceed 2 GiB.
 */
int transport_give(struct transport *transport, unsigned peer, uint32_t tag, const void *memory, size_t length,
                   transport_done *done, void *argument);
int transport_take(struct transport *transport, unsigned peer, uint32_t tag, void *memory, size_t length,
                   transport_done *done, void *argument);
/* Whether bulk operations are under way that have moved lately, so that polling is better than sleeping. */
bool transport_bulk_pending(const struct transport *transport);

/*
 * Makes progress: delivers frames, finishes bulk operations, notices losses. Never blocks. Returns the number of things
 * that happened.
 */
int transport_poll(struct transport *transport);

/*
 * Sleeping (doc/internals/transport.md), in this order: transport_announce() announces to all peers that this side
 * sleeps; a last transport_poll() catches what crossed with it; transport_sleep(), without the lock, blocks until a
 * peer rings, transport_wake() is called, extra_fd (or -1) is readable, or timeout_us have passed. The next
 * transport_poll() takes the announcement back.
 */
void transport_announce(struct transport *transport);
void transport_sleep(struct transport *transport, int extra_fd, long timeout_us);
/* Makes one running or coming transport_sleep() return. Callable from any thread, and from signal handlers. */
void transport_wake(struct transport *transport);

/*
 * Requests of users to the running session from outside (vocl move, and others): handler(context, request, answer) is
 * called for each, on a thread of its own that holds no lock and blocks all signals. request holds the words; request
 * and answer are valid during the call. Several may run at a time, and the session may end meanwhile. Without a handler
 * requests are refused. Only on the client's side. Sessions without a launcher (devices of the process alone; those
 * that mpiexec started whole) receive no requests.
 */
struct answer;
typedef void transport_request(void *context, const char *request, struct answer *answer);
void transport_on_request(struct transport *transport, transport_request *handler, void *context);
/* Sends a line of progress to the requester; answer_end() sends the last line, done or failed, and later ones are left
 * out. A handler that returns without answer_end() has failed. A requester that does not read misses lines, and is
 * waited for no longer than a second. */
__attribute__((format(printf, 2, 3))) void answer_progress(struct answer *answer, const char *format, ...);
__attribute__((format(printf, 3, 4))) void answer_end(struct answer *answer, bool done, const char *format, ...);
/* Whether the requester is still connected. */
bool answer_is_wanted(struct answer *answer);
/* Waits until the requester confirms that it has read all lines so far; false if it does not within milliseconds. */
bool answer_await(struct answer *answer, int milliseconds);

/*
 * Ends the session: peers see this side as gone. Abandons bulk operations (no done() is called), and frees all. After
 * the loss of all peers this is the only useful call.
 */
void transport_close(struct transport *transport);

/* In the child of a fork(): drops the parent's session without a message to anybody: closes descriptors, leaks the
 * rest. */
void transport_forget(struct transport *transport);

#endif
