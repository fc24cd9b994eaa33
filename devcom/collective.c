/*
 * Barrier, broadcast, reduce and allreduce on segments (sections 4.2.5, 6.7, 6.8), of all ranks or of a group
 * (group.c).
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

/* ---- events ---- */

void collective_tell(struct collective *c, int member)
{
    if (collective_begins(c))
        collective_did(c, notify_own(c->d, c->ranks[member], c->words + (unsigned)c->self, DEVCOM_SIGNAL_ADD, 1));
}

int collective_wait(struct collective *c, unsigned signal, int64_t value, int64_t *out)
{
    return signal_wait_any(c->d, &c->waits, signal, DEVCOM_GE, value, collective_time_left(c), out);
}

void collective_hear(struct collective *c, int member)
{
    int error;

    if (!collective_begins(c))
        return;
    error = collective_wait(c, c->words + (unsigned)member, c->heard[member] + 1, NULL);
    c->heard[member] += !error;
    collective_did(c, error);
}

/* ---- the calls ---- */

static void barrier(struct collective *c)
{
    for (int distance = 1; distance < c->size; distance *= 2) {
        collective_tell(c, (c->self + distance) % c->size);
        collective_hear(c, (c->self + c->size - distance) % c->size);
    }
}

static bool same_call(const struct call *a, const struct call *b)
{
    return a->kind == b->kind && a->root == b->root && a->segment == b->segment && a->offset == b->offset &&
           a->count == b->count && a->type == b->type && a->op == b->op && a->method == b->method;
}

static void run_on_segment(struct collective *c)
{
    const struct call *call = &c->call;
    size_t bytes = call->kind == REDUCE ? call->count * elements_bytes(call->type) : call->count;

    c->error = segment_take(c->d, call->segment, &c->segment);
    if (c->error)
        return;
    if (!inside(c->segment->bytes, call->offset, bytes))
        c->error = -ERANGE;
    else if (call->kind == BROADCAST)
        collective_cast(c, call->root, call->offset, call->count);
    else
        collective_reduce(c);
    segment_release(c->segment);
}

int collective_run(struct collective *c, const struct call *call, long timeout_us)
{
    if (c->call.kind && !same_call(&c->call, call))
        return -EINVAL;
    if (!c->call.kind)
        c->done = 0;
    c->call = *call;
    c->at = 0;
    c->error = 0;
    c->until_us = timeout_us < 0 ? INT64_MAX : clock_us() + timeout_us;
    c->waits.adapter = c->d->waits.adapter; /* which is opened after the collectives of all ranks */
    if (call->kind == COMMIT)
        c->commit(c);
    else if (call->kind == BARRIER)
        barrier(c);
    else
        run_on_segment(c);
    if (c->error != -ETIMEDOUT)
        c->call.kind = 0;
    return c->error;
}

int collective_broadcast(struct collective *c, const struct call *call, long timeout_us)
{
    return call->segment >= c->d->o.segments ? -ENOENT : collective_run(c, call, timeout_us);
}

int collective_reduction(struct collective *c, const struct call *call, long timeout_us)
{
    if ((unsigned)call->type > DEVCOM_DOUBLE || (unsigned)call->op > DEVCOM_MAX ||
        (unsigned)call->method > DEVCOM_TREE || call->offset % elements_bytes(call->type))
        return -EINVAL;
    if (call->segment >= c->d->o.segments)
        return -ENOENT;
    if (call->count > ((size_t)1 << 46) / elements_bytes(call->type))
        return -ERANGE;
    return collective_run(c, call, timeout_us);
}

int devcom_barrier(struct devcom *d, long timeout_us)
{
    return !d ? -EINVAL : collective_run(d->collective, &(struct call){.kind = BARRIER}, timeout_us);
}

int devcom_broadcast(struct devcom *d, int root, unsigned segment, size_t offset, size_t bytes, long timeout_us)
{
    struct call call = {.kind = BROADCAST, .root = root, .segment = segment, .offset = offset, .count = bytes};

    return !d || !rank_valid(d, root) ? -EINVAL : collective_broadcast(d->collective, &call, timeout_us);
}

int devcom_allreduce(struct devcom *d, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                     enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, -1, segment, offset, count, type, op, method};

    return !d ? -EINVAL : collective_reduction(d->collective, &call, timeout_us);
}

int devcom_reduce(struct devcom *d, int root, unsigned segment, size_t offset, size_t count, enum devcom_type type,
                  enum devcom_op op, enum devcom_method method, long timeout_us)
{
    struct call call = {REDUCE, root, segment, offset, count, type, op, method};

    return !d || !rank_valid(d, root) ? -EINVAL : collective_reduction(d->collective, &call, timeout_us);
}

int collective_share(struct devcom *d, uint64_t *word)
{
    struct call call = {.kind = BROADCAST, .segment = scratch_id(d), .count = sizeof(*word)};
    uint8_t *place = d->own[scratch_id(d)]->host;
    int error;

    if (d->rank == 0)
        memcpy(place, word, sizeof(*word));
    error = collective_run(d->collective, &call, DEVCOM_BLOCK);
    if (!error)
        memcpy(word, place, sizeof(*word));
    return error;
}

/* ---- open and close ---- */

size_t scratch_letter(const struct devcom *d, int rank)
{
    return (size_t)d->size * SLOT + (size_t)rank * d->o.passive_bytes;
}

int collective_prepare(struct collective *c, struct devcom *d, const int *ranks, int size, int self)
{
    c->d = d;
    c->size = size;
    c->self = self;
    c->ranks = malloc((size_t)size * sizeof(*c->ranks));
    c->heard = calloc((size_t)size, sizeof(*c->heard));
    c->mine = malloc(SLOT);
    c->sum = malloc(SLOT);
    if (!c->ranks || !c->heard || !c->mine || !c->sum)
        return -ENOMEM;
    for (int member = 0; member < size; member++)
        c->ranks[member] = ranks ? ranks[member] : member;
    c->waits = d->waits;
    c->waits.ranks = c->ranks;
    c->waits.rank_count = size;
    return 0;
}

void collective_drop(struct collective *c)
{
    free(c->ranks);
    free(c->heard);
    free(c->mine);
    free(c->sum);
}

int collective_open(struct devcom *d)
{
    struct devcom_memory memory = {.bytes = scratch_letter(d, d->size)};
    struct collective *c = calloc(1, sizeof(*c));
    int error;

    if (!c)
        return -ENOMEM;
    d->collective = c;
    c->words = own_signal(d, OWN_COLLECTIVE, 0);
    c->scratch = scratch_id(d);
    error = collective_prepare(c, d, NULL, d->size, d->rank);
    return error ? error : segment_alloc_at(d, scratch_id(d), &memory, NULL);
}

void collective_close(struct devcom *d)
{
    if (!d->collective)
        return;
    collective_drop(d->collective);
    free(d->collective);
}
