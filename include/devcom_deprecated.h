/* Part of devcom.h: old names, which the next version does not have any more. */
#ifndef VOCL_DEVCOM_DEPRECATED_H
#define VOCL_DEVCOM_DEPRECATED_H

#include <devcom_control.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#define DEVCOM_DEPRECATED __attribute__((deprecated))
#else
#define DEVCOM_DEPRECATED
#endif

/* ---- old names ---- */

/*
 * Old names. Programs should use the new ones: DEVCOM_SIGNAL_NONE, _SET, _ADD and DEVCOM_DO_QUIET. Kernels, too, still
 * have these, and functions with an older order of arguments: devcom_put() is devcom_write() with the queue after d,
 * devcom_put_notify() likewise devcom_write_notify() and devcom_notify() devcom_signal_op(), with an int as value;
 * devcom_wait_notify() is devcom_signal_wait(), devcom_flush() is devcom_quiet().
 */
#define DEVCOM_NONE DEVCOM_SIGNAL_NONE
#define DEVCOM_SET DEVCOM_SIGNAL_SET
#define DEVCOM_ADD DEVCOM_SIGNAL_ADD
#define DEVCOM_DO_FENCE DEVCOM_DO_QUIET

/*
 * The old name of devcom_flush_local().
 *
 * queue, timeout_us  as of that function
 *
 * Returns 0 or an error as that function.
 */
DEVCOM_DEPRECATED int devcom_queue_flush(struct devcom *d, unsigned queue, long timeout_us);
/*
 * The old name of devcom_quiet(). It does not only order, as a fence of OpenSHMEM does.
 *
 * queue, timeout_us  as of that function
 *
 * Returns 0 or an error as that function.
 */
DEVCOM_DEPRECATED int devcom_queue_fence(struct devcom *d, unsigned queue, long timeout_us);
/*
 * The old name of devcom_signal_op().
 *
 * rank, signal, op, value, queue  as of that function
 *
 * Returns 0 or an error as that function.
 */
DEVCOM_DEPRECATED int devcom_notify(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op,
                                    int64_t value, unsigned queue);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
