/*
 * Barrier, broadcast, reduce and allreduce on segments (sections 4.2.5, 6.7, 6.8).
 *
 * Whoever will be written to says that it is ready, and whoever writes waits for that; so nothing is overwritten that
 * is still needed, whichever collectives follow each other. Both count events in a word of the receiver for each
 * sender: the sender's puts and words to it are in order, so the receiver knows what its next event is.
 *
 * A collective that comes to its time-out is begun again by its next call, and passes over the steps that it has done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "devcom/internal.h"

#define SLOT ((size_t)64 << 10) /* what a rank may write to another at a time */
#define SMALL 4096              /* bytes: up to here repeating work is cheaper than meeting twice */
#define EACH(d, r) for (int r = 0; r < (d)->size; r++)

enum kind { BARRIER = 1, BROADCAST, REDUCE };

/* Everything a call says, to recognise it by. */
struct call {
    enum kind kind;
    int root; /* -1: all have the result */
    unsigned segment;
    size_t offset, count;
    enum devcom_type type;
    enum devcom_op op;
    enum devcom_method method;
};

struct collective {
    struct devcom *d;
    struct call call; /* kind is 0 when none is to be resumed */
    unsigned at, done;
    long until_us;
    int64_t barriers;
    int64_t *heard; /* by rank: events that have been waited for */
    struct segment *segment;
    uint8_t *mine, *sum;
};

static size_t type_bytes(enum devcom_type type)
{
    return type == DEVCOM_INT32 || type == DEVCOM_UINT32 || type == DEVCOM_FLOAT ? 4 : 8;
}

#define COMBINE(TYPE)                                                                                                  \
    for (size_t i = 0; i < count; i++) {                                                                               \
        TYPE a = ((TYPE *)sum)[i], b = ((const TYPE *)more)[i];                                                        \
        ((TYPE *)sum)[i] = op == DEVCOM_SUM ? (TYPE)(a + b) : op == DEVCOM_MIN ? (b < a ? b : a) : (b > a ? b : a);    \
    }

static void combine(enum devcom_type type, enum devcom_op op, void *sum, const void *more, size_t count)
{
    switch (type) {
    case DEVCOM_INT32:
        if (op != DEVCOM_SUM) {
            COMBINE(int32_t)
            return;
        } /* sums of signed integers wrap */
        __attribute__((fallthrough));
    case DEVCOM_UINT32:
        COMBINE(uint32_t)
        return;
    case DEVCOM_INT64:
        if (op != DEVCOM_SUM) {
            COMBINE(int64_t)
            return;
        }
        __attribute__((fallthrough));
    case DEVCOM_UINT64:
        COMBINE(uint64_t)
        return;
    case DEVCOM_FLOAT:
        COMBINE(float)
        return;
    case DEVCOM_DOUBLE:
        COMBINE(double)
        return;
    }
}

/* ---- steps ---- */

/* Whether the step that begins here has been done by an earlier call. */
static bool passed(struct collective *c)
{
    return c->at++ < c->done;
}

static int did(struct collective *c, int error)
{
    if (!error)
        c->done = c->at;
    return error;
}

static unsigned word_from(const struct devcom *d, int rank)
{
    return own_signal(d, OWN_FIXED) + 2 * (unsigned)d->size + (unsigned)rank;
}

static long time_left(const struct collective *c)
{
    long left = c->until_us - clock_us();

    return c->until_us == INT64_MAX ? DEVCOM_BLOCK : left > 0 ? left : 0;
}

static int tell(struct collective *c, int rank)
{
    return passed(c) ? 0 : did(c, notify_own(c->d, rank, word_from(c->d, c->d->rank), DEVCOM_ADD, 1));
}

/* The next event from a rank. */
static int hear(struct collective *c, int rank)
{
    int error;

    if (passed(c))
        return 0;
    error = signal_wait_any(c->d, word_from(c->d, rank), DEVCOM_GE, c->heard[rank] + 1, time_left(c), NULL);
    c->heard[rank] += !error;
    return did(c, error);
}

static int tell_others(struct collective *c)
{
    int error = 0;

    EACH(c->d, r)
    {
        if (r != c->d->rank && !error)
            error = tell(c, r);
    }
    return error;
}

static int hear_others(struct collective *c)
{
    int error = 0;

    EACH(c->d, r)
    {
        if (r != c->d->rank && !error)
            error = hear(c, r);
    }
    return error;
}

/* From this rank's segment to a rank's segment or scratch memory; then it is told. */
static int put_to(struct collective *c, int rank, size_t offset, unsigned to, size_t to_offset, size_t bytes)
{
    struct devcom_put put = {.segment = c->call.segment,
                             .remote_segment = to,
                             .offset = offset,
                             .remote_offset = to_offset,
                             .shape = {.bytes = bytes},
                             .rank = rank,
                             .signal = word_from(c->d, c->d->rank),
                             .op = DEVCOM_ADD,
                             .value = 1};

    return passed(c) ? 0 : did(c, put_own(c->d, &put));
}

static int put_slot(struct collective *c, int rank, size_t offset, size_t bytes)
{
    return put_to(c, rank, offset, scratch_id(c->d), (size_t)c->d->rank * SLOT, bytes);
}

static int put_place(struct collective *c, int rank, size_t offset, size_t bytes)
{
    return put_to(c, rank, offset, c->call.segment, offset, bytes);
}

/* What this rank has put may be overwritten here. */
static int flush(struct collective *c)
{
    return passed(c) ? 0 : did(c, queue_flush_own(c->d, time_left(c)));
}

/* ---- combining what has come ---- */

static const uint8_t *slot_of(const struct collective *c, int rank)
{
    return c->d->own[scratch_id(c->d)]->host + (size_t)rank * SLOT;
}

/* In the order of ranks, this rank's own from its segment; the result goes there. */
static int combine_slots(struct collective *c, size_t offset, size_t bytes)
{
    struct layout flat = {.bytes = bytes, .count = {1, 1}};
    size_t count = bytes / type_bytes(c->call.type);
    int error;

    if (passed(c))
        return 0;
    error = stage_read(c->segment, offset, &flat, c->mine);
    if (error)
        return error;
    EACH(c->d, r)
    {
        const uint8_t *part = r == c->d->rank ? c->mine : slot_of(c, r);

        if (r == 0)
            memcpy(c->sum, part, bytes);
        else
            combine(c->call.type, c->call.op, c->sum, part, count);
    }
    return did(c, stage_write(c->segment, offset, &flat, c->sum));
}

/* ---- methods, for so many bytes from offset; section 6.8 ---- */

static int all_gather(struct collective *c, size_t offset, size_t bytes)
{
    int error = tell_others(c);

    EACH(c->d, r)
    {
        if (r != c->d->rank && !error) {
            error = hear(c, r);
            if (!error)
                error = put_slot(c, r, offset, bytes);
        }
    }
    if (!error)
        error = flush(c);
    if (!error)
        error = hear_others(c);
    return error ? error : combine_slots(c, offset, bytes);
}

static int gather_at_root(struct collective *c, size_t offset, size_t bytes, bool cast)
{
    int error = tell_others(c);

    if (!error)
        error = hear_others(c);
    if (!error)
        error = combine_slots(c, offset, bytes);
    EACH(c->d, r)
    {
        if (r != c->d->rank && cast && !error) {
            error = hear(c, r);
            if (!error)
                error = put_place(c, r, offset, bytes);
        }
    }
    return error ? error : flush(c);
}

static int gather(struct collective *c, size_t offset, size_t bytes)
{
    int root = c->call.root < 0 ? 0 : c->call.root, error;
    bool cast = c->call.root < 0;

    if (c->d->rank == root)
        return gather_at_root(c, offset, bytes, cast);
    error = hear(c, root);
    if (!error)
        error = put_slot(c, root, offset, bytes);
    if (!error)
        error = flush(c);
    if (!error && cast)
        error = tell(c, root);
    return error || !cast ? error : hear(c, root);
}

static int get_slots(struct collective *c, size_t offset, size_t bytes)
{
    int error = 0;

    EACH(c->d, r)
    {
        struct devcom_put get = {.segment = scratch_id(c->d),
                                 .remote_segment = c->call.segment,
                                 .offset = (size_t)r * SLOT,
                                 .remote_offset = offset,
                                 .shape = {.bytes = bytes},
                                 .rank = r};

        if (r != c->d->rank && !error && !passed(c))
            error = did(c, get_own(c->d, &get));
    }
    if (!error && !passed(c))
        error = did(c, queue_fence_own(c->d, time_left(c)));
    return error;
}

static int remote_read(struct collective *c, size_t offset, size_t bytes)
{
    bool reads = c->call.root < 0 || c->call.root == c->d->rank;
    int error = tell_others(c);

    if (!error)
        error = hear_others(c);
    if (!error && reads)
        error = get_slots(c, offset, bytes);
    if (!error)
        error = tell_others(c);
    if (!error)
        error = hear_others(c); /* everybody has read what this rank has */
    return error || !reads ? error : combine_slots(c, offset, bytes);
}

/* The part of so many bytes that a rank combines. */
static size_t part_begin(const struct collective *c, size_t bytes, int rank)
{
    size_t element = type_bytes(c->call.type),
           per = (bytes / element + (size_t)c->d->size - 1) / (size_t)c->d->size * element;
    size_t begin = (size_t)rank * per;

    return begin < bytes ? begin : bytes;
}

static size_t part_bytes(const struct collective *c, size_t bytes, int rank)
{
    return part_begin(c, bytes, rank + 1) - part_begin(c, bytes, rank);
}

/* Where all segments are mapped, a rank combines its part from where the others have it. */
static bool combine_mapped(struct collective *c, size_t offset, size_t bytes, int *error)
{
    size_t begin = offset + part_begin(c, bytes, c->d->rank), length = part_bytes(c, bytes, c->d->rank);
    size_t element = type_bytes(c->call.type);

    for (size_t done = 0; done < length; done += SLOT) {
        size_t piece = length - done < SLOT ? length - done : SLOT;

        EACH(c->d, r)
        {
            struct attachment *a;

            *error = attachment_take(c->d, r, c->call.segment, &a);
            if (*error)
                return false;
            if (!a->base || !inside(a->bytes, begin + done, piece)) {
                *error = a->base ? -ERANGE : -ENOTSUP;
                attachment_release(a);
                return false;
            }
            if (r == 0)
                memcpy(c->sum, a->base + begin + done, piece);
            else
                combine(c->call.type, c->call.op, c->sum, a->base + begin + done, piece / element);
            attachment_release(a);
        }
        memcpy(c->segment->host + begin + done, c->sum, piece);
    }
    return true;
}

static bool all_mapped(const struct collective *c)
{
    EACH(c->d, r)
    {
        if (!c->d->boards[r] || segment_listing(c->d, r, c->call.segment)->path != DEVCOM_MAPPED)
            return false;
    }
    return true;
}

static int spread_parts(struct collective *c, size_t offset, size_t bytes)
{
    int error = 0;

    EACH(c->d, r)
    {
        bool wants = r != c->d->rank && (c->call.root < 0 || r == c->call.root);

        if (wants && !error)
            error = put_place(c, r, offset + part_begin(c, bytes, c->d->rank), part_bytes(c, bytes, c->d->rank));
    }
    if (!error && (c->call.root < 0 || c->call.root == c->d->rank))
        error = hear_others(c);
    return error ? error : flush(c);
}

static int all_to_all_mapped(struct collective *c, size_t offset, size_t bytes)
{
    int error = tell_others(c);

    if (!error)
        error = hear_others(c);
    if (!error && !passed(c)) {
        combine_mapped(c, offset, bytes, &error);
        error = did(c, error);
    }
    if (!error && c->call.root >= 0) { /* else the results say that what this rank has is not needed any more */
        error = tell_others(c);
        if (!error)
            error = hear_others(c);
    }
    return error ? error : spread_parts(c, offset, bytes);
}

static int all_to_all(struct collective *c, size_t offset, size_t bytes)
{
    int error = tell_others(c);

    EACH(c->d, r)
    {
        if (r != c->d->rank && !error) {
            error = hear(c, r);
            if (!error)
                error = put_slot(c, r, offset + part_begin(c, bytes, r), part_bytes(c, bytes, r));
        }
    }
    if (!error)
        error = flush(c);
    if (!error)
        error = hear_others(c);
    if (!error)
        error = combine_slots(c, offset + part_begin(c, bytes, c->d->rank), part_bytes(c, bytes, c->d->rank));
    return error ? error : spread_parts(c, offset, bytes);
}

/* ---- trees: rank root is number 0; a number's parent lacks its lowest bit ---- */

static int number_of(const struct collective *c, int root)
{
    return (c->d->rank - root + c->d->size) % c->d->size;
}

static int rank_of(const struct collective *c, int number, int root)
{
    return (number + root) % c->d->size;
}

static int cast_tree(struct collective *c, int root, size_t offset, size_t bytes)
{
    int number = number_of(c, root), lowest = number ? number & -number : 1, error = 0;

    while (!number && lowest < c->d->size)
        lowest *= 2;
    if (number) {
        error = tell(c, rank_of(c, number - lowest, root));
        if (!error)
            error = hear(c, rank_of(c, number - lowest, root));
    }
    for (int bit = lowest / 2; bit && !error; bit /= 2) {
        if (number + bit >= c->d->size)
            continue;
        error = hear(c, rank_of(c, number + bit, root));
        if (!error)
            error = put_place(c, rank_of(c, number + bit, root), offset, bytes);
    }
    return error ? error : flush(c);
}

static int combine_child(struct collective *c, int child, size_t offset, size_t bytes)
{
    struct layout flat = {.bytes = bytes, .count = {1, 1}};
    int error;

    if (passed(c))
        return 0;
    error = stage_read(c->segment, offset, &flat, c->sum);
    if (error)
        return error;
    combine(c->call.type, c->call.op, c->sum, slot_of(c, child), bytes / type_bytes(c->call.type));
    return did(c, stage_write(c->segment, offset, &flat, c->sum));
}

static int tree(struct collective *c, size_t offset, size_t bytes)
{
    int root = c->call.root < 0 ? 0 : c->call.root, number = number_of(c, root), error = 0, bit;

    for (bit = 1; bit < c->d->size && !(number & bit) && !error; bit *= 2) {
        int child = rank_of(c, number + bit, root);

        if (number + bit >= c->d->size)
            continue;
        error = tell(c, child);
        if (!error)
            error = hear(c, child);
        if (!error)
            error = combine_child(c, child, offset, bytes);
    }
    if (!error && number) {
        error = hear(c, rank_of(c, number - bit, root));
        if (!error)
            error = put_slot(c, rank_of(c, number - bit, root), offset, bytes);
        if (!error)
            error = flush(c);
    }
    return error || c->call.root >= 0 ? error : cast_tree(c, root, offset, bytes);
}

/* ---- the calls ---- */

static int barrier(struct collective *c)
{
    int error = 0, size = c->d->size, rank = c->d->rank;

    for (int distance = 1, round = 0; distance < size && !error; distance *= 2, round++) {
        unsigned word = own_signal(c->d, (unsigned)(OWN_BARRIER + round));

        if (!passed(c))
            error = did(c, notify_own(c->d, (rank + distance) % size, word, DEVCOM_ADD, 1));
        if (!error && !passed(c))
            error = did(c, signal_wait_any(c->d, word, DEVCOM_GE, c->barriers + 1, time_left(c), NULL));
    }
    c->barriers += !error;
    return error;
}

static enum devcom_method choose(const struct collective *c, size_t bytes)
{
    if (c->call.method != DEVCOM_AUTO)
        return c->call.method;
    if (bytes > SMALL)
        return DEVCOM_ALL_TO_ALL;
    return c->call.root < 0 ? DEVCOM_ALL_GATHER : DEVCOM_GATHER;
}

static int reduce(struct collective *c)
{
    size_t bytes = c->call.count * type_bytes(c->call.type), step = SLOT;
    enum devcom_method method = choose(c, bytes);
    int (*run)(struct collective *, size_t, size_t) = all_gather;
    int error = 0;

    switch (method) {
    case DEVCOM_REMOTE_READ:
        run = remote_read;
        break;
    case DEVCOM_GATHER:
        run = gather;
        break;
    case DEVCOM_TREE:
        run = tree;
        break;
    case DEVCOM_ALL_TO_ALL:
        run = all_mapped(c) ? all_to_all_mapped : all_to_all;
        step = run == all_to_all ? SLOT * (size_t)c->d->size : bytes;
        break;
    default:
        break;
    }
    for (size_t begin = 0; begin < bytes && !error; begin += step)
        error = run(c, c->call.offset + begin, bytes - begin < step ? bytes - begin : step);
    return error;
}

static bool same_call(const struct call *a, const struct call *b)
{
    return a->kind == b->kind && a->root == b->root && a->segment == b->segment && a->offset == b->offset &&
           a->count == b->count && a->type == b->type && a->op == b->op && a->method == b->method;
}

static int run_call(struct collective *c, const struct call *call)
{
    switch (call->kind) {
    case BARRIER:
        return barrier(c);
    case BROADCAST:
        return cast_tree(c, call->root, call->offset, call->count);
    case REDUCE:
        return reduce(c);
    }
    return -EINVAL;
}

static int collective_run(struct devcom *d, const struct call *call, long timeout_us)
{
    struct collective *c = d->collective;
    int error;

    if (c->call.kind && !same_call(&c->call, call))
        return -EINVAL;
    if (!c->call.kind)
        c->done = 0;
    c->call = *call;
    c->at = 0;
    c->until_us = timeout_us < 0 ? INT64_MAX : clock_us() + timeout_us;
    if (call->kind != BARRIER) {
        size_t bytes = call->kind == REDUCE ? call->count * type_bytes(call->type) : call->count;

        error = segment_take(d, call->segment, &c->segment);
        if (error || !inside(c->segment->bytes, call->offset, bytes)) {
            segment_release(error ? NULL : c->segment);
            c->call.kind = 0;
            return error ? error : -ERANGE;
        }
    }
    error = run_call(c, call);
    if (call->kind != BARRIER)
        segment_release(c->segment);
    if (error != -ETIMEDOUT)
        c->call.kind = 0;
    return error;
}

int devcom_barrier(struct devcom *d, long timeout_us)
{
    struct call call = {.kind = BARRIER};

    return collective_run(d, &call, timeout_us);
}

int devcom_broadcast(struct devcom *d, int root, unsigned segment, size_t offset, size_t bytes, long timeout_us)
{
    struct call call = {.kind = BROADCAST, .root = root, .segment = segment, .offset = offset, .count = bytes};

    if (!rank_valid(d, root))
        return -EINVAL;
    return segment >= d->o.segments ? -ENOENT : collective_run(d, &call, timeout_us);
}

static int reduce_checked(struct devcom *d, struct call call, long timeout_us)
{
    if ((unsigned)call.type > DEVCOM_DOUBLE || (unsigned)call.op > DEVCOM_MAX || (unsigned)call.method > DEVCOM_TREE ||
        call.offset % type_bytes(call.type) || call.root >= d->size)
        return -EINVAL;
    if (call.segment >= d->o.segments)
        return -ENOENT;
    if (call.count > ((size_t)1 << 46) / type_bytes(call.type))
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

int collective_open(struct devcom *d)
{
    struct devcom_memory memory = {.bytes = (size_t)d->size * SLOT};
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
