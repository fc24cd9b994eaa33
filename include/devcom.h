/*
 * devcom: one-sided communication between the OpenCL devices of an MPI program: segments; puts with notification by the
 * host, by command queues and by kernels; and a global address space.
 *
 * It follows L. Oden, "Direct Communication Methods for Distributed GPUs" (2015; "chapter" and "section" below refer to
 * that dissertation), and T. Hanawa et al., "Tightly Coupled Accelerators" ("TCA"). Names are those of GASPI and of
 * OpenSHMEM. doc/internals/devcom.md describes the implementation.
 *
 *     gaspi_segment_create, _alloc, _bind, _register, _ptr, _delete   devcom_segment_...
 *     gaspi_write, _read, _write_notify, _notify, _write_list         devcom_write, _read, _write_notify, _notify, _put
 *     gaspi_wait                                                      devcom_queue_flush
 *     gaspi_notify_waitsome, _reset                                   devcom_notify_waitsome, _reset
 *     shmem_put_signal, shmem_signal_wait_until                       devcom_write_notify, devcom_signal_wait
 *     gaspi_atomic_fetch_add, _compare_swap                           devcom_fetch_add, devcom_compare_swap
 *     gaspi_passive_send, _receive                                    devcom_passive_send, _receive
 *     ggas_get_pointer_of_node                                        devcom_ggas_ptr
 *
 * Every function that returns int returns 0 or a negative errno, unless its description says otherwise. A pointer
 * argument may be NULL only where the description says so. A NULL pointer elsewhere yields -EINVAL; functions that
 * return no errno then do nothing, or return NULL or false. d, chain, e, c and g are the results of devcom_init(),
 * _chain_create(), _endpoint_open(), _control_create() and _ggas_open(). Sizes, offsets and strides are in bytes.
 * Functions may be called from any thread. Functions marked "Collective" must be called by all ranks of the
 * communicator, in the same order, and by one thread at a time.
 *
 * Time-outs are in microseconds. DEVCOM_TEST (0) checks once; DEVCOM_BLOCK (-1) waits without limit. A wait whose
 * time-out expires returns -ETIMEDOUT and may be called again. A wait without limit returns -ECONNRESET when any rank
 * is lost, since only the caller knows which rank it waits for. A rank of this host is lost when its process has died,
 * a rank of another host when it has been silent for VOCL_PEER_TIMEOUT seconds (10).
 */
#ifndef DEVCOM_H
#define DEVCOM_H

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

/* One rank's state of devcom, from devcom_init() to devcom_finalize(). */
struct devcom;

/* Time-outs: check once; wait without limit. */
#define DEVCOM_TEST VOCL_TEST
#define DEVCOM_BLOCK VOCL_BLOCK

/* ---- start and end ---- */

/* Options of devcom_init(). A member that is 0 has its default. All ranks must give the same values. */
struct devcom_options {
    unsigned segments;    /* number of segment ids, which begin at 0; default 32, at most 256 */
    unsigned signals;     /* number of signals of each rank, from 0; default 1024, at most 65535 */
    unsigned queues;      /* number of queues, from 0; default 4, at most 32 (section 5.7.4) */
    unsigned queue_depth; /* operations of a queue to one rank that may be pending; default 1024, at most 65536 */
    size_t eager_bytes; /* data sent to another rank by messages travel with their descriptor up to this size, and in a
                           message of their own above; at most 64 KiB. 0: VOCL_DEVCOM_EAGER, or the result of a
                           measurement of a few ms before the first put for which it matters. It also limits
                           devcom_write_inline(), whose limit is 8 KiB if this is 0 */
    size_t chunk_bytes; /* size of the pieces in which device memory is staged; default 256 KiB, at most 64 MiB
                           (section 4.5) */
    size_t passive_bytes; /* size of the longest passive message; default 4 KiB, at most 1 MiB */
    bool messages;        /* run the progress thread even if all ranks share a host, so that ranks can reach device
                             memory that cannot be mapped */
};

/*
 * Collective. Prepares the ranks of a communicator for devcom.
 *
 * comm     the communicator, which is duplicated. MPI must be initialised, and with MPI_THREAD_MULTIPLE if comm spans
 *          several hosts or options->messages is set
 * options  or NULL for the defaults
 * out      receives the new state
 *
 * Returns 0 or an error; errors other than -EIO are returned on all ranks. -EINVAL: the options are invalid, or differ
 * between ranks; -ENOTSUP: MPI lacks MPI_THREAD_MULTIPLE; -ENOMEM; -EIO: MPI failed, perhaps on this rank alone. MPI
 * promises nothing after an error, and other ranks may wait for this one for ever, so a program should then call
 * MPI_Abort().
 */
int devcom_init(MPI_Comm comm, const struct devcom_options *options, struct devcom **out);

/*
 * Collective. Fences all queues, waits for all ranks, then frees everything, segments included. Endpoints, chains,
 * control programs and global address spaces must be closed before.
 *
 * Returns 0; -ECONNRESET: a rank is lost; this rank's resources are freed nevertheless.
 */
int devcom_finalize(struct devcom *d);

/* Return this process's rank, and the number of ranks; -EINVAL if d is NULL. */
int devcom_rank(const struct devcom *d);
int devcom_size(const struct devcom *d);
/* Returns whether this rank shares memory with a rank; false if there is no such rank. */
bool devcom_shares_host(const struct devcom *d, int rank);
/* Returns whether a rank is alive: false once the rank is known to be lost, and if there is no such rank. */
bool devcom_alive(const struct devcom *d, int rank);

/* ---- segments (section 4.2) ---- */

/*
 * Describes the memory of a segment. If all members but bytes are 0, it is host memory, shared with the ranks of this
 * host.
 *
 * With context, device and commands it is device memory. If the device works in host memory
 * (CL_DEVICE_HOST_UNIFIED_MEMORY), this is shared host memory with a buffer over it (CL_MEM_USE_HOST_PTR); otherwise it
 * is the device's own memory, and access to it is staged.
 */
struct devcom_memory {
    size_t bytes;              /* size of the segment */
    void *address;             /* devcom_segment_bind() only: existing host memory or SVM; or NULL */
    cl_mem buffer;             /* devcom_segment_bind() only: an existing buffer (retained); or NULL */
    cl_context context;        /* retained; or NULL */
    cl_device_id device;       /* a device of context */
    cl_command_queue commands; /* an in-order queue, used for staging (retained) */
    bool staged;               /* treat the device as if it had memory of its own */
};

/*
 * Allocates memory for a segment of this rank, as gaspi_segment_alloc() does. Local. The memory is zero. Other ranks
 * may use the segment as soon as they know that it exists, for example after devcom_segment_register().
 *
 * segment  the id, below devcom_options.segments
 * memory   its description; address and buffer must be NULL
 *
 * Returns 0; -EINVAL: no such id, or the description is incomplete; -EBUSY: the id has a segment; -ENOMEM; -EIO: OpenCL
 * failed; -ENOTSUP: the device memory has to be staged, and there is no progress thread (devcom_options.messages).
 */
int devcom_segment_alloc(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/*
 * Makes existing memory a segment of this rank. Local. The memory must exist as long as the segment does. Ranks of this
 * host reach memory that has an address by process_vm_writev(), or by messages if the system forbids that. A buffer
 * made with CL_MEM_USE_HOST_PTR for a device that works in host memory (member device) counts as that host memory.
 *
 * segment  the id, below devcom_options.segments
 * memory   its description: bytes, and either address, or buffer with commands
 *
 * Returns 0 or an error as devcom_segment_alloc(); -EINVAL also if the buffer is smaller than bytes.
 */
int devcom_segment_bind(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/*
 * Collective. Waits until all ranks have given the segment memory, and tells each rank of the others' errors.
 *
 * segment  the id
 * error    this rank's result of devcom_segment_alloc() or devcom_segment_bind(): 0 or a negative errno
 *
 * Returns the least of all ranks' errors; -EINVAL, -ENOENT: a rank has no such id, or no segment there; -ECONNRESET.
 */
int devcom_segment_register(struct devcom *d, unsigned segment, int error);
/*
 * Collective. Calls devcom_segment_alloc() and devcom_segment_register(). If this fails on any rank, no rank keeps a
 * segment that it allocated here. Sizes may differ between ranks.
 *
 * segment, memory  as for devcom_segment_alloc()
 *
 * Returns 0 or an error as the two functions.
 */
int devcom_segment_create(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/*
 * Deletes a segment of this rank. Local. This rank's operations on the segment must have completed; later operations of
 * other ranks fail with -ENOENT.
 *
 * Returns 0; -ENOENT: there is no such segment.
 */
int devcom_segment_delete(struct devcom *d, unsigned segment);

/*
 * Returns the address in this process of a rank's segment: this rank's own, or another rank's that is mapped, as the
 * segments of a global address space are. The address is valid until the owner deletes the segment.
 *
 * rank, segment  which segment
 * out            receives the address
 *
 * Returns 0; -ENOENT: no such rank or segment; -ENOTSUP: the segment is not mapped; -ENOMEM; -ECONNRESET.
 */
int devcom_segment_ptr(struct devcom *d, int rank, unsigned segment, void **out);
/*
 * Returns the buffer of a segment of this rank in *out. The buffer is not retained.
 *
 * Returns 0; -ENOENT: there is no such segment, or it has no buffer.
 */
int devcom_segment_buffer(struct devcom *d, unsigned segment, cl_mem *out);

/* How this rank reaches a rank's segment (section 3.6). */
enum devcom_path {
    DEVCOM_MAPPED = 1, /* by loads and stores of this process */
    DEVCOM_DIRECT,     /* by one copy into the memory, made by the operating system or the owner's progress thread */
    DEVCOM_STAGED,     /* in pieces, through host memory of the owner */
};
/* The result of devcom_segment_reach(). */
struct devcom_reach {
    enum devcom_path path;
    const char *why; /* the reason, as a sentence; a static string */
    size_t bytes;    /* size of the segment */
};
/*
 * Finds out how this rank reaches a rank's segment.
 *
 * rank, segment  which segment
 * timeout_us     limits the wait for the answer of a rank of another host; not used otherwise
 * out            receives the result
 *
 * Returns 0; -ENOENT: no such rank or segment; -ETIMEDOUT or -ECONNRESET: no answer from the other host; -ENOMEM.
 */
int devcom_segment_reach(struct devcom *d, int rank, unsigned segment, long timeout_us, struct devcom_reach *out);

/* ---- one-sided communication (sections 4.2, 4.3) ---- */

/* How an operation changes a signal of its target: not at all; to the value; by the value. */
enum devcom_signal_op { DEVCOM_NONE, DEVCOM_SET, DEVCOM_ADD };

/*
 * The shape of the data of a transfer, of up to three dimensions (TCA: block-stride transfers): a row of count[0]
 * blocks of bytes, whose beginnings are stride[0] apart, or count[1] such rows, stride[1] apart. Blocks must not
 * overlap.
 */
struct devcom_shape {
    size_t bytes;            /* size of a block */
    uint32_t count[2];       /* 0 means 1 */
    size_t stride[2];        /* in this rank's segment */
    size_t remote_stride[2]; /* in the other rank's segment */
};

/* One put or get. A put may be followed by a change of a signal of the target. */
struct devcom_put {
    unsigned segment, remote_segment; /* ids: this rank's segment, and the other rank's */
    size_t offset, remote_offset;     /* of the first block in each */
    struct devcom_shape shape;
    int rank;                 /* the other rank */
    unsigned signal;          /* of the other rank; puts only */
    enum devcom_signal_op op; /* puts only; DEVCOM_NONE: no signal */
    int64_t value;            /* for op */
};

/*
 * Copy bytes from a segment of this rank to one of another rank (devcom_write()), and then change a signal of that rank
 * (devcom_write_notify()), or copy from the other rank's segment (devcom_read()).
 *
 * If this rank can reach the other segment by itself (devcom_segment_reach()), the operation is complete on return.
 * Otherwise it is pending in the queue: this rank may change its memory after devcom_queue_flush(); the data have
 * arrived when devcom_queue_fence() returns, or when the signal is seen. The operations of one queue to one rank take
 * effect in order, a signal after all earlier operations; different queues are independent. A read from another host is
 * a put by the owner.
 *
 * segment, offset                this rank's segment, and where the data begin in it
 * rank                           the other rank
 * remote_segment, remote_offset  likewise of the other rank's segment
 * bytes                          size of the data; if 0, no segment is used
 * signal, op, value              the signal of the other rank, and how it changes
 * queue                          the queue, below devcom_options.queues
 *
 * Return 0; -EINVAL: no such rank, queue or signal, or an invalid shape; -ENOENT: no such segment; -ERANGE: outside of
 * the segment; -EAGAIN: the queue is full; -ECONNRESET: the rank is lost; -ENOTSUP: the memory cannot be reached;
 * -ENOMEM; -EIO. The next devcom_queue_fence() returns the errors that only another host detects: -ENOENT, -ERANGE,
 * -EINVAL, -EIO; the signal is not changed then.
 */
int devcom_write(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                 size_t remote_offset, size_t bytes, unsigned queue);
int devcom_read(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                size_t remote_offset, size_t bytes, unsigned queue);
int devcom_write_notify(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                        size_t remote_offset, size_t bytes, unsigned signal, enum devcom_signal_op op, int64_t value,
                        unsigned queue);
/*
 * Changes a signal of another rank, in the order of the queue.
 *
 * rank, signal, op, value, queue  as for devcom_write_notify()
 *
 * Returns 0 or an error as devcom_write_notify().
 */
int devcom_notify(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue);
/*
 * Run a list of puts, or of gets, one after the other: the general forms of devcom_write_notify() and devcom_read().
 *
 * puts, gets  the list; may be NULL if count is 0. Gets ignore the signal
 * count       its length
 * queue       the queue
 * done        receives how many were started; may be NULL
 *
 * Return 0, or the error, as devcom_write()'s, of the first that failed; those after it are not started.
 */
int devcom_put(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue, unsigned *done);
int devcom_get(struct devcom *d, const struct devcom_put *gets, unsigned count, unsigned queue, unsigned *done);

/*
 * Waits for local completion: until this rank may change the memory of all operations of the queue (gaspi_wait).
 *
 * queue       the queue
 * timeout_us  the time-out
 *
 * Returns 0; -EINVAL: no such queue; -ETIMEDOUT; -ECONNRESET: a rank with pending operations is lost.
 */
int devcom_queue_flush(struct devcom *d, unsigned queue, long timeout_us);
/*
 * Waits for remote completion: until all operations of the queue have taken effect.
 *
 * queue       the queue
 * timeout_us  the time-out
 *
 * Returns 0; -EINVAL: no such queue; -ETIMEDOUT; -ECONNRESET: a rank with pending operations is lost; these are
 * abandoned (gaspi_queue_purge), and the next fence concerns the other ranks only; or an error that a target reported
 * since the last fence: see devcom_write().
 */
int devcom_queue_fence(struct devcom *d, unsigned queue, long timeout_us);

/* ---- signals (section 4.2.3, OpenSHMEM's signals) ---- */

/* The conditions of vocl_words.h, under names of this library. */
#define devcom_condition vocl_condition
#define DEVCOM_EQ VOCL_EQ
#define DEVCOM_NE VOCL_NE
#define DEVCOM_LT VOCL_LT
#define DEVCOM_GE VOCL_GE

/*
 * Read and set a signal of this rank: a 64-bit word, 0 at first. devcom_signal_store() wakes the threads that wait for
 * this rank's signals.
 *
 * signal  the signal, below devcom_options.signals
 * out     receives its value
 * value   the new value
 *
 * Return 0; -EINVAL: no such signal.
 */
int devcom_signal_load(struct devcom *d, unsigned signal, int64_t *out);
int devcom_signal_store(struct devcom *d, unsigned signal, int64_t value);
/*
 * Waits until a signal of this rank satisfies a condition. The thread polls for VOCL_SPIN_US and then sleeps.
 *
 * signal            the signal
 * condition, value  the signal's value is compared with value
 * timeout_us        the time-out
 * out               receives the signal's value if the condition holds; may be NULL
 *
 * Returns 0; -EINVAL: no such signal or condition; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_signal_wait(struct devcom *d, unsigned signal, enum devcom_condition condition, int64_t value,
                       long timeout_us, int64_t *out);
/*
 * Waits until any of count signals of this rank, from first on, is not 0 (gaspi_notify_waitsome).
 *
 * first, count  the signals; count is at least 1
 * timeout_us    the time-out
 * out           receives the first signal that is not 0
 *
 * Returns 0; -EINVAL: no such signals; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_notify_waitsome(struct devcom *d, unsigned first, unsigned count, long timeout_us, unsigned *out);
/*
 * Atomically sets a signal of this rank to 0 (gaspi_notify_reset).
 *
 * signal  the signal
 * out     receives its old value; may be NULL
 *
 * Returns 0; -EINVAL: no such signal.
 */
int devcom_notify_reset(struct devcom *d, unsigned signal, int64_t *out);

/* ---- atomics ---- */

/*
 * Atomically add value to a word (devcom_fetch_add()), or store value in it if it equals expected
 * (devcom_compare_swap()). The word is a 64-bit integer, aligned to 8 bytes, in a segment in host memory. The operation
 * is complete on return. It is atomic also against C11 atomics of the owner and 64-bit atomics of kernels on CPU
 * devices, but not against MPI's operations.
 *
 * rank, segment, offset  the word: rank and segment, and the offset in it, a multiple of 8
 * expected, value        the operands
 * timeout_us             the time-out, for ranks that are reached by messages
 * out                    receives the word's old value
 *
 * Return 0 or an error as devcom_write(); -ENOTSUP: the memory is staged, or cannot be reached; -EAGAIN: as many
 * operations as a queue holds have timed out and were not resumed. After -ETIMEDOUT the operation is pending or done:
 * the same call with the same arguments resumes it, so it is done only once.
 */
int devcom_fetch_add(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t value, long timeout_us,
                     int64_t *out);
int devcom_compare_swap(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t expected, int64_t value,
                        long timeout_us, int64_t *out);

/* ---- passive communication (section 4.2.4) ---- */

/*
 * Sends a message to a rank, for any thread there that calls devcom_passive_receive(). A rank holds one unread message
 * of each sender; the call waits until the previous one has been received.
 *
 * rank         the receiver
 * data, bytes  the message, at most devcom_options.passive_bytes; data may be NULL if bytes is 0
 * timeout_us   the time-out
 *
 * Returns 0; -EINVAL: no such rank; -EMSGSIZE: the message is too long; -ETIMEDOUT; -ECONNRESET; -ENOMEM.
 */
int devcom_passive_send(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us);
/*
 * Receives a passive message from any rank, and sleeps until there is one.
 *
 * data, most  receives the message; most is the room there. data may be NULL if most is 0
 * timeout_us  the time-out
 * rank        receives the sender
 * bytes       receives the message's size
 *
 * Returns 0; -EMSGSIZE: the message is longer than most, and remains to be received; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_passive_receive(struct devcom *d, void *data, size_t most, long timeout_us, int *rank, size_t *bytes);

/* ---- collectives (sections 4.2.5, 6.7, 6.8) ---- */

/* The types and operations of vocl_words.h, under names of this library. VOCL_REPLACE has none. */
#define devcom_type vocl_type
#define devcom_op vocl_op
#define DEVCOM_INT8 VOCL_INT8
#define DEVCOM_UINT8 VOCL_UINT8
#define DEVCOM_INT16 VOCL_INT16
#define DEVCOM_UINT16 VOCL_UINT16
#define DEVCOM_INT32 VOCL_INT32
#define DEVCOM_UINT32 VOCL_UINT32
#define DEVCOM_INT64 VOCL_INT64
#define DEVCOM_UINT64 VOCL_UINT64
#define DEVCOM_FLOAT VOCL_FLOAT
#define DEVCOM_DOUBLE VOCL_DOUBLE
#define DEVCOM_SUM VOCL_SUM
#define DEVCOM_PROD VOCL_PROD
#define DEVCOM_MIN VOCL_MIN
#define DEVCOM_MAX VOCL_MAX

/* Methods of reduction (section 6.8). All but the tree combine contributions in the order of ranks, so that their
 * results are the same bit for bit. */
enum devcom_method {
    DEVCOM_AUTO,        /* chosen by size */
    DEVCOM_REMOTE_READ, /* each rank reads the contributions of all others */
    DEVCOM_GATHER,      /* the root collects the contributions; for an allreduce it then writes the result to all */
    DEVCOM_ALL_GATHER,  /* each rank writes its contribution to all others */
    DEVCOM_ALL_TO_ALL,  /* each rank combines a part of the elements */
    DEVCOM_TREE,        /* a binomial tree */
};

/*
 * Collective. Waits until all ranks have called it.
 *
 * timeout_us  the time-out
 *
 * Returns 0; -ETIMEDOUT: the same call with the same arguments resumes the collective; -EINVAL: an invalid argument, or
 * another collective has to be resumed first; -ENOENT: no such segment; -ERANGE: outside of the segment; -ECONNRESET: a
 * rank is lost. devcom_broadcast(), devcom_allreduce() and devcom_reduce() return these errors, too.
 */
int devcom_barrier(struct devcom *d, long timeout_us);
/*
 * Collective. Copies data of the root's segment to the same offset of all other ranks' segments.
 *
 * root           the rank that has the data
 * segment        the segment's id, the same on all ranks
 * offset, bytes  the data
 * timeout_us     the time-out
 *
 * Returns 0 or an error as devcom_barrier().
 */
int devcom_broadcast(struct devcom *d, int root, unsigned segment, size_t offset, size_t bytes, long timeout_us);
/*
 * Collective. Combine the elements of all ranks, in place: devcom_allreduce() leaves the result on all ranks,
 * devcom_reduce() on the root; on the other ranks the elements are undefined then. Segments may be in host or in device
 * memory.
 *
 * root           the rank that gets the result
 * segment        the segment's id, the same on all ranks
 * offset, count  the elements; offset is a multiple of an element's size
 * type, op       the elements' type and the operation
 * method         the method; the same on all ranks
 * timeout_us     the time-out
 *
 * Return 0 or an error as devcom_barrier().
 */
int devcom_allreduce(struct devcom *d, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                     enum devcom_op op, enum devcom_method method, long timeout_us);
int devcom_reduce(struct devcom *d, int root, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                  enum devcom_op op, enum devcom_method method, long timeout_us);

/* ---- chained descriptors (TCA: DMA with a descriptor table) ---- */

/* A table of puts, from devcom_chain_create() to devcom_chain_destroy(). */
struct devcom_chain;

/*
 * Prepares a table of puts, which devcom_chain_start() starts all at once, any number of times. The puts are checked
 * and copied; their segments are looked up at each start.
 *
 * puts, count  the puts; count is at least 1
 * queue        the queue of all of them
 * out          receives the chain
 *
 * Returns 0; -EINVAL as devcom_put(); -ENOMEM.
 */
int devcom_chain_create(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue,
                        struct devcom_chain **out);
/*
 * Starts all puts of a chain, in order (TCA: the doorbell).
 *
 * Returns 0 or an error as devcom_put(), with which the chain ends at that put; -EBUSY: earlier operations of its queue
 * to its ranks are pending, or another thread is starting the chain.
 */
int devcom_chain_start(struct devcom_chain *chain);
/*
 * Waits until all puts of a chain that were started have taken effect (TCA: the completion flag).
 *
 * timeout_us  the time-out
 *
 * Returns 0 or an error as devcom_queue_fence().
 */
int devcom_chain_wait(struct devcom_chain *chain, long timeout_us);
/* Frees a chain; does nothing if chain is NULL. */
void devcom_chain_destroy(struct devcom_chain *chain);

/*
 * Writes a short message and then changes a signal (TCA: PIO): devcom_write_notify() of data that lie anywhere in this
 * rank's memory, which may be changed on return.
 *
 * data, bytes  the data, at most devcom_options.eager_bytes (8 KiB if that is 0); data may be NULL if bytes is 0
 *
 * The other arguments are those of devcom_write_notify(). Returns 0 or an error as that; -EMSGSIZE: too many bytes.
 */
int devcom_write_inline(struct devcom *d, const void *data, size_t bytes, int rank, unsigned remote_segment,
                        size_t remote_offset, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue);

/* ---- communication by devices (sections 5.7, 5.8) ---- */

/* A device that communicates, from devcom_endpoint_open() to devcom_endpoint_close(). */
struct devcom_endpoint;

/* Options of devcom_endpoint_open(). */
struct devcom_endpoint_options {
    cl_context context;  /* retained */
    cl_device_id device; /* a device of context */
    unsigned queues;     /* number of queues for kernels, 2 to 32 (section 5.7.4); 0: 4 */
    unsigned depth;      /* commands that a queue holds, a power of two, at most 65536; 0: 256 */
};

/*
 * Lets a device of this rank communicate. The device must accept addresses of this process: it is a CPU device, or has
 * CL_DEVICE_SVM_FINE_GRAIN_SYSTEM. Its kernels reach the segments that exist now: see devcom_endpoint_refresh().
 *
 * options  context and device, and the kernels' queues
 * out      receives the endpoint
 *
 * Returns 0; -EINVAL: an invalid option; -ENOTSUP: the device does not accept addresses; -ENOMEM, -EAGAIN: no memory,
 * or no thread.
 */
int devcom_endpoint_open(struct devcom *d, const struct devcom_endpoint_options *options, struct devcom_endpoint **out);
/* Looks up the segments of all ranks again, after one was created or deleted. No kernel may communicate meanwhile.
 * Returns 0. */
int devcom_endpoint_refresh(struct devcom_endpoint *e);
/* Waits until the kernels' queues are empty, and closes an endpoint. Its kernels must have ended. Does nothing if e is
 * NULL. */
void devcom_endpoint_close(struct devcom_endpoint *e);

/*
 * Build a program for the endpoint's device, as OpenCL C 2.0 or 3.0 (devcom_program_create()), and set the parameter of
 * type `global struct devcom_device *` that its kernels have (devcom_kernel_argument()). The functions below, of
 * devcom/vocl_dev.cl, precede the program's source.
 *
 * source   the program's source
 * options  the compiler's options; may be NULL
 * out      receives the program
 * kernel   a kernel of such a program
 * index    the parameter's index
 *
 * Return 0; -EINVAL: the options are too long; -EIO: OpenCL failed, or the program does not compile (VOCL_LOG=error
 * logs the reason).
 *
 * All work-items of a work-group must call these functions together, except for the first two, which any work-item may
 * call. The functions that return int return 0 or a negative error. doc/devcom.md describes them:
 *
 *     global void *devcom_ptr(d, uint rank, uint segment);
 *     long devcom_signal_load(d, uint signal);
 *     int devcom_put(d, uint queue, uint segment, ulong offset, uint rank, uint remote_segment, ulong remote_offset,
 *                    ulong bytes);
 *     int devcom_put_notify(d, uint queue, uint segment, ulong offset, uint rank, uint remote_segment,
 *                           ulong remote_offset, ulong bytes, uint signal, uint op, int value);
 *     int devcom_notify(d, uint queue, uint rank, uint signal, uint op, int value);
 *     int devcom_wait_notify(d, uint signal, uint condition, long value);
 *     int devcom_flush(d, uint queue);
 *     int devcom_ggas_barrier(d);
 *     int devcom_ggas_barrier_at_end(d);
 *     int devcom_ggas_reduce(d, int root, uint segment, ulong offset, ulong count, uint type, uint op);
 *     int devcom_ggas_allreduce(d, uint segment, ulong offset, ulong count, uint type, uint op);
 */
int devcom_program_create(struct devcom_endpoint *e, const char *source, const char *options, cl_program *out);
int devcom_kernel_argument(struct devcom_endpoint *e, cl_kernel kernel, unsigned index);

/*
 * Enqueues a kernel whose work-groups wait for other ranks or for each other. It is refused if, together with the
 * kernels and waits that are enqueued already, it has more work-groups than the device runs at once, since they might
 * then wait for each other for ever.
 *
 * commands                   a command queue of the endpoint's device
 * kernel                     the kernel
 * dimensions, global, local  as of clEnqueueNDRangeKernel(); local divides global, and must not be NULL
 * event                      receives the kernel's event; may be NULL
 *
 * Returns 0; -EINVAL: invalid sizes; -EDEADLK: too many work-groups; -EIO: OpenCL refused the kernel; -ENOMEM.
 */
int devcom_enqueue_kernel(struct devcom_endpoint *e, cl_command_queue commands, cl_kernel kernel, unsigned dimensions,
                          const size_t *global, const size_t *local, cl_event *event);
/*
 * Returns the first error of an endpoint since the last call of this function, and clears it; 0 if there was none. It
 * is an error that a kernel of the endpoint, or a command of devcom_enqueue_put() or devcom_enqueue_wait(), met.
 * Kernels have queues of their own, whose errors devcom_queue_fence() does not return.
 */
int devcom_endpoint_error(struct devcom_endpoint *e);

/*
 * Enqueue puts, or a wait for a signal of this rank, as commands of a command queue (section 5.8.2: communication in
 * the stream). They are native kernels (CL_EXEC_NATIVE_KERNEL). A command queue with waits in it occupies a compute
 * unit of the device. devcom_endpoint_error() returns the errors that the commands meet when they run; the next
 * devcom_queue_fence() of the queue returns what another host refused.
 *
 * commands                  an in-order command queue of the endpoint's device
 * puts, count, queue        the puts, which are copied, and their queue: see devcom_put()
 * signal, condition, value  see devcom_signal_wait()
 * event                     receives the command's event; may be NULL
 *
 * Return 0; -EINVAL: an invalid argument, or the command queue is out-of-order; -ENOTSUP: the device runs no native
 * kernels; -EDEADLK: a wait is refused, as in devcom_enqueue_kernel(); -ENOMEM; -EIO: OpenCL refused the command.
 */
int devcom_enqueue_put(struct devcom_endpoint *e, cl_command_queue commands, const struct devcom_put *puts,
                       unsigned count, unsigned queue, cl_event *event);
int devcom_enqueue_wait(struct devcom_endpoint *e, cl_command_queue commands, unsigned signal,
                        enum devcom_condition condition, int64_t value, cl_event *event);

/* ---- control programs (section 5.8.3: one block of a kernel that launches the others and communicates) ---- */

/*
 * A control program: a list of commands that a rank prepares once, and that a thread of the library runs. The thread
 * that starts it, on this rank or on another, is free meanwhile. It replaces the thesis' control kernel, since no
 * OpenCL lets kernels launch kernels on every device.
 */
struct devcom_control;

/* The kinds of commands. */
enum devcom_command_kind {
    DEVCOM_DO_LAUNCH = 1, /* enqueue a kernel; the next command does not wait for it */
    DEVCOM_DO_FINISH,     /* wait until all kernels so far have ended (cudaDeviceSynchronize() in the thesis) */
    DEVCOM_DO_PUT,        /* as devcom_put() */
    DEVCOM_DO_GET,        /* as devcom_get(); the data have arrived after a DEVCOM_DO_FENCE */
    DEVCOM_DO_FENCE,      /* as devcom_queue_fence() */
    DEVCOM_DO_WAIT,       /* as devcom_signal_wait() */
    DEVCOM_DO_REPEAT,     /* run the commands up to the matching DEVCOM_DO_END count times; 0: until cancelled */
    DEVCOM_DO_UNTIL,      /* likewise, but end after the first round at whose end the signal's condition holds */
    DEVCOM_DO_END,        /* the end of a loop */
};

/* A kernel's argument that is set before each launch. If step is not 0, the argument is an integer of 4 or 8 bytes, to
 * which step is added each time the command runs again. If step is 0, it is any argument of clSetKernelArg(). */
struct devcom_argument {
    unsigned index;
    size_t bytes;
    const void *value; /* NULL: local memory of that many bytes */
    int64_t step;
};

/* A command of a control program. */
struct devcom_command {
    enum devcom_command_kind kind;
    /* DEVCOM_DO_LAUNCH */
    cl_kernel kernel; /* retained. Its other arguments must be set before, and not be changed while the program runs */
    unsigned dimensions;
    size_t offset[3], global[3], local[3]; /* local[0] 0: the device chooses */
    const struct devcom_argument *arguments;
    /* number of arguments, puts or rounds */
    unsigned count;
    /* DEVCOM_DO_PUT, DEVCOM_DO_GET, DEVCOM_DO_FENCE */
    const struct devcom_put *puts;
    unsigned queue;
    /* DEVCOM_DO_WAIT, DEVCOM_DO_UNTIL */
    unsigned signal;
    enum devcom_condition condition;
    int64_t value;
    int64_t step; /* added to value, or to the puts' values, each time the command runs again; not DEVCOM_DO_UNTIL */
};

/*
 * Prepares a control program. The list and everything it points to are checked and copied. Its kernels must not wait
 * for signals or other kernels.
 *
 * commands     the in-order command queue of its kernels (retained); NULL if there are none
 * list, count  the commands; loops nest up to 8 deep
 * wait_us      how long one command may wait, in microseconds; DEVCOM_BLOCK: without limit
 * out          receives the program
 *
 * Returns 0; -EINVAL: the list is invalid (a loop without an end, kernels without a command queue, ...), or as
 * devcom_put(); -ENOMEM; -EAGAIN: no thread.
 */
int devcom_control_create(struct devcom *d, cl_command_queue commands, const struct devcom_command *list,
                          unsigned count, long wait_us, struct devcom_control **out);
/*
 * Starts a control program, and returns at once. The program has ended when its kernels have ended and its puts have
 * taken effect. The queues that it uses for puts must not be used otherwise meanwhile.
 *
 * Returns 0; -EBUSY: the program runs, or is offered.
 */
int devcom_control_start(struct devcom_control *c);
/*
 * Lets other ranks start a control program by devcom_notify(): from now on it runs whenever the signal start of this
 * rank is not 0. The signal is set to 0 first. At the end of each run the signal done of a rank is SET to the number of
 * runs that have succeeded, or to the negative errno of this run. The offer ends with the loss of a rank,
 * devcom_control_cancel() or devcom_control_destroy().
 *
 * start       a signal of this rank
 * rank, done  a rank, and a signal of that rank
 *
 * Returns 0; -EINVAL: no such rank or signal; -EBUSY: the program runs, or is offered.
 */
int devcom_control_offer(struct devcom_control *c, unsigned start, int rank, unsigned done);
/*
 * Waits until a control program neither runs nor is offered.
 *
 * timeout_us  the time-out of this call
 * at          receives the index of the command that failed, or the number of commands; may be NULL
 *
 * Returns 0 or the error that ended the program; -ECANCELED: the program was cancelled; -ECONNRESET: a rank is lost;
 * -EIO: OpenCL failed; -ETIME: a command waited longer than wait_us; -ETIMEDOUT: this call's time-out; or an error as
 * devcom_put() or devcom_queue_fence().
 */
int devcom_control_wait(struct devcom_control *c, long timeout_us, unsigned *at);
/* Ends a control program before its next command, or during a wait, but not during a kernel. Returns at once. */
void devcom_control_cancel(struct devcom_control *c);
/* Cancels a control program, waits for its end, and frees it. Must be called before devcom_finalize(). */
void devcom_control_destroy(struct devcom_control *c);

/* ---- global address space (chapter 6; TCA) ---- */

/* A global address space, from devcom_ggas_open() to devcom_ggas_close(). */
struct devcom_ggas;

/*
 * Collective. Maps a range of addresses that is the same on all ranks, with a number of slots for each rank, for
 * example one for each of its devices. Threads, and kernels of devices that accept addresses, use the whole range by
 * loads and stores. Each rank's slots are segments, too.
 *
 * first_segment  the id of the first slot's segment, the same on all ranks; the others follow
 * slots          the number of slots of each rank, the same on all ranks
 * memory         describes each slot of this rank, as for devcom_segment_alloc(); bytes is the same on all ranks
 * out            receives the address space
 *
 * Returns 0; -EINVAL: an invalid argument, or ids, slots or sizes differ; -EBUSY: an id has a segment; -ENOTSUP: a rank
 * is on another host, or a device has memory of its own; -ENOMEM: no range is free on all ranks; -ECONNRESET.
 */
int devcom_ggas_open(struct devcom *d, unsigned first_segment, unsigned slots, const struct devcom_memory *memory,
                     struct devcom_ggas **out);
/* Collective. Unmaps a global address space and deletes its segments. Returns 0; -ECONNRESET: a rank is lost; this
 * rank's memory is unmapped nevertheless. */
int devcom_ggas_close(struct devcom_ggas *g);
/* Returns the address of a slot of a rank; NULL if there is no such rank or slot. */
void *devcom_ggas_ptr(const struct devcom_ggas *g, int rank, unsigned slot);
/*
 * Finds the slot that an address lies in.
 *
 * address  the address
 * rank     receives the rank
 * slot     receives the slot
 * offset   receives the offset in the slot
 *
 * Returns 0; -EFAULT: the address is in no slot.
 */
int devcom_ggas_owner(const struct devcom_ggas *g, const void *address, int *rank, unsigned *slot, size_t *offset);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
