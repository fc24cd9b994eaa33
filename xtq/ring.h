/*
 * A lane: the ring buffer (base/ring.h) of one initiator into one queue of a target. A message consists of a packet of
 * 64 bytes, its arguments and its payload (the paper's Figure 3), each aligned to 64 bytes. It is contiguous: if the
 * rest of the ring is too short for it, a padding packet fills that rest.
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
        uint64_t skip; /* bytes to skip, this packet's included */
    } pad;
};
_Static_assert(sizeof(union ring_packet) == RING_LINE, "a packet is 64 bytes");

/* A message that the target has found. The packet is a copy, so that the initiator cannot change it any more. */
struct ring_message {
    union ring_packet packet;
    uint8_t *arguments, *payload;
    size_t argument_bytes, payload_bytes;
    uint64_t end; /* position after the message */
};

/* Returns the bytes that a message occupies. Both sizes must fit into 32 bits. */
static inline uint64_t ring_message_bytes(uint64_t argument_bytes, uint64_t payload_bytes)
{
    return RING_LINE + ring_lines(argument_bytes) + ring_lines(payload_bytes);
}

/* The parts of a message. The packet has the same sizes. */
struct ring_parts {
    union ring_packet packet;
    const void *arguments, *payload;
    size_t argument_bytes, payload_bytes;
};
/* Writes a message to its place in a lane. The gaps between its parts are not written. */
void ring_write(uint8_t *at, const struct ring_parts *parts);
/* Takes the sizes of a message from its packet. Returns the bytes that it occupies, or that padding skips; 0: the
 * packet is invalid, or says more than room. */
uint64_t ring_sizes(struct ring_message *message, uint64_t room);

/*
 * Finds the message at a position. Returns 1 and the message; 0: there is none yet; -EPROTO: the initiator has written
 * something invalid, and what follows cannot be trusted to be a message.
 */
int ring_next(const struct ring *ring, uint64_t position, struct ring_message *out);

#endif
