/*
 * Transport: carries frames and bulk data between the members of one session, and knows nothing of OpenCL. This header
 * is what the session has of it; starter.h is for the programs that start a session's processes. transport.c opens,
 * looks at and closes all of what is in the rooms, each of which stands on those above it:
 *
 *     plugin/      loader.c loads the plugins: mpi.c, tls.c (OpenSSL), pack.c (zstd)
 *     shm/         frames through memory of one host: ring.c; sleep.c, who of its two sides sleeps
 *     alive/       bell.c, the socket that tells of a process that is gone; heartbeat.c; fd_store.c, descriptors in a
 *                  program that may close them
 *     core/        the members of a session, of whatever carries their bytes (provider.h): link.c, frames with windows
 *                  and losses; receive.c, frames that arrive; bulk.c, bulk data; sleep.c; silence.c, who does not
 * answer; requests.c, what is asked of the session; over_shm.c and loop.c, providers: memory, this process stream/ the
 * provider by sockets, with TLS or without (stream.h, which lists its files) mpi/         the provider by MPI:
 * over_mpi.c; watch.c, MPI_Init; leaving.c, MPI_Finalize launch/      what starts a session's processes is started:
 * launch.c, spawn.c; host.c, its limits; network.c, which network the session has rendezvous/  members find each other:
 * greeting.c, what they say first; pending.c, connections that are nobody's yet; rendezvous.c; program.c and worker.c,
 * the two sides join/        join.c, members that come and go while the session runs; where.c, where from; later.c, two
 * of many workers are connected when they have something to say; apart.c, over TLS start/       job.c, by which way a
 * session starts, each a file: local.c, hosts.c, pool.c, openmpi.c, mpmd.c; worker.c, the worker's side of all;
 * enter.c, MPI_Init or what is in its place
 *
 * A session is one MPI job: peer 0 is the application, peers 1..n-1 are workers (DESIGN section 1). Frames are
 * small, ordered per pair of peers, and copied; bulk data moves from and into the caller's own memory, matched by
 * a tag. Loss of a peer is noticed by its bell, a socket that closes when the peer's process is gone: MPI itself
 * does not report it.
 *
 * Threads: every function but transport_wake() and transport_sleep() must be called under the owner's one lock.
 * Callbacks run inside the calls that say so, on the calling thread, under that same lock.
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
    /* The peer is gone, why is NULL because this process itself ends or has dropped it; called once for each. No
     * callback for this peer follows, bulk operations with it included: their done() has already been called with
     * -ECONNRESET. */
    void (*lost)(void *owner, unsigned peer, const char *why);
    /* The process ends and takes the MPI library with it: last chance for transport_close(). May be NULL. */
    void (*ending)(void *owner);
    /* On a worker: somebody has come to the running session, and can be spoken to; perhaps with the number of one that
     * was lost. May be NULL. */
    void (*joined)(void *owner, unsigned peer);
    /* On the client's side: whether workers may yet wait for what one that is gone was to send, and go by its number:
     * who comes gets another, if there is one. May be NULL. */
    bool (*keeps)(void *owner, unsigned peer);
};

/* Called when the caller's memory may be used again: status 0, or -ECONNRESET when the peer was lost. */
typedef void transport_done(void *argument, int status);

/*
 * Client side: start the session's job (embedded, hosts) or join the MPMD job this process was started in, as the
 * settings say, and wait until every worker has greeted this process. Blocks, at most VOCL_START_TIMEOUT seconds.
 * On failure returns a negative errno, leaves nothing behind, and writes the reason into why[why_size].
 */
int transport_open_client(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out);

/* Worker side: join the session that this process was started for (VOCL_SESSION_* environment, or an MPMD job). */
int transport_open_worker(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out);

/*
 * The local member: devices of the application's own process, served there without MPI. It has the number after the
 * job's last, on all members, and is reached as any other. The application's side says who it is. All is called under
 * the owner's lock: frame (from 0, the application, or a worker) inside transport_send() and transport_poll(), the
 * others inside transport_poll() and transport_announce().
 */
struct transport_local {
    void *owner;
    int (*frame)(void *owner, unsigned peer, const void *bytes, size_t length);
    /* A worker that has come later, before anything of it; and one that is lost. */
    void (*joined)(void *owner, unsigned peer);
    void (*lost)(void *owner, unsigned peer);
    /* Go on with what there is to do; idle: there was nothing else. The number of things done. */
    int (*poll)(void *owner, bool idle);
    /* Whether something may be over that nobody tells of: it is to be looked for soon. */
    bool (*unseen)(void *owner);
};
int transport_add_local(struct transport *transport, const struct transport_local *local);
/* What transport_send(), transport_give() and transport_take() are for the others. */
int transport_local_send(struct transport *transport, unsigned peer, const void *bytes, size_t length);
int transport_local_give(struct transport *transport, unsigned peer, uint32_t tag, const void *memory, size_t length,
                         transport_done *done, void *argument);
int transport_local_take(struct transport *transport, unsigned peer, uint32_t tag, void *memory, size_t length,
                         transport_done *done, void *argument);

/*
 * Members that come and go, on the client's side. To add one begins to start a worker: on this host (host NULL or its
 * name) where the session's others are, or by ssh where the session is of such (VOCL_HOSTS, over TLS). Never blocks;
 * what there is to do is done in transport_poll(). Its number, or a negative errno and why: -EBUSY while another comes,
 * -ENOTSUP where the session can take on none, -ENOSPC. joined() is called from transport_poll(), once: with error 0
 * when the member can be spoken to, by this process and by the other workers; else with why it did not come, and the
 * session is as it was. Not called if the session is closed before. Numbers are those after the local member's, and
 * come again when their worker's process has ended, and while there are others, when the owner keeps them no more.
 */
typedef void transport_joined(void *argument, unsigned member, int error, const char *why);
int transport_add_member(struct transport *transport, const char *host, transport_joined *joined, void *argument,
                         char *why, size_t why_size);
/* Where a worker comes to that is to take the place of that one, as transport_add_member() has it: to its host, or in a
 * pool wherever that has such a place. */
void transport_place(const struct transport *transport, unsigned peer, char *place, size_t size);
/* A member that has come to a place of transport_place() does not fit there, by its device of that number, from 1 (0:
 * by all). It is to be dropped. Whether one with other devices may come when it is asked for again, as in a pool. */
bool transport_refuse_member(struct transport *transport, unsigned member, const char *place, unsigned device);
/* Whether that is another host than the one on which all of the session began, where workers can always come. */
bool transport_is_away(const struct transport *transport, const char *place);
/* Whether the session is one that can take on members there: 0, or -ENOTSUP and why not. */
int transport_may_add_member(const struct transport *transport, const char *host, char *why, size_t why_size);
/* What the session is doing is shown to who lists it from now on ("" if nothing of note). */
int transport_describe(struct transport *transport, const char *state);
/*
 * It is to end: what it was sent before it still does. Its loss is told as one that is nobody's fault (why NULL), at
 * once, with all that this implies for what is under way with it. 0; -EINVAL: there is no such worker, -EBUSY: it is
 * to connect with one that is just coming.
 */
int transport_drop_member(struct transport *transport, unsigned member);
/* How many numbers there can be, 0 included. */
unsigned transport_most_peers(const struct transport *transport);

/* Number of members of the session, this process and the local member included; this process' own number. */
unsigned transport_peers(const struct transport *transport);
unsigned transport_rank(const struct transport *transport);
bool transport_peer_alive(const struct transport *transport, unsigned peer);
/* Bytes received from and sent to all other processes so far, bulk data included. */
void transport_bytes(const struct transport *t, uint64_t *in, uint64_t *out);
/* The name of the host a peer runs on, as it said in its greeting ("" for this process). */
const char *transport_peer_host(const struct transport *transport, unsigned peer);
/* Its process, if it is of this host, else 0; also when it is lost. */
int transport_peer_process(const struct transport *transport, unsigned peer);

/*
 * Send a frame: copied before the call returns. Never blocks. -EAGAIN when the window to that peer is full (poll,
 * then try again), -ECONNRESET after loss, and where it cannot be sent, for want of memory or as it is longer than
 * TRANSPORT_MAX_LARGE: that peer is lost at the next poll. The local member's own error if it refuses.
 */
int transport_send(struct transport *transport, unsigned peer, const void *bytes, size_t length);

/* True when the peer has consumed every frame sent to it: the next frame would find it idle. */
bool transport_drained(const struct transport *transport, unsigned peer);
/* The same; if not, it wakes this side when it has. */
bool transport_want_drained(const struct transport *transport, unsigned peer);

/*
 * Bulk data. Give sends length bytes from memory, take receives exactly length bytes into memory; the two meet by
 * (peer, tag), in order for the same tag. The memory belongs to the transport until done() is called, from
 * transport_poll(). A failure to start is returned and done() is then never called. Length may exceed 2 GiB.
 */
int transport_give(struct transport *transport, unsigned peer, uint32_t tag, const void *memory, size_t length,
                   transport_done *done, void *argument);
int transport_take(struct transport *transport, unsigned peer, uint32_t tag, void *memory, size_t length,
                   transport_done *done, void *argument);
/* Bulk operations under way that the other side has joined are worth polling for without sleeping. */
bool transport_bulk_pending(const struct transport *transport);

/*
 * Make progress: deliver frames, finish bulk operations, notice losses. Never blocks. Returns the number of things
 * that happened.
 */
int transport_poll(struct transport *transport);

/*
 * Sleeping (DESIGN section 4), in this order: transport_announce() tells all peers that this side sleeps; a last
 * transport_poll() catches what crossed with it; transport_sleep(), without the lock, blocks until a peer rings,
 * transport_wake() is called, extra_fd (or -1) is readable, or timeout_us have passed. The next transport_poll()
 * takes the announcement back.
 */
void transport_announce(struct transport *transport);
void transport_sleep(struct transport *transport, int extra_fd, long timeout_us);
/* Make one running or coming transport_sleep() return. From any thread, and from signal handlers. */
void transport_wake(struct transport *transport);

/*
 * What the user asks of the running session from outside (vocl move, and others): handler(context, request, answer) is
 * called for each, on a thread of its own that holds no lock and blocks all signals; request is the words, valid during
 * the call, as is the answer. Several may come at a time, and the session may end meanwhile. Without a handler requests
 * are refused. Only on the client's side. Sessions without a launcher (devices of the process alone; those that mpiexec
 * started whole) can be asked nothing.
 */
struct answer;
typedef void transport_request(void *context, const char *request, struct answer *answer);
void transport_on_request(struct transport *transport, transport_request *handler, void *context);
/* A line to who asked; and the last one, whether it is done or has failed: what comes after that is left out, and a
 * handler that returns without has failed. Who does not listen misses some; nobody waits for him for longer than a
 * second. */
__attribute__((format(printf, 2, 3))) void answer_progress(struct answer *answer, const char *format, ...);
__attribute__((format(printf, 3, 4))) void answer_end(struct answer *answer, bool done, const char *format, ...);
/* False: who asked is gone. */
bool answer_is_wanted(struct answer *answer);
/* Who asked has taken what was said so far, and says so; false if he does not within so long. */
bool answer_await(struct answer *answer, int milliseconds);

/*
 * End the session: peers see this side as gone. Bulk operations are abandoned (no done() is called). Frees all.
 * After loss of all peers this is the only useful call.
 */
void transport_close(struct transport *transport);

/* In the child of a fork(): drop the parent's session without a word to anybody: close descriptors, leak the rest. */
void transport_forget(struct transport *transport);

#endif
