/* Frames through a shared-memory ring arrive; anything that the other side writes there gives a wrong frame at worst;
 * and memory other than the offered is not accepted. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#undef NDEBUG
#include <assert.h>

#include "tests/draw.h"
#include "transport/shm/ring.h"
#include "transport/transport.h"

#define RING (128 << 10)
#define MOST_FRAMES (RING / SHM_RING_FRAME)

/* A sleeping side is rung once, for frames and when its own frames have been taken. */
static void sleeps(struct shm_ring *one, struct shm_ring *other)
{
    assert(!shm_ring_must_ring(one) && !shm_ring_must_ring(other));
    shm_ring_lie_down(one);
    assert(!shm_ring_must_ring(one)); /* the other side rings */
    assert(shm_ring_must_ring(other) && !shm_ring_must_ring(other));
    shm_ring_lie_down(one);
    shm_ring_get_up(one);
    assert(!shm_ring_must_ring(other));

    shm_ring_want_taken(one, 3);
    shm_ring_lie_down(one);
    shm_ring_took(other, 2);
    assert(shm_ring_taken(one) == 2 && !shm_ring_must_ring_for_taken(other)); /* not all of them */
    shm_ring_took(other, 3);
    assert(shm_ring_taken(one) == 3 && shm_ring_must_ring_for_taken(other) && !shm_ring_must_ring_for_taken(other));
    shm_ring_lie_down(one);
    assert(!shm_ring_must_ring_for_taken(other)); /* it was rung already */
    shm_ring_took(other, 4);
    assert(!shm_ring_must_ring_for_taken(other)); /* it did not ask for that */
    shm_ring_want_taken(one, 5);
    shm_ring_get_up(one);
    shm_ring_took(other, 5);
    assert(!shm_ring_must_ring_for_taken(other)); /* it is awake */
}

int main(void)
{
    struct shm_ring application, worker, other;
    struct memory_address offer, wrong;
    uint32_t kind, acked, last;
    uint64_t state = 5;
    uint8_t frame[SHM_RING_FRAME + 1];
    const uint8_t *bytes;
    size_t length;
    int fd;

    memset(frame, 1, sizeof(frame));
    assert(!shm_ring_offer(&application, &offer));
    assert(!shm_ring_send(&application, 0, 1, 0, frame, 10)); /* no peer has accepted the memory yet */
    assert(!shm_ring_accept(&worker, &offer));
    shm_ring_confirm(&application);
    assert(application.fd.fd < 0);
    sleeps(&application, &worker);
    sleeps(&worker, &application);
    for (uint32_t number = UINT32_MAX - 500; number != 500; number++) {
        memset(frame, (int)(number % 251), sizeof(frame));
        assert(!shm_ring_waits(&worker, number));
        assert(shm_ring_send(&application, number, number % 3, number - 1, frame, number % (SHM_RING_FRAME + 1)));
        assert(shm_ring_waits(&worker, number) && !shm_ring_waits(&application, number));
        bytes = shm_ring_receive(&worker, number, &kind, &acked, &length);
        assert(kind == number % 3 && acked == number - 1 && length == number % (SHM_RING_FRAME + 1));
        assert(!memcmp(bytes, frame, length));
        assert(shm_ring_send(&worker, number, 7, 8, frame, 5));
        assert(shm_ring_waits(&application, number));
        shm_ring_receive(&application, number, &kind, &acked, &length);
        assert(kind == 7 && acked == 8 && length == 5);
    }
    assert(!shm_ring_send(&application, 500, 1, 0, frame, SHM_RING_FRAME + 1));

    /* some frames of the largest size fit, up to the ring's end; then there is no room until something is read */
    for (last = 500; shm_ring_send(&application, last, 1, 0, frame, SHM_RING_FRAME); last++)
        assert(last < 500 + MOST_FRAMES);
    assert(last >= 500 + MOST_FRAMES - 1);
    for (uint32_t number = 500; number != last; number++) {
        assert(!shm_ring_waits(&worker, number - 1));
        assert(shm_ring_receive(&worker, number, &kind, &acked, &length) && length == SHM_RING_FRAME && kind == 1);
    }
    assert(!shm_ring_receive(&worker, last, &kind, &acked, &length));
    assert(shm_ring_send(&application, last, 3, 0, frame, 1));
    assert(!shm_ring_receive(&worker, last - 1, &kind, &acked, &length)); /* it takes another way, and is first */
    assert(shm_ring_receive(&worker, last + 1, &kind, &acked, &length) &&
           kind == SHM_RING_NONSENSE); /* no such number is expected */

    /* arbitrary bytes in the memory */
    for (int round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 200; i++) {
            const uint32_t at = draw_below(&state, i % 2 ? 64 : 2 * RING / 4);

            ((uint32_t *)worker.memory)[at] = (uint32_t)draw(&state);
        }
        for (uint32_t number = 0; number < TRANSPORT_WINDOW; number++) {
            if (shm_ring_receive(&worker, number, &kind, &acked, &length))
                assert(length <= SHM_RING_FRAME);
            length = number * 32;
            shm_ring_send(&worker, number, kind, acked, frame, length); /* the other side may claim anything */
        }
    }
    shm_ring_close(&worker);
    shm_ring_close(&application);

    assert(!shm_ring_offer(&application, &offer));
    wrong = offer;
    wrong.nonce[3] ^= 1;
    assert(shm_ring_accept(&other, &wrong));
    wrong = offer;
    wrong.descriptor = 1000000;
    assert(shm_ring_accept(&other, &wrong));
    fd = memfd_create("small", MFD_CLOEXEC);
    assert(fd >= 0 && !ftruncate(fd, 4096));
    wrong = offer;
    wrong.descriptor = (uint32_t)fd;
    assert(shm_ring_accept(&other, &wrong)); /* of the wrong size */
    assert(!ftruncate(fd, lseek(application.fd.fd, 0, SEEK_END)));
    assert(shm_ring_accept(&other, &wrong)); /* not sealed against shrinking */
    close(fd);
    shm_ring_close(&application);
    return 0;
}
