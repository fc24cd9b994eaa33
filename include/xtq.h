/*
 * XTQ, extended task queuing: active messages that start kernels and functions in the queues of other ranks.
 *
 * After M. LeBeane et al., "Extended Task Queuing: Active Messages for Heterogeneous Systems", SC 2016; "section" below
 * is a section of that paper. What the paper's NIC does in hardware is done here by the initiator, which writes into
 * the target's memory where both share a host, and by a thread of the target that stands for its NIC where they do
 * not. doc/xtq.md tells how it works inside; the names of the paper are these here:
 *
 *     RdmaInit, TaskingInit   xtq_init              ConstructCmd        xtq_kernel_packet, xtq_function_packet
 *     RdmaPostBuffer          none: a lane for      XtqPut              xtq_put
 *                             each initiator        XtqRegisterKernel   xtq_register_kernel
 *     ExecutionBarrier        MPI_Barrier           XtqRegisterFunction xtq_register_function
 *     SignalWait              xtq_signal_wait       XtqRegisterQueue    xtq_register_queue
 *
 * Every function that returns int returns 0 or a negative errno. A pointer may be NULL where it is said so (options of
 * xtq_init(), completed, a payload without bytes, group); elsewhere it is -EINVAL, and where nothing says what went
 * wrong nothing happens, or the answer is 0 or false. Pointers within what is given are looked at likewise. Functions
 * may be called from any thread, except that those said to be collective are called by all ranks of the communicator in
 * the same order.
 */
#ifndef XTQ_H
#define XTQ_H

#include <CL/cl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vocl_words.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct xtq;
struct xtq_signal;

/* ---- start and end ---- */

/* 0 stands for the default. All ranks must give the same. */
struct xtq_options {
    unsigned queues;    /* how many queue indices; 4 */
    unsigned kernels;   /* how many kernel indices; 128 */
    unsigned functions; /* how many function indices; 128 */
    size_t lane_bytes;  /* what one initiator may have under way to one queue of a target, and so the largest message: a
                           power of two from 4096 bytes; 1 MiB. Pages that are not used take no memory. */
};

/*
 * Collective: prepare the ranks of comm (which is duplicated) for puts among them. MPI must be initialised; where comm
 * spans several hosts, with MPI_THREAD_MULTIPLE.
 * -EINVAL: options are wrong, or not the same on all ranks; -ENOTSUP: no MPI_THREAD_MULTIPLE; -ENOMEM; -EIO: MPI
 * failed. On failure all ranks fail.
 */
int xtq_init(MPI_Comm comm, const struct xtq_options *options, struct xtq **out);

/*
 * Collective: waits as xtq_barrier() does, then frees all, registrations included. -ECONNRESET: a rank
 * was lost before; what belongs to this rank is freed all the same. -EDEADLK: a task calls it; nothing is
 * freed. Where ranks are on several hosts it takes a tenth of a second, so that MPI_Finalize, called next, finds no
 * rank at work any more (doc/xtq.md).
 */
int xtq_finalize(struct xtq *x);

/* False once a rank of this host is known to have died, or one of another host has not been heard of for
 * VOCL_PEER_TIMEOUT seconds (10), or MPI does not reach it. */
bool xtq_alive(const struct xtq *x, int rank);

/* Collective: the puts of all ranks have run, with those that their tasks made, and the tasks of these. Tasks that put
 * for ever keep it for ever. -ECONNRESET as above; -EDEADLK: a task calls it. */
int xtq_barrier(struct xtq *x);

/* Collective: the least of what the ranks give, as of errors: all of them learn of one's failure. -EIO: MPI failed. */
int xtq_agree(struct xtq *x, int error);

/* The most that a put with so many bytes of arguments can carry. */
size_t xtq_largest_payload(const struct xtq *x, size_t argument_bytes);

int xtq_rank(const struct xtq *x);
int xtq_size(const struct xtq *x);

/* ---- signals (section II-A) ---- */

/* vocl_words.h's, under this library's names. */
#define xtq_condition vocl_condition
#define XTQ_EQ VOCL_EQ
#define XTQ_NE VOCL_NE
#define XTQ_LT VOCL_LT
#define XTQ_GE VOCL_GE

/* A 64-bit value, at the signal's own address, that devices and threads count down and wait for. -ENOMEM. */
int xtq_signal_create(int64_t value, struct xtq_signal **out);
void xtq_signal_destroy(struct xtq_signal *signal);
int64_t xtq_signal_load(const struct xtq_signal *signal);
void xtq_signal_store(struct xtq_signal *signal, int64_t value);
void xtq_signal_add(struct xtq_signal *signal, int64_t value);

/*
 * Wait until the signal's value compares so with value; meanwhile this thread runs what arrives in this rank's host
 * queues. timeout_us: in microseconds; 0 looks once (a poll), -1 waits as long as there are others that could still
 * signal. -ETIMEDOUT; -ECONNRESET: a rank has been lost while this one waited without a time-out, as xtq_alive() tells.
 */
int xtq_signal_wait(struct xtq *x, const struct xtq_signal *signal, enum xtq_condition condition, int64_t value,
                    long timeout_us);

/* ---- packets (section III-A, Figure 3) ---- */

enum xtq_packet_type { XTQ_PAD = 1, XTQ_KERNEL = 2, XTQ_FUNCTION = 4 };

/* In a packet's header beside the type: do not start before all earlier packets of the same initiator to the same queue
 * have completed. */
#define XTQ_BARRIER 0x100

/*
 * A kernel task: HSA's kernel dispatch packet, 64 bytes. What the initiator writes and what the target makes of it
 * (section III-C, Figure 5):
 */
struct xtq_kernel_packet {
    uint16_t header;               /* XTQ_KERNEL, perhaps | XTQ_BARRIER */
    uint16_t setup;                /* how many dimensions: 1 to 3 */
    uint16_t workgroup_size[3];    /* work-items; all 0: the OpenCL of the target chooses */
    uint16_t queue;                /* index of the queue (reserved bits in AQL) */
    uint32_t grid_size[3];         /* work-items */
    uint32_t private_segment_size; /* 0 */
    uint32_t group_segment_size;   /* 0 */
    uint64_t kernel_object;        /* index of the kernel -> the kernel */
    uint64_t kernarg_address;      /* xtq_put: bytes of arguments -> their address */
    uint64_t payload_address;      /* xtq_put: bytes of payload -> its address (reserved in AQL) */
    uint64_t completion_signal;    /* 0 -> the signal registered with the kernel */
};

/* A CPU task: HSA's agent dispatch packet, 64 bytes. */
struct xtq_function_packet {
    uint16_t header;            /* XTQ_FUNCTION, perhaps | XTQ_BARRIER */
    uint16_t type;              /* index of the function -> the function */
    uint16_t queue;             /* index of the queue */
    uint16_t reserved;          /* 0 */
    uint64_t argument_address;  /* xtq_put: bytes of further arguments -> their address */
    uint64_t arg[4];            /* [0] -> registered buffer, [1] -> payload, [2] and [3]: the initiator's */
    uint64_t payload_address;   /* xtq_put: bytes of payload -> its address */
    uint64_t completion_signal; /* 0 -> the signal registered with the function */
};

/*
 * Fill in a packet. dimensions: 1 to 3; grid and group: that many numbers of work-items; group may be NULL.
 * -EINVAL: something is more than its field holds (queue, function and sizes of work-groups: 16 bits; of the grid: 32);
 * the packet is then one that xtq_put() refuses.
 */
int xtq_kernel_packet(struct xtq_kernel_packet *packet, unsigned queue, unsigned kernel, unsigned dimensions,
                      const size_t *grid, const size_t *group);
int xtq_function_packet(struct xtq_function_packet *packet, unsigned queue, unsigned function, uint64_t arg2,
                        uint64_t arg3);

/* ---- registration (section IV-B) ---- */

/* A task as its function sees it. */
struct xtq_task {
    int initiator; /* rank */
    void *buffer;  /* the registered one, or the table; arg[0] */
    size_t buffer_bytes;
    void *payload; /* in the lane until the function returns; aligned to 64 bytes; arg[1] */
    size_t payload_bytes;
    const void *arguments; /* beyond the four; aligned to 64 bytes */
    size_t argument_bytes;
    uint64_t arg[4];
};

/* 0, or a negative errno that the initiator gets to see: xtq_error(). Runs on a thread of XTQ, or on one that waits; it
 * may put (as with XTQ_TRY), but not wait: -EDEADLK. */
typedef int xtq_function(const struct xtq_task *task, void *argument);

struct xtq_function_entry {
    xtq_function *function;
    void *argument;
    void *buffer; /* may be NULL */
    size_t buffer_bytes;
    struct xtq_signal *signal; /* counted down by one at completion; may be NULL */
};

/*
 * What a kernel index stands for. Of kernel and body at least one is given: kernel serves queues on an OpenCL command
 * queue, body those with a persistent kernel. The first argument of a kernel is the registered buffer (memory, or else
 * address), the second the payload, and the others come from the message, each aligned to its size there (to 16 bytes
 * if it is larger).
 */
struct xtq_kernel_entry {
    cl_kernel kernel;        /* retained; its arguments are set by XTQ */
    unsigned argument_count; /* those after the first two */
    const size_t *argument_bytes;
    cl_mem memory;       /* retained; or NULL */
    void *address;       /* the buffer, or a table of addresses of buffers, as the device knows it */
    size_t buffer_bytes; /* for bodies, to check against */
    unsigned body;       /* number of a body in the queue's source, counted from 1 */
    struct xtq_signal *signal;
};

enum xtq_engine {
    /* A command processor: a thread that sleeps on the queue's doorbell, runs functions, and starts kernels on an
     * OpenCL command queue. Needs no more than an OpenCL device; a kernel costs a call into its run-time. */
    XTQ_HOST,
    /* A persistent kernel: the device itself polls the queue and runs the bodies; between arrival and execution there
     * is no call of any run-time. Needs a device that shares this process' memory coherently (a CPU device, or
     * CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) and 64-bit atomics; takes as many compute units as it has work-groups for as
     * long as there is work, and idle_us after that. On a CPU it sleeps meanwhile, and yields the core to others. */
    XTQ_DEVICE,
};

struct xtq_queue_entry {
    enum xtq_engine engine;
    /* XTQ_HOST: where kernels go (retained); NULL: the queue takes functions only. */
    cl_command_queue commands;
    /* XTQ_HOST: no thread serves the queue, only xtq_progress() and waiting do; these see kernels end, too. */
    bool manual;
    /* XTQ_DEVICE: the device, and OpenCL C that defines the bodies: see XTQ_BODY below. */
    cl_context context;
    cl_device_id device;
    const char *source;
    const char *const *bodies; /* names; the first is number 1 */
    unsigned body_count;
    unsigned groups;  /* work-groups that share each task's work-items; 0: 1 */
    unsigned idle_us; /* about how long the kernel stays on the device when the queue is empty; 0: 20000 */
    unsigned items;   /* work-items of a work-group; 0: as the device prefers */
};

/*
 * A body, in OpenCL C, is called once for each chunk of a task's work-items, from first to last - 1 (counted through
 * all dimensions of the grid, the first varying fastest), by any work-item; only that of the chunk with first
 * == 0 should return something else than 0:
 *
 *     int add(const struct xtq_task *t, ulong first, ulong last)
 *     {
 *         global float *sum = (global float *)t->buffer;
 *         global const float *more = (global const float *)t->payload;
 *         for (ulong i = first; i < last; i++)
 *             sum[i] += more[i];
 *         return 0;
 *     }
 *
 * where struct xtq_task has: ulong buffer, buffer_bytes, payload, payload_bytes, arguments, argument_bytes; uint
 * initiator, grid[3]. A negative result is an errno for the initiator.
 */

/* Registering an index anew waits until tasks of the old entry have ended; while puts that name it are under way it is
 * the caller's error: they may find either. -EINVAL: no such index, or the entry is not complete; -ENOTSUP: the device
 * cannot; -EIO: OpenCL failed; -ENOMEM; -EDEADLK: a task calls it and would wait for a task, perhaps for itself:
 * nothing has changed then. */
int xtq_register_function(struct xtq *x, unsigned index, const struct xtq_function_entry *entry);
int xtq_register_kernel(struct xtq *x, unsigned index, const struct xtq_kernel_entry *entry);
/* -EBUSY: the index has a queue already. */
int xtq_register_queue(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry);
/* What arrives for the index from now on is refused with -ENOENT. Waits until what runs has ended. -ENOENT: there is
 * nothing there; -EDEADLK: a task calls it and would wait for a task, as above; of a queue no task may. */
int xtq_unregister_function(struct xtq *x, unsigned index);
int xtq_unregister_kernel(struct xtq *x, unsigned index);
int xtq_unregister_queue(struct xtq *x, unsigned index);

/* ---- put (section IV-A) ---- */

enum xtq_put_flags {
    XTQ_TRY = 1,   /* if the lane to the target's queue is full, return -EAGAIN instead of waiting for room */
    XTQ_QUIET = 2, /* wake nobody who does not wait: the target takes it when it waits for something or calls
                      xtq_progress(), at the latest when this rank waits for it (xtq_fence(), xtq_barrier()) */
};

/*
 * Send a task to a rank's queue. command: a packet, followed by the bytes of arguments; command_bytes: of both. payload
 * is gathered from where it is. When xtq_put returns, both may be used again; or, if completed is given, when it has
 * counted that down by one.
 * Puts of one rank to one queue start in order, and complete in any; others in any order.
 * -EINVAL: no such rank or queue, no packet; -EMSGSIZE: more than a lane holds; -EAGAIN; -ECONNRESET: the target is
 * gone; -EIO: MPI failed. What only the target knows comes back by xtq_error().
 */
int xtq_put(struct xtq *x, int target, const void *command, size_t command_bytes, const void *payload,
            size_t payload_bytes, unsigned flags, struct xtq_signal *completed);

/* Wait until all puts of this rank to the target have completed there. -ECONNRESET. */
int xtq_fence(struct xtq *x, int target);

/* What a target has refused of this rank's puts to one of its queues, of those that have completed. */
struct xtq_error {
    uint64_t count;
    int last; /* the last one's: -ENOENT: no such kernel, function or queue; -EINVAL: a bad packet; -ENOTSUP: the queue
                 cannot run such; -EIO: OpenCL refused it; or what a function or body returned */
};
/* -EINVAL: no such rank or queue. */
int xtq_error(struct xtq *x, int target, unsigned queue, struct xtq_error *out);

/* How many packets this rank has refused, of all initiators. */
uint64_t xtq_refused(const struct xtq *x);

/* Run what has arrived in this rank's host queues; the number of packets. */
int xtq_progress(struct xtq *x);

/* ---- accumulate, reduce, allreduce (section V-C) ---- */

/* vocl_words.h's, under this library's names. */
#define xtq_type vocl_type
#define xtq_op vocl_op
#define XTQ_INT8 VOCL_INT8
#define XTQ_UINT8 VOCL_UINT8
#define XTQ_INT16 VOCL_INT16
#define XTQ_UINT16 VOCL_UINT16
#define XTQ_INT32 VOCL_INT32
#define XTQ_UINT32 VOCL_UINT32
#define XTQ_INT64 VOCL_INT64
#define XTQ_UINT64 VOCL_UINT64
#define XTQ_FLOAT VOCL_FLOAT
#define XTQ_DOUBLE VOCL_DOUBLE
#define XTQ_SUM VOCL_SUM
#define XTQ_PROD VOCL_PROD
#define XTQ_MIN VOCL_MIN
#define XTQ_MAX VOCL_MAX
#define XTQ_REPLACE VOCL_REPLACE

size_t xtq_type_bytes(enum xtq_type type);

struct xtq_collectives;
struct xtq_request;

struct xtq_collectives_options {
    unsigned queue;         /* a queue index that nothing else uses */
    unsigned first_index;   /* of 24 + exposed kernel or function indices that nothing else uses */
    unsigned exposed;       /* how many numbers xtq_expose() takes; 0: 16 */
    enum xtq_engine engine; /* who computes. XTQ_HOST: this rank's CPU; XTQ_DEVICE: a persistent kernel */
    cl_context context;     /* XTQ_DEVICE */
    cl_device_id device;    /* XTQ_DEVICE */
    unsigned groups;        /* XTQ_DEVICE: as in struct xtq_queue_entry */
};

/* Collective: have accumulate, reduce and allreduce on the ranks of x. Errors as of xtq_register_queue(). */
int xtq_collectives_open(struct xtq *x, const struct xtq_collectives_options *options, struct xtq_collectives **out);
/* Collective: nothing may be under way. Before xtq_finalize(). */
int xtq_collectives_close(struct xtq_collectives *c);

/* Let others accumulate into memory under a number (0 to exposed - 1) that they know; NULL ends it. */
int xtq_expose(struct xtq_collectives *c, unsigned number, void *memory, size_t bytes);

/*
 * Combine count elements of data into those at offset (bytes, a multiple of the element's size) of the memory that the
 * target exposes: atomic for each element, in order for each initiator. data may be used again at once; the target has
 * it after xtq_fence(). Errors as of xtq_put(); outside of the memory: xtq_error().
 */
int xtq_accumulate(struct xtq_collectives *c, int target, unsigned number, size_t offset, const void *data,
                   size_t count, enum xtq_type type, enum xtq_op op);

/*
 * Collective: result[i] = data[i] of all ranks combined; on the root, or on all. data may be result; result of reduce
 * is used at the root only. The order of combination depends on the numbers of ranks and elements only, so results can
 * be repeated. The forms with a request return at once; up to 8 may be under way, started in the same order on all
 * ranks; they go on while this rank waits for or tests any of them. -EBUSY: too many under way; -EINVAL; -ENOMEM;
 * errors as of xtq_put().
 */
int xtq_reduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
               enum xtq_op op);
int xtq_allreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                  enum xtq_op op);
int xtq_ireduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
                enum xtq_op op, struct xtq_request **out);
int xtq_iallreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                   enum xtq_op op, struct xtq_request **out);
/* Complete a request and free it: the collective's error. */
int xtq_wait(struct xtq_request *request);
/* -EINPROGRESS: not yet; else as xtq_wait(). */
int xtq_test(struct xtq_request *request);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
