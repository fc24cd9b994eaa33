/*
 * A ring in memory that two processes share. Only one side writes the bytes and the bell (how far it has written), only
 * the other one the credit (how far it has read). Both are positions in bytes that only grow, so the two sides need
 * neither locks nor atomic read-modify-write, and a writer that dies while it writes has not sent. This order is
 * checked with spin: tests/xtq/ring.pml.
 *
 * What is sent is contiguous, and begins at a multiple of RING_LINE; if the rest of the ring is too short for it, the
 * rest is skipped, in a way that the two sides have agreed on.
 */
#ifndef VOCL_BASE_RING_H
#define VOCL_BASE_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_LINE 64

/* What the reader reports to the writer. */
struct ring_credit {
    _Atomic uint64_t tail; /* read up to here */
    _Atomic uint64_t errors;
    _Atomic int32_t last_error;
    _Atomic int32_t broken; /* what was written is invalid: the ring is closed */
} __attribute__((aligned(RING_LINE)));

struct ring {
    uint8_t *bytes;
    size_t size; /* a power of two */
    _Atomic uint64_t *bell;
    struct ring_credit *credit;
};

static inline uint64_t ring_lines(uint64_t bytes)
{
    return (bytes + RING_LINE - 1) & ~(uint64_t)(RING_LINE - 1);
}

static inline uint8_t *ring_at(const struct ring *ring, uint64_t position)
{
    return ring->bytes + (position & (ring->size - 1));
}

/* Returns the bytes from position to the ring's end. */
static inline uint64_t ring_rest(const struct ring *ring, uint64_t position)
{
    return ring->size - (position & (ring->size - 1));
}

/* ---- the writer ---- */

/* Returns how many bytes to skip at position, since what comes next does not fit before the ring's end. */
static inline uint64_t ring_pad(const struct ring *ring, uint64_t position, uint64_t bytes)
{
    uint64_t rest = ring_rest(ring, position);

    return bytes > rest ? rest : 0;
}

/* Whether `bytes` bytes fit at head, by what the reader has reported. */
static inline bool ring_has_room(const struct ring *ring, uint64_t head, uint64_t bytes)
{
    return head + bytes - atomic_load_explicit(&ring->credit->tail, memory_order_acquire) <= ring->size;
}

/* Publishes everything up to head. Sequentially consistent: the writer then looks whether the reader sleeps, and the
 * reader says so before its last look at the bell. */
static inline void ring_publish(const struct ring *ring, uint64_t head)
{
    atomic_store(ring->bell, head);
}

/* The same for a reader that is woken in another way. */
static inline void ring_publish_only(const struct ring *ring, uint64_t head)
{
    atomic_store_explicit(ring->bell, head, memory_order_release);
}

static inline bool ring_broken(const struct ring *ring)
{
    return atomic_load_explicit(&ring->credit->broken, memory_order_acquire);
}

/* ---- the reader ---- */

/* Gets the bytes to be read from position on, contiguous: 0 if there are none. Returns 0, or -EPROTO if the writer's
 * position is invalid. */
static inline int ring_waits(const struct ring *ring, uint64_t position, uint64_t *bytes)
{
    const uint64_t waits = atomic_load(ring->bell) - position, rest = ring_rest(ring, position);

    *bytes = waits < rest ? waits : rest;
    return waits > ring->size || waits % RING_LINE ? -EPROTO : 0;
}

/* Reports that everything up to tail has been read. */
static inline void ring_retire(const struct ring *ring, uint64_t tail)
{
    atomic_store_explicit(&ring->credit->tail, tail, memory_order_release);
}

static inline void ring_refuse(const struct ring *ring, int error)
{
    atomic_store_explicit(&ring->credit->last_error, error, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->credit->errors, 1, memory_order_release);
}

static inline void ring_break(const struct ring *ring)
{
    atomic_store(&ring->credit->broken, 1);
}

#endif
