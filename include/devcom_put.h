/* Part of devcom.h: one-sided communication, its order and completion, and chains. */
#ifndef VOCL_DEVCOM_PUT_H
#define VOCL_DEVCOM_PUT_H

#include <devcom_segment.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- one-sided communication (sections 4.2, 4.3) ---- */

/* How an operation changes a signal of its target: not at all; to the value; by the value. Many ranks and kernels may
 * add to one signal, which then counts what has arrived. */
enum devcom_signal_op { DEVCOM_SIGNAL_NONE, DEVCOM_SIGNAL_SET, DEVCOM_SIGNAL_ADD };

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
    enum devcom_signal_op op; /* puts only; DEVCOM_SIGNAL_NONE: no signal */
    int64_t value;            /* for op */
};

/*
 * Copy bytes from a segment of this rank to one of another rank (devcom_write()), and then change a signal of that rank
 * (devcom_write_notify()), or copy from the other rank's segment (devcom_read()).
 *
 * If this rank can reach the other segment by itself (devcom_segment_reach()), the operation is complete on return.
 * Otherwise it is pending in the queue: this rank may change its memory after devcom_flush_local(); the data have
 * arrived when devcom_quiet() returns, or when the signal is seen; data that were read are there after either. The
 * operations of one queue to one rank take effect in order, a signal after all earlier operations; different queues are
 * independent. A read from another host is a put by the owner.
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
 * -ENOMEM; -EIO. The next devcom_quiet() returns the errors that only another host detects: -ENOENT, -ERANGE,
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
int devcom_signal_op(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value,
                     unsigned queue);
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

/* ---- order and completion ---- */

/*
 * Waits for remote completion (shmem_ctx_quiet, MPI_Win_flush_all): until all operations of the queue, or those to one
 * rank, have taken effect and are visible to all. Then they are complete locally, too.
 *
 * rank        the rank of devcom_quiet_rank() (shmem_ctx_pe_quiet, MPI_Win_flush), for which alone it waits
 * queue       the queue
 * timeout_us  the time-out
 *
 * Return 0; -EINVAL: no such rank or queue; -ETIMEDOUT; -ECONNRESET: a rank with pending operations is lost; these are
 * abandoned (gaspi_queue_purge), and the next call concerns the other ranks only; or an error that a target reported
 * since the last call: see devcom_write().
 */
int devcom_quiet(struct devcom *d, unsigned queue, long timeout_us);
int devcom_quiet_rank(struct devcom *d, int rank, unsigned queue, long timeout_us);
/*
 * Orders (shmem_ctx_fence): what this rank did before, by the queue or by stores to mapped memory, takes effect at each
 * rank before what it does by the queue afterwards. It waits for nothing and completes nothing. The operations of a
 * queue to one rank are in order without it, as far as the target waits for signals. It is for a target that polls the
 * data themselves, and for stores before an operation. Stores after an operation need devcom_quiet().
 *
 * queue  the queue
 *
 * Returns 0; -EINVAL: no such queue.
 */
int devcom_fence(struct devcom *d, unsigned queue);
/*
 * Waits for local completion (gaspi_wait, MPI_Win_flush_local_all): until this rank may change the memory of all its
 * puts of the queue, and the data of its gets have arrived. The targets may not have received the puts yet.
 *
 * queue       the queue
 * timeout_us  the time-out
 *
 * Returns 0; -EINVAL: no such queue; -ETIMEDOUT; -ECONNRESET: a rank with pending operations is lost.
 */
int devcom_flush_local(struct devcom *d, unsigned queue, long timeout_us);

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
 * Returns 0 or an error as devcom_quiet().
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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
