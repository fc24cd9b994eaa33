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
    uint64_t room, bytes, arguments = 0, payload = 0;
    int error = ring_waits(ring, position, &room);

    if (error || !room)
        return error;
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
