/* See ring.h. */
#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "xtq/ring.h"

#define STREAMED_BYTES (32 << 10) /* payloads of at least this size bypass the caches */

/*
 * Copies to `to`, which is the beginning of a cache line. Long data bypass the caches if the processor can do that: the
 * reader had these lines last, and if the two processors share no cache, fetching the lines from there takes longer
 * than writing to memory.
 */
static void write_past_caches(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t done = 0;

#ifdef __SSE2__
    for (; bytes >= STREAMED_BYTES && done + RING_LINE <= bytes; done += RING_LINE) {
        for (size_t i = done; i < done + RING_LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    }
    if (done)
        _mm_sfence(); /* such stores are not ordered with that of the bell */
#endif
    memcpy(to + done, from + done, bytes - done);
}

void ring_write(uint8_t *at, const struct ring_parts *parts)
{
    memcpy(at, &parts->packet, sizeof(parts->packet));
    if (parts->argument_bytes)
        memcpy(at + RING_LINE, parts->arguments, parts->argument_bytes);
    if (parts->payload_bytes)
        write_past_caches(at + RING_LINE + ring_lines(parts->argument_bytes), parts->payload, parts->payload_bytes);
}

uint64_t ring_sizes(struct ring_message *m, uint64_t room)
{
    uint64_t bytes;

    m->argument_bytes = m->payload_bytes = 0;
    switch (m->packet.header & 0xff) {
    case XTQ_PAD:
        bytes = m->packet.pad.skip;
        return bytes < RING_LINE || bytes > room || bytes % RING_LINE ? 0 : bytes;
    case XTQ_KERNEL:
        m->argument_bytes = m->packet.kernel.kernarg_address;
        m->payload_bytes = m->packet.kernel.payload_address;
        break;
    case XTQ_FUNCTION:
        m->argument_bytes = m->packet.function.argument_address;
        m->payload_bytes = m->packet.function.payload_address;
        break;
    default:
        return 0;
    }
    if (m->argument_bytes > room || m->payload_bytes > room)
        return 0;
    bytes = ring_message_bytes(m->argument_bytes, m->payload_bytes);
    return bytes <= room ? bytes : 0;
}

int ring_next(const struct ring *ring, uint64_t position, struct ring_message *out)
{
    uint64_t room, bytes;
    int error = ring_waits(ring, position, &room);

    if (error || !room)
        return error;
    memcpy(&out->packet, ring_at(ring, position), sizeof(out->packet));
    bytes = ring_sizes(out, room);
    if (!bytes)
        return -EPROTO;
    out->arguments = ring_at(ring, position) + RING_LINE;
    out->payload = out->arguments + ring_lines(out->argument_bytes);
    out->end = position + bytes;
    return 1;
}
