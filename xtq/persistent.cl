/*
 * The persistent kernel, in OpenCL C: the device itself polls the lanes of one queue. Its data structures are those of
 * ring.h and internal.h. The host inserts the bodies, and a function xtq_body() that chooses among them, between this
 * part and the next.
 *
 * On a CPU the kernel is one more thread that polls, and other threads may want its core. So it makes system calls
 * there: it yields the core, and after spin_ns without a message it sleeps on the queue's doorbell, as a server does
 * (server.c), without leaving the device. On other devices it polls until it leaves the device.
 */
#define XTQ_SCOPE GROUND_SCOPE
#define XTQ_LINE 64ul

struct xtq_task {
    ulong buffer, buffer_bytes, payload, payload_bytes, arguments, argument_bytes;
    uint initiator, grid[3];
};
/* XTQ: bodies */

struct xtq_entry {
    atomic_ulong valid, users;
    ulong buffer, buffer_bytes, signal, body;
};

struct xtq_credit {
    atomic_ulong tail, errors;
    atomic_int last_error, broken;
    int unused[10];
};

struct xtq_control {
    ulong bells, credits, rings, table, doorbell, ticks, napping; /* addresses */
    ulong lane_bytes, ranks, kernels, most_idle, spin_ns, idle_ns, unused[3];
    atomic_ulong ticket, refused, polls; /* from here on written by work-groups */
    atomic_uint stop, finished, done, calls, helpers_asleep, helpers_call;
    atomic_int result;
    uint unused_too[3];
    ulong body, items, grain, unused_again[5];
    struct xtq_task task;
};

/* A work-group's present task. Its first work-item sets it, the others read it after a barrier. */
struct xtq_job {
    struct xtq_task task;
    ulong body, first, last, chunks; /* chunks: 0: the task is not shared with other work-groups */
    ulong entry, end;                /* address of the table entry; position after the message */
    uint lane; /* the next to poll */
    int result;
    bool running, leaves;
};

/* How a work-item has spent the time without messages. */
struct xtq_quiet {
    ulong polls, since, crowd; /* in ns: when it began (0: not yet); until when others want the core */
};

#define XTQ_ENOENT (-2)
#define XTQ_EINVAL (-22)
#define XTQ_ENOTSUP (-95)
#define XTQ_EPROTO (-71)

#define XTQ_ALONE 3u       /* enum asleep */
#define XTQ_POLLS 128      /* polls between two looks at the clock */
#define XTQ_SLICE 2000000ul /* ns: after a yield that takes this long another thread needs the core: base/crowd.h */
#define XTQ_CROWD 20000000ul
#define XTQ_SHARED 4096ul /* work-items from which a task is shared by the work-groups */
#define XTQ_SPLIT 1024ul  /* work-items from which a chunk is shared by the work-items, on a CPU */

/* ---- system calls of a CPU ---- */

#ifdef GROUND_CALLS
#define XTQ_WAIT 0
#define XTQ_WAKE 1
#define XTQ_PRIVATE 128

struct xtq_time {
    long seconds, ns;
};

ulong xtq_clock(void)
{
    struct xtq_time now;

    ground_call(GROUND_CLOCK, 1, (long)&now, 0, 0);
    return (ulong)now.seconds * 1000000000ul + (ulong)now.ns;
}

void xtq_sleep(ulong futex, uint value, int flags, ulong ns)
{
    struct xtq_time most;

    most.seconds = (long)(ns / 1000000000ul);
    most.ns = (long)(ns % 1000000000ul);
    ground_call(GROUND_FUTEX, futex, XTQ_WAIT | flags, value, (ulong)&most);
}

/* Yields the core. If that takes a slice, the work-item does not poll for a while. */
void xtq_yield(struct xtq_quiet *quiet, ulong now)
{
    GROUND_LET_OTHERS();
    if (xtq_clock() - now >= XTQ_SLICE)
        quiet->crowd = now + XTQ_CROWD;
}
#endif

bool xtq_stops(global struct xtq_control *c)
{
    return atomic_load_explicit(&c->stop, memory_order_seq_cst, XTQ_SCOPE);
}

bool xtq_something_came(global struct xtq_control *c)
{
    for (uint i = 0; i < c->ranks; i++) {
        global struct xtq_credit *credit = (global struct xtq_credit *)c->credits + i;

        if (atomic_load_explicit((global atomic_ulong *)c->bells + i, memory_order_seq_cst, XTQ_SCOPE) !=
                atomic_load_explicit(&credit->tail, memory_order_relaxed, XTQ_SCOPE) &&
            !atomic_load_explicit(&credit->broken, memory_order_relaxed, XTQ_SCOPE))
            return true;
    }
    return false;
}

/* Called when there is no message. False: the kernel must leave the device. */
bool xtq_stay(global struct xtq_control *c, struct xtq_quiet *quiet)
{
    quiet->polls++;
    if (xtq_stops(c))
        return false;
#ifdef GROUND_CALLS
    if (quiet->polls % XTQ_POLLS)
        return true;
    ulong now = xtq_clock();
    global atomic_uint *doorbell = (global atomic_uint *)c->doorbell;

    quiet->since = quiet->since ? quiet->since : now;
    if (now - quiet->since >= c->idle_ns)
        return false;
    if (now - quiet->since < c->spin_ns && now >= quiet->crowd) {
        xtq_yield(quiet, now);
        return true;
    }
    atomic_store_explicit(doorbell, XTQ_ALONE, memory_order_seq_cst, XTQ_SCOPE);
    if (!xtq_something_came(c) && !xtq_stops(c))
        xtq_sleep(c->doorbell, XTQ_ALONE, 0, c->idle_ns - (now - quiet->since));
    atomic_store_explicit(doorbell, 0u, memory_order_seq_cst, XTQ_SCOPE);
    return true;
#else
    return quiet->polls < c->most_idle;
#endif
}

/* Called while other work-groups work on the task. */
void xtq_wait_a_little(struct xtq_quiet *quiet)
{
#ifdef GROUND_CALLS
    if (++quiet->polls % XTQ_POLLS == 0)
        GROUND_LET_OTHERS();
#endif
}

/* ---- tasks that work-groups share ---- */

/* A ticket hands out a task's chunks: 16 bits identify the task, 24 are the number of chunks, 24 the next chunk. */
#define XTQ_CHUNKS(ticket) ((ticket) >> 24 & 0xfffffful)
#define XTQ_NEXT(ticket) ((ticket) & 0xfffffful)

bool xtq_chunk_left(global struct xtq_control *c)
{
    ulong ticket = atomic_load_explicit(&c->ticket, memory_order_seq_cst, XTQ_SCOPE);

    return XTQ_NEXT(ticket) < XTQ_CHUNKS(ticket);
}

/* Takes a chunk if one is left. */
bool xtq_chunk(global struct xtq_control *c, local struct xtq_job *job)
{
    ulong ticket;

    if (!xtq_chunk_left(c))
        return false;
    ticket = atomic_fetch_add_explicit(&c->ticket, 1ul, memory_order_acq_rel, XTQ_SCOPE);
    if (XTQ_NEXT(ticket) >= XTQ_CHUNKS(ticket))
        return false;
    job->first = XTQ_NEXT(ticket) * c->grain;
    job->last = min(job->first + c->grain, c->items);
    job->chunks = XTQ_CHUNKS(ticket);
    job->body = c->body;
    job->task = c->task;
    job->result = 0;
    job->running = true;
    return true;
}

void xtq_chunk_end(global struct xtq_control *c, local struct xtq_job *job)
{
    if (job->result)
        atomic_store_explicit(&c->result, job->result, memory_order_relaxed, XTQ_SCOPE);
    atomic_fetch_add_explicit(&c->done, 1u, memory_order_release, XTQ_SCOPE);
    job->running = false;
}

/* Wakes the other work-groups, if they sleep. */
void xtq_call_helpers(global struct xtq_control *c)
{
#ifdef GROUND_CALLS
    if (atomic_load_explicit(&c->helpers_asleep, memory_order_seq_cst, XTQ_SCOPE)) {
        atomic_fetch_add_explicit(&c->helpers_call, 1u, memory_order_seq_cst, XTQ_SCOPE);
        ground_call(GROUND_FUTEX, (ulong)&c->helpers_call, XTQ_WAKE | XTQ_PRIVATE, 0x7fffffff, 0);
    }
#endif
}

/* All work-groups but the first: takes a chunk, or leaves when the first has left. */
void xtq_help(global struct xtq_control *c, local struct xtq_job *job)
{
    struct xtq_quiet quiet = {0, 0, 0};

    if (job->running)
        xtq_chunk_end(c, job);
    while (!xtq_chunk(c, job)) {
        if (atomic_load_explicit(&c->finished, memory_order_seq_cst, XTQ_SCOPE)) {
            job->leaves = true;
            return;
        }
#ifdef GROUND_CALLS
        if (++quiet.polls % XTQ_POLLS)
            continue;
        ulong now = xtq_clock();

        quiet.since = quiet.since ? quiet.since : now;
        if (now - quiet.since < c->spin_ns && now >= quiet.crowd) {
            xtq_yield(&quiet, now);
            continue;
        }
        uint call = atomic_load_explicit(&c->helpers_call, memory_order_seq_cst, XTQ_SCOPE);

        atomic_fetch_add_explicit(&c->helpers_asleep, 1u, memory_order_seq_cst, XTQ_SCOPE);
        if (!xtq_chunk_left(c) && !atomic_load_explicit(&c->finished, memory_order_seq_cst, XTQ_SCOPE))
            xtq_sleep((ulong)&c->helpers_call, call, XTQ_PRIVATE, 1000000000ul);
        atomic_fetch_sub_explicit(&c->helpers_asleep, 1u, memory_order_seq_cst, XTQ_SCOPE);
#endif
    }
}

void xtq_begin(global struct xtq_control *c, local struct xtq_job *job, ulong items)
{
    ulong groups = get_num_groups(0), chunks, ticket;

    job->first = 0;
    job->last = items;
    job->chunks = 0;
    job->result = 0;
    job->running = true;
    if (groups == 1 || items < XTQ_SHARED)
        return;
    chunks = min(items / 1024, groups * 8);
    c->body = job->body;
    c->task = job->task;
    c->items = items;
    c->grain = (items + chunks - 1) / chunks;
    chunks = (items + c->grain - 1) / c->grain;
    atomic_store_explicit(&c->result, 0, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&c->done, 0u, memory_order_relaxed, XTQ_SCOPE);
    ticket = atomic_load_explicit(&c->ticket, memory_order_relaxed, XTQ_SCOPE);
    ticket = ((ticket >> 48) + 1) << 48 | chunks << 24 | 1; /* the first chunk is this work-group's */
    atomic_store_explicit(&c->ticket, ticket, memory_order_seq_cst, XTQ_SCOPE);
    job->last = c->grain;
    job->chunks = chunks;
    xtq_call_helpers(c);
}

/* ---- messages ---- */

void xtq_refuse(global struct xtq_control *c, global struct xtq_credit *credit, int error)
{
    atomic_fetch_add_explicit(&c->refused, 1ul, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&credit->last_error, error, memory_order_relaxed, XTQ_SCOPE);
    atomic_fetch_add_explicit(&credit->errors, 1ul, memory_order_release, XTQ_SCOPE);
}

/* Begins the task of a packet, of eight words: see struct xtq_kernel_packet. Returns 0, or the error for the
 * initiator. */
int xtq_kernel(global struct xtq_control *c, local struct xtq_job *job, const ulong *packet, global uchar *at,
               uint initiator)
{
    uint dimensions = packet[0] >> 16 & 0xffff, grid[3] = {packet[1] >> 32, packet[2], packet[2] >> 32};
    global struct xtq_entry *entry = (global struct xtq_entry *)c->table + packet[4];
    struct xtq_task task;
    ulong items = 1;

    if ((packet[0] & 0xff) != 2)
        return XTQ_ENOTSUP;
    if (packet[4] >= c->kernels)
        return XTQ_ENOENT;
    if (dimensions < 1 || dimensions > 3 || packet[3] || packet[7])
        return XTQ_EINVAL;
    for (uint i = 0; i < 3; i++) {
        task.grid[i] = i < dimensions ? grid[i] : 1;
        if (!task.grid[i] || items > ULONG_MAX / task.grid[i])
            return XTQ_EINVAL;
        items *= task.grid[i];
    }
    atomic_fetch_add_explicit(&entry->users, 1ul, memory_order_seq_cst, XTQ_SCOPE);
    if (!atomic_load_explicit(&entry->valid, memory_order_seq_cst, XTQ_SCOPE)) {
        atomic_fetch_sub_explicit(&entry->users, 1ul, memory_order_release, XTQ_SCOPE);
        return XTQ_ENOENT;
    }
    task.buffer = entry->buffer;
    task.buffer_bytes = entry->buffer_bytes;
    task.arguments = (ulong)(at + XTQ_LINE);
    task.argument_bytes = packet[5];
    task.payload = task.arguments + (packet[5] + XTQ_LINE - 1) / XTQ_LINE * XTQ_LINE;
    task.payload_bytes = packet[6];
    task.initiator = initiator;
    job->task = task;
    job->body = entry->body;
    job->entry = (ulong)entry;
    xtq_begin(c, job, items);
    return 0;
}

bool xtq_break(global struct xtq_control *c, global struct xtq_credit *credit)
{
    if (!atomic_load_explicit(&credit->broken, memory_order_relaxed, XTQ_SCOPE)) {
        xtq_refuse(c, credit, XTQ_EPROTO);
        atomic_store_explicit(&credit->broken, 1, memory_order_release, XTQ_SCOPE);
    }
    return false;
}

/* Takes the next message of a lane: see ring_next(). Whether there was one. If it is a task, the job has begun. */
bool xtq_step(global struct xtq_control *c, local struct xtq_job *job, uint initiator)
{
    global atomic_ulong *bell = (global atomic_ulong *)c->bells + initiator;
    global struct xtq_credit *credit = (global struct xtq_credit *)c->credits + initiator;
    ulong tail = atomic_load_explicit(&credit->tail, memory_order_relaxed, XTQ_SCOPE);
    ulong room = atomic_load_explicit(bell, memory_order_acquire, XTQ_SCOPE) - tail;
    ulong offset = tail & (c->lane_bytes - 1), bytes = 0, packet[8];
    global uchar *at = (global uchar *)c->rings + initiator * c->lane_bytes + offset;
    int error = 0;

    if (!room)
        return false;
    if (room > c->lane_bytes || room % XTQ_LINE)
        return xtq_break(c, credit);
    room = min(room, c->lane_bytes - offset);
    for (uint i = 0; i < 8; i++)
        packet[i] = ((volatile global ulong *)at)[i];
    if ((packet[0] & 0xff) == 1) {
        bytes = packet[1];
        if (bytes < XTQ_LINE || bytes > room || bytes % XTQ_LINE)
            return xtq_break(c, credit);
    } else {
        ulong arguments = (packet[0] & 0xff) == 2 ? packet[5] : packet[1];

        if (arguments > room || packet[6] > room)
            return xtq_break(c, credit);
        bytes = XTQ_LINE + (arguments + XTQ_LINE - 1) / XTQ_LINE * XTQ_LINE +
                (packet[6] + XTQ_LINE - 1) / XTQ_LINE * XTQ_LINE;
        if (bytes > room)
            return xtq_break(c, credit);
        error = xtq_kernel(c, job, packet, at, initiator);
        if (!error) {
            job->end = tail + bytes;
            return true;
        }
    }
    if (error)
        xtq_refuse(c, credit, error);
    atomic_store_explicit(&credit->tail, tail + bytes, memory_order_release, XTQ_SCOPE);
    return true;
}

/* Ends a task: signals completion, releases its place in the lane, and wakes waiting threads. */
void xtq_end(global struct xtq_control *c, local struct xtq_job *job, int result)
{
    global struct xtq_entry *entry = (global struct xtq_entry *)job->entry;
    global struct xtq_credit *credit = (global struct xtq_credit *)c->credits + job->task.initiator;

    if (entry->signal)
        atomic_fetch_sub_explicit((global atomic_long *)entry->signal, 1l, memory_order_acq_rel, XTQ_SCOPE);
    atomic_fetch_sub_explicit(&entry->users, 1ul, memory_order_release, XTQ_SCOPE); /* the signal may be freed now */
    if (result)
        xtq_refuse(c, credit, result);
    atomic_store_explicit(&credit->tail, job->end, memory_order_release, XTQ_SCOPE);
    job->running = false;
#ifdef GROUND_CALLS
    atomic_fetch_add_explicit((global atomic_uint *)c->ticks, 1u, memory_order_seq_cst, XTQ_SCOPE);
    ground_ring(c->napping);
#endif
}

/* The first work-group: ends the task that has run, and takes the next message, or leaves. */
void xtq_lead(global struct xtq_control *c, local struct xtq_job *job)
{
    struct xtq_quiet quiet = {0, 0, 0};

    if (job->running && job->chunks) {
        ulong chunks = job->chunks;

        xtq_chunk_end(c, job);
        if (xtq_chunk(c, job))
            return;
        while (atomic_load_explicit(&c->done, memory_order_acquire, XTQ_SCOPE) < chunks)
            xtq_wait_a_little(&quiet);
        xtq_end(c, job, atomic_load_explicit(&c->result, memory_order_relaxed, XTQ_SCOPE));
    } else if (job->running) {
        xtq_end(c, job, job->result);
    }
    quiet.polls = 0;
    do {
        for (uint i = 0; i < c->ranks; i++) {
            uint lane = (job->lane + i) % (uint)c->ranks; /* all lanes in turn */

            while (xtq_step(c, job, lane)) {
                if (job->running) {
                    job->lane = lane + 1;
                    return;
                }
                quiet.polls = quiet.since = 0;
            }
        }
    } while (xtq_stay(c, &quiet));
    atomic_store_explicit(&c->polls, quiet.polls, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&c->finished, 1u, memory_order_seq_cst, XTQ_SCOPE);
    xtq_call_helpers(c);
    job->leaves = true;
}

/* Runs this work-item's part of a chunk. */
void xtq_share(local struct xtq_job *job)
{
    struct xtq_task task = job->task;
    ulong first = job->first, last = job->last, items = get_local_size(0), item = get_local_id(0);
    int result = 0;
#ifdef GROUND_CPU
    ulong each = last - first < XTQ_SPLIT ? last - first : (last - first + items - 1) / items;

    first += item * each;
    last = min(first + each, last);
    if (first < last)
        result = xtq_body((uint)job->body, &task, first, last);
#else /* neighbouring work-items in step, so that their loads and stores are combined */
    for (ulong i = first + item; i < last; i += items) {
        int one = xtq_body((uint)job->body, &task, i, i + 1);

        result = one ? one : result;
    }
#endif
    if (result)
        job->result = result;
}

/* The first work-group takes messages; the others that the device runs beside it share its tasks. All work-items read
 * data whose arrival the first work-item has seen, and the first announces what all have written. So barriers are for
 * all memory, although the job is in local memory. */
#define XTQ_ALL_MEMORY (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

kernel void xtq_persistent(global struct xtq_control *c)
{
    local struct xtq_job job;

    if (get_local_id(0) == 0) {
        job.running = job.leaves = false;
        job.lane = 0;
#ifdef GROUND_CALLS
        atomic_store_explicit(&c->calls, 1u, memory_order_relaxed, XTQ_SCOPE);
#endif
    }
    for (;;) {
        if (get_local_id(0) == 0) {
            if (get_group_id(0))
                xtq_help(c, &job);
            else
                xtq_lead(c, &job);
        }
        barrier(XTQ_ALL_MEMORY);
        if (job.leaves)
            break;
        xtq_share(&job);
        barrier(XTQ_ALL_MEMORY);
    }
}
