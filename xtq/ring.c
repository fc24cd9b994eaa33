/* See ring.h. */
#include <errno.h>
#include <string.h>

#include "xtq/ring.h"

/* Sequentially consistent, as the initiator looks next whether the target sleeps, which has said so before it looked at
 * the bell for the last time. */
void ring_publish(const struct ring *ring, uint64_t head)
{
    atomic_store(ring->bell, head);
}

void ring_write(uint8_t *at, const struct ring_parts *parts)
{
    memcpy(at, &parts->packet, sizeof(parts->packet));
    if (parts->argument_bytes)
        memcpy(at + RING_LINE, parts->arguments, parts->argument_bytes);
    if (parts->payload_bytes)
        memcpy(at + RING_LINE + ring_lines(parts->argument_bytes), parts->payload, parts->payload_bytes);
}

bool ring_sizes(const union ring_packet *packet, uint64_t *arguments, uint64_t *payload)
{
    switch (packet->header & 0xff) {
    case XTQ_KERNEL:
        *arguments = packet->kernel.kernarg_address;
        *payload = packet->kernel.payload_address;
        return true;
    case XTQ_FUNCTION:
        *arguments = packet->function.argument_address;
        *payload = packet->function.payload_address;
        return true;
    }
    return false;
}

int ring_next(const struct ring *ring, uint64_t position, struct ring_message *out)
{
    uint64_t bell = atomic_load(ring->bell), bytes, arguments = 0, payload = 0;
    uint64_t room = bell - position, rest = ring->size - (position & (ring->size - 1));

    if (room == 0)
        return 0;
    if (room > ring->size || room % RING_LINE)
        return -EPROTO;
    room = room < rest ? room : rest;
    memcpy(&out->packet, ring_at(ring, position), sizeof(out->packet));
    if ((out->packet.header & 0xff) == XTQ_PAD) {
        bytes = out->packet.pad.skip;
        if (bytes < RING_LINE || bytes > room || bytes % RING_LINE)
            return -EPROTO;
    } else {
        if (!ring_sizes(&out->packet, &arguments, &payload) || arguments > room || payload > room)
            return -EPROTO;
        bytes = ring_message_bytes(arguments, payload);
        if (bytes > room)
            return -EPROTO;
    }
    out->argument_bytes = arguments;
    out->payload_bytes = payload;
    out->arguments = ring_at(ring, position) + RING_LINE;
    out->payload = out->arguments + ring_lines(arguments);
    out->end = position + bytes;
    return 1;
}

void ring_retire(const struct ring *ring, uint64_t tail)
{
    atomic_store_explicit(&ring->credit->tail, tail, memory_order_release);
}

void ring_break(const struct ring *ring)
{
    atomic_store(&ring->credit->broken, 1);
}

bool ring_broken(const struct ring *ring)
{
    return atomic_load_explicit(&ring->credit->broken, memory_order_acquire);
}

void ring_refuse(const struct ring *ring, int error)
{
    atomic_store_explicit(&ring->credit->last_error, error, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->credit->errors, 1, memory_order_release);
}
