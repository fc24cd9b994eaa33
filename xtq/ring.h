/*
 * A lane: the ring of one initiator into one queue of a target. The initiator alone writes messages and the bell, the
 * target alone the credit; both are positions in bytes that only grow, so a lane needs neither locks nor read-modify-
 * write operations between the two, and an initiator that dies in the middle of a message has not sent it. This order
 * is checked with spin: tests/xtq/ring.pml.
 *
 * A message is a packet of 64 bytes, its arguments and its payload (the paper's Figure 3), each from a multiple of 64,
 * and lies in one piece: if the rest of the ring is too short for it, a pad is left there.
 */
#ifndef XTQ_RING_H
#define XTQ_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtq.h"

#define RING_LINE 64

/* What the target tells the initiator. */
struct ring_credit {
    _Atomic uint64_t tail; /* up to here all messages have completed */
    _Atomic uint64_t errors;
    _Atomic int32_t last_error;
    _Atomic int32_t broken; /* what the initiator has written cannot be: the lane is closed */
} __attribute__((aligned(RING_LINE)));

struct ring {
    uint8_t *bytes;
    size_t size; /* a power of two */
    _Atomic uint64_t *bell;
    struct ring_credit *credit;
};

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

static inline uint64_t ring_lines(uint64_t bytes)
{
    return (bytes + RING_LINE - 1) & ~(uint64_t)(RING_LINE - 1);
}

/* Bytes that a message takes; of sizes that fit in 32 bits. */
static inline uint64_t ring_message_bytes(uint64_t argument_bytes, uint64_t payload_bytes)
{
    return RING_LINE + ring_lines(argument_bytes) + ring_lines(payload_bytes);
}

static inline uint8_t *ring_at(const struct ring *ring, uint64_t position)
{
    return ring->bytes + (position & (ring->size - 1));
}

/* Bytes from position to the ring's end if a message does not fit there, else 0. */
static inline uint64_t ring_pad(const struct ring *ring, uint64_t position, uint64_t bytes)
{
    uint64_t rest = ring->size - (position & (ring->size - 1));

    return bytes > rest ? rest : 0;
}

/* Whether bytes fit at head, by what the target has said. */
static inline bool ring_has_room(const struct ring *ring, uint64_t head, uint64_t bytes)
{
    return head + bytes - atomic_load_explicit(&ring->credit->tail, memory_order_acquire) <= ring->size;
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

/* The message may be seen up to head from now on. */
void ring_publish(const struct ring *ring, uint64_t head);

/*
 * The message at position: 1 and the message, 0 if there is none yet, -EPROTO if what the initiator has written cannot
 * be: nothing after that can be trusted to be a message.
 */
int ring_next(const struct ring *ring, uint64_t position, struct ring_message *out);

/* The target is done with everything up to tail. */
void ring_retire(const struct ring *ring, uint64_t tail);
void ring_refuse(const struct ring *ring, int error);
void ring_break(const struct ring *ring);
bool ring_broken(const struct ring *ring);

#endif
