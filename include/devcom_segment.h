/* Part of devcom.h: start and end, and segments. */
#ifndef VOCL_DEVCOM_SEGMENT_H
#define VOCL_DEVCOM_SEGMENT_H

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
    unsigned groups;      /* number of groups' numbers, from 0; default 8, at most 64 */
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
 * control programs, groups and global address spaces must be closed before.
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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
