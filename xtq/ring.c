/* See ring.h. */
#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/clock.h"
#include "xtq/ring.h"

#define LONG_BYTES (32 << 10) /* from here on a payload may go past the caches */
#define TRIED_EVERY 256       /* of the long ones, both ways are tried, */
#define FIRST_TRIED 32        /* when the ring has been gone round, so that the target has had its lines, */
#define TRIED 6               /* so many times in turns */
#define WORTH_NS 10           /* more that a line takes through the caches than past them */

/* Past the caches, to `to`, which is at the begin of a line, where there is a way. What is left to copy. */
static size_t write_past_caches(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t done = 0;

#ifdef __SSE2__
    for (; done + RING_LINE <= bytes; done += RING_LINE) {
        for (size_t i = done; i < done + RING_LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    }
    _mm_sfence(); /* such stores come in no order with the bell */
#endif
    return bytes - done;
}

static void write_long(uint8_t *to, const uint8_t *from, size_t bytes, bool past)
{
    size_t left = past ? write_past_caches(to, from, bytes) : bytes;

    memcpy(to + (bytes - left), from + (bytes - left), left);
}

/*
 * The target had these lines last. Where the two processors have a cache in common they come from there; where they
 * have none it costs ten times as much to take them than to write to memory, and little more to read from there. The
 * machine does not say, and under a hypervisor it changes: so time tells, again and again.
 */
static void write_by_trial(struct ring_ways *ways, uint8_t *to, const uint8_t *from, size_t bytes)
{
    const unsigned at = ways->messages++ % TRIED_EVERY;
    const bool tried = at >= FIRST_TRIED && at < FIRST_TRIED + TRIED, past = tried ? at % 2 : !ways->through_caches;
    long begin = tried ? clock_ns() : 0, line_ps;

    write_long(to, from, bytes, past);
    if (!tried)
        return;
    line_ps = (clock_ns() - begin) * 1000 / (long)(bytes / RING_LINE);
    if (at < FIRST_TRIED + 2 || line_ps < ways->line_ps[past]) /* the least: others may have had the core meanwhile */
        ways->line_ps[past] = line_ps;
    if (at == FIRST_TRIED + TRIED - 1)
        ways->through_caches = ways->line_ps[false] - ways->line_ps[true] < WORTH_NS * 1000;
}

void ring_write(uint8_t *at, const struct ring_parts *parts, struct ring_ways *ways)
{
    uint8_t *to = at + RING_LINE + ring_lines(parts->argument_bytes);

    memcpy(at, &parts->packet, sizeof(parts->packet));
    if (parts->argument_bytes)
        memcpy(at + RING_LINE, parts->arguments, parts->argument_bytes);
    if (ways && parts->payload_bytes >= LONG_BYTES)
        write_by_trial(ways, to, parts->payload, parts->payload_bytes);
    else if (parts->payload_bytes)
        memcpy(to, parts->payload, parts->payload_bytes);
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
