/* Part of devcom.h: signals, atomics and passive messages. */
#ifndef VOCL_DEVCOM_SIGNAL_H
#define VOCL_DEVCOM_SIGNAL_H

#include <devcom_put.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- signals (section 4.2.3, OpenSHMEM's signals) ---- */

/* The conditions of vocl_words.h, under names of this library. */
#define devcom_condition vocl_condition
#define DEVCOM_EQ VOCL_EQ
#define DEVCOM_NE VOCL_NE
#define DEVCOM_LT VOCL_LT
#define DEVCOM_GE VOCL_GE
#define DEVCOM_GT VOCL_GT
#define DEVCOM_LE VOCL_LE

/*
 * Read and set a signal of this rank: a 64-bit word, 0 at first. devcom_signal_store() wakes the threads that wait for
 * this rank's signals.
 *
 * signal  the signal, below devcom_options.signals
 * out     receives its value
 * value   the new value
 *
 * Return 0; -EINVAL: no such signal.
 */
int devcom_signal_load(struct devcom *d, unsigned signal, int64_t *out);
int devcom_signal_store(struct devcom *d, unsigned signal, int64_t value);
/*
 * Waits until a signal of this rank satisfies a condition. The thread polls for VOCL_SPIN_US and then sleeps.
 *
 * signal            the signal
 * condition, value  the signal's value is compared with value
 * timeout_us        the time-out
 * out               receives the signal's value if the condition holds; may be NULL
 *
 * Returns 0; -EINVAL: no such signal or condition; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_signal_wait(struct devcom *d, unsigned signal, enum devcom_condition condition, int64_t value,
                       long timeout_us, int64_t *out);
/*
 * Waits until any of count signals of this rank, from first on, is not 0 (gaspi_notify_waitsome).
 *
 * first, count  the signals; count is at least 1
 * timeout_us    the time-out
 * out           receives the first signal that is not 0
 *
 * Returns 0; -EINVAL: no such signals; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_notify_waitsome(struct devcom *d, unsigned first, unsigned count, long timeout_us, unsigned *out);
/*
 * Atomically sets a signal of this rank to 0 (gaspi_notify_reset).
 *
 * signal  the signal
 * out     receives its old value; may be NULL
 *
 * Returns 0; -EINVAL: no such signal.
 */
int devcom_notify_reset(struct devcom *d, unsigned signal, int64_t *out);

/* ---- atomics ---- */

/*
 * Atomically add value to a word (devcom_fetch_add()), or store value in it if it equals expected
 * (devcom_compare_swap()). The word is a 64-bit integer, aligned to 8 bytes, in a segment in host memory. The operation
 * is complete on return. It is atomic also against C11 atomics of the owner and 64-bit atomics of kernels on CPU
 * devices, but not against MPI's operations.
 *
 * rank, segment, offset  the word: rank and segment, and the offset in it, a multiple of 8
 * expected, value        the operands
 * timeout_us             the time-out, for ranks that are reached by messages
 * out                    receives the word's old value
 *
 * Return 0 or an error as devcom_write(); -ENOTSUP: the memory is staged, or cannot be reached; -EAGAIN: as many
 * operations as a queue holds have timed out and were not resumed. After -ETIMEDOUT the operation is pending or done:
 * the same call with the same arguments resumes it, so it is done only once.
 */
int devcom_fetch_add(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t value, long timeout_us,
                     int64_t *out);
int devcom_compare_swap(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t expected, int64_t value,
                        long timeout_us, int64_t *out);

/* ---- passive communication (section 4.2.4) ---- */

/*
 * Sends a message to a rank, for any thread there that calls devcom_passive_receive(). A rank holds one unread message
 * of each sender; the call waits until the previous one has been received.
 *
 * rank         the receiver
 * data, bytes  the message, at most devcom_options.passive_bytes; data may be NULL if bytes is 0
 * timeout_us   the time-out
 *
 * Returns 0; -EINVAL: no such rank; -EMSGSIZE: the message is too long; -ETIMEDOUT; -ECONNRESET; -ENOMEM.
 */
int devcom_passive_send(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us);
/*
 * Receives a passive message from any rank, and sleeps until there is one.
 *
 * data, most  receives the message; most is the room there. data may be NULL if most is 0
 * timeout_us  the time-out
 * rank        receives the sender
 * bytes       receives the message's size
 *
 * Returns 0; -EMSGSIZE: the message is longer than most, and remains to be received; -ETIMEDOUT; -ECONNRESET.
 */
int devcom_passive_receive(struct devcom *d, void *data, size_t most, long timeout_us, int *rank, size_t *bytes);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
