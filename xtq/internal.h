/*
 * What the files of xtq/ share. A context is one rank's end of all its lanes.
 *
 * XTQ calls MPI by its profiling names, PMPI_*: what catches an application's calls, as libxtqmpi does, must not catch
 * those that XTQ makes for it.
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
#define SERVERS (MOST_QUEUES + 1) /* one for each queue; the last refuses what is for none */
#define REFUSER MOST_QUEUES
#define MOST_ENTRIES 4096
#define LEAST_LANE 4096
#define MOST_LANE ((size_t)1 << 30)
#define YIELD_EVERY 64        /* spins: there may be fewer cores than threads that wait for each other */
#define MOST_SLEEP_US 1000000 /* at a time: what nobody rings for is looked at */

struct xtq_signal {
    _Atomic int64_t value;
} __attribute__((aligned(RING_LINE)));

/* ---- region.c: what a rank's initiators write ---- */

/* Whether a server wants to be rung: it does while it is ASLEEP; HELPED, it sleeps and others poll for it. A device is
 * ALONE: it wants to be rung for what is put quietly, too, as nobody else can take it. */
enum asleep { AWAKE, ASLEEP = DOZE_SLEEPS, HELPED, ALONE };

/* At the start of each rank's region; bells, credits and rings follow. */
struct region_header {
    struct memory_owner owner;
    /* A doze: of threads of the application that wait, and poll for the servers. */
    _Atomic uint32_t napping __attribute__((aligned(RING_LINE)));
    struct {
        _Atomic uint32_t asleep; /* a doze, of one thread: enum asleep, in which others change it, too */
    } __attribute__((aligned(RING_LINE))) servers[SERVERS];
    _Atomic uint32_t server_of[MOST_QUEUES]; /* by queue: which of these */
} __attribute__((aligned(RING_LINE)));

struct region {
    struct neighbours neighbours;
    uint8_t *mirror; /* credits of this rank's lanes to targets on other hosts, by target and queue */
    unsigned ranks, queues;
    size_t lane_bytes;
};

/* Collective. 0 or a negative errno, the same on all ranks; region_close() after failure, too. */
int region_open(struct region *region, MPI_Comm comm, unsigned queues, size_t lane_bytes);
void region_close(struct region *region);
/* The lane of an initiator into a queue of target's region, which is on this host. */
struct ring region_lane(const struct region *region, unsigned target, unsigned queue, unsigned initiator);
/* The credit of this rank's lane into a target on another host. */
struct ring_credit *region_mirror(const struct region *region, unsigned target, unsigned queue);
struct region_header *region_header(const struct region *region, unsigned rank);
/* Where a server of a rank of this host says whether it sleeps. */
_Atomic uint32_t *region_asleep(const struct region *region, unsigned rank, unsigned server);
/* Wake who is ASLEEP or ALONE there; or whoever waits there, whatever it says. */
void region_ring(_Atomic uint32_t *asleep);
void region_rouse(_Atomic uint32_t *asleep);
/* Ring whoever serves a queue of a rank of this host, if it sleeps; quiet: only a thread that waits, not the server. */
void region_wake(const struct region *region, unsigned rank, unsigned queue, bool quiet);
void region_wake_napping(const struct region *region, unsigned rank);

/* ---- server.c: a thread that serves a queue, and sleeps when there is nothing ---- */

struct server {
    struct xtq *x;
    unsigned number;
    int (*poll)(void *argument);    /* the number of things done; by one thread at a time */
    void (*settle)(void *argument); /* or NULL. Nobody polls for a while: what is under way has to tell by itself */
    void *argument;
    pthread_t thread;
    pthread_mutex_t serving;
    _Atomic bool stop, parked, again; /* again: whoever polls is to poll once more */
    bool manual;
};
/* manual: without a thread. 0 or a negative errno. */
int server_open(struct server *server, bool manual);
void server_close(struct server *server);
/* Nothing if another thread is at it, which then looks once more. The number of things done. */
int server_poll(struct server *server);
/* A thread that waits polls all queues' servers from now on: this one's own thread need not be woken meanwhile. */
void server_help_begin(struct server *server);
/* Nobody does any more. */
void server_help_end(struct server *server);
/* It is among what helpers poll from now on; whether there are any its thread may have asked before. */
void server_show(struct server *server);
void server_settle(struct server *server);
/* Until what is being done at this moment has been done. */
void server_drain(struct server *server);
/* Whether this thread is inside a server's poll: it then must not wait for what only that could do. */
bool server_inside(void);

/* ---- tables.c (section III-C.1) ---- */

/* One entry of the kernel or function table; the device reads it as it is: persistent.cl has the same struct. */
struct table_entry {
    _Atomic uint64_t valid, users; /* users: tasks that have begun with it and not ended */
    uint64_t buffer, buffer_bytes, signal, body;
};

struct function_slot {
    struct table_entry entry;
    xtq_function *function;
    void *argument;
};

struct kernel_slot {
    struct table_entry *entry; /* in an array that the device can read */
    cl_kernel kernel;
    cl_mem memory;
    unsigned argument_count;
    size_t *argument_bytes;
    size_t kernarg_bytes; /* what a message must have at least */
};

/* An entry for the time of a task: false if nothing is registered. */
bool table_take(struct table_entry *entry);
void table_release(struct table_entry *entry);
void queue_stop(struct xtq *x, unsigned index);

/* Where an argument of so many bytes lies that comes after end: aligned to its size, to 16 if that is larger. */
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
    uint64_t identity;   /* timeline.c: the same on all ranks */
    long spin_us;        /* a waiting side polls so long before it sleeps */
    struct waits waits;  /* who waits runs what arrives in this rank's host queues itself */
    _Atomic bool in_mpi; /* who waits does so inside of MPI, for the program, and has to make MPI go on meanwhile */
    struct region region;
    struct sender *senders; /* by target and queue */
    pthread_mutex_t registering;
    _Atomic bool awaits_tasks; /* who has that lock waits for tasks to end */
    struct function_slot *function_slots;
    struct kernel_slot *kernel_slots;
    struct table_entry *kernel_table;
    struct queue_slot *queue_slots;
    _Atomic int helpers; /* threads that wait, and poll all queues, also those that are registered meanwhile */
    struct server refuser;
    _Atomic bool unserved[MOST_QUEUES]; /* the refuser has the lanes */
    struct host_queue *stopped;         /* a list */
    struct nic *nic;                    /* NULL when all ranks share this host */
    _Atomic uint64_t refused;
    _Atomic uint32_t ticks; /* what has completed */
    _Atomic uint64_t sent;  /* see context_sent() */
    uint64_t completed;     /* barrier.c: bytes that all ranks had seen completed when they met last */
};

/* Something has happened that a thread of this process may wait for. */
void context_tick(struct xtq *x);
/* A message of this rank's was refused. */
void context_refuse(struct xtq *x, const struct ring *ring, int error);

/* ---- barrier.c ---- */

/* Collective: all ranks have come, whatever they have put. -ECONNRESET: somebody is missing; -EIO. */
int barrier_meet(struct xtq *x);

/* Order that comes about through other processes (what is put has been read here before the answer is written) is
 * nothing that the thread sanitizer can see; it is told by these. */
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
/* Bytes that this rank has sent in all its lanes, and how many of them have completed or never will. Both only grow. */
void put_count(struct xtq *x, uint64_t *sent, uint64_t *completed);

/* ---- rewrite.c (section III-C.2, Figure 5) ---- */

/* A packet whose indices have become addresses. */
struct rewritten {
    struct table_entry *entry; /* to be given to table_release() when the task has ended */
    struct xtq_signal *signal;
    const struct function_slot *function;
    struct kernel_slot *kernel;
    struct xtq_task task;
};
/* 0, or the error for the initiator: there is nothing to release then. */
int rewrite(struct xtq *x, int initiator, struct ring_message *message, struct rewritten *out);

/* ---- engine_host.c ---- */
int host_queue_open(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry, struct host_queue **out);
struct server *host_queue_server(struct host_queue *queue);
/* Kernels that run are to end though nobody polls. */
void host_queues_settle(struct xtq *x);
/* Ends what runs and the thread. Threads that wait may still look at the queue, so its memory goes with the context. */
void host_queue_stop(struct host_queue *queue);
void host_queue_free(struct host_queue *queue);
/* Refuse what has come from an initiator for a queue; the number of packets. */
int refuse_lane(struct xtq *x, unsigned queue, unsigned initiator, int error);
/* Polled by the refuser: what is for queues that do not exist. */
int refuse_unserved(void *x);

/* ---- launch.c: a kernel on an OpenCL command queue ---- */
struct launcher;
int launcher_open(cl_command_queue commands, struct launcher **out);
void launcher_close(struct launcher *launcher);
/*
 * done(argument, error) is called once when it is over, unless an error is returned: by launch_poll(), which is quicker
 * than OpenCL's callbacks, or, after launch_watch(), from a thread of OpenCL's.
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

/* ---- timeline.c: puts, tasks and waits, written down for `vocl run --trace` (base/timeline.h) ---- */
/* Collective. */
void timeline_join(struct xtq *x);
/* 0 when off. */
static inline uint64_t timeline_since(void)
{
    return timeline_wanted() ? (uint64_t)clock_ns() : 0;
}
/* Nothing is written for since 0. queue: of the target's; end: the message's position. */
void timeline_of_put(const struct xtq *x, uint64_t since, int target, const struct ring_parts *parts, uint64_t end);
/* The packet is as it came; a task has its entry's signal. */
struct timeline_message timeline_of_packet(const union ring_packet *packet);
void timeline_of_task(const struct xtq *x, uint64_t since, int initiator, const struct timeline_message *message,
                      const struct xtq_signal *signal, int error);
void timeline_of_wait(const struct xtq *x, uint64_t since, const struct xtq_signal *signal);

/* ---- nic.c: targets on other hosts ---- */
int nic_open(struct xtq *x);
/* All ranks are about to stop their threads. */
void nic_end(struct xtq *x);
/* Stop the thread; everything this rank has sent has been acknowledged, or a rank is lost, or the job is at its end. */
void nic_stop(struct xtq *x);
/* collective: all ranks have stopped theirs. Whether MPI may still write to this rank's lanes, or its mirrors. */
bool nic_close(struct xtq *x, bool collective);
/* Send a message; its place has been checked. Under the sender's lock. See xtq_put(). */
int nic_send(struct xtq *x, int target, unsigned queue, const struct ring_parts *parts, struct xtq_signal *completed);

#endif
