/* Passive messages ("letters"): each rank has a place for one of each sender, in the library's segment. The sender puts
 * it there; the signal says how long it is, plus one. The receiver then counts it in a word of the sender. */
#include <errno.h>
#include <string.h>

#include "devcom/internal.h"

/* The words of the letters from a rank, and of those to it that it has taken. */
static unsigned word_from(const struct devcom *d, int rank)
{
    return own_signal(d, OWN_LETTER, rank);
}

static unsigned word_taken(const struct devcom *d, int rank)
{
    return own_signal(d, OWN_TAKEN, rank);
}

/* Reserves the place at a rank, once its last letter has been taken. */
static bool reserve(struct devcom *d, int rank)
{
    int64_t taken = atomic_load(board_signals(d, d->rank) + word_taken(d, rank));

    return atomic_compare_exchange_strong(&d->letters[rank], &taken, taken + 1);
}

int devcom_passive_send(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us)
{
    struct waiting waiting;
    int error;

    if (!d || !rank_valid(d, rank) || (bytes && !data))
        return -EINVAL;
    if (bytes > d->o.passive_bytes)
        return -EMSGSIZE;
    waiting_begin(&waiting, &d->waits, rank, timeout_us);
    while (!reserve(d, rank) && waiting_step(&waiting))
        ;
    error = waiting_end(&waiting);
    if (error)
        return error;
    error = put_own_data(d,
                         &(struct devcom_put){.remote_segment = scratch_id(d),
                                              .remote_offset = scratch_letter(d, d->rank),
                                              .shape = {.bytes = bytes},
                                              .rank = rank,
                                              .signal = word_from(d, d->rank),
                                              .op = DEVCOM_SIGNAL_SET,
                                              .value = (int64_t)bytes + 1},
                         data);
    if (error) /* it will not be taken */
        atomic_fetch_sub(&d->letters[rank], 1);
    return error;
}

/* Takes one letter. Under the lock. Returns -EAGAIN if there is none. */
static int take_locked(struct devcom *d, void *data, size_t most, int *rank, size_t *bytes)
{
    for (int i = 1; i <= d->size; i++) {
        int from = (d->letter_from + i) % d->size;
        _Atomic int64_t *word = board_signals(d, d->rank) + word_from(d, from);
        size_t length = (size_t)atomic_load(word) - 1;

        if (length == SIZE_MAX)
            continue;
        context_heard(d);
        if (length > d->o.passive_bytes)
            length = 0; /* written by an erroneous sender */
        if (length > most)
            return -EMSGSIZE;
        if (length)
            memcpy(data, d->own[scratch_id(d)]->host + scratch_letter(d, from), length);
        *rank = from;
        *bytes = length;
        d->letter_from = from;
        atomic_store(word, 0);
        notify_own(d, from, word_taken(d, d->rank), DEVCOM_SIGNAL_ADD, 1);
        return 0;
    }
    return -EAGAIN;
}

static int take_one(struct devcom *d, void *data, size_t most, int *rank, size_t *bytes)
{
    int error;

    pthread_mutex_lock(&d->receiving);
    error = take_locked(d, data, most, rank, bytes);
    pthread_mutex_unlock(&d->receiving);
    return error;
}

int devcom_passive_receive(struct devcom *d, void *data, size_t most, long timeout_us, int *rank, size_t *bytes)
{
    struct waiting waiting;
    int error, ended;

    if (!d || !rank || !bytes || (most && !data))
        return -EINVAL;
    waiting_begin(&waiting, &d->waits, -1, timeout_us);
    while ((error = take_one(d, data, most, rank, bytes)) == -EAGAIN && waiting_step(&waiting))
        ;
    ended = waiting_end(&waiting);
    if (error == -EAGAIN) /* also after the time-out */
        error = take_one(d, data, most, rank, bytes);
    return error == -EAGAIN ? ended : error;
}
