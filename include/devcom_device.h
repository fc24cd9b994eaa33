/* Part of devcom.h: communication by devices. */
#ifndef VOCL_DEVCOM_DEVICE_H
#define VOCL_DEVCOM_DEVICE_H

#include <devcom_signal.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- communication by devices (sections 5.7, 5.8) ---- */

/* A device that communicates, from devcom_endpoint_open() to devcom_endpoint_close(). */
struct devcom_endpoint;

/* Options of devcom_endpoint_open(). */
struct devcom_endpoint_options {
    cl_context context;  /* retained */
    cl_device_id device; /* a device of context */
    unsigned queues;     /* number of queues for kernels, 2 to 32 (section 5.7.4); 0: 4 */
    unsigned depth;      /* commands that a queue holds, a power of two, at most 65536; 0: 256 */
    unsigned servers;    /* threads that empty the queues, at most one for each; 0: half of the processors */
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
/*
 * Gives kernels a list of puts, which devcom_put_element() then names by their indices (UCX: the memory lists of
 * ucp_device_put()). A put's offsets are the beginnings of its memories, its shape.bytes the size of both. The list
 * replaces the one before. No kernel may communicate meanwhile.
 *
 * puts   the list, which is copied; each of one block; may be NULL if count is 0
 * count  its length
 *
 * Returns 0; -EINVAL: no such rank or signal, or more than one block; -ENOMEM.
 */
int devcom_endpoint_list(struct devcom_endpoint *e, const struct devcom_put *puts, unsigned count);
/* Waits until the kernels' queues are empty, and closes an endpoint. Its kernels must have ended. Does nothing if e is
 * NULL. */
void devcom_endpoint_close(struct devcom_endpoint *e);

/*
 * Build a program for the endpoint's device, as OpenCL C 2.0 or 3.0 (devcom_program_create()), and set the parameter of
 * type `global struct devcom_device *` that its kernels have (devcom_kernel_argument()). The functions below, of
 * devcom/vocl_dev.cl and devcom/vocl_collective.cl, precede the program's source.
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
 * call. The functions that return int return 0 or a negative error. Names, guarantees and the order of arguments are
 * those of the host's functions, without time-outs: kernels wait without limit. doc/devcom.md describes them:
 *
 *     global void *devcom_ptr(d, uint rank, uint segment);
 *     long devcom_signal_load(d, uint signal);
 *     int devcom_write(d, uint segment, ulong offset, uint rank, uint remote_segment, ulong remote_offset, ulong bytes,
 *                      uint queue);
 *     int devcom_write_notify(d, uint segment, ulong offset, uint rank, uint remote_segment, ulong remote_offset,
 *                             ulong bytes, uint signal, uint op, long value, uint queue);
 *     int devcom_signal_op(d, uint rank, uint signal, uint op, long value, uint queue);
 *     int devcom_put_element(d, uint element, ulong offset, ulong remote_offset, ulong bytes, uint channel);
 *     int devcom_read(d, uint segment, ulong offset, uint rank, uint remote_segment, ulong remote_offset, ulong bytes,
 *                     uint queue);
 *     int devcom_fetch_add(d, uint rank, uint segment, ulong offset, long value, uint queue, private long *out);
 *     int devcom_compare_swap(d, uint rank, uint segment, ulong offset, long expected, long value, uint queue,
 *                             private long *out);
 *     int devcom_signal_wait(d, uint signal, uint condition, long value);
 *     int devcom_quiet(d, uint queue);
 *     int devcom_quiet_rank(d, uint rank, uint queue);
 *     int devcom_fence(d, uint queue);
 *     int devcom_flush_local(d, uint queue);
 *     int devcom_ggas_barrier(d);
 *     int devcom_ggas_barrier_at_end(d);
 *     int devcom_ggas_reduce(d, int root, uint segment, ulong offset, ulong count, uint type, uint op);
 *     int devcom_ggas_allreduce(d, uint segment, ulong offset, ulong count, uint type, uint op);
 *     int devcom_ggas_reduce_by(d, int root, uint segment, ulong offset, ulong count, uint type, uint op, uint method);
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
 * Kernels have queues of their own, whose errors devcom_quiet() does not return.
 */
int devcom_endpoint_error(struct devcom_endpoint *e);

/*
 * Enqueue puts, or a wait for a signal of this rank, as commands of a command queue (section 5.8.2: communication in
 * the stream). They are native kernels (CL_EXEC_NATIVE_KERNEL). A command queue with waits in it occupies a compute
 * unit of the device. devcom_endpoint_error() returns the errors that the commands meet when they run; the next
 * devcom_quiet() of the queue returns what another host refused.
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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
