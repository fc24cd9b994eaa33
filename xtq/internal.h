/*
 * Declarations that the files of xtq/ share. A context (struct xtq) is one rank's end of all its lanes.
 *
 * XTQ calls MPI by its profiling names, PMPI_*, so that a library that intercepts the application's calls, as libxtqmpi
 * does, does not intercept XTQ's own.
 */
#ifndef XTQ_INTERNAL_H
#define XTQ_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "base/lock.h"
#include "base/timeline.h"
#include "ground/waiting.h"
#include "xtq/ring.h"

#define MOST_QUEUES 64
#define SERVERS (MOST_QUEUES + 1) /* one for each queue; the last refuses messages for unregistered queues */
#define REFUSER MOST_QUEUES
#define MOST_ENTRIES 4096
#define LEAST_LANE 4096
#define MOST_LANE ((size_t)1 << 30)
#define YIELD_EVERY 64        /* polls: there may be fewer cores than threads that wait for each other */
#define MOST_SLEEP_US 1000000 /* at a time: then a server checks for work that nobody rang for */

struct xtq_signal {
    _Atomic int64_t value;
} __attribute__((aligned(RING_LINE)));

/* ---- region.c: memory of a rank that its initiators write ---- */

/* Whether a server has to be woken. ASLEEP: it has. HELPED: it sleeps, and other threads poll its queue. ALONE: a
 * device, which has to be woken for quiet puts, too, since no other thread can take its messages. */
enum asleep { AWAKE, ASLEEP = DOZE_SLEEPS, HELPED, ALONE };

/* At the start of each rank's region; bells, credits and rings follow. */
struct region_header {
    struct memory_owner owner;
    /* A doze, of the application's threads that wait and poll the servers' queues. */
    _Atomic uint32_t napping __attribute__((aligned(RING_LINE)));
    struct {
        _Atomic uint32_t asleep; /* a doze, of one thread: enum asleep; other threads change it, too */
    } __attribute__((aligned(RING_LINE))) servers[SERVERS];
    _Atomic uint32_t server_of[MOST_QUEUES]; /* by queue: which server */
} __attribute__((aligned(RING_LINE)));

struct region {
    struct neighbours neighbours;
    uint8_t *mirror; /* credits of this rank's lanes into targets on other hosts, by queue and target */
    unsigned ranks, queues;
    size_t lane_bytes;
};

/* Collective. Returns 0 or a negative errno, the same on all ranks. Call region_close() after failure, too. */
int region_open(struct region *region, MPI_Comm comm, unsigned queues, size_t lane_bytes);
void region_close(struct region *region);
/* Returns the lane of an initiator into a queue of a target on this host. */
struct ring region_lane(const struct region *region, unsigned target, unsigned queue, unsigned initiator);
/* Returns the credit of this rank's lane into a queue of a target on another host. */
struct ring_credit *region_mirror(const struct region *region, unsigned target, unsigned queue);
struct region_header *region_header(const struct region *region, unsigned rank);
/* Returns the word by which a server of a rank of this host says whether it sleeps. */
_Atomic uint32_t *region_asleep(const struct region *region, unsigned rank, unsigned server);
/* Wake the thread that waits on the word: if it is ASLEEP or ALONE; in any case. */
void region_ring(_Atomic uint32_t *asleep);
void region_rouse(_Atomic uint32_t *asleep);
/* Wakes the thread that serves a queue of a rank of this host, if it sleeps; quiet: only an application's thread that
 * waits, or a device, but not a server. */
void region_wake(const struct region *region, unsigned rank, unsigned queue, bool quiet);
void region_wake_napping(const struct region *region, unsigned rank);

/* ---- server.c: a thread that serves a queue, and sleeps when the queue is empty ---- */

struct server {
    struct xtq *x;
    unsigned number;
    int (*poll)(void *argument);    /* returns the number of things done; called by one thread at a time */
    void (*settle)(void *argument); /* or NULL. Called before polling pauses: pending work must then notify by itself */
    void *argument;
    pthread_t thread;
    pthread_mutex_t serving;
    _Atomic bool stop, parked, again; /* again: the thread that polls must poll once more */
    bool manual;
};
/* Opens a server; manual: without a thread. Returns 0 or a negative errno. */
int server_open(struct server *server, bool manual);
void server_close(struct server *server);
/* Polls. If another thread is polling, that thread polls once more instead. Returns the number of things done. */
int server_poll(struct server *server);
/* A waiting thread polls all queues from now on: the server's own thread need not be woken meanwhile. */
void server_help_begin(struct server *server);
/* No waiting thread polls any more. */
void server_help_end(struct server *server);
/* The server is visible to helpers from now on. Its thread is woken, since it may have checked for helpers before. */
void server_show(struct server *server);
void server_settle(struct server *server);
/* Waits until a poll that is in progress has ended. */
void server_drain(struct server *server);
/* Whether this thread is inside a server's poll, and so must not wait for work that only that poll can do. */
bool server_inside(void);

/* ---- tables.c (section III-C.1) ---- */

/* An entry of the kernel or function table. Devices read it: persistent.cl has the same struct. */
struct table_entry {
    _Atomic uint64_t valid, users; /* users: tasks that use it now */
    uint64_t buffer, buffer_bytes, signal, body;
};

struct function_slot {
    struct table_entry entry;
    xtq_function *function;
    void *argument;
};

struct kernel_slot {
    struct table_entry *entry; /* in an array that devices can read */
    cl_kernel kernel;
    cl_mem memory;
    unsigned argument_count;
    size_t *argument_bytes;
    size_t kernarg_bytes; /* the least size of a message's arguments */
};

/* Takes an entry for the duration of a task. False if nothing is registered. */
bool table_take(struct table_entry *entry);
void table_release(struct table_entry *entry);
void queue_stop(struct xtq *x, unsigned index);

/* Returns the offset of an argument of that many bytes after end: aligned to its size, or to 16 if it is larger. */
size_t kernarg_place(size_t end, size_t bytes);

/* ---- context.c ---- */

/* This rank's end of a lane into a target's queue. */
struct sender {
    pthread_mutex_t lock;
    struct ring ring; /* bytes is NULL where the target is on another host */
    uint64_t head;
};

struct host_queue;
struct device_queue;
struct nic;

struct queue_slot {
    _Atomic(struct host_queue *) host;
    _Atomic(struct device_queue *) device;
};

struct xtq {
    MPI_Comm comm;
    int rank, size;
    unsigned queues, kernels, functions;
    size_t lane_bytes;
    uint64_t identity;   /* for timeline.c: the same on all ranks */
    long spin_us;        /* how long a thread polls before it sleeps */
    struct waits waits;  /* waiting threads run the tasks that arrive in this rank's host queues */
    _Atomic bool in_mpi; /* threads wait inside of a call of MPI, and must drive MPI's progress meanwhile */
    struct region region;
    struct sender *senders; /* by target and queue */
    pthread_mutex_t registering;
    _Atomic bool awaits_tasks; /* the holder of registering waits for tasks to end */
    struct function_slot *function_slots;
    struct kernel_slot *kernel_slots;
    struct table_entry *kernel_table;
    struct queue_slot *queue_slots;
    _Atomic int helpers; /* threads that wait; they poll all queues, also those registered meanwhile */
    struct server refuser;
    _Atomic bool unserved[MOST_QUEUES]; /* the refuser serves the lanes */
    struct host_queue *stopped;         /* a list */
    struct nic *nic;                    /* NULL when all ranks share this host */
    _Atomic uint64_t refused;
    _Atomic uint32_t ticks; /* tasks that have completed */
    _Atomic uint64_t sent;  /* see context_sent() */
    uint64_t completed;     /* barrier.c: bytes that all ranks had seen completed at their last meeting */
};

/* Wakes waiting threads of this process, after something that they may wait for. */
void context_tick(struct xtq *x);
/* Counts and logs a message that this rank has refused, and tells its initiator. */
void context_refuse(struct xtq *x, const struct ring *ring, int error);

/* ---- barrier.c ---- */

/* Collective. Waits until all ranks have called it, whatever puts are pending. Returns 0; -ECONNRESET: a rank is lost;
 * -EIO. */
int barrier_meet(struct xtq *x);

/* Tell the thread sanitizer of an order that arises through other processes, which it cannot see: data were put before
 * the answer to them was received here. */
static inline void context_sent(struct xtq *x)
{
#ifdef __SANITIZE_THREAD__
    atomic_fetch_add(&x->sent, 1);
#endif
    (void)x;
}

static inline void context_received(struct xtq *x)
{
#ifdef __SANITIZE_THREAD__
    atomic_load(&x->sent);
#endif
    (void)x;
}

/* ---- put.c ---- */
struct sender *put_sender(struct xtq *x, unsigned target, unsigned queue);
/* Returns the bytes that this rank has sent in all its lanes, and how many of them have completed or never will. Both
 * only grow. */
void put_count(struct xtq *x, uint64_t *sent, uint64_t *completed);

/* ---- rewrite.c (section III-C.2, Figure 5) ---- */

/* A task whose packet's indices have been replaced by addresses. */
struct rewritten {
    struct table_entry *entry; /* for table_release() when the task has ended */
    struct xtq_signal *signal;
    const struct function_slot *function;
    struct kernel_slot *kernel;
    struct xtq_task task;
};
/* Returns 0, or the error for the initiator; then there is nothing to release. */
int rewrite(struct xtq *x, int initiator, struct ring_message *message, struct rewritten *out);

/* ---- engine_host.c ---- */
int host_queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry, struct host_queue **out);
struct server *host_queue_server(struct host_queue *queue);
/* Lets running kernels complete without polling. */
void host_queues_settle(struct xtq *x);
/* Waits for running tasks and ends the thread. Waiting threads may still use the queue, so that its memory is freed
 * with the context. */
void host_queue_stop(struct host_queue *queue);
void host_queue_free(struct host_queue *queue);
/* Refuses the packets that have arrived from an initiator for a queue. Returns their number. */
int refuse_lane(struct xtq *x, unsigned queue, unsigned initiator, int error);
/* The refuser's poll: refuses packets for queues that do not exist. */
int refuse_unserved(void *x);

/* ---- launch.c: a kernel on an OpenCL command queue ---- */
struct launcher;
int launcher_open(cl_command_queue commands, struct launcher **out);
void launcher_close(struct launcher *launcher);
/*
 * A kernel that has been launched. When it has ended, done(argument, error) is called once: by launch_poll(), which is
 * quicker than OpenCL's callbacks, or, after launch_watch(), by a thread of OpenCL. It is not called if
 * launcher_start() returns an error.
 */
struct launch;
int launcher_start(struct launcher *launcher, const struct rewritten *task, const struct xtq_kernel_packet *packet,
                   void (*done)(void *argument, int error), void *argument, struct launch **out);
bool launch_poll(struct launch *launch);
void launch_watch(struct launch *launch);
void launch_keep(struct launch *launch);
void launch_release(struct launch *launch);

/* ---- engine_device.c ---- */
int device_queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry, struct device_queue **out);
void device_queue_close(struct device_queue *queue);
uint64_t device_queue_refused(const struct device_queue *queue);

/* ---- timeline.c: records puts, tasks and waits for `vocl run --trace` (base/timeline.h) ---- */
/* Collective. */
void timeline_join(struct xtq *x);
/* Returns the time, or 0 if there is no trace. */
static inline uint64_t timeline_since(void)
{
    return timeline_wanted() ? (uint64_t)clock_ns() : 0;
}
/* Records a put; not if since is 0. end: the position after the message in its lane. */
void timeline_of_put(const struct xtq *x, uint64_t since, int target, const struct ring_parts *parts, uint64_t end);
/* Describes a packet that has not been rewritten. */
struct timeline_message timeline_of_packet(const union ring_packet *packet);
void timeline_of_task(const struct xtq *x, uint64_t since, int initiator, const struct timeline_message *message,
                      const struct xtq_signal *signal, int error);
void timeline_of_wait(const struct xtq *x, uint64_t since, const struct xtq_signal *signal);

/* ---- nic.c: targets on other hosts ---- */
int nic_open(struct xtq *x);
/* Tolerates the silence of other ranks from now on, as all ranks are about to stop their threads. */
void nic_end(struct xtq *x);
/* Stops the thread. Everything that this rank has sent has been acknowledged, or a rank is lost, or xtq_init() has
 * failed. */
void nic_stop(struct xtq *x);
/* Closes the adapter; collective: all ranks have stopped their threads. Returns whether MPI may still write to this
 * rank's lanes or mirrors. */
bool nic_close(struct xtq *x, bool collective);
/* Sends a message, whose place in the lane has been checked. Called under the sender's lock. See xtq_put(). */
int nic_send(struct xtq *x, int target, unsigned queue, const struct ring_parts *parts, struct xtq_signal *completed);

#endif
