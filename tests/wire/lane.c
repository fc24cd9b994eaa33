/* Frames through memory: they arrive, whatever the other side writes there cannot do more than be a wrong frame, and
 * memory that is not what was offered is not taken. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#undef NDEBUG
#include <assert.h>

#include "tests/draw.h"
#include "transport/shm/lane.h"
#include "transport/transport.h"

#define RING (128 << 10)
#define MOST_FRAMES (RING / LANE_FRAME)

/* Who sleeps is rung once, for frames and for what he waits for to be taken. */
static void sleeps(struct lane *one, struct lane *other)
{
    assert(!lane_must_ring(one) && !lane_must_ring(other));
    lane_lie_down(one);
    assert(!lane_must_ring(one)); /* it is the other that rings */
    assert(lane_must_ring(other) && !lane_must_ring(other));
    lane_lie_down(one);
    lane_get_up(one);
    assert(!lane_must_ring(other));

    lane_want_taken(one, 3);
    lane_lie_down(one);
    lane_took(other, 2);
    assert(lane_taken(one) == 2 && !lane_must_ring_for_taken(other)); /* which is not all */
    lane_took(other, 3);
    assert(lane_taken(one) == 3 && lane_must_ring_for_taken(other) && !lane_must_ring_for_taken(other));
    lane_lie_down(one);
    assert(!lane_must_ring_for_taken(other)); /* it was told */
    lane_took(other, 4);
    assert(!lane_must_ring_for_taken(other)); /* it did not want that */
    lane_want_taken(one, 5);
    lane_get_up(one);
    lane_took(other, 5);
    assert(!lane_must_ring_for_taken(other)); /* awake, it sees */
}

int main(void)
{
    struct lane application, worker, other;
    struct memory_address offer, wrong;
    uint32_t kind, acked, last;
    uint64_t state = 5;
    uint8_t frame[LANE_FRAME + 1];
    const uint8_t *bytes;
    size_t length;
    int fd;

    memset(frame, 1, sizeof(frame));
    assert(!lane_offer(&application, &offer));
    assert(!lane_send(&application, 0, 1, 0, frame, 10)); /* nobody has taken it yet */
    assert(!lane_accept(&worker, &offer));
    lane_confirm(&application);
    assert(application.fd < 0);
    sleeps(&application, &worker);
    sleeps(&worker, &application);
    for (uint32_t number = UINT32_MAX - 500; number != 500; number++) {
        memset(frame, (int)(number % 251), sizeof(frame));
        assert(!lane_waits(&worker, number));
        assert(lane_send(&application, number, number % 3, number - 1, frame, number % (LANE_FRAME + 1)));
        assert(lane_waits(&worker, number) && !lane_waits(&application, number));
        bytes = lane_receive(&worker, number, &kind, &acked, &length);
        assert(kind == number % 3 && acked == number - 1 && length == number % (LANE_FRAME + 1));
        assert(!memcmp(bytes, frame, length));
        assert(lane_send(&worker, number, 7, 8, frame, 5));
        assert(lane_waits(&application, number));
        lane_receive(&application, number, &kind, &acked, &length);
        assert(kind == 7 && acked == 8 && length == 5);
    }
    assert(!lane_send(&application, 500, 1, 0, frame, LANE_FRAME + 1));

    /* some of the largest fit but for the ring's end; then there is no room, until something has been read */
    for (last = 500; lane_send(&application, last, 1, 0, frame, LANE_FRAME); last++)
        assert(last < 500 + MOST_FRAMES);
    assert(last >= 500 + MOST_FRAMES - 1);
    for (uint32_t number = 500; number != last; number++) {
        assert(!lane_waits(&worker, number - 1));
        assert(lane_receive(&worker, number, &kind, &acked, &length) && length == LANE_FRAME && kind == 1);
    }
    assert(!lane_receive(&worker, last, &kind, &acked, &length));
    assert(lane_send(&application, last, 3, 0, frame, 1));
    assert(!lane_receive(&worker, last - 1, &kind, &acked, &length)); /* that comes by another way, and is first */
    assert(lane_receive(&worker, last + 1, &kind, &acked, &length) && kind == LANE_NONSENSE); /* nobody waits for it */

    /* anything at all in the memory */
    for (int round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 200; i++) {
            const uint32_t at = draw_below(&state, i % 2 ? 64 : 2 * RING / 4);

            ((uint32_t *)worker.memory)[at] = (uint32_t)draw(&state);
        }
        for (uint32_t number = 0; number < TRANSPORT_WINDOW; number++) {
            if (lane_receive(&worker, number, &kind, &acked, &length))
                assert(length <= LANE_FRAME);
            length = number * 32;
            lane_send(&worker, number, kind, acked, frame, length); /* whatever the other says that it has read */
        }
    }
    lane_close(&worker);
    lane_close(&application);

    assert(!lane_offer(&application, &offer));
    wrong = offer;
    wrong.nonce[3] ^= 1;
    assert(lane_accept(&other, &wrong));
    wrong = offer;
    wrong.descriptor = 1000000;
    assert(lane_accept(&other, &wrong));
    fd = memfd_create("small", MFD_CLOEXEC);
    assert(fd >= 0 && !ftruncate(fd, 4096));
    wrong = offer;
    wrong.descriptor = (uint32_t)fd;
    assert(lane_accept(&other, &wrong)); /* of another size */
    assert(!ftruncate(fd, lseek(application.fd, 0, SEEK_END)));
    assert(lane_accept(&other, &wrong)); /* that could shrink under our hands */
    close(fd);
    lane_close(&application);
    return 0;
}
