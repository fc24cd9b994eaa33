/*
 * devcom's functions for kernels, in OpenCL C: see devcom.h. The host has the same structs in endpoint.h.
 *
 * All work-items of a work-group call these functions together (section 5.7.2), except devcom_ptr and
 * devcom_signal_load. If another rank's memory is mapped, the work-items copy and store themselves; otherwise a
 * descriptor goes into a queue that a thread of the host empties.
 *
 * PoCL 3.1 compiles barriers in branches wrongly: it runs the code after such a barrier once too often. So no function
 * has a barrier in a branch. A loop that may have no rounds ("for" with bounds that the compiler does not know) is such
 * a branch, too, and code between later barriers is lost if there are branches around it. So the work of one work-item
 * is one function between two barriers.
 */
#define DEVCOM_SCOPE GROUND_SCOPE

#define DEVCOM_NONE 0u
#define DEVCOM_SET 1u
#define DEVCOM_ADD 2u
#define DEVCOM_EQ 0u
#define DEVCOM_NE 1u
#define DEVCOM_LT 2u
#define DEVCOM_GE 3u
#define DEVCOM_INT8 0u
#define DEVCOM_UINT8 1u
#define DEVCOM_INT16 2u
#define DEVCOM_UINT16 3u
#define DEVCOM_INT32 4u
#define DEVCOM_UINT32 5u
#define DEVCOM_INT64 6u
#define DEVCOM_UINT64 7u
#define DEVCOM_FLOAT 8u
#define DEVCOM_DOUBLE 9u
#define DEVCOM_SUM 0u
#define DEVCOM_PROD 1u
#define DEVCOM_MIN 2u
#define DEVCOM_MAX 3u
#define DEVCOM_ENOENT (-2)
#define DEVCOM_EINVAL (-22)
#define DEVCOM_ERANGE (-34)
#define DEVCOM_ENOTSUP (-95)
#define DEVCOM_ECONNRESET (-104)
#define DEVCOM_RESULTS 1024
#define DEVCOM_SMALL 4096ul /* bytes: up to this size an allreduce is an all-gather */
#define DEVCOM_SLOT 65536ul /* bytes of each rank in scratch memory; successive reductions use its halves alternately */

struct devcom_place {
    ulong address, bytes; /* address 0: not mapped */
};

/* The addresses of a rank's signals and of its bell. */
struct devcom_rank {
    ulong signals, bell;
};

/* A command, 32 bytes. kind: 1: a put, with or without a signal. */
struct devcom_command {
    uchar kind, op;
    uchar segment, remote_segment;
    ushort rank, signal;
    ulong offset, remote_offset;
    uint bytes;
    int value;
};

/* A queue of commands. Positions only grow; a work-group holds the lock while it writes a command. */
struct devcom_ring {
    atomic_uint lock;
    uint unused;
    atomic_ulong head, tail;
    ulong commands;
    ulong unused_too[4];
};

struct devcom_device {
    uint rank, size, segments, signals;
    uint queues, depth, words, epoch; /* words: the first signal of those that kernels' collectives use */
    ulong places, ranks, rings, bell; /* addresses; bell: of the thread that empties the queues */
    atomic_uint stop;
    atomic_int error;
    uint alone; /* polls before the first yield of the processor */
    atomic_uint arrived; /* work-groups of a launch that have reached devcom_ggas_barrier_at_end() */
    int results[DEVCOM_RESULTS];
};

bool devcom_first(void)
{
    return get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0;
}

/* Returns the place of the result of the first work-item, for all of its work-group. */
global int *devcom_result(global struct devcom_device *d)
{
    ulong group = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));

    return d->results + group % DEVCOM_RESULTS;
}

void devcom_fail(global struct devcom_device *d, int error)
{
    int none = 0;

    atomic_compare_exchange_strong_explicit(&d->error, &none, error, memory_order_relaxed, memory_order_relaxed,
                                            DEVCOM_SCOPE);
}

/* ---- places ---- */

global struct devcom_place *devcom_place_of(global struct devcom_device *d, uint rank, uint segment)
{
    return (global struct devcom_place *)d->places + (ulong)rank * (d->segments + 1) + segment;
}

/* Returns the address of a rank's segment for this device: a global pointer (section 6.5.2). 0: not mapped. */
global void *devcom_ptr(global struct devcom_device *d, uint rank, uint segment)
{
    if (rank >= d->size || segment > d->segments)
        return 0;
    return (global void *)devcom_place_of(d, rank, segment)->address;
}

global atomic_long *devcom_word(global struct devcom_device *d, uint rank, uint word)
{
    return (global atomic_long *)((global struct devcom_rank *)d->ranks)[rank].signals + word;
}

long devcom_signal_load(global struct devcom_device *d, uint signal)
{
    return atomic_load_explicit(devcom_word(d, d->rank, signal), memory_order_acquire, DEVCOM_SCOPE);
}

/* Changes a signal. By one work-item. */
void devcom_apply(global struct devcom_device *d, uint rank, uint word, uint op, long value)
{
    global atomic_long *at = devcom_word(d, rank, word);

    if (op == DEVCOM_SET) { /* as signal_apply() in signal.c does, for the reason given there */
        atomic_store_explicit(at, value, memory_order_release, DEVCOM_SCOPE);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, DEVCOM_SCOPE);
    } else {
        atomic_fetch_add_explicit(at, value, memory_order_seq_cst, DEVCOM_SCOPE);
    }
    ground_ring(((global struct devcom_rank *)d->ranks)[rank].bell);
}

/* Waits until a word of this rank satisfies a condition. By one work-item. */
int devcom_until(global struct devcom_device *d, uint word, uint condition, long value)
{
    for (uint polls = 1;; polls++) {
        long now = atomic_load_explicit(devcom_word(d, d->rank, word), memory_order_acquire, DEVCOM_SCOPE);

        if (condition == DEVCOM_EQ ? now == value
                                   : condition == DEVCOM_NE ? now != value : condition == DEVCOM_LT ? now < value : now >= value)
            return 0;
        if (polls % 256 == 0 && polls >= d->alone) {
            if (atomic_load_explicit(&d->stop, memory_order_relaxed, DEVCOM_SCOPE))
                return DEVCOM_ECONNRESET;
            GROUND_LET_OTHERS();
        }
    }
}

/* ---- copying ---- */

void devcom_copy(ulong to, ulong from, ulong bytes)
{
#ifdef GROUND_CPU
    if (devcom_first())
        __builtin_memcpy((void *)to, (const void *)from, bytes);
#else
    ulong item = get_local_linear_id(), items = get_local_size(0) * get_local_size(1) * get_local_size(2);
    ulong whole = (to | from) % 16 ? 0 : bytes / 16;

    for (ulong i = item; i < whole; i += items)
        ((global uint4 *)to)[i] = ((global const uint4 *)from)[i];
    for (ulong i = whole * 16 + item; i < bytes; i += items)
        ((global uchar *)to)[i] = ((global const uchar *)from)[i];
#endif
}

/* ---- the queue ---- */

/* Adds a command to a queue. Only the host makes room, so the lock is held while waiting for it. By one work-item. */
int devcom_post(global struct devcom_device *d, uint queue, const struct devcom_command *command)
{
    global struct devcom_ring *ring = (global struct devcom_ring *)d->rings + queue;
    ulong head;
    uint free = 0;
    int error = 0;

    while (!atomic_compare_exchange_strong_explicit(&ring->lock, &free, 1u, memory_order_acquire, memory_order_relaxed,
                                                    DEVCOM_SCOPE)) {
        free = 0;
        GROUND_LET_OTHERS();
    }
    head = atomic_load_explicit(&ring->head, memory_order_relaxed, DEVCOM_SCOPE);
    while (head - atomic_load_explicit(&ring->tail, memory_order_acquire, DEVCOM_SCOPE) >= d->depth && !error) {
        if (atomic_load_explicit(&d->stop, memory_order_relaxed, DEVCOM_SCOPE))
            error = DEVCOM_ECONNRESET;
        GROUND_LET_OTHERS();
    }
    if (!error) {
        ((global struct devcom_command *)ring->commands)[head % d->depth] = *command;
        atomic_store_explicit(&ring->head, head + 1, memory_order_seq_cst, DEVCOM_SCOPE);
    }
    atomic_store_explicit(&ring->lock, 0u, memory_order_release, DEVCOM_SCOPE);
    ground_ring(d->bell);
    return error;
}

bool devcom_queue_empty(global struct devcom_device *d, uint queue)
{
    global struct devcom_ring *ring = (global struct devcom_ring *)d->rings + queue;

    return atomic_load_explicit(&ring->head, memory_order_relaxed, DEVCOM_SCOPE) ==
           atomic_load_explicit(&ring->tail, memory_order_acquire, DEVCOM_SCOPE);
}

/* ---- puts ---- */

int devcom_check(global struct devcom_device *d, uint queue, uint segment, ulong offset, uint rank, uint remote_segment,
                 ulong remote_offset, ulong bytes, uint signal, uint op)
{
    ulong have;

    if (rank >= d->size || queue >= d->queues || op > DEVCOM_ADD || (op != DEVCOM_NONE && signal >= d->signals) ||
        bytes > 0xfffffffful)
        return DEVCOM_EINVAL;
    if (!bytes)
        return 0;
    if (segment >= d->segments || remote_segment >= d->segments)
        return DEVCOM_ENOENT;
    have = devcom_place_of(d, d->rank, segment)->bytes;
    if (!have)
        return DEVCOM_ENOENT;
    if (offset > have || bytes > have - offset)
        return DEVCOM_ERANGE;
    if (!devcom_place_of(d, rank, remote_segment)->address)
        return 0; /* the host checks it */
    have = devcom_place_of(d, rank, remote_segment)->bytes;
    return remote_offset > have || bytes > have - remote_offset ? DEVCOM_ERANGE : 0;
}

/* The arguments of a put, for the functions below. */
struct devcom_putting {
    uint queue, segment, rank, remote_segment, signal, op;
    ulong offset, remote_offset, bytes;
    int value;
};

/* Returns how to do a put: 1: directly, from memory to memory; 0: by the queue; or an error. A direct put must not
 * overtake the queue. By one work-item. */
int devcom_way(global struct devcom_device *d, const struct devcom_putting *p)
{
    int error = devcom_check(d, p->queue, p->segment, p->offset, p->rank, p->remote_segment, p->remote_offset, p->bytes,
                             p->signal, p->op);

    if (error)
        return error;
    return ((global struct devcom_rank *)d->ranks)[p->rank].signals && devcom_queue_empty(d, p->queue) &&
           (!p->bytes || (devcom_place_of(d, p->rank, p->remote_segment)->address &&
                          devcom_place_of(d, d->rank, p->segment)->address));
}

void devcom_copy_put(global struct devcom_device *d, const struct devcom_putting *p)
{
    devcom_copy(devcom_place_of(d, p->rank, p->remote_segment)->address + p->remote_offset,
                devcom_place_of(d, d->rank, p->segment)->address + p->offset, p->bytes);
}

/* Ends a put after the copy. By one work-item. */
int devcom_end_put(global struct devcom_device *d, const struct devcom_putting *p, int way)
{
    struct devcom_command command = {1,
                                     (uchar)p->op,
                                     (uchar)p->segment,
                                     (uchar)p->remote_segment,
                                     (ushort)p->rank,
                                     (ushort)p->signal,
                                     p->offset,
                                     p->remote_offset,
                                     (uint)p->bytes,
                                     p->value};

    if (way < 0) {
        devcom_fail(d, way);
        return way;
    }
    if (!way)
        return devcom_post(d, p->queue, &command);
    if (p->op == DEVCOM_NONE)
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, DEVCOM_SCOPE);
    else
        devcom_apply(d, p->rank, p->signal, p->op, p->value);
    return 0;
}

/*
 * Puts bytes of a segment of this rank into one of another rank, and then changes a signal there (value of at most 31
 * bits). If the memory is mapped, the put is complete on return; otherwise the queue does it. Returns 0, or an error,
 * the same in all work-items: DEVCOM_EINVAL, _ENOENT, _ERANGE, as of devcom_write(); _ECONNRESET: the host has stopped,
 * or a rank is lost.
 *
 * On a CPU the first work-item does everything, between two barriers: in a loop, PoCL 3.1 lost the signal between the
 * last two of four barriers.
 */
int devcom_put_notify(global struct devcom_device *d, uint queue, uint segment, ulong offset, uint rank,
                      uint remote_segment, ulong remote_offset, ulong bytes, uint signal, uint op, int value)
{
    const struct devcom_putting p = {queue, segment, rank, remote_segment, signal, op, offset, remote_offset, bytes, value};
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
#ifdef GROUND_CPU
    if (first) {
        int way = devcom_way(d, &p);

        if (way > 0 && bytes)
            devcom_copy_put(d, &p);
        *result = devcom_end_put(d, &p, way);
    }
#else
    if (first)
        *result = devcom_way(d, &p);
    barrier(CLK_GLOBAL_MEM_FENCE);
    const int way = *result;
    if (way > 0 && bytes)
        devcom_copy_put(d, &p);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = devcom_end_put(d, &p, way);
#endif
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

int devcom_put(global struct devcom_device *d, uint queue, uint segment, ulong offset, uint rank, uint remote_segment,
               ulong remote_offset, ulong bytes)
{
    return devcom_put_notify(d, queue, segment, offset, rank, remote_segment, remote_offset, bytes, 0, DEVCOM_NONE, 0);
}

int devcom_notify(global struct devcom_device *d, uint queue, uint rank, uint signal, uint op, int value)
{
    return devcom_put_notify(d, queue, 0, 0, rank, 0, 0, 0, signal, op, value);
}

/* Waits until a signal of this rank satisfies a condition. No more work-groups may wait than the device runs at once:
 * see devcom_enqueue_kernel(). Returns 0; DEVCOM_EINVAL; DEVCOM_ECONNRESET. */
int devcom_wait_notify(global struct devcom_device *d, uint signal, uint condition, long value)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = signal >= d->signals || condition > DEVCOM_GE ? DEVCOM_EINVAL : devcom_until(d, signal, condition, value);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

/* Waits until a queue has done its present commands. By one work-item. */
int devcom_until_empty(global struct devcom_device *d, uint queue)
{
    global struct devcom_ring *ring = (global struct devcom_ring *)d->rings + queue;
    ulong head = atomic_load_explicit(&ring->head, memory_order_relaxed, DEVCOM_SCOPE);

    while (atomic_load_explicit(&ring->tail, memory_order_acquire, DEVCOM_SCOPE) < head) {
        if (atomic_load_explicit(&d->stop, memory_order_relaxed, DEVCOM_SCOPE))
            return DEVCOM_ECONNRESET;
        GROUND_LET_OTHERS();
    }
    return 0;
}

/* Waits until all commands that the queue has now have taken effect. */
int devcom_flush(global struct devcom_device *d, uint queue)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = queue >= d->queues ? DEVCOM_EINVAL : devcom_until_empty(d, queue);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

/* ---- collectives of the devices of all ranks, which must share memory: called by one work-group of each ---- */

/* The barrier: each rank notifies the first one, which then notifies all others (section 6.7). By one work-item. */
int devcom_meet(global struct devcom_device *d)
{
    long epoch = ++d->epoch;
    int error = 0;

    if (d->rank) {
        devcom_apply(d, 0, d->words + d->rank, DEVCOM_SET, epoch);
        return devcom_until(d, d->words, DEVCOM_GE, epoch);
    }
    for (uint i = 1; i < d->size && !error; i++)
        error = devcom_until(d, d->words + i, DEVCOM_GE, epoch);
    for (uint i = 1; i < d->size && !error; i++)
        devcom_apply(d, i, d->words, DEVCOM_SET, epoch);
    return error;
}

int devcom_ggas_barrier(global struct devcom_device *d)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = devcom_meet(d);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
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

#define DEVCOM_COMBINE(TYPE)                                                                                           \
    for (ulong i = item; i < count; i += items) {                                                                      \
        TYPE sum = ((volatile global const TYPE *)devcom_source(d, 0, segment, offset, gathered))[i];                  \
        for (uint r = 1; r < d->size; r++) {                                                                           \
            TYPE more = ((volatile global const TYPE *)devcom_source(d, r, segment, offset, gathered))[i];             \
            sum = op == DEVCOM_SUM ? sum + more : op == DEVCOM_PROD ? sum * more : op == DEVCOM_MIN ? (more < sum ? more : sum) : (more > sum ? more : sum); \
        }                                                                                                              \
        ((global TYPE *)to)[i] = sum;                                                                                  \
    }

void devcom_combine(global struct devcom_device *d, uint segment, ulong offset, ulong gathered, ulong to, ulong count,
                    uint type, uint op)
{
    ulong item = get_local_linear_id(), items = get_local_size(0) * get_local_size(1) * get_local_size(2);

    if (type == DEVCOM_INT8)
        DEVCOM_COMBINE(char)
    else if (type == DEVCOM_UINT8)
        DEVCOM_COMBINE(uchar)
    else if (type == DEVCOM_INT16)
        DEVCOM_COMBINE(short)
    else if (type == DEVCOM_UINT16)
        DEVCOM_COMBINE(ushort)
    else if (type == DEVCOM_INT32)
        DEVCOM_COMBINE(int)
    else if (type == DEVCOM_UINT32)
        DEVCOM_COMBINE(uint)
    else if (type == DEVCOM_INT64)
        DEVCOM_COMBINE(long)
    else if (type == DEVCOM_UINT64)
        DEVCOM_COMBINE(ulong)
    else if (type == DEVCOM_FLOAT)
        DEVCOM_COMBINE(float)
#ifdef cl_khr_fp64
    else if (type == DEVCOM_DOUBLE)
        DEVCOM_COMBINE(double)
#endif
}

int devcom_reduce_check(global struct devcom_device *d, uint segment, ulong offset, ulong bytes, uint type, uint op,
                        ulong element)
{
    if (type > DEVCOM_DOUBLE || op > DEVCOM_MAX || offset % element)
        return DEVCOM_EINVAL;
#ifndef cl_khr_fp64
    if (type == DEVCOM_DOUBLE)
        return DEVCOM_ENOTSUP;
#endif
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
