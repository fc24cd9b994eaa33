/* Part of devcom.h: collectives. */
#ifndef VOCL_DEVCOM_COLLECTIVE_H
#define VOCL_DEVCOM_COLLECTIVE_H

#include <devcom_segment.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
