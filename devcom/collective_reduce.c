/* The five methods of reduction, and the broadcast, as steps: see collective.c. Ranks are members here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/collective.h"
#include "ground/elements.h"
#include "ground/plan.h"

#define SMALL 4096 /* bytes: up to this size computing on all ranks is cheaper than a second synchronisation */

/* ---- events ---- */

static void tell_others(struct collective *c)
{
    EACH_OTHER(c, r)
    {
        collective_tell(c, r);
    }
}

static void hear_others(struct collective *c)
{
    EACH_OTHER(c, r)
    {
        collective_hear(c, r);
    }
}

static void meet_others(struct collective *c)
{
    tell_others(c);
    hear_others(c);
}

/* Puts data of this rank's segment into a member's segment or scratch memory, and notifies the member. */
static void put_to(struct collective *c, int member, size_t offset, unsigned to, size_t to_offset, size_t bytes)
{
    struct devcom_put put = {.segment = c->call.segment,
                             .remote_segment = to,
                             .offset = offset,
                             .remote_offset = to_offset,
                             .shape = {.bytes = bytes},
                             .rank = c->ranks[member],
                             .signal = c->words + (unsigned)c->self,
                             .op = DEVCOM_SIGNAL_ADD,
                             .value = 1};

    if (collective_begins(c))
        collective_did(c, put_own(c->d, &put));
}

static void put_slot(struct collective *c, int member, size_t offset, size_t bytes)
{
    put_to(c, member, offset, c->scratch, (size_t)c->self * SLOT, bytes);
}

static void put_place(struct collective *c, int member, size_t offset, size_t bytes)
{
    put_to(c, member, offset, c->call.segment, offset, bytes);
}

/* Waits until the source of this rank's puts may be overwritten. */
static void flush(struct collective *c)
{
    int error = 0;

    if (!collective_begins(c))
        return;
    EACH_OTHER(c, r)
    {
        error = error ? error : flush_local_own(c->d, c->ranks[r], collective_time_left(c));
    }
    collective_did(c, error);
}

/* ---- combining received contributions ---- */

static const uint8_t *slot_of(const struct collective *c, int member)
{
    return c->d->own[c->scratch]->host + (size_t)member * SLOT;
}

/* Combines the contributions in the order of ranks, this rank's own from its segment. The result is stored there. */
static void combine_slots(struct collective *c, size_t offset, size_t bytes)
{
    struct layout flat = {.bytes = bytes, .count = {1, 1}};
    size_t count = bytes / elements_bytes(c->call.type);
    int error;

    if (!collective_begins(c))
        return;
    error = stage_read(c->segment, offset, &flat, c->mine);
    for (int r = 0; r < c->size && !error; r++) {
        const uint8_t *part = r == c->self ? c->mine : slot_of(c, r);

        if (r == 0)
            memcpy(c->sum, part, bytes);
        else
            elements_combine(c->sum, part, count, c->call.type, c->call.op);
    }
    collective_did(c, error ? error : stage_write(c->segment, offset, &flat, c->sum));
}

/* ---- the methods, for a number of bytes from offset on; section 6.8 ---- */

/* Returns the beginning of the part of that many bytes that a member combines. */
static size_t part_begin(const struct collective *c, size_t bytes, int member)
{
    size_t element = elements_bytes(c->call.type),
           per = (bytes / element + (size_t)c->size - 1) / (size_t)c->size * element;
    size_t begin = (size_t)member * per;

    return begin < bytes ? begin : bytes;
}

static size_t part_bytes(const struct collective *c, size_t bytes, int member)
{
    return part_begin(c, bytes, member + 1) - part_begin(c, bytes, member);
}

/* Sends each rank this rank's contribution, or, if parts is set, the part of it that the rank combines. Waits for the
 * contributions of the others, which arrive in this rank's slots. */
static void exchange_slots(struct collective *c, size_t offset, size_t bytes, bool parts)
{
    tell_others(c);
    EACH_OTHER(c, r)
    {
        collective_hear(c, r);
        put_slot(c, r, offset + (parts ? part_begin(c, bytes, r) : 0), parts ? part_bytes(c, bytes, r) : bytes);
    }
    flush(c);
    hear_others(c);
}

static void all_gather(struct collective *c, size_t offset, size_t bytes)
{
    exchange_slots(c, offset, bytes, false);
    combine_slots(c, offset, bytes);
}

static void gather_at_root(struct collective *c, size_t offset, size_t bytes, bool cast)
{
    meet_others(c);
    combine_slots(c, offset, bytes);
    EACH_OTHER(c, r)
    {
        if (cast) {
            collective_hear(c, r);
            put_place(c, r, offset, bytes);
        }
    }
    flush(c);
}

static void gather(struct collective *c, size_t offset, size_t bytes)
{
    const bool cast = c->call.root < 0;
    const int root = cast ? 0 : c->call.root;

    if (c->self == root) {
        gather_at_root(c, offset, bytes, cast);
        return;
    }
    collective_hear(c, root);
    put_slot(c, root, offset, bytes);
    flush(c);
    if (cast) {
        collective_tell(c, root);
        collective_hear(c, root);
    }
}

static void get_slots(struct collective *c, size_t offset, size_t bytes)
{
    int error = 0;

    EACH_OTHER(c, r)
    {
        struct devcom_put get = {.segment = c->scratch,
                                 .remote_segment = c->call.segment,
                                 .offset = (size_t)r * SLOT,
                                 .remote_offset = offset,
                                 .shape = {.bytes = bytes},
                                 .rank = c->ranks[r]};

        if (collective_begins(c))
            collective_did(c, get_own(c->d, &get));
    }
    if (!collective_begins(c))
        return;
    EACH_OTHER(c, r)
    {
        error = error ? error : quiet_own(c->d, c->ranks[r], collective_time_left(c));
    }
    collective_did(c, error);
}

static void remote_read(struct collective *c, size_t offset, size_t bytes)
{
    const bool reads = c->call.root < 0 || c->call.root == c->self;

    meet_others(c);
    if (reads)
        get_slots(c, offset, bytes);
    meet_others(c); /* all others have read this rank's contribution */
    if (reads)
        combine_slots(c, offset, bytes);
}

/* Combines this rank's part directly from the segments of the others, which are all mapped. */
static int combine_mapped(struct collective *c, size_t offset, size_t bytes)
{
    size_t begin = offset + part_begin(c, bytes, c->self), length = part_bytes(c, bytes, c->self);
    size_t element = elements_bytes(c->call.type);
    int error = 0;

    for (size_t done = 0; done < length && !error; done += SLOT) {
        size_t piece = length - done < SLOT ? length - done : SLOT;

        for (int r = 0; r < c->size && !error; r++) {
            struct attachment *a;

            error = attachment_take(c->d, c->ranks[r], c->call.segment, &a);
            if (error)
                break;
            if (!a->base || !inside(a->bytes, begin + done, piece))
                error = a->base ? -ERANGE : -ENOTSUP;
            else if (r == 0)
                memcpy(c->sum, a->base + begin + done, piece);
            else
                elements_combine(c->sum, a->base + begin + done, piece / element, c->call.type, c->call.op);
            attachment_release(a);
        }
        if (!error)
            memcpy(c->segment->host + begin + done, c->sum, piece);
    }
    return error;
}

static bool all_mapped(const struct collective *c)
{
    for (int r = 0; r < c->size; r++) {
        int rank = c->ranks[r];

        if (!c->d->boards[rank] || segment_listing(c->d, rank, c->call.segment)->path != DEVCOM_MAPPED)
            return false;
    }
    return true;
}

static void spread_parts(struct collective *c, size_t offset, size_t bytes)
{
    EACH_OTHER(c, r)
    {
        if (c->call.root < 0 || r == c->call.root)
            put_place(c, r, offset + part_begin(c, bytes, c->self), part_bytes(c, bytes, c->self));
    }
    if (c->call.root < 0 || c->call.root == c->self)
        hear_others(c);
    flush(c);
}

static void all_to_all_mapped(struct collective *c, size_t offset, size_t bytes)
{
    meet_others(c);
    if (collective_begins(c))
        collective_did(c, combine_mapped(c, offset, bytes));
    if (c->call.root >= 0) /* in an allreduce, the results' arrival says that the contribution is not needed any more */
        meet_others(c);
    spread_parts(c, offset, bytes);
}

static void all_to_all(struct collective *c, size_t offset, size_t bytes)
{
    exchange_slots(c, offset, bytes, true);
    combine_slots(c, offset + part_begin(c, bytes, c->self), part_bytes(c, bytes, c->self));
    spread_parts(c, offset, bytes);
}

/* ---- trees ---- */

void collective_cast(struct collective *c, int root, size_t offset, size_t bytes)
{
    struct plan plan;

    plan_cast(&plan, c->self, c->size, root, bytes);
    for (unsigned i = 0; i < plan.count; i++) {
        const struct plan_step *step = &plan.steps[i];

        if (step->result)
            collective_tell(c, step->peer);
        collective_hear(c, step->peer);
        if (!step->result)
            put_place(c, step->peer, offset, bytes);
    }
    flush(c);
}

static void combine_child(struct collective *c, int child, size_t offset, size_t bytes)
{
    struct layout flat = {.bytes = bytes, .count = {1, 1}};
    int error;

    if (!collective_begins(c))
        return;
    error = stage_read(c->segment, offset, &flat, c->sum);
    if (!error)
        elements_combine(c->sum, slot_of(c, child), bytes / elements_bytes(c->call.type), c->call.type, c->call.op);
    collective_did(c, error ? error : stage_write(c->segment, offset, &flat, c->sum));
}

static void tree(struct collective *c, size_t offset, size_t bytes)
{
    const int root = c->call.root < 0 ? 0 : c->call.root;
    struct plan plan;

    plan_tree(&plan, c->self, c->size, root, bytes);
    for (unsigned i = 0; i < plan.count; i++) {
        const struct plan_step *step = &plan.steps[i];

        if (step->receive_count)
            collective_tell(c, step->peer);
        collective_hear(c, step->peer);
        if (step->receive_count) {
            combine_child(c, step->peer, offset, bytes);
        } else {
            put_slot(c, step->peer, offset, bytes);
            flush(c);
        }
    }
    if (c->call.root < 0)
        collective_cast(c, root, offset, bytes);
}

/* ---- the choice ---- */

static enum devcom_method choose(const struct collective *c, size_t bytes)
{
    if (c->call.method != DEVCOM_AUTO)
        return c->call.method;
    if (bytes > SMALL)
        return DEVCOM_ALL_TO_ALL;
    return c->call.root < 0 ? DEVCOM_ALL_GATHER : DEVCOM_GATHER;
}

void collective_reduce(struct collective *c)
{
    size_t bytes = c->call.count * elements_bytes(c->call.type), step = SLOT;
    void (*run)(struct collective *, size_t, size_t) = all_gather;

    switch (choose(c, bytes)) {
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
        step = run == all_to_all ? SLOT * (size_t)c->size : bytes;
        break;
    default:
        break;
    }
    for (size_t begin = 0; begin < bytes && !c->error; begin += step)
        run(c, c->call.offset + begin, bytes - begin < step ? bytes - begin : step);
}
