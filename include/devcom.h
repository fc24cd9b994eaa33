/*
 * devcom: one-sided communication between the OpenCL devices of an MPI program: segments; puts with notification by the
 * host, by command queues and by kernels; and a global address space.
 *
 * It follows L. Oden, "Direct Communication Methods for Distributed GPUs" (2015; "chapter" and "section" below refer to
 * that dissertation), and T. Hanawa et al., "Tightly Coupled Accelerators" ("TCA"). Names are those of GASPI and of
 * OpenSHMEM. Hosts and kernels use one word for one guarantee, OpenSHMEM's: quiet completes remotely, fence only
 * orders, flush_local completes locally. doc/devcom.md has a table of the words of OpenSHMEM, NVSHMEM and MPI.
 * doc/internals/devcom.md describes the implementation.
 *
 *     gaspi_segment_create, _alloc, _bind, _register, _ptr, _delete   devcom_segment_...
 *     gaspi_write, _read, _write_notify, _write_list                  devcom_write, _read, _write_notify, _put
 *     gaspi_notify, shmem_signal_set, _add                            devcom_signal_op
 *     gaspi_wait                                                      devcom_flush_local
 *     gaspi_notify_waitsome, _reset                                   devcom_notify_waitsome, _reset
 *     shmem_put_signal, shmem_signal_wait_until                       devcom_write_notify, devcom_signal_wait
 *     shmem_quiet, _pe_quiet, _fence                                  devcom_quiet, _quiet_rank, _fence
 *     gaspi_atomic_fetch_add, _compare_swap                           devcom_fetch_add, devcom_compare_swap
 *     gaspi_passive_send, _receive                                    devcom_passive_send, _receive
 *     gaspi_group_create, _add, _commit, _size, _ranks, _delete       devcom_group_create, _add, _commit, _size, _rank,
 * ... gaspi_barrier, gaspi_allreduce                                  devcom_barrier, devcom_group_barrier, ...
 *     ggas_get_pointer_of_node                                        devcom_ggas_ptr
 *     ucp_device_put                                                  devcom_put_element, of kernels
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

#include <devcom_segment.h>
#include <devcom_put.h>
#include <devcom_signal.h>
#include <devcom_collective.h>
#include <devcom_device.h>
#include <devcom_control.h>
#include <devcom_ggas.h>
#include <devcom_group.h>
#include <devcom_deprecated.h>

#endif
