/*
 * XTQ, extended task queuing: active messages that start kernels and functions in the queues of other ranks.
 *
 * It follows M. LeBeane et al., "Extended Task Queuing: Active Messages for Heterogeneous Systems", SC 2016; "section"
 * below refers to that paper. The work of the paper's NIC is done by the initiator, which writes into the target's
 * memory if both share a host, or else by a thread of the target. doc/internals/xtq.md describes the implementation.
 * The paper's names correspond to these:
 *
 *     RdmaInit, TaskingInit  xtq_init()
 *     RdmaPostBuffer         none: there is a lane for each initiator
 *     ExecutionBarrier       MPI_Barrier()
 *     SignalWait             xtq_signal_wait()
 *     ConstructCmd           xtq_kernel_packet(), xtq_function_packet()
 *     XtqPut                 xtq_put()
 *     XtqRegisterKernel      xtq_register_kernel()
 *     XtqRegisterFunction    xtq_register_function()
 *     XtqRegisterQueue       xtq_register_queue()
 *
 * Every function that returns int returns 0 or a negative errno, unless its description says otherwise. A pointer
 * argument, or a pointer in a struct that is passed, may be NULL only where the description says so. A NULL pointer
 * elsewhere yields -EINVAL; functions that return no errno then do nothing, or return 0 or false. x and c are the
 * results of xtq_init() and xtq_collectives_open(). Functions may be called from any thread. Functions marked
 * "Collective" must be called by all ranks of the communicator, in the same order.
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
#define XTQ_DEPRECATED __attribute__((deprecated))
#else
#define XTQ_DEPRECATED
#endif

/* One rank's state of XTQ, from xtq_init() to xtq_finalize(). */
struct xtq;
/* A signal, from xtq_signal_create() to xtq_signal_destroy(). */
struct xtq_signal;

/* ---- start and end ---- */

/* Options of xtq_init(). A member that is 0 has its default. All ranks must give the same values. */
struct xtq_options {
    unsigned queues;    /* number of queue indices; default 4, at most 64 */
    unsigned kernels;   /* number of kernel indices; default 128, at most 4096 */
    unsigned functions; /* number of function indices; default 128, at most 4096 */
    size_t lane_bytes; /* size of the lane, the ring buffer of one initiator into one queue of a target, and so the size
                          of the largest message: a power of two from 4096 bytes to 1 GiB; default 1 MiB. Pages that are
                          not used occupy no memory. */
};

/*
 * Collective. Prepares the ranks of a communicator for puts to each other.
 *
 * comm     the communicator, which is duplicated. MPI must be initialised, and with MPI_THREAD_MULTIPLE if comm spans
 *          several hosts
 * options  or NULL for the defaults
 * out      receives the new state
 *
 * Returns 0 or an error; errors other than -EIO are returned on all ranks. -EINVAL: the options are invalid, or differ
 * between ranks; -ENOTSUP: MPI lacks MPI_THREAD_MULTIPLE; -ENOMEM; -EIO: MPI failed, perhaps on this rank alone. MPI
 * promises nothing after an error, and other ranks may wait for this one for ever, so a program should then call
 * MPI_Abort().
 */
int xtq_init(MPI_Comm comm, const struct xtq_options *options, struct xtq **out);

/*
 * Collective. Waits as xtq_barrier() does, then frees everything, registrations included. If ranks are on several hosts
 * it takes a tenth of a second, so that no rank still makes progress when MPI_Finalize is called next (doc/xtq.md).
 *
 * Returns 0; -ECONNRESET: a rank is lost; this rank's resources are freed nevertheless; -EDEADLK: a task called it;
 * nothing is freed.
 */
int xtq_finalize(struct xtq *x);

/* Returns whether a rank is alive: false once a rank of this host has died, or a rank of another host has been silent
 * for VOCL_PEER_TIMEOUT seconds (10) or cannot be reached by MPI; and if there is no such rank. */
bool xtq_alive(const struct xtq *x, int rank);

/*
 * Collective. Waits until the tasks of all ranks' puts have run, those of puts by tasks included. It never returns if
 * tasks put without end.
 *
 * Returns 0; -ECONNRESET: a rank is lost; -EDEADLK: a task called it; -EIO: MPI failed.
 */
int xtq_barrier(struct xtq *x);

/*
 * Collective. Returns the least of the values that the ranks pass, so that all ranks learn of an error of one.
 *
 * error  0 or a negative errno
 *
 * Returns the least value; -EIO: MPI failed.
 */
int xtq_agree(struct xtq *x, int error);

/* Returns the size in bytes of the largest payload of a put with argument_bytes bytes of arguments; 0 if there are too
 * many arguments. */
size_t xtq_largest_payload(const struct xtq *x, size_t argument_bytes);

/* Return this process's rank, and the number of ranks; -EINVAL if x is NULL. */
int xtq_rank(const struct xtq *x);
int xtq_size(const struct xtq *x);

/* ---- signals (section II-A) ---- */

/* The conditions of vocl_words.h, under names of this library. */
#define xtq_condition vocl_condition
#define XTQ_EQ VOCL_EQ
#define XTQ_NE VOCL_NE
#define XTQ_LT VOCL_LT
#define XTQ_GE VOCL_GE
#define XTQ_GT VOCL_GT
#define XTQ_LE VOCL_LE

/*
 * Creates a signal: a 64-bit value, at the signal's address, that devices and threads count down and wait for.
 *
 * value  the initial value
 * out    receives the signal
 *
 * Returns 0; -ENOMEM.
 */
int xtq_signal_create(int64_t value, struct xtq_signal **out);
/* Frees a signal; does nothing if signal is NULL. */
void xtq_signal_destroy(struct xtq_signal *signal);
/* Returns a signal's value. */
int64_t xtq_signal_load(const struct xtq_signal *signal);
/* Sets a signal to value. */
void xtq_signal_store(struct xtq_signal *signal, int64_t value);
/* Adds value to a signal, atomically. */
void xtq_signal_add(struct xtq_signal *signal, int64_t value);

/*
 * Waits until a signal satisfies a condition. Meanwhile the thread runs the tasks that arrive in this rank's host
 * queues.
 *
 * signal            the signal
 * condition, value  the signal's value is compared with value
 * timeout_us        the time-out in microseconds; 0 checks once, -1 waits without limit
 *
 * Returns 0; -ETIMEDOUT; -ECONNRESET: a rank was lost (xtq_alive()) during a wait without limit; -EDEADLK: a task would
 * have to wait without limit.
 */
int xtq_signal_wait(struct xtq *x, const struct xtq_signal *signal, enum xtq_condition condition, int64_t value,
                    long timeout_us);

/* ---- packets (section III-A, Figure 3) ---- */

/* The type in a packet's header. XTQ_PAD is for XTQ's own use. */
enum xtq_packet_type { XTQ_PAD = 1, XTQ_KERNEL = 2, XTQ_FUNCTION = 4 };

/* A bit of a packet's header: do not start before all earlier packets of the same initiator to the same queue have
 * completed. */
#define XTQ_BARRIER 0x100

/*
 * The packet of a kernel task: HSA's kernel dispatch packet, 64 bytes. "a -> b" below means that the initiator writes
 * a, which the target replaces by b (section III-C, Figure 5).
 */
struct xtq_kernel_packet {
    uint16_t header;               /* XTQ_KERNEL, optionally | XTQ_BARRIER */
    uint16_t setup;                /* number of dimensions: 1 to 3 */
    uint16_t workgroup_size[3];    /* work-items; all 0: the target's OpenCL chooses */
    uint16_t queue;                /* index of the queue (reserved bits in AQL) */
    uint32_t grid_size[3];         /* work-items */
    uint32_t private_segment_size; /* 0 */
    uint32_t group_segment_size;   /* 0 */
    uint64_t kernel_object;        /* index of the kernel -> the kernel */
    uint64_t kernarg_address;      /* size of the arguments (set by xtq_put()) -> their address */
    uint64_t payload_address;      /* size of the payload (xtq_put()) -> its address (reserved in AQL) */
    uint64_t completion_signal;    /* 0 -> the signal registered with the kernel */
};

/* The packet of a CPU task: HSA's agent dispatch packet, 64 bytes. */
struct xtq_function_packet {
    uint16_t header;            /* XTQ_FUNCTION, optionally | XTQ_BARRIER */
    uint16_t type;              /* index of the function -> the function */
    uint16_t queue;             /* index of the queue */
    uint16_t reserved;          /* 0 */
    uint64_t argument_address;  /* size of further arguments (set by xtq_put()) -> their address */
    uint64_t arg[4];            /* [0] -> registered buffer, [1] -> payload; [2] and [3] are passed on */
    uint64_t payload_address;   /* size of the payload (set by xtq_put()) -> its address */
    uint64_t completion_signal; /* 0 -> the signal registered with the function */
};

/*
 * Fill in a packet of a kernel task, or of a CPU task.
 *
 * packet            the packet
 * queue             index of the target's queue
 * kernel, function  index of the kernel or function
 * dimensions        number of dimensions: 1 to 3
 * grid              numbers of work-items, one for each dimension
 * group             likewise of a work-group; NULL: the target's OpenCL chooses
 * arg2, arg3        arguments for the function: arg[2] and arg[3]
 *
 * Return 0; -EINVAL: a value is too large for its field (16 bits for queue, function and the sizes of a work-group, 32
 * bits for the sizes of the grid); xtq_put() refuses the packet then.
 */
int xtq_kernel_packet(struct xtq_kernel_packet *packet, unsigned queue, unsigned kernel, unsigned dimensions,
                      const size_t *grid, const size_t *group);
int xtq_function_packet(struct xtq_function_packet *packet, unsigned queue, unsigned function, uint64_t arg2,
                        uint64_t arg3);

/* ---- registration (section IV-B) ---- */

/* A task, as its function receives it. */
struct xtq_task {
    int initiator; /* rank */
    void *buffer;  /* the registered buffer, or table; arg[0] */
    size_t buffer_bytes;
    void *payload; /* valid until the function returns; aligned to 64 bytes; arg[1] */
    size_t payload_bytes;
    const void *arguments; /* those beyond the four; aligned to 64 bytes; valid as the payload */
    size_t argument_bytes;
    uint64_t arg[4];
};

/*
 * A function that runs tasks, on a thread of XTQ or on a thread that waits. It may put (XTQ_TRY is implied), but not
 * wait: waiting functions return -EDEADLK.
 *
 * task      the task
 * argument  the argument that was registered
 *
 * Returns 0, or a negative errno, which the initiator gets by xtq_error().
 */
typedef int xtq_function(const struct xtq_task *task, void *argument);

/* What a function index stands for: see xtq_register_function(). */
struct xtq_function_entry {
    xtq_function *function;
    void *argument; /* passed to function; may be NULL */
    void *buffer;   /* may be NULL */
    size_t buffer_bytes;
    struct xtq_signal *signal; /* decremented when a task completes; may be NULL */
};

/*
 * What a kernel index stands for: see xtq_register_kernel(). At least one of kernel and body is given: kernel for
 * queues with an OpenCL command queue, body for queues with a persistent kernel. The kernel's first argument is the
 * registered buffer (memory, or else address) and its second is the payload. The message contains the other arguments,
 * each aligned to its size (to 16 bytes if it is larger).
 */
struct xtq_kernel_entry {
    cl_kernel kernel;             /* retained; XTQ sets its arguments; or NULL */
    unsigned argument_count;      /* number of arguments after the first two */
    const size_t *argument_bytes; /* their sizes, 1 to 4096; may be NULL if there are none */
    cl_mem memory;                /* the buffer (retained); or NULL */
    void *address;       /* the buffer, or a table of addresses of buffers, as an address of the device; or NULL */
    size_t buffer_bytes; /* size of the buffer, for bodies to check */
    unsigned body;       /* number of a body in the queue's source, counted from 1; 0: none */
    struct xtq_signal *signal; /* decremented when a task completes; may be NULL */
};

/* What runs the tasks of a queue. */
enum xtq_engine {
    /* A command processor: a thread that sleeps on the queue's doorbell, runs functions, and enqueues kernels in an
     * OpenCL command queue. It works with any OpenCL device; each kernel costs a call of the OpenCL run-time. */
    XTQ_HOST,
    /* A persistent kernel: the device polls the queue and runs the bodies, without a call of any run-time between
     * arrival and execution. The device must share this process's memory coherently (a CPU device, or
     * CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) and have 64-bit atomics. The kernel occupies as many compute units as it has
     * work-groups while there is work, and for idle_us after that. On a CPU it yields the core, and sleeps if idle. */
    XTQ_DEVICE,
};

/* A queue: see xtq_register_queue(). */
struct xtq_queue_entry {
    enum xtq_engine engine;
    /* XTQ_HOST: the command queue for kernels (retained); NULL: the queue runs functions only. */
    cl_command_queue commands;
    /* XTQ_HOST: no thread serves the queue, only xtq_progress() and threads that wait. These notice the end of kernels,
     * too. */
    bool manual;
    /* XTQ_DEVICE: the device, and OpenCL C source that defines the bodies, which are described below. */
    cl_context context;
    cl_device_id device;
    const char *source;
    const char *const *bodies; /* the bodies' names; the first is number 1 */
    unsigned body_count;
    unsigned groups;  /* number of work-groups, which share each task's work-items; 0: 1 */
    unsigned idle_us; /* roughly how long the kernel stays on the device without work, in microseconds; 0: 20000 */
    unsigned items;   /* work-items of a work-group; 0: the number that the device prefers */
};

/*
 * A body is an OpenCL C function that is called once for each chunk of a task's work-items, by any work-item. The chunk
 * is the work-items first to last - 1, counted through all dimensions of the grid, of which the first varies fastest.
 * Only the call with first == 0 should return a value other than 0, a negative errno for the initiator. Example:
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
 * In OpenCL C struct xtq_task has these members: ulong buffer, buffer_bytes, payload, payload_bytes, arguments,
 * argument_bytes; uint initiator, grid[3].
 */

/*
 * Register a function, kernel or queue of this rank under an index, by which other ranks name it. Local. Functions and
 * kernels may replace an earlier entry: the call waits until the tasks of the old entry have ended. Puts that name the
 * index meanwhile may find either entry.
 *
 * index  the index, below the number of such indices (struct xtq_options)
 * entry  what the index stands for; copied
 *
 * Return 0; -EINVAL: no such index, or the entry is incomplete; -EBUSY: the index has a queue; -ENOTSUP: the device
 * lacks what the engine needs; -EIO: OpenCL failed; -ENOMEM; -EDEADLK: a task called it, and would have to wait for a
 * task, perhaps for itself; nothing has changed then.
 */
int xtq_register_function(struct xtq *x, unsigned index, const struct xtq_function_entry *entry);
int xtq_register_kernel(struct xtq *x, unsigned index, const struct xtq_kernel_entry *entry);
int xtq_register_queue(struct xtq *x, unsigned index, const struct xtq_queue_entry *entry);
/*
 * Unregister a function, kernel or queue of this rank. Messages that arrive for the index from now on are refused with
 * -ENOENT. The call waits until running tasks have ended.
 *
 * index  the index
 *
 * Return 0; -ENOENT: the index has no entry; -EDEADLK: a task called it, and would have to wait for a task. No task may
 * unregister a queue.
 */
int xtq_unregister_function(struct xtq *x, unsigned index);
int xtq_unregister_kernel(struct xtq *x, unsigned index);
int xtq_unregister_queue(struct xtq *x, unsigned index);

/* ---- put (section IV-A) ---- */

/* Flags of xtq_put(), to be combined by |. */
enum xtq_put_flags {
    XTQ_TRY = 1,   /* if the lane to the target's queue is full, return -EAGAIN instead of waiting for room */
    XTQ_QUIET = 2, /* do not wake the thread that serves the queue. The target runs the task when one of its threads
                      waits or calls xtq_progress(), at the latest when this rank calls xtq_quiet() or xtq_barrier() */
};

/*
 * Sends a task to a queue of a rank. This rank's puts to one queue start in order, and complete in any order; puts to
 * different queues are not ordered.
 *
 * target                   the rank
 * command, command_bytes   a packet, followed by the arguments, and the size of both together
 * payload, payload_bytes   the payload; payload may be NULL if payload_bytes is 0
 * flags                    0, or flags of enum xtq_put_flags
 * completed                if not NULL, a signal that is decremented when command and payload may be changed; if NULL,
 *                          they may be changed on return
 *
 * Returns 0; -EINVAL: no such rank or queue, or not a packet; -EMSGSIZE: the message is larger than a lane; -EAGAIN:
 * the lane is full, and XTQ_TRY was given or a task called it; -ECONNRESET: the target is lost; -EPROTO: the target has
 * closed the lane; -ENOMEM; -EIO: MPI failed. xtq_error() returns the errors that only the target detects.
 */
int xtq_put(struct xtq *x, int target, const void *command, size_t command_bytes, const void *payload,
            size_t payload_bytes, unsigned flags, struct xtq_signal *completed);

/*
 * Waits for remote completion (shmem_pe_quiet, MPI_Win_flush): until all puts of this rank to a target have completed
 * there.
 *
 * target  the rank
 *
 * Returns 0; -ECONNRESET: the target is lost; -EDEADLK: a task called it, and would have to wait.
 */
int xtq_quiet(struct xtq *x, int target);
/*
 * The old name of xtq_quiet(), which the next version does not have any more. It does not only order, as a fence of
 * OpenSHMEM does.
 *
 * target  as of that function
 *
 * Returns 0 or an error as that function.
 */
XTQ_DEPRECATED int xtq_fence(struct xtq *x, int target);

/* What a target has refused of this rank's completed puts to one of its queues. */
struct xtq_error {
    uint64_t count; /* number of puts that were refused, or whose task failed */
    int last; /* the last one's error. -ENOENT: no such kernel, function or queue; -EINVAL: an invalid packet; -ENOTSUP:
                 the queue cannot run such tasks; -EIO: OpenCL refused it; -EPROTO: the target has closed the lane; or
                 the result of a function or body */
};
/*
 * Returns in *out what a target has refused of this rank's puts to one of its queues.
 *
 * target  the rank
 * queue   index of the queue
 * out     receives the result
 *
 * Returns 0; -EINVAL: no such rank or queue.
 */
int xtq_error(struct xtq *x, int target, unsigned queue, struct xtq_error *out);

/* Returns how many packets of all initiators this rank has refused. */
uint64_t xtq_refused(const struct xtq *x);

/* Runs the tasks that have arrived in this rank's host queues. Returns the number of packets; -EINVAL if x is NULL. */
int xtq_progress(struct xtq *x);

/* ---- accumulate, reduce, allreduce (section V-C) ---- */

/* The types and operations of vocl_words.h, under names of this library. */
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

/* Returns the size of an element in bytes; 0 if there is no such type. */
size_t xtq_type_bytes(enum xtq_type type);

/* Collectives on the ranks of a struct xtq, from xtq_collectives_open() to xtq_collectives_close(). */
struct xtq_collectives;
/* A collective that has been started. */
struct xtq_request;

/* Options of xtq_collectives_open(). All ranks must give the same indices and engine. */
struct xtq_collectives_options {
    unsigned queue; /* an unused queue index */
    unsigned
        first_index;  /* the first of 24 + exposed unused indices, of kernels (XTQ_DEVICE) or functions (XTQ_HOST) */
    unsigned exposed; /* how many numbers xtq_expose() accepts; 0: 16 */
    enum xtq_engine engine; /* XTQ_HOST: this rank's CPU computes; XTQ_DEVICE: a persistent kernel does */
    cl_context context;     /* XTQ_DEVICE only */
    cl_device_id device;    /* XTQ_DEVICE only */
    unsigned groups;        /* XTQ_DEVICE only: as in struct xtq_queue_entry */
};

/*
 * Collective. Prepares accumulate, reduce and allreduce among the ranks of x.
 *
 * options  indices and engine
 * out      receives the new state
 *
 * Returns 0 or an error as xtq_register_queue(); an error is returned on all ranks.
 */
int xtq_collectives_open(struct xtq *x, const struct xtq_collectives_options *options, struct xtq_collectives **out);
/*
 * Collective. Ends the collectives and frees their state. No collective may be pending. Must be called before
 * xtq_finalize().
 *
 * Returns 0 or an error as xtq_barrier(); the state is freed nevertheless.
 */
int xtq_collectives_close(struct xtq_collectives *c);

/*
 * Lets other ranks accumulate into memory of this rank.
 *
 * number         the number by which they name it: 0 to exposed - 1
 * memory, bytes  the memory; NULL ends the exposure
 *
 * Returns 0 or an error as xtq_register_function(); -ENOENT: memory is NULL and nothing is exposed.
 */
int xtq_expose(struct xtq_collectives *c, unsigned number, void *memory, size_t bytes);

/*
 * Combines elements with those of memory that a target exposes. Each element is changed atomically; the accumulates of
 * one initiator are done in order. data may be changed on return; xtq_quiet() waits for completion at the target.
 *
 * target       the rank
 * number       the number of the memory
 * offset       where the elements begin there, in bytes; a multiple of an element's size
 * data, count  the elements; data may be NULL if count is 0
 * type, op     their type and the operation
 *
 * Returns 0 or an error as xtq_put(). xtq_error() tells if the elements are outside of the memory.
 */
int xtq_accumulate(struct xtq_collectives *c, int target, unsigned number, size_t offset, const void *data,
                   size_t count, enum xtq_type type, enum xtq_op op);

/*
 * Collective. Combine the elements data[i] of all ranks into result[i], on the root (reduce) or on all ranks
 * (allreduce). The order of combination depends only on the numbers of ranks and elements, so that results are
 * reproducible. The forms with a request return at once. Up to 8 may be pending, started in the same order on all
 * ranks; they make progress while this rank waits for or tests any of them.
 *
 * root      the rank that gets the result
 * data      this rank's elements; may be NULL if count is 0
 * result    receives the result; may be data; may be NULL where there is no result
 * count     the number of elements
 * type, op  their type and the operation; not XTQ_REPLACE
 * out       receives the request; data and result must not be changed before it has completed
 *
 * Return 0; -EBUSY: too many are pending; -EINVAL: an invalid argument; -ENOMEM; or an error as xtq_put() or
 * xtq_register_function().
 */
int xtq_reduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
               enum xtq_op op);
int xtq_allreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                  enum xtq_op op);
int xtq_ireduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
                enum xtq_op op, struct xtq_request **out);
int xtq_iallreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                   enum xtq_op op, struct xtq_request **out);
/* Waits for a request and frees it. Returns the collective's result: 0, or an error as xtq_reduce(); -ECONNRESET: a
 * rank is lost. */
int xtq_wait(struct xtq_request *request);
/* Tests a request, and frees it if it has completed. Returns -EINPROGRESS while it is pending; otherwise as xtq_wait().
 */
int xtq_test(struct xtq_request *request);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
