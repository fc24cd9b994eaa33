/*
 * Barrier, broadcast, reduce and allreduce on segments (sections 4.2.5, 6.7, 6.8).
 *
 * A rank tells each rank that will write to it when it is ready, and the writer waits for that; so no data are
 * overwritten that are still needed, whichever collectives follow each other. A receiver counts the events of each
 * sender, which are puts and notifications, in one word: they arrive in order, so it knows what its next event is.
 *
 * A collective whose time-out expired is begun again by the next call, which skips the steps that are done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "devcom/collective.h"
#include "ground/elements.h"

/* ---- steps ---- */

bool collective_begins(struct collective *c)
{
    return !c->error && c->at++ >= c->done;
}

void collective_did(struct collective *c, int error)
{
    c->error = error;
    if (!error)
        c->done = c->at;
}

long collective_time_left(const struct collective *c)
{
    long left = c->until_us - clock_us();

    return c->until_us == INT64_MAX ? DEVCOM_BLOCK : left > 0 ? left : 0;
}

/* ---- the calls ---- */

static void barrier(struct collective *c)
{
    int size = c->d->size, rank = c->d->rank;

    for (int distance = 1, round = 0; distance < size; distance *= 2, round++) {
        unsigned word = own_signal(c->d, (unsigned)(OWN_BARRIER + round));

        if (collective_begins(c))
            collective_did(c, notify_own(c->d, (rank + distance) % size, word, DEVCOM_SIGNAL_ADD, 1));
        if (collective_begins(c))
            collective_did(c, signal_wait_any(c->d, word, DEVCOM_GE, c->barriers + 1, collective_time_left(c), NULL));
    }
    c->barriers += !c->error;
}

static bool same_call(const struct call *a, const struct call *b)
{
    return a->kind == b->kind && a->root == b->root && a->segment == b->segment && a->offset == b->offset &&
           a->count == b->count && a->type == b->type && a->op == b->op && a->method == b->method;
}

static int collective_run(struct devcom *d, const struct call *call, long timeout_us)
{
    struct collective *c = d->collective;

    if (c->call.kind && !same_call(&c->call, call))
        return -EINVAL;
    if (!c->call.kind)
        c->done = 0;
    c->call = *call;
    c->at = 0;
    c->error = 0;
    c->until_us = timeout_us < 0 ? INT64_MAX : clock_us() + timeout_us;
    if (call->kind != BARRIER) {
        int error;
        size_t bytes = call->kind == REDUCE ? call->count * elements_bytes(call->type) : call->count;

        error = segment_take(d, call->segment, &c->segment);
        if (error || !inside(c->segment->bytes, call->offset, bytes)) {
            segment_release(error ? NULL : c->segment);
            c->call.kind = 0;
            return error ? error : -ERANGE;
        }
    }
    if (call->kind == BARRIER)
        barrier(c);
    else if (call->kind == BROADCAST)
        collective_cast(c, call->root, call->offset, call->count);
    else
        collective_reduce(c);
    if (call->kind != BARRIER)
        segment_release(c->segment);
    if (c->error != -ETIMEDOUT)
        c->call.kind = 0;
    return c->error;
}

int devcom_barrier(struct devcom *d, long timeout_us)
{
    struct call call = {.kind = BARRIER};

    return !d ? -EINVAL : collective_run(d, &call, timeout_us);
}

int devcom_broadcast(struct devcom *d, int root, unsigned segment, size_t offset, size_t bytes, long timeout_us)
{
    struct call call = {.kind = BROADCAST, .root = root, .segment = segment, .offset = offset, .count = bytes};

    if (!d || !rank_valid(d, root))
        return -EINVAL;
    return segment >= d->o.segments ? -ENOENT : collective_run(d, &call, timeout_us);
}

static int reduce_checked(struct devcom *d, struct call call, long timeout_us)
{
    if (!d || (unsigned)call.type > DEVCOM_DOUBLE || (unsigned)call.op > DEVCOM_MAX ||
        (unsigned)call.method > DEVCOM_TREE || call.offset % elements_bytes(call.type) || call.root >= d->size)
        return -EINVAL;
    if (call.segment >= d->o.segments)
        return -ENOENT;
    if (call.count > ((size_t)1 << 46) / elements_bytes(call.type))
        return -ERANGE;
    return collective_run(d, &call, timeout_us);
}

int devcom_allreduce(struct devcom *d, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                     enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, -1, segment, offset, count, type, op, method};

    return reduce_checked(d, call, timeout_us);
}

int devcom_reduce(struct devcom *d, int root, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                  enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, root, segment, offset, count, type, op, method};

    return root < 0 ? -EINVAL : reduce_checked(d, call, timeout_us);
}

int collective_share(struct devcom *d, uint64_t *word)
{
    struct call call = {.kind = BROADCAST, .segment = scratch_id(d), .count = sizeof(*word)};
    uint8_t *place = d->own[scratch_id(d)]->host;
    int error;

    if (d->rank == 0)
        memcpy(place, word, sizeof(*word));
    error = collective_run(d, &call, DEVCOM_BLOCK);
    if (!error)
        memcpy(word, place, sizeof(*word));
    return error;
}

/* ---- open and close ---- */

size_t scratch_letter(const struct devcom *d, int rank)
{
    return (size_t)d->size * SLOT + (size_t)rank * d->o.passive_bytes;
}

int collective_open(struct devcom *d)
{
    struct devcom_memory memory = {.bytes = scratch_letter(d, d->size)};
    struct collective *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    d->collective = c;
    c->d = d;
    c->heard = calloc((size_t)d->size, sizeof(*c->heard));
    c->mine = malloc(SLOT);
    c->sum = malloc(SLOT);
    if (!c->heard || !c->mine || !c->sum)
        return -ENOMEM;
    return segment_alloc_at(d, scratch_id(d), &memory, NULL);
}

void collective_close(struct devcom *d)
{
    if (!d->collective)
        return;
    free(d->collective->heard);
    free(d->collective->mine);
    free(d->collective->sum);
    free(d->collective);
}
