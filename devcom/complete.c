/* Order and completion of the operations of queues. Copies are complete when the call returns; the functions here wait
 * for messages (nic.c). */
#include <errno.h>

#include "devcom/internal.h"

/* Waits until done() of the operations of a queue to a rank, or to ALL_RANKS. */
static int wait_until(struct devcom *d, int rank, unsigned queue, long timeout_us,
                      bool (*done)(struct devcom *, int, unsigned))
{
    struct waiting waiting;
    int error;

    if (!d->nic || done(d, rank, queue))
        return 0;
    waiting_begin(&waiting, &d->waits, rank, timeout_us);
    while (!done(d, rank, queue) &&
           (nic_target_lost(d, rank, queue) ? waiting_fail(&waiting, -ECONNRESET) : waiting_step(&waiting)))
        ;
    error = waiting_end(&waiting);
    return error == -ETIMEDOUT && done(d, rank, queue) ? 0 : error;
}

/* Waits for remote completion. A loss is reported once: pending operations to the lost rank are then abandoned
 * (gaspi_queue_purge). */
static int wait_quiet(struct devcom *d, int rank, unsigned queue, long timeout_us)
{
    int error = wait_until(d, rank, queue, timeout_us, nic_arrived);

    if (error == -ECONNRESET)
        nic_forgive(d, rank, queue);
    return error || !d->nic ? error : nic_refusal(d, rank, queue);
}

int stream_quiet(struct devcom *d, unsigned stream, long timeout_us)
{
    return wait_quiet(d, ALL_RANKS, stream, timeout_us);
}

int quiet_own(struct devcom *d, int rank, long timeout_us)
{
    return wait_quiet(d, rank, own_stream(d), timeout_us);
}

int flush_local_own(struct devcom *d, int rank, long timeout_us)
{
    return wait_until(d, rank, own_stream(d), timeout_us, nic_left);
}

int stream_wait_for_room(struct devcom *d, int rank, unsigned stream)
{
    struct waiting waiting;

    waiting_begin(&waiting, &d->waits, rank, DEVCOM_BLOCK);
    while (!nic_has_room(d, rank, stream) && waiting_step(&waiting))
        ;
    return waiting_end(&waiting);
}

int devcom_flush_local(struct devcom *d, unsigned queue, long timeout_us)
{
    return !d || queue >= d->o.queues ? -EINVAL : wait_until(d, ALL_RANKS, queue, timeout_us, nic_left);
}

int devcom_quiet(struct devcom *d, unsigned queue, long timeout_us)
{
    return !d || queue >= d->o.queues ? -EINVAL : stream_quiet(d, queue, timeout_us);
}

int devcom_quiet_rank(struct devcom *d, int rank, unsigned queue, long timeout_us)
{
    return !d || !rank_valid(d, rank) || queue >= d->o.queues ? -EINVAL : wait_quiet(d, rank, queue, timeout_us);
}

/* Messages of a queue arrive in order. So only the stores of copies must be kept in order. */
int devcom_fence(struct devcom *d, unsigned queue)
{
    if (!d || queue >= d->o.queues)
        return -EINVAL;
#ifdef __SANITIZE_THREAD__ /* which does not support fences */
    context_told(d);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
    return 0;
}
