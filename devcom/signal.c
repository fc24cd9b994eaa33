/* Signals, and waits for them. */
#include <errno.h>

#include "devcom/internal.h"

static _Atomic int64_t *signal_of(const struct devcom *d, unsigned signal)
{
    return d && signal < d->o.signals ? board_signals(d, d->rank) + signal : NULL;
}

/* Stores a value before the check for sleeping threads: see board_ring(). A store by a locked instruction would request
 * the word's cache line only after the data's lines have come from the other processor's cache; a plain store requests
 * it at once, and only the fence waits. */
static void store_first(_Atomic int64_t *word, int64_t value)
{
#ifdef __SANITIZE_THREAD__ /* which does not support fences */
    atomic_store(word, value);
#else
    atomic_store_explicit(word, value, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Sequentially consistent: see board_ring(). */
void signal_apply(struct devcom *d, int rank, unsigned signal, enum devcom_signal_op op, int64_t value)
{
    _Atomic int64_t *word = board_signals(d, rank) + signal;

    context_told(d);
    if (op == DEVCOM_SIGNAL_SET)
        store_first(word, value);
    else if (op == DEVCOM_SIGNAL_ADD)
        atomic_fetch_add(word, value);
    else
        return;
    board_ring(d->boards[rank]);
}

int devcom_signal_load(struct devcom *d, unsigned signal, int64_t *out)
{
    _Atomic int64_t *word = signal_of(d, signal);

    if (!word || !out)
        return -EINVAL;
    *out = atomic_load_explicit(word, memory_order_acquire);
    context_heard(d);
    return 0;
}

int devcom_signal_store(struct devcom *d, unsigned signal, int64_t value)
{
    if (!signal_of(d, signal))
        return -EINVAL;
    signal_apply(d, d->rank, signal, DEVCOM_SIGNAL_SET, value);
    return 0;
}

int signal_wait_any(struct devcom *d, const struct waits *waits, unsigned signal, enum devcom_condition condition,
                    int64_t value, long timeout_us, int64_t *out)
{
    int error = waiting_for_word(waits, board_signals(d, d->rank) + signal, condition, value, timeout_us, out);

    context_heard(d);
    return error;
}

int devcom_signal_wait(struct devcom *d, unsigned signal, enum devcom_condition condition, int64_t value,
                       long timeout_us, int64_t *out)
{
    if (!d || signal >= d->o.signals || !condition_valid(condition))
        return -EINVAL;
    return signal_wait_any(d, &d->waits, signal, condition, value, timeout_us, out);
}

static bool find_set(const _Atomic int64_t *words, unsigned count, unsigned *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (atomic_load(&words[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

int devcom_notify_waitsome(struct devcom *d, unsigned first, unsigned count, long timeout_us, unsigned *out)
{
    const _Atomic int64_t *words;
    struct waiting waiting;
    unsigned found = 0;
    int error;

    if (!d || !out || !count || first >= d->o.signals || count > d->o.signals - first)
        return -EINVAL;
    words = board_signals(d, d->rank) + first;
    waiting_begin(&waiting, &d->waits, -1, timeout_us);
    while (!find_set(words, count, &found) && waiting_step(&waiting))
        ;
    error = waiting_end(&waiting);
    if (error && find_set(words, count, &found))
        error = 0;
    if (!error)
        *out = first + found;
    return error;
}

int devcom_notify_reset(struct devcom *d, unsigned signal, int64_t *out)
{
    _Atomic int64_t *word = signal_of(d, signal);
    int64_t was;

    if (!word)
        return -EINVAL;
    was = atomic_exchange(word, 0);
    context_heard(d);
    if (out)
        *out = was;
    return 0;
}
