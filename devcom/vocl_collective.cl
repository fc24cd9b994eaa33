/* Collectives of kernels: follows vocl_dev.cl. All ranks must share memory, and one work-group of each calls them. */

/* The barrier: each rank notifies the first one, which then notifies all others (section 6.7). By one work-item. */
int devcom_meet(global struct devcom_device *d)
{
    long epoch = ++d->epoch;
    int error = 0;

    if (d->rank) {
        devcom_apply(d, 0, d->words + d->rank, DEVCOM_SIGNAL_SET, epoch);
        return devcom_until(d, d->words, DEVCOM_GE, epoch);
    }
    for (uint i = 1; i < d->size && !error; i++)
        error = devcom_until(d, d->words + i, DEVCOM_GE, epoch);
    for (uint i = 1; i < d->size && !error; i++)
        devcom_apply(d, i, d->words, DEVCOM_SIGNAL_SET, epoch);
    return error;
}

int devcom_ggas_barrier(global struct devcom_device *d)
{
    return devcom_wait_together(d, DEVCOM_WAIT_BARRIER, 0, 0, 0);
}

/*
 * The same barrier, between one launch of each rank, called by all work-groups of the launch. The last work-group to
 * arrive waits for those of the other ranks; the others continue and end (section 5.8.1). So later commands of the
 * command queue follow the stores of all ranks without a second kernel, and only one work-group waits.
 */
int devcom_ggas_barrier_at_end(global struct devcom_device *d)
{
    const uint groups = get_num_groups(0) * get_num_groups(1) * get_num_groups(2);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first && atomic_fetch_add_explicit(&d->arrived, 1u, memory_order_acq_rel, DEVCOM_SCOPE) + 1 == groups) {
        int error;

        atomic_store_explicit(&d->arrived, 0u, memory_order_relaxed, DEVCOM_SCOPE);
        error = devcom_meet(d);
        if (error)
            devcom_fail(d, error);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    return atomic_load_explicit(&d->error, memory_order_relaxed, DEVCOM_SCOPE);
}

/* ---- reductions (section 6.8) ---- */

/*
 * A reduction goes round after round, for one piece of the elements after the other. In a round a rank writes its
 * elements to others (devcom_reduce_send), the ranks meet (devcom_reduce_meet), and then the rank combines what it has
 * (devcom_reduce_combine). A method is a choice of what happens in its rounds:
 *
 *     remote read   all meet; those that want the result combine the segments of all, in scratch memory. All meet, and
 *                   the result is copied
 *     gather        all write to the hub, which combines. Of an allreduce it writes the result to all
 *     all-gather    all write to those that want the result, which combine
 *     all-to-all    all meet, and each combines a part, from the segments of all. It writes that to those that want it
 *     tree          in each round half of the ranks that are left write to the other half, which combine: only these
 *                   pairs meet. In the last round the hub writes the result to all, which have waited for it
 *
 * What a rank writes to another before they meet goes into scratch memory, of which successive meetings use the halves
 * alternately: a rank that is a meeting ahead writes into the half that nobody reads.
 */
struct devcom_reducing {
    int root; /* -1: all ranks want the result */
    uint segment, type, op, method;
    ulong offset, count, element;
    uint rounds, hub;
    ulong piece; /* elements at a time */
};

/* A round. */
struct devcom_round {
    uint number;
    ulong own, bytes;    /* address and size of this rank's piece */
    ulong offset, slots; /* of the piece in the segment; of the half in scratch memory */
};

enum { DEVCOM_SEND_NOTHING, DEVCOM_SEND_TO_SLOT, DEVCOM_SEND_TO_PLACE };

bool devcom_wants(const struct devcom_reducing *p, uint rank)
{
    return p->root < 0 || (uint)p->root == rank;
}

/* Returns the rank to which this one writes in a round of the tree, or from which it receives; its own: neither. */
uint devcom_tree_peer(global struct devcom_device *d, const struct devcom_reducing *p, uint round, bool sends)
{
    uint bit = 1u << round, place = (d->rank + d->size - p->hub) % d->size, low = place % (2 * bit);

    if (round + 1 >= p->rounds || low != (sends ? bit : 0) || (!sends && place + bit >= d->size))
        return d->rank;
    return ((sends ? place - bit : place + bit) + p->hub) % d->size;
}

uint devcom_send_what(global struct devcom_device *d, const struct devcom_reducing *p, uint round, uint rank)
{
    bool last = round + 1 == p->rounds, other = rank != d->rank;

    if (p->method == DEVCOM_ALL_GATHER)
        return devcom_wants(p, rank) ? DEVCOM_SEND_TO_SLOT : DEVCOM_SEND_NOTHING;
    if (p->method == DEVCOM_GATHER && !round)
        return rank == p->hub ? DEVCOM_SEND_TO_SLOT : DEVCOM_SEND_NOTHING;
    if (p->method == DEVCOM_TREE && !last)
        return other && rank == devcom_tree_peer(d, p, round, true) ? DEVCOM_SEND_TO_SLOT : DEVCOM_SEND_NOTHING;
    if (p->method == DEVCOM_ALL_TO_ALL)
        return round && other && devcom_wants(p, rank) ? DEVCOM_SEND_TO_PLACE : DEVCOM_SEND_NOTHING;
    return p->method != DEVCOM_REMOTE_READ && d->rank == p->hub && other && p->root < 0 ? DEVCOM_SEND_TO_PLACE
                                                                                         : DEVCOM_SEND_NOTHING;
}

/* The part of the elements that this rank combines: all, or of all-to-all a share. */
void devcom_share(global struct devcom_device *d, const struct devcom_reducing *p, const struct devcom_round *r,
                  private ulong *begin, private ulong *count)
{
    ulong elements = r->bytes / p->element, per = (elements + d->size - 1) / d->size;

    *begin = p->method == DEVCOM_ALL_TO_ALL ? min(d->rank * per, elements) : 0;
    *count = p->method == DEVCOM_ALL_TO_ALL ? min(per, elements - *begin) : elements;
}

void devcom_reduce_send(global struct devcom_device *d, const struct devcom_reducing *p, const struct devcom_round *r)
{
    ulong begin, count;

    devcom_share(d, p, r, &begin, &count);
    for (uint rank = 0; rank < d->size; rank++) {
        uint what = devcom_send_what(d, p, r->number, rank);
        ulong to = what == DEVCOM_SEND_TO_SLOT
                       ? devcom_place_of(d, rank, d->segments)->address + d->rank * DEVCOM_SLOT + r->slots
                       : devcom_place_of(d, rank, p->segment)->address + r->offset + begin * p->element;

        if (what != DEVCOM_SEND_NOTHING)
            devcom_copy(to, r->own + begin * p->element, count * p->element);
    }
}

/* Of the tree: the pairs of a round meet, or the hub lets all others continue, which is the end of a meeting of all
 * that the pairs have begun. By one work-item. */
int devcom_tree_meet(global struct devcom_device *d, const struct devcom_reducing *p, uint round)
{
    const long epoch = (long)d->epoch + 1;
    const uint to = devcom_tree_peer(d, p, round, true), from = devcom_tree_peer(d, p, round, false);

    if (to != d->rank)
        devcom_apply(d, to, d->words + d->rank, DEVCOM_SIGNAL_SET, epoch);
    if (round + 1 < p->rounds)
        return from == d->rank ? 0 : devcom_until(d, d->words + from, DEVCOM_GE, epoch);
    d->epoch = (uint)epoch;
    if (d->rank != p->hub)
        return devcom_until(d, d->words + p->hub, DEVCOM_GE, epoch);
    for (uint rank = 0; rank < d->size; rank++) {
        if (rank != d->rank)
            devcom_apply(d, rank, d->words + d->rank, DEVCOM_SIGNAL_SET, epoch);
    }
    return 0;
}

int devcom_reduce_meet(global struct devcom_device *d, const struct devcom_reducing *p, uint round)
{
    return p->method == DEVCOM_TREE ? devcom_tree_meet(d, p, round) : devcom_meet(d);
}

/* What is combined, in the order of ranks: the segments of all ranks; the slots here, if slots is not 0; or, of the
 * tree, this rank's elements and the slot of child. */
struct devcom_sources {
    uint number, segment, child;
    ulong offset, slots, own; /* own: 0, or of the tree */
};

ulong devcom_source(global struct devcom_device *d, const struct devcom_sources *s, uint i)
{
    if (s->own)
        return i ? s->slots + s->child * DEVCOM_SLOT : s->own;
    return s->slots ? s->slots + i * DEVCOM_SLOT : devcom_place_of(d, i, s->segment)->address + s->offset;
}

#define DEVCOM_COMBINE(number_of_type, of)                                                                             \
    case number_of_type:                                                                                               \
        for (ulong i = item; i < count; i += items) {                                                                  \
            of sum = ((volatile global const of *)devcom_source(d, s, 0))[i];                                          \
            for (uint n = 1; n < s->number; n++) {                                                                     \
                of more = ((volatile global const of *)devcom_source(d, s, n))[i];                                     \
                sum = GROUND_COMBINED(op, sum, more);                                                                  \
            }                                                                                                          \
            ((global of *)to)[i] = sum;                                                                                \
        }                                                                                                              \
        break;

void devcom_combine(global struct devcom_device *d, const struct devcom_sources *s, ulong to, ulong count, uint type,
                    uint op)
{
    ulong item = get_local_linear_id(), items = get_local_size(0) * get_local_size(1) * get_local_size(2);

    switch (type) {
        GROUND_TYPES(DEVCOM_COMBINE)
    }
}

/* Whether this rank combines elements after the meeting of a round, other than in the tree. */
bool devcom_combines(global struct devcom_device *d, const struct devcom_reducing *p, uint round)
{
    if (p->method == DEVCOM_GATHER)
        return !round && d->rank == p->hub;
    return p->method == DEVCOM_ALL_TO_ALL ? !round : !round && devcom_wants(p, d->rank);
}

void devcom_reduce_combine(global struct devcom_device *d, const struct devcom_reducing *p,
                           const struct devcom_round *r)
{
    const bool tree = p->method == DEVCOM_TREE, read = p->method == DEVCOM_REMOTE_READ;
    const bool slots = p->method != DEVCOM_ALL_TO_ALL && !read;
    const uint child = tree ? devcom_tree_peer(d, p, r->number, false) : d->rank;
    const ulong scratch = devcom_place_of(d, d->rank, d->segments)->address;
    const ulong result = scratch + d->rank * DEVCOM_SLOT;
    ulong begin, count;
    struct devcom_sources s = {tree ? 2 : d->size, p->segment, child, r->offset, slots ? scratch + r->slots : 0,
                               tree ? r->own : 0};

    devcom_share(d, p, r, &begin, &count);
    s.offset += begin * p->element;
    if (tree ? child != d->rank : devcom_combines(d, p, r->number))
        devcom_combine(d, &s, read ? result : r->own + begin * p->element, count, p->type, p->op);
    else if (read && devcom_wants(p, d->rank))
        devcom_copy(r->own, result, r->bytes);
}

int devcom_reduce_check(global struct devcom_device *d, const struct devcom_reducing *p)
{
    const uint segment = p->segment;
    const ulong offset = p->offset, bytes = p->count * p->element;

    if (p->type > DEVCOM_DOUBLE || p->op > DEVCOM_MAX || p->method > DEVCOM_TREE || p->root >= (int)d->size ||
        offset % p->element)
        return DEVCOM_EINVAL;
    if (ground_shift(p->type) < 0)
        return DEVCOM_ENOTSUP;
    for (uint r = 0; r < d->size && segment < d->segments; r++) {
        ulong have = devcom_place_of(d, r, segment)->bytes;

        if (!devcom_place_of(d, r, segment)->address || !devcom_place_of(d, r, d->segments)->address)
            return DEVCOM_ENOTSUP;
        if (offset > have || bytes > have - offset)
            return DEVCOM_ERANGE;
    }
    return segment < d->segments ? 0 : DEVCOM_ENOENT;
}

/* Returns the number of rounds of a method. */
uint devcom_rounds(uint size, const struct devcom_reducing *p)
{
    if (p->method == DEVCOM_ALL_GATHER || (p->method == DEVCOM_GATHER && p->root >= 0))
        return 1;
    return p->method == DEVCOM_TREE ? 33 - clz(size - 1) : 2;
}

/*
 * Reduces count elements of a segment to the root, or, if root is -1, to all ranks, in place (section 6.8). All methods
 * but the tree combine in the order of ranks. DEVCOM_AUTO is all-gather up to 4096 bytes, with one meeting, and
 * all-to-all above. After a reduce the elements of ranks other than the root are undefined.
 */
int devcom_ggas_reduce_by(global struct devcom_device *d, int root, uint segment, ulong offset, ulong count, uint type,
                          uint op, uint method)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();
    const ulong element = type == DEVCOM_FLOAT ? 4 : type >= DEVCOM_DOUBLE ? 8 : 1ul << type / 2;
    const uint automatic = count * element > DEVCOM_SMALL ? DEVCOM_ALL_TO_ALL : DEVCOM_ALL_GATHER;
    struct devcom_reducing p = {root, segment, type, op, method == DEVCOM_AUTO ? automatic : method, offset, count,
                                element, 0, root < 0 ? 0 : (uint)root, 0};
    int error = devcom_reduce_check(d, &p);
    ulong done = 0;
    uint round = 0;

    p.rounds = devcom_rounds(d->size, &p);
    p.piece = p.method == DEVCOM_ALL_TO_ALL ? count : DEVCOM_SLOT / 2 / element;
    do {
        struct devcom_round r = {round, 0, min(p.piece, count - done) * element, offset + done * element, 0};

        barrier(CLK_GLOBAL_MEM_FENCE);
        r.slots = (d->epoch + 1) % 2 * (DEVCOM_SLOT / 2);
        r.own = error ? 0 : devcom_place_of(d, d->rank, segment)->address + r.offset;
        if (!error)
            devcom_reduce_send(d, &p, &r);
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (first)
            *result = error ? error : devcom_reduce_meet(d, &p, round);
        barrier(CLK_GLOBAL_MEM_FENCE);
        error = *result;
        if (!error)
            devcom_reduce_combine(d, &p, &r);
        done += round + 1 == p.rounds ? p.piece : 0;
        round = (round + 1) % p.rounds;
    } while ((round || done < count) && !error);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return error;
}

int devcom_ggas_reduce(global struct devcom_device *d, int root, uint segment, ulong offset, ulong count, uint type,
                       uint op)
{
    return devcom_ggas_reduce_by(d, root, segment, offset, count, type, op, DEVCOM_AUTO);
}

int devcom_ggas_allreduce(global struct devcom_device *d, uint segment, ulong offset, ulong count, uint type, uint op)
{
    return devcom_ggas_reduce(d, -1, segment, offset, count, type, op);
}
