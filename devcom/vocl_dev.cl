/*
 * devcom's functions for kernels, in OpenCL C: see devcom_device.h. The host has the same structs in endpoint.h. Names
 * and the order of arguments are those of the host's functions. vocl_collective.cl and vocl_old.cl follow this file.
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

#define DEVCOM_SIGNAL_NONE 0u
#define DEVCOM_SIGNAL_SET 1u
#define DEVCOM_SIGNAL_ADD 2u
#define DEVCOM_EQ 0u
#define DEVCOM_NE 1u
#define DEVCOM_LT 2u
#define DEVCOM_GE 3u
#define DEVCOM_GT 4u
#define DEVCOM_LE 5u
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
#define DEVCOM_AUTO 0u
#define DEVCOM_REMOTE_READ 1u
#define DEVCOM_GATHER 2u
#define DEVCOM_ALL_GATHER 3u
#define DEVCOM_ALL_TO_ALL 4u
#define DEVCOM_TREE 5u
#define DEVCOM_ENOENT (-2)
#define DEVCOM_EINVAL (-22)
#define DEVCOM_ERANGE (-34)
#define DEVCOM_ENOTSUP (-95)
#define DEVCOM_ECONNRESET (-104)
#define DEVCOM_RESULTS 1024
#define DEVCOM_SMALL 4096ul /* bytes: up to this size an allreduce is an all-gather */
#define DEVCOM_SLOT 65536ul /* bytes of each rank in scratch memory; successive meetings use its halves alternately */

struct devcom_place {
    ulong address, bytes; /* address 0: not mapped */
};

/* The addresses of a rank's signals and of its bell. */
struct devcom_rank {
    ulong signals, bell;
};

/* The kinds of commands. */
#define DEVCOM_DO_PUT 0u
#define DEVCOM_DO_GET 1u
#define DEVCOM_DO_ADD 2u /* fetch-and-add, and compare-and-swap */
#define DEVCOM_DO_SWAP 3u

/* A command, 40 bytes. Of an atomic, signal is the index of the results, and offset the expected value of a swap. */
struct devcom_command {
    uchar kind, op;
    uchar segment, remote_segment;
    ushort rank, signal;
    ulong offset, remote_offset, bytes;
    long value;
};

/*
 * A queue of commands. Positions only grow; a work-group holds the lock while it writes a command. Commands before tail
 * have taken effect; the data of those before left may be changed. By rank: posted is the position after the last
 * command to it; its commands before arrived have taken effect.
 */
struct devcom_ring {
    atomic_uint lock;
    uint unused;
    atomic_ulong head, tail, left;
    ulong commands, posted, arrived, bell; /* addresses; bell: of the thread that empties the queue */
};

/* An element of the list of devcom_endpoint_list(). */
struct devcom_element {
    uint segment, rank, remote_segment, signal, op, unused;
    ulong offset, remote_offset, bytes;
    long value;
};

struct devcom_device {
    uint rank, size, segments, signals;
    uint queues, depth, words, epoch; /* words: the first signal of those that kernels' collectives use */
    ulong places, ranks, rings, unused_too; /* addresses */
    ulong elements; /* address of the list of devcom_endpoint_list() */
    uint element_count, unused;
    atomic_uint stop;
    atomic_int error;
    uint alone; /* polls before the first yield of the processor */
    atomic_uint arrived; /* work-groups of a launch that have reached devcom_ggas_barrier_at_end() */
    int results[DEVCOM_RESULTS];
    long values[DEVCOM_RESULTS]; /* which atomics have found */
};

bool devcom_first(void)
{
    return get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0;
}

/* Returns the index of the result and the value of the first work-item, for all of its work-group. */
ulong devcom_index(void)
{
    ulong group = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));

    return group % DEVCOM_RESULTS;
}

global int *devcom_result(global struct devcom_device *d)
{
    return d->results + devcom_index();
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

    if (op == DEVCOM_SIGNAL_SET) { /* as signal_apply() in signal.c does, for the reason given there */
        atomic_store_explicit(at, value, memory_order_release, DEVCOM_SCOPE);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, DEVCOM_SCOPE);
    } else {
        atomic_fetch_add_explicit(at, value, memory_order_seq_cst, DEVCOM_SCOPE);
    }
    ground_ring(((global struct devcom_rank *)d->ranks)[rank].bell);
}

bool devcom_holds(long now, uint condition, long value)
{
    return condition == DEVCOM_EQ   ? now == value
           : condition == DEVCOM_NE ? now != value
           : condition == DEVCOM_LT ? now < value
           : condition == DEVCOM_GE ? now >= value
           : condition == DEVCOM_GT ? now > value
                                    : now <= value;
}

/* Waits until a word of this rank satisfies a condition. By one work-item. */
int devcom_until(global struct devcom_device *d, uint word, uint condition, long value)
{
    for (uint polls = 1;; polls++) {
        long now = atomic_load_explicit(devcom_word(d, d->rank, word), memory_order_acquire, DEVCOM_SCOPE);

        if (devcom_holds(now, condition, value))
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
        atomic_store_explicit((global atomic_ulong *)ring->posted + command->rank, head + 1, memory_order_relaxed,
                              DEVCOM_SCOPE);
        atomic_store_explicit(&ring->head, head + 1, memory_order_seq_cst, DEVCOM_SCOPE);
    }
    atomic_store_explicit(&ring->lock, 0u, memory_order_release, DEVCOM_SCOPE);
    ground_ring(ring->bell);
    return error;
}

bool devcom_queue_empty(global struct devcom_device *d, uint queue)
{
    global struct devcom_ring *ring = (global struct devcom_ring *)d->rings + queue;

    return atomic_load_explicit(&ring->head, memory_order_relaxed, DEVCOM_SCOPE) ==
           atomic_load_explicit(&ring->tail, memory_order_acquire, DEVCOM_SCOPE);
}

/* ---- puts, gets and atomics ---- */

/* The arguments of a put, a get or an atomic, for the functions below. */
struct devcom_putting {
    uint segment;
    ulong offset;
    uint rank, remote_segment;
    ulong remote_offset, bytes;
    uint signal, op;
    long value;
    uint queue;
    int error; /* found before */
    uint kind;
    long expected; /* by a swap */
};

bool devcom_is_atomic(const struct devcom_putting *p)
{
    return p->kind >= DEVCOM_DO_ADD;
}

/* Checks the memory of this rank. */
int devcom_check_own(global struct devcom_device *d, const struct devcom_putting *p)
{
    ulong have;

    if (p->segment >= d->segments)
        return DEVCOM_ENOENT;
    have = devcom_place_of(d, d->rank, p->segment)->bytes;
    if (!have)
        return DEVCOM_ENOENT;
    return p->offset > have || p->bytes > have - p->offset ? DEVCOM_ERANGE : 0;
}

int devcom_check(global struct devcom_device *d, const struct devcom_putting *p)
{
    ulong have;
    int error;

    if (p->error)
        return p->error;
    if (p->rank >= d->size || p->queue >= d->queues || p->op > DEVCOM_SIGNAL_ADD ||
        (p->op != DEVCOM_SIGNAL_NONE && p->signal >= d->signals) || (devcom_is_atomic(p) && p->remote_offset % 8))
        return DEVCOM_EINVAL;
    if (!p->bytes)
        return 0;
    if (p->remote_segment >= d->segments)
        return DEVCOM_ENOENT;
    error = devcom_is_atomic(p) ? 0 : devcom_check_own(d, p);
    if (error)
        return error;
    if (!devcom_place_of(d, p->rank, p->remote_segment)->address)
        return 0; /* the host checks it */
    have = devcom_place_of(d, p->rank, p->remote_segment)->bytes;
    return p->remote_offset > have || p->bytes > have - p->remote_offset ? DEVCOM_ERANGE : 0;
}

/* Returns how to do a put, get or atomic: 1: directly, in memory; 0: by the queue; or an error. What is direct must not
 * overtake the queue. By one work-item. */
int devcom_way(global struct devcom_device *d, const struct devcom_putting *p)
{
    int error = devcom_check(d, p);

    if (error)
        return error;
    return ((global struct devcom_rank *)d->ranks)[p->rank].signals && devcom_queue_empty(d, p->queue) &&
           (!p->bytes || (devcom_place_of(d, p->rank, p->remote_segment)->address &&
                          (devcom_is_atomic(p) || devcom_place_of(d, d->rank, p->segment)->address)));
}

/* Copies what a direct put or get copies. */
void devcom_copy_put(global struct devcom_device *d, const struct devcom_putting *p)
{
    ulong there = devcom_place_of(d, p->rank, p->remote_segment)->address + p->remote_offset;
    ulong here = devcom_place_of(d, d->rank, p->segment)->address + p->offset;

    if (p->kind == DEVCOM_DO_PUT)
        devcom_copy(there, here, p->bytes);
    else
        devcom_copy(here, there, p->bytes);
}

/* Does an atomic directly. By one work-item. */
void devcom_run_atomic(global struct devcom_device *d, const struct devcom_putting *p)
{
    global atomic_long *at =
        (global atomic_long *)(devcom_place_of(d, p->rank, p->remote_segment)->address + p->remote_offset);
    long found = p->expected;

    if (p->kind == DEVCOM_DO_ADD)
        found = atomic_fetch_add_explicit(at, p->value, memory_order_seq_cst, DEVCOM_SCOPE);
    else
        atomic_compare_exchange_strong_explicit(at, &found, p->value, memory_order_seq_cst, memory_order_seq_cst,
                                                DEVCOM_SCOPE);
    d->values[devcom_index()] = found;
}

enum { DEVCOM_WAIT_SIGNAL, DEVCOM_WAIT_BARRIER, DEVCOM_WAIT_FENCE, DEVCOM_WAIT_LEFT, DEVCOM_WAIT_ALL, DEVCOM_WAIT_RANK };

int devcom_complete(global struct devcom_device *d, uint what, uint rank, uint queue);

/* Adds a command to the queue. The host writes the results of an atomic before it retires the command. By one
 * work-item. */
int devcom_hand_over(global struct devcom_device *d, const struct devcom_putting *p)
{
    const bool atomic = devcom_is_atomic(p);
    struct devcom_command command = {(uchar)p->kind,
                                     (uchar)p->op,
                                     (uchar)p->segment,
                                     (uchar)p->remote_segment,
                                     (ushort)p->rank,
                                     (ushort)(atomic ? devcom_index() : p->signal),
                                     atomic ? (ulong)p->expected : p->offset,
                                     p->remote_offset,
                                     p->bytes,
                                     p->value};
    int error = devcom_post(d, p->queue, &command);

    if (!error && atomic)
        error = devcom_complete(d, DEVCOM_WAIT_ALL, 0, p->queue);
    return error || !atomic ? error : *devcom_result(d);
}

/* Ends a put, get or atomic after the copy. By one work-item. */
int devcom_end_put(global struct devcom_device *d, const struct devcom_putting *p, int way)
{
    if (way < 0) {
        devcom_fail(d, way);
        return way;
    }
    if (!way)
        return devcom_hand_over(d, p);
    if (devcom_is_atomic(p))
        devcom_run_atomic(d, p);
    else if (p->op == DEVCOM_SIGNAL_NONE)
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, DEVCOM_SCOPE);
    else
        devcom_apply(d, p->rank, p->signal, p->op, p->value);
    return 0;
}

/*
 * Does a put, get or atomic. On a CPU the first work-item does everything, between two barriers: in a loop, PoCL 3.1 lost the signal
 * between the last two of four barriers.
 */
int devcom_run_put(global struct devcom_device *d, const struct devcom_putting *p)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
#ifdef GROUND_CPU
    if (first) {
        int way = devcom_way(d, p);

        if (way > 0 && p->bytes && !devcom_is_atomic(p))
            devcom_copy_put(d, p);
        *result = devcom_end_put(d, p, way);
    }
#else
    if (first)
        *result = devcom_way(d, p);
    barrier(CLK_GLOBAL_MEM_FENCE);
    const int way = *result;
    if (way > 0 && p->bytes && !devcom_is_atomic(p))
        devcom_copy_put(d, p);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = devcom_end_put(d, p, way);
#endif
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

/*
 * Puts bytes of a segment of this rank into one of another rank, and then changes a signal there. If the memory is
 * mapped, the put is complete on return; otherwise the queue does it. Returns 0, or an error, the same in all
 * work-items: DEVCOM_EINVAL, _ENOENT, _ERANGE, as of the host's function; _ECONNRESET: the host has stopped, or a rank
 * is lost.
 */
int devcom_write_notify(global struct devcom_device *d, uint segment, ulong offset, uint rank, uint remote_segment,
                        ulong remote_offset, ulong bytes, uint signal, uint op, long value, uint queue)
{
    const struct devcom_putting p = {segment, offset, rank, remote_segment, remote_offset, bytes, signal, op, value, queue, 0, DEVCOM_DO_PUT, 0};

    return devcom_run_put(d, &p);
}

int devcom_write(global struct devcom_device *d, uint segment, ulong offset, uint rank, uint remote_segment,
                 ulong remote_offset, ulong bytes, uint queue)
{
    return devcom_write_notify(d, segment, offset, rank, remote_segment, remote_offset, bytes, 0, DEVCOM_SIGNAL_NONE, 0, queue);
}

/* Changes a signal of a rank, in the order of the queue. */
int devcom_signal_op(global struct devcom_device *d, uint rank, uint signal, uint op, long value, uint queue)
{
    return devcom_write_notify(d, 0, 0, rank, 0, 0, 0, signal, op, value, queue);
}

/*
 * Puts bytes by an element of the list of devcom_endpoint_list(): from offset on in the element's memory, to
 * remote_offset on in its remote memory, and then changes the element's signal. Any number is a channel; channels with
 * the same remainder by the number of queues share a queue, which is the channel itself if there are enough queues.
 */
int devcom_put_element(global struct devcom_device *d, uint element, ulong offset, ulong remote_offset, ulong bytes, uint channel)
{
    global const struct devcom_element *e = (global const struct devcom_element *)d->elements + (element < d->element_count ? element : 0);
    struct devcom_putting p = {0, 0, 0, 0, 0, 0, 0, DEVCOM_SIGNAL_NONE, 0, channel % d->queues, DEVCOM_EINVAL,
                               DEVCOM_DO_PUT, 0};

    if (element < d->element_count) {
        bool inside = offset <= e->bytes && bytes <= e->bytes - offset && remote_offset <= e->bytes && bytes <= e->bytes - remote_offset;

        p.segment = e->segment;
        p.offset = e->offset + offset;
        p.rank = e->rank;
        p.remote_segment = e->remote_segment;
        p.remote_offset = e->remote_offset + remote_offset;
        p.bytes = bytes;
        p.signal = e->signal;
        p.op = e->op;
        p.value = e->value;
        p.error = inside ? 0 : DEVCOM_ERANGE;
    }
    return devcom_run_put(d, &p);
}

/* ---- waits ---- */

/* Waits until a position of a queue has reached a value. By one work-item. */
int devcom_until_position(global struct devcom_device *d, global atomic_ulong *position, ulong value)
{
    while (atomic_load_explicit(position, memory_order_acquire, DEVCOM_SCOPE) < value) {
        if (atomic_load_explicit(&d->stop, memory_order_relaxed, DEVCOM_SCOPE))
            return DEVCOM_ECONNRESET;
        GROUND_LET_OTHERS();
    }
    return 0;
}

/* By one work-item. Direct puts are complete when they return, but only the fence makes them visible to all. */
int devcom_complete(global struct devcom_device *d, uint what, uint rank, uint queue)
{
    global struct devcom_ring *ring = (global struct devcom_ring *)d->rings + queue;

    if (queue >= d->queues || rank >= d->size)
        return DEVCOM_EINVAL;
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, DEVCOM_SCOPE);
    if (what == DEVCOM_WAIT_FENCE)
        return 0;
    if (what == DEVCOM_WAIT_RANK)
        return devcom_until_position(
            d, (global atomic_ulong *)ring->arrived + rank,
            atomic_load_explicit((global atomic_ulong *)ring->posted + rank, memory_order_relaxed, DEVCOM_SCOPE));
    return devcom_until_position(d, what == DEVCOM_WAIT_LEFT ? &ring->left : &ring->tail,
                                 atomic_load_explicit(&ring->head, memory_order_relaxed, DEVCOM_SCOPE));
}

int devcom_meet(global struct devcom_device *d);

/* By one work-item. one and other: a signal and a condition, or a rank and a queue, or nothing. */
int devcom_wait_alone(global struct devcom_device *d, uint what, uint one, uint other, long value)
{
    if (what == DEVCOM_WAIT_BARRIER)
        return devcom_meet(d);
    if (what != DEVCOM_WAIT_SIGNAL)
        return devcom_complete(d, what, one, other);
    return one < d->signals && other <= DEVCOM_LE ? devcom_until(d, one, other, value) : DEVCOM_EINVAL;
}

int devcom_wait_together(global struct devcom_device *d, uint what, uint one, uint other, long value)
{
    global int *result = devcom_result(d);
    const bool first = devcom_first();

    barrier(CLK_GLOBAL_MEM_FENCE);
    if (first)
        *result = devcom_wait_alone(d, what, one, other, value);
    barrier(CLK_GLOBAL_MEM_FENCE);
    return *result;
}

/* Waits until a signal of this rank satisfies a condition. No more work-groups may wait than the device runs at once:
 * see devcom_enqueue_kernel(). Returns 0; DEVCOM_EINVAL; DEVCOM_ECONNRESET. */
int devcom_signal_wait(global struct devcom_device *d, uint signal, uint condition, long value)
{
    return devcom_wait_together(d, DEVCOM_WAIT_SIGNAL, signal, condition, value);
}

/* Orders: this work-group's earlier operations, by the queue or by stores, take effect at each rank before its later
 * ones by the queue. The call does not wait. */
int devcom_fence(global struct devcom_device *d, uint queue)
{
    return devcom_wait_together(d, DEVCOM_WAIT_FENCE, 0, queue, 0);
}

/* Waits for local completion: until the data of all operations that the queue has now may be changed. */
int devcom_flush_local(global struct devcom_device *d, uint queue)
{
    return devcom_wait_together(d, DEVCOM_WAIT_LEFT, 0, queue, 0);
}

/* Wait for remote completion: until all operations that the queue has now, or those to one rank, have taken effect. */
int devcom_quiet(global struct devcom_device *d, uint queue)
{
    return devcom_wait_together(d, DEVCOM_WAIT_ALL, 0, queue, 0);
}

int devcom_quiet_rank(global struct devcom_device *d, uint rank, uint queue)
{
    return devcom_wait_together(d, DEVCOM_WAIT_RANK, rank, queue, 0);
}
