/* The initiator: puts messages into its lanes at the targets, and waits for their completion (section IV-A). */
#include <errno.h>
#include <string.h>

#include "xtq/internal.h"

#define STEPS_BEFORE_RING 32 /* a few us, in which a target that waits for something answers without being woken */

int xtq_kernel_packet(struct xtq_kernel_packet *packet, unsigned queue, unsigned kernel, unsigned dimensions,
                      const size_t *grid, const size_t *group)
{
    if (!packet)
        return -EINVAL;
    *packet = (struct xtq_kernel_packet){0};
    if (!grid || queue > UINT16_MAX || dimensions < 1 || dimensions > 3)
        return -EINVAL;
    for (unsigned i = 0; i < dimensions; i++) {
        if (grid[i] > UINT32_MAX || (group && group[i] > UINT16_MAX))
            return -EINVAL;
    }
    packet->header = XTQ_KERNEL;
    packet->setup = (uint16_t)dimensions;
    packet->queue = (uint16_t)queue;
    packet->kernel_object = kernel;
    for (unsigned i = 0; i < 3; i++) {
        packet->grid_size[i] = i < dimensions ? (uint32_t)grid[i] : 1;
        packet->workgroup_size[i] = group ? i < dimensions ? (uint16_t)group[i] : 1 : 0;
    }
    return 0;
}

int xtq_function_packet(struct xtq_function_packet *packet, unsigned queue, unsigned function, uint64_t arg2,
                        uint64_t arg3)
{
    if (!packet)
        return -EINVAL;
    *packet = (struct xtq_function_packet){0};
    if (queue > UINT16_MAX || function > UINT16_MAX)
        return -EINVAL;
    packet->header = XTQ_FUNCTION;
    packet->type = (uint16_t)function;
    packet->queue = (uint16_t)queue;
    packet->arg[2] = arg2;
    packet->arg[3] = arg3;
    return 0;
}

struct sender *put_sender(struct xtq *x, unsigned target, unsigned queue)
{
    return &x->senders[(size_t)target * x->queues + queue];
}

/* Takes a message apart. Its packet gets the sizes in place of the addresses that the target will store there. */
static int parts_take(const void *command, size_t command_bytes, const void *payload, size_t payload_bytes,
                      struct ring_parts *out, unsigned *queue)
{
    union ring_packet *packet = &out->packet;

    if (!command || command_bytes < sizeof(*packet))
        return -EINVAL;
    memcpy(packet, command, sizeof(*packet));
    out->arguments = (const uint8_t *)command + sizeof(*packet);
    out->argument_bytes = command_bytes - sizeof(*packet);
    out->payload = payload;
    out->payload_bytes = payload_bytes;
    switch (packet->header & 0xff) {
    case XTQ_KERNEL:
        *queue = packet->kernel.queue;
        packet->kernel.kernarg_address = out->argument_bytes;
        packet->kernel.payload_address = payload_bytes;
        return 0;
    case XTQ_FUNCTION:
        *queue = packet->function.queue;
        packet->function.argument_address = out->argument_bytes;
        packet->function.payload_address = payload_bytes;
        return 0;
    }
    return -EINVAL;
}

/* Wakes the server of a queue, as this rank now waits for quiet puts, too. */
static void wake_for(struct xtq *x, const struct sender *sender, int target, unsigned queue)
{
    if (sender->ring.bytes)
        region_wake(&x->region, (unsigned)target, queue, false);
}

static bool has_room(struct sender *sender, uint64_t bytes)
{
    bool room;

    pthread_mutex_lock(&sender->lock);
    room = ring_has_room(&sender->ring, sender->head, bytes);
    pthread_mutex_unlock(&sender->lock);
    return room;
}

/* Waits, without the lock, until a lane has room. Another thread of this rank may take the room first. */
static int wait_for_room(struct xtq *x, struct sender *sender, int target, unsigned queue, uint64_t bytes)
{
    struct waiting waiting;

    wake_for(x, sender, target, queue);
    waiting_begin(&waiting, &x->waits, target, -1);
    while (!has_room(sender, bytes) &&
           (ring_broken(&sender->ring) ? waiting_fail(&waiting, -EPROTO) : waiting_step(&waiting)))
        ;
    return waiting_end(&waiting);
}

/* Sends padding for the rest of the ring, under the lock. It is a message of its own: a message as large as the ring
 * would never find room together with it. */
static int send_pad(struct xtq *x, struct sender *sender, int target, unsigned queue, uint64_t pad)
{
    struct ring_parts parts = {.packet.pad = {.header = XTQ_PAD, .skip = pad}};
    int error = 0;

    if (sender->ring.bytes) {
        ring_write(ring_at(&sender->ring, sender->head), &parts);
        ring_publish(&sender->ring, sender->head + pad);
    } else {
        error = nic_send(x, target, queue, &parts, NULL);
    }
    sender->head += error ? 0 : pad;
    return error;
}

/* Makes a contiguous place for a message, under the lock. Returns 0; -EAGAIN and in *missed the room that is needed; or
 * another error. */
static int make_place(struct xtq *x, struct sender *sender, int target, unsigned queue, uint64_t bytes,
                      uint64_t *missed)
{
    uint64_t pad = ring_pad(&sender->ring, sender->head, bytes);

    if (pad) {
        int error;

        *missed = pad;
        if (!ring_has_room(&sender->ring, sender->head, pad))
            return -EAGAIN;
        error = send_pad(x, sender, target, queue, pad);
        if (error)
            return error;
    }
    *missed = bytes;
    return ring_has_room(&sender->ring, sender->head, bytes) ? 0 : -EAGAIN;
}

int xtq_put(struct xtq *x, int target, const void *command, size_t command_bytes, const void *payload,
            size_t payload_bytes, unsigned flags, struct xtq_signal *completed)
{
    struct ring_parts parts;
    struct sender *sender;
    const uint64_t since = timeline_since();
    uint64_t bytes, missed = 0, end;
    unsigned queue;
    int error;

    if (!x || target < 0 || target >= x->size || (flags & ~(unsigned)(XTQ_TRY | XTQ_QUIET)) ||
        parts_take(command, command_bytes, payload, payload_bytes, &parts, &queue) || queue >= x->queues)
        return -EINVAL;
    if (command_bytes > x->lane_bytes || payload_bytes > x->lane_bytes)
        return -EMSGSIZE;
    bytes = ring_message_bytes(parts.argument_bytes, payload_bytes);
    if (bytes > x->lane_bytes)
        return -EMSGSIZE;
    if (payload_bytes && !payload)
        return -EINVAL;

    sender = put_sender(x, (unsigned)target, queue);
    pthread_mutex_lock(&sender->lock);
    while ((error = make_place(x, sender, target, queue, bytes, &missed)) != 0) {
        pthread_mutex_unlock(&sender->lock);
        if (error != -EAGAIN)
            return error;
        if ((flags & XTQ_TRY) || server_inside()) {
            wake_for(x, sender, target, queue);
            return -EAGAIN;
        }
        error = wait_for_room(x, sender, target, queue, missed);
        if (error)
            return error;
        pthread_mutex_lock(&sender->lock);
    }
    if (!sender->ring.bytes) {
        error = nic_send(x, target, queue, &parts, completed);
        if (!error)
            sender->head += bytes;
        end = sender->head;
        pthread_mutex_unlock(&sender->lock);
        if (!error)
            timeline_of_put(x, since, target, &parts, end);
        return error;
    }
    ring_write(ring_at(&sender->ring, sender->head), &parts);
    sender->head += bytes;
    end = sender->head;
    context_sent(x);
    ring_publish(&sender->ring, sender->head);
    pthread_mutex_unlock(&sender->lock);
    region_wake(&x->region, (unsigned)target, queue, flags & XTQ_QUIET);
    if (completed)
        xtq_signal_add(completed, -1);
    timeline_of_put(x, since, target, &parts, end);
    return 0;
}

/* Returns the position up to which messages have completed, or never will, because the lane is closed. */
static uint64_t lane_completed(const struct sender *sender)
{
    return ring_broken(&sender->ring) ? sender->head
                                      : atomic_load_explicit(&sender->ring.credit->tail, memory_order_acquire);
}

static bool lane_done(struct sender *sender)
{
    bool done;

    pthread_mutex_lock(&sender->lock);
    done = lane_completed(sender) == sender->head;
    pthread_mutex_unlock(&sender->lock);
    return done;
}

static bool all_done(struct xtq *x, int target)
{
    for (unsigned queue = 0; queue < x->queues; queue++) {
        if (!lane_done(put_sender(x, (unsigned)target, queue)))
            return false;
    }
    return true;
}

void put_count(struct xtq *x, uint64_t *sent, uint64_t *completed)
{
    *sent = *completed = 0;
    for (unsigned i = 0; i < (unsigned)x->size * x->queues; i++) {
        struct sender *sender = &x->senders[i];

        pthread_mutex_lock(&sender->lock);
        *completed += lane_completed(sender);
        *sent += sender->head;
        pthread_mutex_unlock(&sender->lock);
    }
}

static void wake_for_all(struct xtq *x, int target)
{
    for (unsigned queue = 0; queue < x->queues; queue++) {
        struct sender *sender = put_sender(x, (unsigned)target, queue);

        if (!lane_done(sender))
            wake_for(x, sender, target, queue);
    }
}

int xtq_quiet(struct xtq *x, int target)
{
    const uint64_t since = timeline_since();
    struct waiting waiting;
    int error;

    if (!x || target < 0 || target >= x->size)
        return -EINVAL;
    if (all_done(x, target))
        return 0;
    if (server_inside())
        return -EDEADLK;
    waiting_begin(&waiting, &x->waits, target, -1);
    for (unsigned steps = 1; !all_done(x, target) && waiting_step(&waiting); steps++) {
        if (steps == STEPS_BEFORE_RING)
            wake_for_all(x, target);
    }
    error = waiting_end(&waiting);
    error = error && all_done(x, target) ? 0 : error;
    timeline_of_wait(x, since, NULL);
    return error;
}

int xtq_fence(struct xtq *x, int target)
{
    return xtq_quiet(x, target);
}

int xtq_error(struct xtq *x, int target, unsigned queue, struct xtq_error *out)
{
    const struct ring_credit *credit;

    if (!x || !out || target < 0 || target >= x->size || queue >= x->queues)
        return -EINVAL;
    credit = put_sender(x, (unsigned)target, queue)->ring.credit;
    out->count = atomic_load_explicit(&credit->errors, memory_order_acquire);
    out->last = out->count ? atomic_load_explicit(&credit->last_error, memory_order_relaxed) : 0;
    return 0;
}
