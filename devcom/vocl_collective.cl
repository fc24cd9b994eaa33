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

/* Returns the address of a rank's contribution: gathered in this rank's scratch memory, or in the rank's own segment.
 */
ulong devcom_source(global struct devcom_device *d, uint rank, uint segment, ulong offset, ulong gathered)
{
    return gathered ? gathered + rank * DEVCOM_SLOT : devcom_place_of(d, rank, segment)->address + offset;
}

#define DEVCOM_COMBINE(number, of)                                                                                     \
    case number:                                                                                                       \
        for (ulong i = item; i < count; i += items) {                                                                  \
            of sum = ((volatile global const of *)devcom_source(d, 0, segment, offset, gathered))[i];                  \
            for (uint r = 1; r < d->size; r++) {                                                                       \
                of more = ((volatile global const of *)devcom_source(d, r, segment, offset, gathered))[i];             \
                sum = GROUND_COMBINED(op, sum, more);                                                                  \
            }                                                                                                          \
            ((global of *)to)[i] = sum;                                                                                \
        }                                                                                                              \
        break;

void devcom_combine(global struct devcom_device *d, uint segment, ulong offset, ulong gathered, ulong to, ulong count,
                    uint type, uint op)
{
    ulong item = get_local_linear_id(), items = get_local_size(0) * get_local_size(1) * get_local_size(2);

    switch (type) {
        GROUND_TYPES(DEVCOM_COMBINE)
    }
}

int devcom_reduce_check(global struct devcom_device *d, uint segment, ulong offset, ulong bytes, uint type, uint op,
                        ulong element)
{
    if (type > DEVCOM_DOUBLE || op > DEVCOM_MAX || offset % element)
        return DEVCOM_EINVAL;
    if (ground_shift(type) < 0)
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

/*
 * Reduces count elements of a segment to the root, or, if root is -1, to all ranks, in place and in the order of ranks
 * (section 6.8). Up to 4096 bytes each rank writes its elements to all others, with one barrier. Above that each rank
 * combines a part, from the segments of the others, and writes the result to all, between two barriers. After a reduce
 * the elements of ranks other than the root are undefined.
 */
int devcom_ggas_reduce(global struct devcom_device *d, int root, uint segment, ulong offset, ulong count, uint type, uint op)
{
    ulong element = type == DEVCOM_FLOAT ? 4 : type >= DEVCOM_DOUBLE ? 8 : 1ul << type / 2;
    ulong bytes = count * element, turn = (d->epoch + 1) % 2 * (DEVCOM_SLOT / 2);
    int error = root >= (int)d->size ? DEVCOM_EINVAL
                                     : devcom_reduce_check(d, segment, offset, bytes, type, op, element);
    ulong per = (count + d->size - 1) / d->size, begin = min(d->rank * per, count), end = min(begin + per, count);
    global int *result = devcom_result(d);
    const bool first = devcom_first();
    bool large = bytes > DEVCOM_SMALL, wants = root < 0 || (uint)root == d->rank;
    ulong own = error ? 0 : devcom_place_of(d, d->rank, segment)->address + offset;
    ulong scratch = error ? 0 : devcom_place_of(d, d->rank, d->segments)->address + turn;

    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint r = 0; r < d->size && !error && !large; r++) {
        if (root < 0 || (uint)root == r)
            devcom_copy(devcom_place_of(d, r, d->segments)->address + d->rank * DEVCOM_SLOT + turn, own, bytes);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = error ? error : devcom_meet(d);
    barrier(CLK_GLOBAL_MEM_FENCE);
    error = *result;
    if (!error && large)
        devcom_combine(d, segment, offset + begin * element, 0, own + begin * element, end - begin, type, op);
    else if (!error && wants)
        devcom_combine(d, segment, offset, scratch, own, count, type, op);
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint r = 0; r < d->size && !error && large; r++) {
        if (r != d->rank && (root < 0 || (uint)root == r))
            devcom_copy(devcom_place_of(d, r, segment)->address + offset + begin * element, own + begin * element,
                        (end - begin) * element);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = error || !large ? error : devcom_meet(d);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

int devcom_ggas_allreduce(global struct devcom_device *d, uint segment, ulong offset, ulong count, uint type, uint op)
{
    return devcom_ggas_reduce(d, -1, segment, offset, count, type, op);
}
