/*
 * devcom: one-sided communication between the OpenCL devices of an MPI program: segments, puts with notification by the
 * host, by command queues and by kernels, and a global address space.
 *
 * After L. Oden, "Direct Communication Methods for Distributed GPUs" (2015; "chapter" and "section" below are of that
 * dissertation), and T. Hanawa et al., "Tightly Coupled Accelerators" ("TCA"). The words are those of GASPI and of
 * OpenSHMEM; doc/devcom.md tells how it works inside:
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
 * Every function that returns int returns 0 or a negative errno. A pointer may be NULL where it is said so (options of
 * devcom_init(), done, the out of a wait or a reset, at, events, options of a program, data without bytes); elsewhere
 * it is -EINVAL, and where nothing says what went wrong nothing happens, or the answer is NULL or false. Sizes, offsets
 * and strides are bytes. Functions may be called from any thread, except that those said to be collective are called by
 * all ranks of the communicator, in the same order and by one thread at a time.
 *
 * Time-outs are in microseconds: DEVCOM_TEST looks once, DEVCOM_BLOCK waits for as long as it takes. A wait that comes
 * to its time-out returns -ETIMEDOUT and may be called again. Without a time-out a wait ends with -ECONNRESET when a
 * rank that shares this host has died, or one of another host has not been heard of for VOCL_PEER_TIMEOUT seconds (10):
 * whom it waits for, only the caller knows.
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

struct devcom;

#define DEVCOM_TEST VOCL_TEST
#define DEVCOM_BLOCK VOCL_BLOCK

/* ---- start and end ---- */

/* 0 stands for the default. All ranks must give the same. */
struct devcom_options {
    unsigned segments;    /* how many segment ids, from 0; 32, at most 256 */
    unsigned signals;     /* how many signals each rank has, from 0; 1024, at most 65535 */
    unsigned queues;      /* how many queues, from 0; 4, at most 32 (section 5.7.4) */
    unsigned queue_depth; /* operations to one rank that a queue may have under way; 1024, at most 65536 */
    size_t eager_bytes; /* what is carried to another rank by messages travels with its descriptor up to so many bytes,
                           and by itself above, at most 64 KiB; 0: VOCL_DEVCOM_EAGER, or what a measurement of
                           a few ms finds at the first put where it matters. Short messages (devcom_write_inline())
                           have at most so many, or 8 KiB */
    size_t chunk_bytes; /* pieces in which device memory is staged; 256 KiB (section 4.5) */
    size_t passive_bytes; /* the longest passive message; 4 KiB, at most 1 MiB */
    bool messages;        /* have the progress thread even where all ranks share a host: ranks reach device memory that
                             cannot be mapped through it */
};

/*
 * Collective: prepare the ranks of comm, which is duplicated. MPI must be initialised; where comm spans several hosts,
 * or options->messages is set, with MPI_THREAD_MULTIPLE.
 * -EINVAL: options are wrong, or not the same on all ranks; -ENOTSUP: no MPI_THREAD_MULTIPLE; -ENOMEM; -EIO: MPI
 * failed. On failure all ranks fail.
 */
int devcom_init(MPI_Comm comm, const struct devcom_options *options, struct devcom **out);

/* Collective: after a fence of all queues and a barrier, free all, segments included. -ECONNRESET: a rank is missing;
 * what belongs to this one is freed all the same. Endpoints, chains, control
 * programs and global address spaces must be closed before. */
int devcom_finalize(struct devcom *d);

int devcom_rank(const struct devcom *d);
int devcom_size(const struct devcom *d);
/* Whether this rank and that one share memory. */
bool devcom_shares_host(const struct devcom *d, int rank);
/* False once a rank is known to have died. */
bool devcom_alive(const struct devcom *d, int rank);

/* ---- segments (section 4.2) ---- */

/*
 * Memory for a segment. Zeros everywhere but in bytes: memory of the host, shared with the ranks of this host.
 *
 * With context, device and commands: device memory. Where the device works in the host's memory
 * (CL_DEVICE_HOST_UNIFIED_MEMORY) it is shared host memory with a buffer over it (CL_MEM_USE_HOST_PTR); else it is
 * the device's own, and staged.
 */
struct devcom_memory {
    size_t bytes;
    void *address;             /* of devcom_segment_bind(): existing memory of the host, or of SVM */
    cl_mem buffer;             /* of devcom_segment_bind(): existing device memory (retained) */
    cl_context context;        /* retained */
    cl_device_id device;       /* of the context */
    cl_command_queue commands; /* for staging (retained); in-order */
    bool staged;               /* as if the device had memory of its own */
};

/*
 * Give the segment id memory: local, as gaspi_segment_alloc. The memory is zero. Ranks that know that it exists may use
 * it at once; devcom_segment_register() is a way to know.
 * -EINVAL: no such id, or the description is not complete; -EBUSY: the id has a segment; -ENOMEM; -EIO: OpenCL failed;
 * -ENOTSUP: device memory that must be staged, and no progress thread (devcom_options.messages).
 */
int devcom_segment_alloc(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/* Likewise of memory that exists already and stays while the segment does. On one host other ranks reach what has an
 * address in this process by process_vm_writev(), or by messages where the system does not let them. */
int devcom_segment_bind(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/* Collective: all ranks have given the segment memory; error: how that went here. The worst of all ranks' errors:
 * everybody learns of it. -ECONNRESET. */
int devcom_segment_register(struct devcom *d, unsigned segment, int error);
/* Collective: alloc and register. After an error no rank has the segment. Sizes may differ. */
int devcom_segment_create(struct devcom *d, unsigned segment, const struct devcom_memory *memory);
/* Local. Operations of this rank on it must have ended; those of others get -ENOENT from now on. -ENOENT. */
int devcom_segment_delete(struct devcom *d, unsigned segment);

/* Where the segment of a rank lies in this process: this rank's own, or another's that is mapped (which is what the
 * global address space is made of). Until the segment is deleted. -ENOENT: no such segment; -ENOTSUP: not mapped. */
int devcom_segment_ptr(struct devcom *d, int rank, unsigned segment, void **out);
/* The buffer of this rank's segment; not retained. -ENOENT: none, or the segment has no buffer. */
int devcom_segment_buffer(struct devcom *d, unsigned segment, cl_mem *out);

/* How a rank's segment is reached from here (section 3.6). */
enum devcom_path {
    DEVCOM_MAPPED = 1, /* loads and stores of this process */
    DEVCOM_DIRECT,     /* one copy straight into its memory, by the kernel or by the owner's progress thread */
    DEVCOM_STAGED,     /* in pieces through memory of the host on the owner's side */
};
struct devcom_reach {
    enum devcom_path path;
    const char *why; /* in a sentence for people; static */
    size_t bytes;    /* of the segment */
};
/* -ENOENT: no such segment; -ETIMEDOUT, -ECONNRESET: another host was asked. */
int devcom_segment_reach(struct devcom *d, int rank, unsigned segment, long timeout_us, struct devcom_reach *out);

/* ---- one-sided communication (sections 4.2, 4.3) ---- */

/* What is done to a signal of the target. */
enum devcom_signal_op { DEVCOM_NONE, DEVCOM_SET, DEVCOM_ADD };

/*
 * A block of bytes, or count[0] such blocks at a distance of stride[0], or count[1] such rows at a distance of
 * stride[1]: blocks of up to three dimensions (TCA: block-stride transfers). Strides must not let blocks overlap.
 */
struct devcom_shape {
    size_t bytes;            /* of a block */
    uint32_t count[2];       /* 0 stands for 1 */
    size_t stride[2];        /* in this rank's segment */
    size_t remote_stride[2]; /* in the other's */
};

/* One put or get: what, from where, to where, and the signal at the target that follows it. */
struct devcom_put {
    unsigned segment, remote_segment;
    size_t offset, remote_offset;
    struct devcom_shape shape;
    int rank;
    unsigned signal;
    enum devcom_signal_op op; /* of puts; DEVCOM_NONE: no signal */
    int64_t value;
};

/*
 * Write, or read, bytes between a segment of this rank and one of another. Where the other's memory can be reached from
 * here it is done when the call returns; elsewhere it is under way in the queue: the local memory may be changed after
 * devcom_queue_flush(), the remote memory has it (or after a read, the local one) after devcom_queue_fence() or when
 * its signal is seen. Operations of one queue to one rank take effect in order, and a signal after all of them that
 * came before; queues know nothing of each other. A read from another host is a put that its owner does.
 *
 * -EINVAL: no such rank or queue, or a signal that does not exist, or a bad shape; -ENOENT: no such segment; -ERANGE:
 * outside of it; -EAGAIN: the queue is full; -ECONNRESET; -ENOTSUP: nothing reaches that memory; -EIO. What only
 * another host knows comes back by the next devcom_queue_fence(): -ENOENT, -ERANGE, -EINVAL, -EIO; the signal is not
 * given then.
 */
int devcom_write(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                 size_t remote_offset, size_t bytes, unsigned queue);
int devcom_read(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                size_t remote_offset, size_t bytes, unsigned queue);
int devcom_write_notify(struct devcom *d, unsigned segment, size_t offset, int rank, unsigned remote_segment,
                        size_t remote_offset, size_t bytes, unsigned signal, enum devcom_signal_op op, int64_t value,
                        unsigned queue);
/* Only the signal. */
int devcom_notify(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue);
/* The general forms: a list, one after the other, of shapes. *done (may be NULL): how many of them were begun. */
int devcom_put(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue, unsigned *done);
int devcom_get(struct devcom *d, const struct devcom_put *gets, unsigned count, unsigned queue, unsigned *done);

/* Until what the queue has under way has left this rank's memory (gaspi_wait). -EINVAL, -ETIMEDOUT, -ECONNRESET. */
int devcom_queue_flush(struct devcom *d, unsigned queue, long timeout_us);
/* Until it is where it should be; the first of what targets refused since the last fence. -EINVAL, -ETIMEDOUT, or a
 * target's error. -ECONNRESET: a rank is lost to which something was under way; that is given up (gaspi_queue_purge),
 * and the next fence is about the others. */
int devcom_queue_fence(struct devcom *d, unsigned queue, long timeout_us);

/* ---- signals (section 4.2.3, OpenSHMEM's signals) ---- */

/* vocl_words.h's, under this library's names. */
#define devcom_condition vocl_condition
#define DEVCOM_EQ VOCL_EQ
#define DEVCOM_NE VOCL_NE
#define DEVCOM_LT VOCL_LT
#define DEVCOM_GE VOCL_GE

/* This rank's signals: 64-bit words, 0 at first. -EINVAL: no such signal. */
int devcom_signal_load(struct devcom *d, unsigned signal, int64_t *out);
int devcom_signal_store(struct devcom *d, unsigned signal, int64_t value);
/* Wait until a signal of this rank compares so; *out (may be NULL): its value then. Sleeps after VOCL_SPIN_US. */
int devcom_signal_wait(struct devcom *d, unsigned signal, enum devcom_condition condition, int64_t value,
                       long timeout_us, int64_t *out);
/* Wait until any of so many signals from first on is not 0; *out: the first such one (gaspi_notify_waitsome). */
int devcom_notify_waitsome(struct devcom *d, unsigned first, unsigned count, long timeout_us, unsigned *out);
/* Set a signal to 0, atomically; *out (may be NULL): what it was (gaspi_notify_reset). */
int devcom_notify_reset(struct devcom *d, unsigned signal, int64_t *out);

/* ---- atomics ---- */

/*
 * On a 64-bit word of a rank's segment in host memory, aligned to 8: *out: what it was. One domain: these, C11 atomics
 * of the owner on its memory, and 64-bit atomics of kernels on CPU devices; MPI's are none of it. Errors as of
 * devcom_write(); -ENOTSUP: staged memory. Returns when done. Resumable: after -ETIMEDOUT it is under way, or done, and
 * the same call with the same arguments goes on with it; so it happens once. -EAGAIN: as many as a queue holds were
 * left and not called again.
 */
int devcom_fetch_add(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t value, long timeout_us,
                     int64_t *out);
int devcom_compare_swap(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t expected, int64_t value,
                        long timeout_us, int64_t *out);

/* ---- passive communication (section 4.2.4) ---- */

/* Send memory of this rank to whoever receives at a rank; one message of each sender waits there at a time. -EMSGSIZE:
 * more than passive_bytes. -EINVAL, -ETIMEDOUT, -ECONNRESET. */
int devcom_passive_send(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us);
/* Receive from any rank; sleeps until there is something. most: what data has room for: -EMSGSIZE, and the message
 * stays, if that is too little. -ETIMEDOUT; -ECONNRESET. */
int devcom_passive_receive(struct devcom *d, void *data, size_t most, long timeout_us, int *rank, size_t *bytes);

/* ---- collectives (sections 4.2.5, 6.7, 6.8) ---- */

/* vocl_words.h's, under this library's names. */
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

/* How contributions meet (section 6.8). All but the tree combine in the order of ranks, so their results are the same
 * bits. */
enum devcom_method {
    DEVCOM_AUTO,        /* by size and ranks */
    DEVCOM_REMOTE_READ, /* everybody reads everybody's */
    DEVCOM_GATHER,      /* the root collects; allreduce: and writes the result to all */
    DEVCOM_ALL_GATHER,  /* everybody writes to everybody */
    DEVCOM_ALL_TO_ALL,  /* everybody combines a part */
    DEVCOM_TREE,        /* binomial */
};

/* Collective. Resumable: after -ETIMEDOUT the same call with the same arguments goes on. -EINVAL: no such root, type,
 * op or method; another collective is to be resumed; -ENOENT, -ERANGE; -ECONNRESET. */
int devcom_barrier(struct devcom *d, long timeout_us);
/* From the root's segment to the same place of the others'. */
int devcom_broadcast(struct devcom *d, int root, unsigned segment, size_t offset, size_t bytes, long timeout_us);
/* In place, in segments of host or device memory; count elements, at an offset that is a multiple of their size. */
int devcom_allreduce(struct devcom *d, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                     enum devcom_op op, enum devcom_method method, long timeout_us);
/* Likewise, the result at the root alone; what the others have at that place afterwards is not defined. */
int devcom_reduce(struct devcom *d, int root, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                  enum devcom_op op, enum devcom_method method, long timeout_us);

/* ---- chained descriptors (TCA: DMA with a descriptor table) ---- */

struct devcom_chain;

/*
 * Prepare a table of puts, which are checked and kept, for one queue; devcom_chain_start(), the doorbell, begins them
 * all in order, again and again. Segments are looked for at the start. -EINVAL as of devcom_put(); -ENOMEM.
 */
int devcom_chain_create(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue,
                        struct devcom_chain **out);
/* Errors as of devcom_put(); -EBUSY: what was started before has not ended. After an error the chain has ended there.
 */
int devcom_chain_start(struct devcom_chain *chain);
/* The completion flag: until everything that was started is where it should be. Errors as of devcom_queue_fence(). */
int devcom_chain_wait(struct devcom_chain *chain, long timeout_us);
void devcom_chain_destroy(struct devcom_chain *chain);

/* A short message (TCA: PIO): as devcom_write_notify(), of at most eager_bytes that lie anywhere and may be changed at
 * once. -EMSGSIZE. */
int devcom_write_inline(struct devcom *d, const void *data, size_t bytes, int rank, unsigned remote_segment,
                        size_t remote_offset, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue);

/* ---- communication by devices (sections 5.7, 5.8) ---- */

struct devcom_endpoint;

struct devcom_endpoint_options {
    cl_context context;  /* retained */
    cl_device_id device; /* of the context */
    unsigned queues;     /* 2 to 32 (section 5.7.4); 0: 4 */
    unsigned depth;      /* commands that a queue holds; a power of two, at most 65536; 0: 256 */
};

/*
 * Have a device of this rank communicate. It must take addresses of this process (a CPU device, or
 * CL_DEVICE_SVM_FINE_GRAIN_SYSTEM): -ENOTSUP. Its kernels reach the segments that exist now; after others are made, or
 * one is deleted, devcom_endpoint_refresh() has them looked for again, while no kernel communicates. -EINVAL, -ENOMEM;
 * -EIO: OpenCL failed.
 */
int devcom_endpoint_open(struct devcom *d, const struct devcom_endpoint_options *options, struct devcom_endpoint **out);
int devcom_endpoint_refresh(struct devcom_endpoint *e);
/* Waits until its queues are empty. Its kernels must have ended. */
void devcom_endpoint_close(struct devcom_endpoint *e);

/*
 * A program whose source has the functions of vocl_dev.cl before it, built for the endpoint's device as OpenCL C 2.0 or
 * 3.0 with options (may be NULL). Its kernels take the endpoint as a `global struct devcom_device *`:
 * devcom_kernel_argument(). -EIO: it does not compile; VOCL_LOG=error tells why. What they may call, all work-items of
 * a work-group together but for the first two, each 0 or a negative error (doc/devcom.md says more):
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
 * Enqueue a kernel whose work-groups wait for others. More of them than the device runs at once, with those that are
 * enqueued already, might wait for each other for ever: -EDEADLK. -EINVAL: no sizes, or no global divided by local;
 * -EIO: OpenCL refused it.
 */
int devcom_enqueue_kernel(struct devcom_endpoint *e, cl_command_queue commands, cl_kernel kernel, unsigned dimensions,
                          const size_t *global, const size_t *local, cl_event *event);
/* The first error that a kernel of the endpoint has met, or that came back for one, since this was asked last; or 0.
 * Kernels' queues are not those of the same numbers that the host uses, whose fences tell nothing of kernels. */
int devcom_endpoint_error(struct devcom_endpoint *e);

/*
 * In the stream (section 5.8.2): puts, and waiting for a signal, as commands of an in-order command queue of the
 * endpoint's device, by native kernels (CL_EXEC_NATIVE_KERNEL): -ENOTSUP. Queues with waits in them hold a compute
 * unit of the device each: -EDEADLK as above; -EINVAL: the queue is not in-order. What they meet afterwards comes by
 * devcom_endpoint_error(); what another host refuses, by the next devcom_queue_fence() of the queue that is named.
 * puts are copied.
 */
int devcom_enqueue_put(struct devcom_endpoint *e, cl_command_queue commands, const struct devcom_put *puts,
                       unsigned count, unsigned queue, cl_event *event);
int devcom_enqueue_wait(struct devcom_endpoint *e, cl_command_queue commands, unsigned signal,
                        enum devcom_condition condition, int64_t value, cl_event *event);

/* ---- control programs (section 5.8.3: one block of a kernel that launches the others and communicates) ---- */

/*
 * A list of commands that a rank's host prepares once, and that runs by itself until its end, in a thread of the
 * library's: whoever has started it, on this rank or on another, is free meanwhile. No OpenCL of today lets a kernel
 * launch others on every device, so it is the device's host that stands for the thesis' control kernel.
 */
struct devcom_control;

enum devcom_command_kind {
    DEVCOM_DO_LAUNCH = 1, /* enqueue a kernel; the next command does not wait for it */
    DEVCOM_DO_FINISH,     /* until all kernels so far have ended (cudaDeviceSynchronize() in the thesis) */
    DEVCOM_DO_PUT,        /* as devcom_put() */
    DEVCOM_DO_GET,        /* as devcom_get(); DEVCOM_DO_FENCE tells when the data are there */
    DEVCOM_DO_FENCE,      /* as devcom_queue_fence() */
    DEVCOM_DO_WAIT,       /* as devcom_signal_wait() */
    DEVCOM_DO_REPEAT,     /* what follows, to its DEVCOM_DO_END, count times; 0: until it is cancelled */
    DEVCOM_DO_UNTIL,      /* likewise, but not again once the signal compares so after a round */
    DEVCOM_DO_END,
};

/* An argument of a kernel that is set before each launch. step: the argument is an integer of 4 or 8 bytes, to which
 * step is added each time the command runs again; 0: any argument, as of clSetKernelArg(). */
struct devcom_argument {
    unsigned index;
    size_t bytes;
    const void *value; /* NULL: local memory of so many bytes */
    int64_t step;
};

struct devcom_command {
    enum devcom_command_kind kind;
    /* DEVCOM_DO_LAUNCH */
    cl_kernel kernel; /* retained; its other arguments are as they were set, and nobody else sets any meanwhile */
    unsigned dimensions;
    size_t offset[3], global[3], local[3]; /* local[0] 0: the device decides */
    const struct devcom_argument *arguments;
    /* how many arguments, puts or rounds */
    unsigned count;
    /* DEVCOM_DO_PUT, DEVCOM_DO_GET, DEVCOM_DO_FENCE */
    const struct devcom_put *puts;
    unsigned queue;
    /* DEVCOM_DO_WAIT, DEVCOM_DO_UNTIL */
    unsigned signal;
    enum devcom_condition condition;
    int64_t value;
    int64_t step; /* added to value, and to the puts' values, each time the command runs again */
};

/*
 * Prepare a program: the list, with what it points to, is checked and copied. commands: the in-order queue of its
 * kernels (retained; NULL: there are none). wait_us: how long one command of it may wait, in microseconds;
 * DEVCOM_BLOCK: as long as it takes. Loops may lie in one another, up to 8.
 * Its kernels must not wait for others themselves. -EINVAL: the list makes no sense (loops without an end, kernels and
 * no queue, ...), or as of devcom_put(); -ENOMEM; -EAGAIN: no thread.
 */
int devcom_control_create(struct devcom *d, cl_command_queue commands, const struct devcom_command *list,
                          unsigned count, long wait_us, struct devcom_control **out);
/* Start it, and return at once. It has ended when its kernels have, and its puts are where they should be. The queues
 * that it puts by are its own meanwhile. -EBUSY: it runs, or is offered. */
int devcom_control_start(struct devcom_control *c);
/*
 * Let others start it: from now on it runs whenever the signal start of this rank is not 0, which is set to 0 then, as
 * by devcom_notify() of another rank; at the end of a run the signal done of a rank is SET to the number of runs that
 * have ended well, or to the negative errno of this one. Until a loss, devcom_control_cancel() or _destroy(). -EINVAL:
 * no such rank or signal; -EBUSY.
 */
int devcom_control_offer(struct devcom_control *c, unsigned start, int rank, unsigned done);
/*
 * Until it does not run any more, or is not offered any more. 0, or what ended it: -ECANCELED; -ECONNRESET: a rank is
 * lost; -EIO: OpenCL failed; -ETIME: a command waited longer than wait_us; or as of devcom_put() or
 * devcom_queue_fence(). -ETIMEDOUT: this call's time-out. *at (may be NULL): the number of the command that failed, or
 * count.
 */
int devcom_control_wait(struct devcom_control *c, long timeout_us, unsigned *at);
/* Have it end before its next command, or in the middle of a wait; not in the middle of a kernel. Returns at once. */
void devcom_control_cancel(struct devcom_control *c);
/* Cancels it and waits for its end. Before devcom_finalize(). */
void devcom_control_destroy(struct devcom_control *c);

/* ---- global address space (chapter 6; TCA) ---- */

struct devcom_ggas;

/*
 * Collective: a range of addresses, the same in all ranks, with so many slots of memory->bytes for each rank (for
 * each of its devices one), which are segments, too: first_segment and those that follow. Loads and stores by all
 * threads, and by kernels of devices that take addresses. Devices: a buffer over each slot of this rank as of
 * devcom_segment_alloc(). The same sizes on all ranks. -ENOTSUP: a rank is on another host, or a device has a memory of
 * its own; -EINVAL; -EBUSY; -ENOMEM: no such range is free everywhere.
 */
int devcom_ggas_open(struct devcom *d, unsigned first_segment, unsigned slots, const struct devcom_memory *memory,
                     struct devcom_ggas **out);
/* Collective. */
int devcom_ggas_close(struct devcom_ggas *g);
/* The slot of a rank; NULL: there is none. */
void *devcom_ggas_ptr(const struct devcom_ggas *g, int rank, unsigned slot);
/* Whose an address is: -EFAULT: outside. */
int devcom_ggas_owner(const struct devcom_ggas *g, const void *address, int *rank, unsigned *slot, size_t *offset);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
