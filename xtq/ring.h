/*
 * A lane: the ring (base/ring.h) of one initiator into one queue of a target. A message is a packet of 64 bytes, its
 * arguments and its payload (the paper's Figure 3), each from a multiple of 64, and lies in one piece: if the rest of
 * the ring is too short for it, a pad is left there.
 */
#ifndef XTQ_RING_H
#define XTQ_RING_H

#include "base/ring.h"
#include "xtq.h"

union ring_packet {
    uint16_t header;
    struct xtq_kernel_packet kernel;
    struct xtq_function_packet function;
    struct {
        uint16_t header, reserved[3];
        uint64_t skip; /* bytes, this packet's included */
    } pad;
};
_Static_assert(sizeof(union ring_packet) == RING_LINE, "a packet is 64 bytes");

/* A message as the target has found it: the packet is a copy, which the initiator cannot change any more. */
struct ring_message {
    union ring_packet packet;
    uint8_t *arguments, *payload;
    size_t argument_bytes, payload_bytes;
    uint64_t end; /* position after it */
};

/* Bytes that a message takes; of sizes that fit in 32 bits. */
static inline uint64_t ring_message_bytes(uint64_t argument_bytes, uint64_t payload_bytes)
{
    return RING_LINE + ring_lines(argument_bytes) + ring_lines(payload_bytes);
}

/* What a message is made of; the sizes in the packet are the same. */
struct ring_parts {
    union ring_packet packet;
    const void *arguments, *payload;
    size_t argument_bytes, payload_bytes;
};
/* Put it together as it lies in a lane; what is between its parts is not written. */
void ring_write(uint8_t *at, const struct ring_parts *parts);
/* The sizes that a packet, not a pad, says; false if it is of no known type. */
bool ring_sizes(const union ring_packet *packet, uint64_t *arguments, uint64_t *payload);

/*
 * The message at position: 1 and the message, 0 if there is none yet, -EPROTO if what the initiator has written cannot
 * be: nothing after that can be trusted to be a message.
 */
int ring_next(const struct ring *ring, uint64_t position, struct ring_message *out);

#endif
