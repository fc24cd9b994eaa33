/*
 * Reduce and allreduce (section V-C). Uses only xtq.h and ground/.
 *
 * Large vectors: a reduce-scatter by recursive halving (R. Thakur et al., the paper's [40]), after which each of the p2
 * ranks (the largest power of two) has a segment of the result, which it puts to all ranks, or to the root. Small
 * vectors: a binomial tree, or, for an allreduce among a power of two ranks, exchanges of the whole vector. Each is a
 * list of steps (ground/plan.h), of which each is an exchange with one peer, and a spread of segments at the end.
 *
 * Explicit synchronisation of resources: before a rank puts a contribution to a peer, the peer has put it a "ready",
 * which says that the peer has registered its buffer and has ended its earlier steps. So contributions are combined in
 * one order, and results are reproducible. The spread needs no "ready": a segment of the result consists of
 * contributions of all ranks, so all have begun, and have sent what was in its place.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ground/waiting.h"
#include "xtq/collectives.h"
#include "xtq/inside.h"

#define TREE_BYTES ((size_t)16 << 10)
#define TESTS_BEFORE_YIELD 32 /* a few us, in which small collectives end */
#define PATIENCE_US 20        /* plus about as long as the collective may take */

/* ---- progress ---- */

static int64_t chunks(const struct xtq_request *r, size_t count)
{
    size_t most = collectives_most(r->c, r->element);

    return (int64_t)((count + most - 1) / most);
}

/* Sends the elements that have not been sent yet. Returns -EAGAIN if the rest must be sent later. */
static int send_elements(struct xtq_request *r, const uint8_t *from, int target, unsigned index, unsigned op,
                         size_t first, size_t count)
{
    size_t most = collectives_most(r->c, r->element);

    while (r->sent < count) {
        size_t some = count - r->sent < most ? count - r->sent : most, at = (first + r->sent) * r->element;
        struct combine_arguments arguments = {.offset = at, .type = r->type, .op = op};
        int error = collectives_put(r->c, target, index, arguments, from + at, some, some * r->element, r->flags);

        if (error)
            return error;
        r->sent += some;
    }
    r->sent = 0;
    return 0;
}

static size_t by_peer(const struct xtq_request *r, int peer)
{
    return (size_t)r->slot * (size_t)r->c->size + (size_t)peer;
}

/* Continues a step. Returns -EAGAIN if its message cannot be sent yet, or has not arrived. */
static int step_go_on(struct xtq_request *r, const struct plan_step *step)
{
    struct xtq_collectives *c = r->c;
    int error;

    if (r->phase == SAY_READY) {
        struct combine_arguments arguments = {.offset = (uint64_t)r->slot * (uint64_t)c->size, .op = COMBINE_READY};

        r->from = r->at == 0 ? r->data : r->work;
        if (r->exchange && r->from == r->work)
            r->from = memcpy(r->temporary, r->work, r->count * r->element);

        if (step->receive_count) {
            error = collectives_put(c, step->peer, INDEX_READY, arguments, NULL, 1, 0, r->flags);
            if (error)
                return error;
            r->arrivals += chunks(r, step->receive_count);
        }
        r->phase = SEND;
    }
    if (r->phase == SEND) {
        if (step->send_count) {
            if (xtq_signal_load(c->ready[by_peer(r, step->peer)]) <= c->needed[by_peer(r, step->peer)])
                return -EAGAIN;
            error = send_elements(r, r->from, step->peer, INDEX_REDUCE + r->slot, r->op, step->send_first,
                                  step->send_count);
            if (error)
                return error;
            c->needed[by_peer(r, step->peer)]++;
        }
        r->phase = RECEIVE;
    }
    return xtq_signal_load(r->arrived) > -r->arrivals ? -EAGAIN : 0;
}

static int spread_go_on(struct xtq_request *r)
{
    for (; r->spread_to < r->spread_end; r->spread_to++) {
        int error;

        if (r->spread_to == r->c->rank || !r->spread_count)
            continue;
        error = send_elements(r, r->work, r->spread_to, INDEX_SPREAD + r->slot, XTQ_REPLACE, r->spread_first,
                              r->spread_count);
        if (error)
            return error;
    }
    return xtq_signal_load(r->spread) > -r->spread_arrivals ? -EAGAIN : 0;
}

static int go_on(struct xtq_request *r)
{
    while (r->at < r->plan.count) {
        int error = step_go_on(r, &r->plan.steps[r->at]);

        if (error)
            return error;
        r->at++;
        r->phase = SAY_READY;
    }
    return spread_go_on(r);
}

static void request_end(struct xtq_request *r, int error)
{
    collectives_unregister(r->c, INDEX_REDUCE + r->slot);
    if (r->spread_arrivals)
        collectives_unregister(r->c, INDEX_SPREAD + r->slot);
    free(r->temporary);
    r->temporary = NULL;
    r->error = error;
}

/* Continues all pending requests, since other ranks may wait for them. */
static void go_on_all(struct xtq_collectives *c)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct xtq_request *r = &c->requests[slot];

        if (r->active && r->error == -EINPROGRESS) {
            int error = go_on(r);

            if (error != -EAGAIN)
                request_end(r, error);
        }
    }
}

/* ---- plans ---- */

/* Whether exchanges give the same result on all ranks. They do not for minimum and maximum of floats, which depend on
 * the order of operands for NaN and -0. */
static bool can_exchange(const struct xtq_request *r, int size)
{
    bool real = r->type == XTQ_FLOAT || r->type == XTQ_DOUBLE;

    return (size & (size - 1)) == 0 && !(real && (r->op == XTQ_MIN || r->op == XTQ_MAX));
}

/* Plans the steps. A rank that has a part of the result after them then spreads it. */
static void make_plan(struct xtq_request *r, int root, bool to_all)
{
    const int size = r->c->size, rank = r->c->rank;
    const bool small = r->count * r->element <= TREE_BYTES;
    struct plan *plan = &r->plan;

    r->exchange = small && r->count && to_all && can_exchange(r, size);
    if (r->exchange)
        plan_doubling(plan, rank, size, r->count);
    else if (small || r->count < (size_t)size)
        plan_tree(plan, rank, size, root, r->count);
    else
        plan_halving(plan, rank, size, r->count);
    if (plan->part >= 0)
        plan_part(plan->parts, plan->part, r->count, &r->spread_first, &r->spread_count);
    r->spread_to = to_all ? 0 : root;
    r->spread_end = to_all ? size : root + 1;
    for (int i = 0; i < plan->parts && (to_all || rank == root); i++) {
        size_t first, count;

        plan_part(plan->parts, i, r->count, &first, &count);
        r->spread_arrivals += i == plan->part ? 0 : chunks(r, count);
    }
}

/* ---- starting ---- */

/* If the call waits, the peer waits too, or will, and polls itself: its server need not be woken. */
enum { WAITED_FOR = XTQ_TRY | XTQ_QUIET, NOT_WAITED_FOR = XTQ_TRY };

/* Chooses the memory in which contributions are combined. Only the data that the first step does not send are copied
 * there. */
static int request_memory(struct xtq_request *r, const void *data, void *result)
{
    bool receives = false;
    const struct plan_step *step = &r->plan.steps[0];
    size_t first = 0, count = r->count;

    for (unsigned i = 0; i < r->plan.count; i++)
        receives |= r->plan.steps[i].receive_count != 0;
    r->data = data;
    if (result) {
        r->work = result;
    } else if (receives) {
        r->work = r->temporary = malloc(r->count * r->element);
        if (!r->work)
            return -ENOMEM;
    } else {
        r->work = (uint8_t *)(uintptr_t)data;
    }
    if (r->exchange && !(r->temporary = malloc(r->count * r->element)))
        return -ENOMEM;
    if (r->plan.count && step->send_count) {
        first = step->receive_first;
        count = step->receive_count;
    }
    if (r->work != r->data && count)
        memcpy(r->work + first * r->element, r->data + first * r->element, count * r->element);
    return 0;
}

static int start_locked(struct xtq_collectives *c, int root, bool to_all, const void *data, void *result, size_t count,
                        enum xtq_type type, enum xtq_op op, unsigned flags, struct xtq_request **out)
{
    struct xtq_request *r = &c->requests[c->sequence % SLOTS];
    struct xtq_signal *arrived = r->arrived, *spread = r->spread;
    size_t element = xtq_type_bytes(type);
    int error;

    if (!element || (unsigned)op > XTQ_MAX || root < 0 || root >= c->size || count > SIZE_MAX / element ||
        (count && (!data || (!result && (to_all || c->rank == root)))))
        return -EINVAL;
    if (r->active)
        return -EBUSY;
    *r = (struct xtq_request){.c = c,
                              .slot = (unsigned)(c->sequence % SLOTS),
                              .active = true,
                              .flags = flags,
                              .type = type,
                              .op = op,
                              .element = element,
                              .count = count,
                              .error = -EINPROGRESS,
                              .arrived = arrived,
                              .spread = spread};
    make_plan(r, root, to_all);
    error = count ? request_memory(r, data, to_all || c->rank == root ? result : NULL) : 0;
    xtq_signal_store(arrived, 0);
    xtq_signal_store(spread, 0);
    if (!error)
        error = collectives_register(c, INDEX_REDUCE + r->slot, r->work, count * element, arrived);
    if (!error && r->spread_arrivals)
        error = collectives_register(c, INDEX_SPREAD + r->slot, r->work, count * element, spread);
    if (error) {
        request_end(r, error);
        r->active = false;
        return error;
    }
    c->sequence++;
    go_on_all(c);
    *out = r;
    return 0;
}

static int start(struct xtq_collectives *c, int root, bool to_all, const void *data, void *result, size_t count,
                 enum xtq_type type, enum xtq_op op, unsigned flags, struct xtq_request **out)
{
    int error;

    if (!c || !out)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    error = start_locked(c, root, to_all, data, result, count, type, op, flags, out);
    pthread_mutex_unlock(&c->lock);
    return error;
}

/* ---- the functions ---- */

int xtq_ireduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
                enum xtq_op op, struct xtq_request **out)
{
    return start(c, root, false, data, result, count, type, op, NOT_WAITED_FOR, out);
}

int xtq_iallreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                   enum xtq_op op, struct xtq_request **out)
{
    return start(c, 0, true, data, result, count, type, op, NOT_WAITED_FOR, out);
}

/* Continues the requests. A request that has ended is free again. error: what ends this one, or 0. */
static int request_test(struct xtq_request *r, int error)
{
    struct xtq_collectives *c = r->c;

    pthread_mutex_lock(&c->lock);
    go_on_all(c);
    if (error && r->error == -EINPROGRESS)
        request_end(r, error);
    error = r->error;
    if (error != -EINPROGRESS)
        r->active = false;
    pthread_mutex_unlock(&c->lock);
    return error;
}

int xtq_test(struct xtq_request *r)
{
    if (!r || !r->c)
        return -EINVAL;
    xtq_progress(r->c->x);
    return request_test(r, 0);
}

/* Tests a request for a while, unless other threads want the core. */
static int poll_for(struct xtq_request *r)
{
    struct polling polling = polling_begin();
    struct crowd crowd = {0, 0};
    int error;

    while ((error = xtq_test(r)) == -EINPROGRESS &&
           polling_on(&polling, TESTS_BEFORE_YIELD, PATIENCE_US + (long)(r->count * r->element / 1000), &crowd))
        ;
    return error;
}

int xtq_wait(struct xtq_request *r)
{
    struct waiting waiting;
    int error = poll_for(r), lost;

    if (error != -EINPROGRESS)
        return error;
    waiting_begin(&waiting, context_waits(r->c->x), -1, -1);
    while ((error = request_test(r, 0)) == -EINPROGRESS && waiting_step(&waiting))
        ;
    lost = waiting_end(&waiting);
    return error == -EINPROGRESS ? request_test(r, lost) : error;
}

int xtq_reduce(struct xtq_collectives *c, int root, const void *data, void *result, size_t count, enum xtq_type type,
               enum xtq_op op)
{
    struct xtq_request *request;
    int error = start(c, root, false, data, result, count, type, op, WAITED_FOR, &request);

    return error ? error : xtq_wait(request);
}

int xtq_allreduce(struct xtq_collectives *c, const void *data, void *result, size_t count, enum xtq_type type,
                  enum xtq_op op)
{
    struct xtq_request *request;
    int error = start(c, 0, true, data, result, count, type, op, WAITED_FOR, &request);

    return error ? error : xtq_wait(request);
}
