/* Atomics on words of segments: the processor's own, by the initiator if it can reach the word, else by the owner. */
#include <errno.h>

#include "devcom/internal.h"

int64_t atomic_run(uint8_t *at, enum question question, int64_t first, int64_t second)
{
    _Atomic int64_t *word = (_Atomic int64_t *)at;

    if (question == ASK_ADD)
        return atomic_fetch_add(word, first);
    atomic_compare_exchange_strong(word, &first, second);
    return first;
}

static int ask(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
               int64_t second, long timeout_us, int64_t *out)
{
    int64_t answer[2];
    int error = nic_ask(d, rank, question, segment, offset, first, second, timeout_us, answer);

    if (!error)
        *out = answer[0];
    return error;
}

static int run(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
               int64_t second, long timeout_us, int64_t *out)
{
    struct attachment *a;
    int64_t was = 0;
    int error;

    if (!d || !out || !rank_valid(d, rank) || offset % sizeof(int64_t))
        return -EINVAL;
    if (segment >= d->o.segments)
        return -ENOENT;
    if (d->boards[rank]) {
        error = attachment_take(d, rank, segment, &a);
        if (error)
            return error;
        if (!inside(a->bytes, offset, sizeof(int64_t)))
            error = -ERANGE;
        else if (a->base)
            was = atomic_run(a->base + offset, question, first, second);
        else
            error = -ENOTSUP;
        attachment_release(a);
        if (error == -ENOTSUP && d->nic)
            error = ask(d, rank, question, segment, offset, first, second, timeout_us, &was);
    } else {
        error = ask(d, rank, question, segment, offset, first, second, timeout_us, &was);
    }
    if (!error)
        *out = was;
    return error;
}

int devcom_fetch_add(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t value, long timeout_us,
                     int64_t *out)
{
    return run(d, rank, ASK_ADD, segment, offset, value, 0, timeout_us, out);
}

int devcom_compare_swap(struct devcom *d, int rank, unsigned segment, size_t offset, int64_t expected, int64_t value,
                        long timeout_us, int64_t *out)
{
    return run(d, rank, ASK_SWAP, segment, offset, expected, value, timeout_us, out);
}
