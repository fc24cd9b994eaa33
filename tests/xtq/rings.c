/* A ring in plain memory: two threads with messages of all sizes (run it under the thread sanitizer), and arbitrary
 * bytes, as from a broken initiator. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "tests/draw.h"
#include "xtq/ring.h"

enum { SIZE = 4096, MESSAGES = 200000 };

static uint8_t bytes[SIZE] __attribute__((aligned(64)));
static _Atomic uint64_t bell;
static struct ring_credit credit;
static const struct ring ring = {.bytes = bytes, .size = SIZE, .bell = &bell, .credit = &credit};

/* From 0 to the whole ring. */
static size_t size_of(uint64_t *state)
{
    uint32_t kind = draw_below(state, 16);

    return kind == 0 ? SIZE - 64 - draw_below(state, 2000) : draw_below(state, kind < 4 ? 1 : 300);
}

static void wait_room(uint64_t head, uint64_t room)
{
    while (!ring_has_room(&ring, head, room))
        sched_yield();
}

static void *initiator(void *argument)
{
    uint64_t state = 7;
    uint64_t head = 0;

    for (uint64_t i = 0; i < MESSAGES; i++) {
        size_t payload = size_of(&state);
        uint64_t length = ring_message_bytes(0, payload), pad = ring_pad(&ring, head, length);
        union ring_packet packet = {.function = {.header = XTQ_FUNCTION, .payload_address = payload, .arg = {i}}};
        union ring_packet rest = {.pad = {.header = XTQ_PAD, .skip = pad}};

        if (pad) {
            wait_room(head, pad);
            memcpy(ring_at(&ring, head), &rest, sizeof(rest));
            head += pad;
            ring_publish(&ring, head);
        }
        wait_room(head, length);
        memcpy(ring_at(&ring, head), &packet, sizeof(packet));
        memset(ring_at(&ring, head) + RING_LINE, (int)(i % 251), payload);
        head += length;
        ring_publish(&ring, head);
    }
    return argument;
}

static void two_threads(void)
{
    uint64_t state = 7;
    uint64_t position = 0;
    pthread_t thread;

    assert(!pthread_create(&thread, NULL, initiator, NULL));
    for (uint64_t i = 0; i < MESSAGES;) {
        struct ring_message message;
        int found = ring_next(&ring, position, &message);

        assert(found >= 0);
        if (!found) {
            sched_yield();
            continue;
        }
        if ((message.packet.header & 0xff) != XTQ_PAD) {
            assert(message.packet.function.arg[0] == i);
            assert(message.payload_bytes == size_of(&state));
            for (size_t k = 0; k < message.payload_bytes; k++)
                assert(message.payload[k] == i % 251);
            i++;
        }
        position = message.end;
        ring_retire(&ring, position);
    }
    assert(!pthread_join(thread, NULL));
}

/* Whatever bytes the ring has, a message lies within the ring, or there is none. */
static void any_bytes(void)
{
    uint64_t state = 99;

    for (int round = 0; round < 300000; round++) {
        static const uint16_t headers[] = {XTQ_PAD, XTQ_KERNEL, XTQ_FUNCTION, XTQ_KERNEL | XTQ_BARRIER, 0, 0xffff};
        uint64_t position = draw_below(&state, 1000) * 64, room = draw_below(&state, 80) * 64;
        union ring_packet packet;
        struct ring_message message;
        int found;

        for (size_t i = 0; i < sizeof(packet); i++)
            ((uint8_t *)&packet)[i] = (uint8_t)draw(&state);
        packet.header = headers[draw_below(&state, 6)];
        if (draw_below(&state, 2)) {
            packet.kernel.kernarg_address = draw_below(&state, 3000);
            packet.kernel.payload_address = draw_below(&state, 3000);
            packet.function.argument_address = draw_below(&state, 6000);
        } else if (draw_below(&state, 2)) {
            packet.kernel.kernarg_address = UINT64_MAX - draw_below(&state, 100);
            packet.kernel.payload_address = UINT64_MAX - draw_below(&state, 100);
        }
        memcpy(ring_at(&ring, position), &packet, sizeof(packet));
        if (draw_below(&state, 10) == 0)
            room = draw(&state) << 32 | (uint32_t)draw(&state);
        atomic_store(&bell, position + room);
        found = ring_next(&ring, position, &message);
        assert(found == 0 || found == 1 || found == -EPROTO);
        assert((found == 0) == (room == 0));
        if (found != 1)
            continue;
        assert(message.end > position && message.end <= position + room);
        assert(ring_at(&ring, position) + (message.end - position) <= bytes + SIZE);
        if ((message.packet.header & 0xff) == XTQ_PAD)
            continue;
        assert(message.arguments + message.argument_bytes <= bytes + SIZE);
        assert(message.payload + message.payload_bytes <= bytes + SIZE);
        assert(message.payload >= message.arguments + message.argument_bytes);
    }
}

int main(void)
{
    two_threads();
    any_bytes();
    return 0;
}
