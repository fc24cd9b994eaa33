/*
 * libxtqmpi: MPI on memory of OpenCL devices, as CUDA programs have it from an MPI that is CUDA-aware.
 *
 * OpenCL's buffers have no addresses, so a program asks for one: xtqmpi_device_address() stands for a buffer,
 * xtqmpi_device_svm() says of an SVM allocation that it is not the host's to touch. What lies inside of such a range
 * may be given to MPI where it takes the address of a message:
 *
 *     MPI_Send, Bsend, Ssend, Rsend and Recv, with I or without, and as persistent requests (MPI_Send_init, MPI_Start)
 *     MPI_Sendrecv, MPI_Sendrecv_replace, MPI_Mrecv, MPI_Imrecv
 *     MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Scan, MPI_Exscan, MPI_Gather, Scatter, Allgather, Alltoall, and these
 *     with v, MPI_Alltoallw, MPI_Reduce_scatter and Reduce_scatter_block; with I or without, and in place
 *     MPI_Neighbor_allgather and alltoall, and these with v and w; with I or without
 *     since MPI 4, all of these collectives as persistent requests (MPI_Allreduce_init and so on)
 *     MPI_Win_create, and the origin of MPI_Put, Get, Rput, Rget and Accumulate
 *
 * with all of MPI_Wait and MPI_Test, and with datatypes that are made of MPI's own by MPI_Type_contiguous, vector,
 * hvector, indexed, hindexed, indexed_block, hindexed_block, struct, subarray, darray, resized and dup, also with
 * MPI_Count. Anything else that is given such an address returns MPI_ERR_UNSUPPORTED_OPERATION, a datatype that is not
 * one of these, or a pair with a hole, as MPI_SHORT_INT, MPI_ERR_TYPE, what is not inside of the buffer MPI_ERR_BUFFER,
 * and where OpenCL fails it is MPI_ERR_OTHER; by the communicator's, or the window's, error handler, and with
 * VOCL_LOG=error a line says what is wrong. C's functions of MPI only.
 *
 * Memory that the host may touch needs none of this: fine-grained SVM, coarse-grained SVM while it is mapped, what
 * clEnqueueMapBuffer has returned, and a devcom segment that has an address (devcom_segment_ptr) are MPI's as any other
 * memory is. As of any other memory, what is sent must be there: commands that write it must have ended, or have been
 * given to the command queue named here.
 *
 * A program links with libxtqmpi before its MPI (-lxtqmpi), or has it preloaded. Functions here return 0 or a negative
 * errno, and may be called from any thread. NULL is an error, too, where it is not said that it may be.
 */
#ifndef XTQMPI_H
#define XTQMPI_H

#include <CL/cl.h>
#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * An address for a buffer, or for a sub-buffer: *out is the first of as many as it has bytes, which nobody may read or
 * write but by MPI. commands: an in-order command queue of a device that has the buffer; MPI's copies go through it,
 * after what was enqueued there before. Both are retained. -EINVAL: no buffer, or not an in-order queue of its context;
 * -ENOMEM.
 */
int xtqmpi_device_address(cl_command_queue commands, cl_mem buffer, void **out);
/* Have MPI reach so many bytes of SVM through the queue (clEnqueueSVMMap), until they are released: coarse-grained SVM
 * that is not mapped. -EINVAL: nothing, not an in-order queue, or bytes that have been said before; -ENOMEM. */
int xtqmpi_device_svm(cl_command_queue commands, void *svm, size_t bytes);
/* Forget an address that one of these has returned, or was given. What MPI has under way there goes on. -ENOENT. */
int xtqmpi_device_release(void *address);
/* The buffer that an address lies in (not retained), and how many bytes into it; either may be NULL. -ENOENT: none; SVM
 * is none. */
int xtqmpi_device_buffer(const void *address, cl_mem *buffer, size_t *offset);

/*
 * Collective: long messages of this communicator, and of no copy of it, may be cut into pieces of so many bytes (0: 512
 * KiB), so that one is read from the device, or written to it, while the next is under way. The program promises for
 * them that messages which leave device memory by MPI_Send or MPI_Isend are received in device memory, by MPI_Recv or
 * MPI_Irecv, and others from other memory; and that nobody asks MPI_Probe for their length. It needs to be said, as
 * neither side of a message can know of the other's memory. -EINVAL: not the same on all ranks, an intercommunicator,
 * or less than 4 KiB; -ENOMEM; -EIO: MPI failed.
 */
int xtqmpi_comm_pipeline(MPI_Comm comm, size_t piece_bytes);

/*
 * A window of a buffer: MPI_Win_create() with an address of xtqmpi_device_address(). MPI_Put, Get, Accumulate and their
 * like are used as in any window. Its memory model is MPI_WIN_SEPARATE (MPI 3.1, 11.4): what others have put is in the
 * buffer, and what kernels have written can be got, when the window's rank has called MPI_Win_fence, MPI_Win_wait or
 * MPI_Win_test, MPI_Win_lock or MPI_Win_unlock of itself, MPI_Win_lock_all, MPI_Win_unlock_all or MPI_Win_sync; or
 * MPI_Win_post for what kernels have written. MPI_MODE_NOSTORE and MPI_MODE_NOPUT spare it the looking.
 */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
