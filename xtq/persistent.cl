/*
 * The persistent kernel, in OpenCL C: the device polls the lanes of one queue itself. It reads what ring.h and internal.h
 * describe; between this part and the next come the bodies and a function xtq_body() that chooses among them.
 */
#ifdef __opencl_c_atomic_scope_all_devices
#define XTQ_SCOPE memory_scope_all_devices
#else
#define XTQ_SCOPE memory_scope_device
#endif
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
    ulong bells, credits, rings, table; /* addresses */
    ulong lane_bytes, ranks, kernels, most_idle;
    atomic_ulong ticket, refused, polls;
    atomic_uint stop, finished, done;
    atomic_int result;
    ulong body, items, grain;
    struct xtq_task task;
};

#define XTQ_ENOENT (-2)
#define XTQ_EINVAL (-22)
#define XTQ_ENOTSUP (-95)
#define XTQ_EPROTO (-71)

/* A task's chunks are handed out by a ticket: 16 bits that tell tasks apart, 24 of how many chunks, 24 of the next. */
#define XTQ_CHUNKS(ticket) ((ticket) >> 24 & 0xfffffful)
#define XTQ_NEXT(ticket) ((ticket) & 0xfffffful)

void xtq_chunks(global struct xtq_control *c)
{
    ulong ticket = atomic_load_explicit(&c->ticket, memory_order_acquire, XTQ_SCOPE);

    while (XTQ_NEXT(ticket) < XTQ_CHUNKS(ticket)) {
        ulong first, last;
        struct xtq_task task;
        int result;

        ticket = atomic_fetch_add_explicit(&c->ticket, 1ul, memory_order_acq_rel, XTQ_SCOPE);
        if (XTQ_NEXT(ticket) >= XTQ_CHUNKS(ticket))
            return;
        first = XTQ_NEXT(ticket) * c->grain;
        last = min(first + c->grain, c->items);
        task = c->task;
        result = xtq_body((uint)c->body, &task, first, last);
        if (result)
            atomic_store_explicit(&c->result, result, memory_order_relaxed, XTQ_SCOPE);
        atomic_fetch_add_explicit(&c->done, 1u, memory_order_release, XTQ_SCOPE);
        ticket = atomic_load_explicit(&c->ticket, memory_order_acquire, XTQ_SCOPE);
    }
}

int xtq_run(global struct xtq_control *c, ulong body, const struct xtq_task *task, ulong items)
{
    ulong groups = get_num_groups(0), chunks, ticket;

    if (groups == 1 || items < 4096)
        return xtq_body((uint)body, task, 0, items);
    chunks = min(items / 1024, groups * 8);
    c->body = body;
    c->task = *task;
    c->items = items;
    c->grain = (items + chunks - 1) / chunks;
    chunks = (items + c->grain - 1) / c->grain;
    atomic_store_explicit(&c->result, 0, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&c->done, 0u, memory_order_relaxed, XTQ_SCOPE);
    ticket = atomic_load_explicit(&c->ticket, memory_order_relaxed, XTQ_SCOPE);
    ticket = ((ticket >> 48) + 1) << 48 | chunks << 24;
    atomic_store_explicit(&c->ticket, ticket, memory_order_release, XTQ_SCOPE);
    xtq_chunks(c);
    while (atomic_load_explicit(&c->done, memory_order_acquire, XTQ_SCOPE) < chunks)
        ;
    return atomic_load_explicit(&c->result, memory_order_relaxed, XTQ_SCOPE);
}

void xtq_refuse(global struct xtq_control *c, global struct xtq_credit *credit, int error)
{
    atomic_fetch_add_explicit(&c->refused, 1ul, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&credit->last_error, error, memory_order_relaxed, XTQ_SCOPE);
    atomic_fetch_add_explicit(&credit->errors, 1ul, memory_order_release, XTQ_SCOPE);
}

/* The packet as eight words: see struct xtq_kernel_packet. The result is for the initiator. */
int xtq_kernel(global struct xtq_control *c, const ulong *packet, global uchar *at, uint initiator)
{
    uint dimensions = packet[0] >> 16 & 0xffff, grid[3] = {packet[1] >> 32, packet[2], packet[2] >> 32};
    global struct xtq_entry *entry = (global struct xtq_entry *)c->table + packet[4];
    struct xtq_task task;
    ulong items = 1, signal;
    int result;

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
    result = xtq_run(c, entry->body, &task, items);
    signal = entry->signal;
    if (signal)
        atomic_fetch_sub_explicit((global atomic_long *)signal, 1l, memory_order_acq_rel, XTQ_SCOPE);
    atomic_fetch_sub_explicit(&entry->users, 1ul, memory_order_release, XTQ_SCOPE); /* the signal may be gone now */
    return result;
}

uint xtq_break(global struct xtq_control *c, global struct xtq_credit *credit)
{
    if (!atomic_load_explicit(&credit->broken, memory_order_relaxed, XTQ_SCOPE)) {
        xtq_refuse(c, credit, XTQ_EPROTO);
        atomic_store_explicit(&credit->broken, 1, memory_order_release, XTQ_SCOPE);
    }
    return 0;
}

/* See ring_next(). The number of messages taken: 0 or 1. */
uint xtq_step(global struct xtq_control *c, uint initiator)
{
    global atomic_ulong *bell = (global atomic_ulong *)c->bells + initiator;
    global struct xtq_credit *credit = (global struct xtq_credit *)c->credits + initiator;
    ulong tail = atomic_load_explicit(&credit->tail, memory_order_relaxed, XTQ_SCOPE);
    ulong room = atomic_load_explicit(bell, memory_order_acquire, XTQ_SCOPE) - tail;
    ulong offset = tail & (c->lane_bytes - 1), bytes = 0, packet[8];
    global uchar *at = (global uchar *)c->rings + initiator * c->lane_bytes + offset;
    int error = 0;

    if (!room)
        return 0;
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
        error = xtq_kernel(c, packet, at, initiator);
    }
    if (error)
        xtq_refuse(c, credit, error);
    atomic_store_explicit(&credit->tail, tail + bytes, memory_order_release, XTQ_SCOPE);
    return 1;
}

/* The first work-group takes messages; the others share its tasks, those of them that the device runs beside it. */
kernel void xtq_persistent(global struct xtq_control *c)
{
    ulong idle = 0, polls = 0;

    if (get_group_id(0)) {
        while (!atomic_load_explicit(&c->finished, memory_order_acquire, XTQ_SCOPE))
            xtq_chunks(c);
        return;
    }
    while (idle < c->most_idle && !atomic_load_explicit(&c->stop, memory_order_relaxed, XTQ_SCOPE)) {
        uint found = 0;

        for (uint i = 0; i < c->ranks; i++) {
            while (xtq_step(c, i))
                found = 1;
        }
        idle = found ? 0 : idle + 1;
        polls++;
    }
    atomic_store_explicit(&c->polls, polls, memory_order_relaxed, XTQ_SCOPE);
    atomic_store_explicit(&c->finished, 1u, memory_order_release, XTQ_SCOPE);
}
