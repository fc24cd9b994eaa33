/* Old names: see devcom_deprecated.h. */
#include "devcom.h"

int devcom_queue_flush(struct devcom *d, unsigned queue, long timeout_us)
{
    return devcom_flush_local(d, queue, timeout_us);
}

int devcom_queue_fence(struct devcom *d, unsigned queue, long timeout_us)
{
    return devcom_quiet(d, queue, timeout_us);
}

int devcom_notify(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value, unsigned queue)
{
    return devcom_signal_op(d, rank, signal, op, value, queue);
}
