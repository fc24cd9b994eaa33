/* Signals (section II-A), and waits for them. */
#include <errno.h>
#include <stdlib.h>

#include "xtq/internal.h"

int xtq_signal_create(int64_t value, struct xtq_signal **out)
{
    struct xtq_signal *signal;

    if (!out)
        return -EINVAL;
    signal = aligned_alloc(RING_LINE, sizeof(*signal));
    if (!signal)
        return -ENOMEM;
    atomic_init(&signal->value, value);
    *out = signal;
    return 0;
}

void xtq_signal_destroy(struct xtq_signal *signal)
{
    free(signal);
}

int64_t xtq_signal_load(const struct xtq_signal *signal)
{
    return signal ? atomic_load_explicit(&signal->value, memory_order_acquire) : 0;
}

void xtq_signal_store(struct xtq_signal *signal, int64_t value)
{
    if (signal)
        atomic_store_explicit(&signal->value, value, memory_order_release);
}

void xtq_signal_add(struct xtq_signal *signal, int64_t value)
{
    if (signal)
        atomic_fetch_add_explicit(&signal->value, value, memory_order_acq_rel);
}

int xtq_signal_wait(struct xtq *x, const struct xtq_signal *signal, enum xtq_condition condition, int64_t value,
                    long timeout_us)
{
    const uint64_t since = timeline_since();
    int error;

    if (!x || !signal || !condition_valid(condition))
        return -EINVAL;
    if (word_holds(xtq_signal_load(signal), condition, value))
        return 0;
    if (timeout_us < 0 && server_inside())
        return -EDEADLK;
    error = waiting_for_word(&x->waits, &signal->value, condition, value, timeout_us, NULL);
    if (timeout_us)
        timeline_of_wait(x, since, signal);
    return error;
}
