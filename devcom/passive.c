/* Passive messages: each receiver has one place for each sender. */
#include <errno.h>
#include <string.h>

#include "devcom/internal.h"

static int send_near(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us)
{
    struct letter *letter = board_letter(d, rank, d->rank);
    struct waiting waiting;
    uint32_t empty = 0;
    int error;

    waiting_begin(&waiting, &d->waits, rank, timeout_us);
    while (!atomic_compare_exchange_strong(&letter->full, &empty, LETTER_BEING_WRITTEN) && waiting_step(&waiting))
        empty = 0;
    error = waiting_end(&waiting);
    if (error)
        return error;
    memcpy(letter->data, data, bytes);
    letter->bytes = (uint32_t)bytes;
    context_told(d);
    atomic_store(&letter->full, LETTER_FULL);
    board_ring(d->boards[rank]);
    return 0;
}

int devcom_passive_send(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us)
{
    if (!d || !rank_valid(d, rank) || (bytes && !data))
        return -EINVAL;
    if (bytes > d->o.passive_bytes)
        return -EMSGSIZE;
    return d->boards[rank] ? send_near(d, rank, data, bytes, timeout_us) : nic_letter(d, rank, data, bytes, timeout_us);
}

/* Takes one message. Under the lock. Returns -EAGAIN if there is none. */
static int take_locked(struct devcom *d, void *data, size_t most, int *rank, size_t *bytes)
{
    for (int i = 1; i <= d->size; i++) {
        int from = (d->letter_from + i) % d->size;
        struct letter *letter = board_letter(d, d->rank, from);
        uint32_t length;

        if (atomic_load(&letter->full) != LETTER_FULL)
            continue;
        context_heard(d);
        length = letter->bytes;
        if (length > d->o.passive_bytes)
            length = 0; /* written by an erroneous sender */
        if (length > most)
            return -EMSGSIZE;
        if (length)
            memcpy(data, letter->data, length);
        *rank = from;
        *bytes = length;
        d->letter_from = from;
        atomic_store(&letter->full, LETTER_EMPTY);
        if (d->boards[from])
            board_ring(d->boards[from]);
        else
            nic_letter_read(d, from);
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
