/*
 * libxtqmpi: MPI on memory of OpenCL devices, as a CUDA-aware MPI offers it to CUDA programs.
 *
 * OpenCL buffers have no addresses, so a program obtains one: xtqmpi_device_address() returns an address that stands
 * for a buffer; xtqmpi_device_svm() declares that an SVM allocation must not be accessed by the host. An address in
 * such a range may be passed to MPI as the address of a message:
 *
 *     messages     MPI_Send, Bsend, Ssend, Rsend and Recv, blocking or not, and as persistent requests (MPI_Send_init,
 *                  MPI_Start); MPI_Sendrecv, MPI_Sendrecv_replace, MPI_Mrecv, MPI_Imrecv
 *     collectives  MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Scan, MPI_Exscan, MPI_Gather, Scatter, Allgather,
 *                  Alltoall, and the last four with v, MPI_Alltoallw, MPI_Reduce_scatter and Reduce_scatter_block;
 *                  blocking or not, and in place
 *     neighbours   MPI_Neighbor_allgather and alltoall, and these with v and w; blocking or not
 *     persistent   since MPI 4, all of these collectives as persistent requests (MPI_Allreduce_init and so on)
 *     windows      MPI_Win_create, and the origin of MPI_Put, Get, Rput, Rget and Accumulate
 *
 * with all forms of MPI_Wait and MPI_Test, and with datatypes that are made of predefined ones by MPI_Type_contiguous,
 * vector, hvector, indexed, hindexed, indexed_block, hindexed_block, struct, subarray, darray, resized and dup, also
 * with MPI_Count. Errors go to the error handler of the communicator or window, and VOCL_LOG=error logs the reason:
 * MPI_ERR_UNSUPPORTED_OPERATION: any other function got such an address; MPI_ERR_TYPE: another datatype, or a pair with
 * a hole such as MPI_SHORT_INT; MPI_ERR_BUFFER: the message is not inside of the buffer, or the address has been
 * released; MPI_ERR_OTHER: OpenCL failed. Only MPI's C functions are supported.
 *
 * Memory that the host may access needs none of this and is passed to MPI directly: fine-grained SVM, coarse-grained
 * SVM while it is mapped, the result of clEnqueueMapBuffer, and a devcom segment that has an address
 * (devcom_segment_ptr()). As with any memory, the data must be ready when they are sent: commands that write them must
 * have ended, or have been enqueued before in the command queue named here.
 *
 * A program links with libxtqmpi before its MPI (-lxtqmpi), or preloads it. The functions below return 0 or a negative
 * errno, and may be called from any thread. A pointer argument may be NULL only where its description says so.
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
 * Returns an address that stands for a buffer or sub-buffer: the first of as many addresses as the buffer has bytes.
 * Only MPI may read or write there. The command queue and the buffer are retained.
 *
 * commands  an in-order command queue of a device that has the buffer; MPI's copies are enqueued there, and so follow
 *           commands that were enqueued before
 * buffer    the buffer
 * out       receives the address
 *
 * Returns 0; -EINVAL: no buffer, or not an in-order queue of its context; -ENOMEM.
 */
int xtqmpi_device_address(cl_command_queue commands, cl_mem buffer, void **out);
/*
 * Lets MPI access coarse-grained SVM that is not mapped, by clEnqueueSVMMap(), until xtqmpi_device_release().
 *
 * commands  an in-order command queue (retained)
 * svm       the memory's address
 * bytes     its size
 *
 * Returns 0; -EINVAL: no memory, not an in-order queue, or the memory overlaps device memory declared before; -ENOMEM.
 */
int xtqmpi_device_svm(cl_command_queue commands, void *svm, size_t bytes);
/*
 * Forgets device memory. MPI's pending operations on it continue.
 *
 * address  the result of xtqmpi_device_address(), or the svm of xtqmpi_device_svm()
 *
 * Returns 0; -ENOENT: no such address.
 */
int xtqmpi_device_release(void *address);
/*
 * Finds the buffer that an address lies in.
 *
 * address  the address
 * buffer   receives the buffer, which is not retained; may be NULL
 * offset   receives the offset in the buffer, in bytes; may be NULL
 *
 * Returns 0; -ENOENT: the address is in no buffer (SVM is not a buffer).
 */
int xtqmpi_device_buffer(const void *address, cl_mem *buffer, size_t *offset);

/*
 * Collective. Allows that long messages of a communicator are cut into pieces, so that one piece is read from the
 * device, or written to it, while the next is transferred. Copies of the communicator are not affected. Since neither
 * side of a message can know the other's memory, the program promises for these messages: what MPI_Send or MPI_Isend
 * sends from device memory is received in device memory, by MPI_Recv or MPI_Irecv; other messages are received in other
 * memory; and their length is not asked for by MPI_Probe.
 *
 * comm         an intracommunicator
 * piece_bytes  the size of a piece, 4 KiB to 1 GiB, the same on all ranks; 0: 512 KiB
 *
 * Returns 0, or an error on all ranks: -EINVAL: an intercommunicator, an invalid size, sizes that differ between ranks,
 * or the communicator has pieces already; -ENOMEM; -EIO: MPI failed. If MPI itself failed on one rank alone, the others
 * may wait for that rank for ever.
 */
int xtqmpi_comm_pipeline(MPI_Comm comm, size_t piece_bytes);

/*
 * Windows of a buffer are made by MPI_Win_create() with an address of xtqmpi_device_address(). MPI_Put, Get, Accumulate
 * and the like work as in any window. The memory model is MPI_WIN_SEPARATE (MPI 3.1, 11.4). Data that others have put
 * reach the buffer, and data that kernels have written can be got, when the window's rank has called MPI_Win_fence,
 * MPI_Win_wait or MPI_Win_test, MPI_Win_lock or MPI_Win_unlock of itself, MPI_Win_lock_all, MPI_Win_unlock_all or
 * MPI_Win_sync; for data that kernels have written also MPI_Win_post. MPI_MODE_NOSTORE and MPI_MODE_NOPUT avoid the
 * comparison of memory that this takes.
 */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
