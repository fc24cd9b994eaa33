/* Part of devcom.h: global address spaces. */
#ifndef VOCL_DEVCOM_GGAS_H
#define VOCL_DEVCOM_GGAS_H

#include <devcom_segment.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

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
