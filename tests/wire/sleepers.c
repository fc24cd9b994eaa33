/* Two threads at the ends of a ring sleep, without a time-out, whenever they have nothing to do: each is woken for
 * every frame, and when its own frames have been taken. If a wake-up is lost, the test does not end. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#undef NDEBUG
#include <assert.h>

#include "tests/draw.h"
#include "transport/shm/ring.h"

enum { FRAMES = 200000 };

struct side {
    struct shm_ring shm;
    int bell;
    uint32_t sent, received;
    uint64_t state, sleeps;
    bool echoes;
};

static void ring(const struct side *side)
{
    assert(send(side->bell, "r", 1, MSG_DONTWAIT) == 1);
}

static void send_one(struct side *side)
{
    if (!shm_ring_send(&side->shm, side->sent, 1, 0, &side->sent, sizeof(side->sent)))
        return; /* no room: the caller tries again */
    side->sent++;
    if (shm_ring_must_ring(&side->shm))
        ring(side);
}

/* One turn as in a session: takes frames that have come, and sends when all earlier frames have been taken. */
static bool turn(struct side *side)
{
    const uint32_t before = side->received + side->sent;
    const uint32_t due = side->echoes ? side->received : FRAMES;
    uint32_t kind, acked;
    size_t length;

    while (shm_ring_receive(&side->shm, side->received, &kind, &acked, &length))
        shm_ring_took(&side->shm, ++side->received);
    if (side->sent < due) {
        shm_ring_want_taken(&side->shm, side->sent);
        if (shm_ring_taken(&side->shm) == side->sent)
            for (uint64_t i = 1 + draw_below(&side->state, 3); i && side->sent < due; i--)
                send_one(side);
    }
    return side->received + side->sent != before;
}

static void sleep_once(struct side *side)
{
    struct pollfd bell = {.fd = side->bell, .events = POLLIN};
    char rings[64];

    shm_ring_lie_down(&side->shm);
    if (shm_ring_must_ring_for_taken(&side->shm))
        ring(side);
    if (!turn(side) && (side->sent < FRAMES || side->received < FRAMES)) {
        side->sleeps++;
        assert(poll(&bell, 1, -1) == 1);
        assert(recv(side->bell, rings, sizeof(rings), MSG_DONTWAIT) > 0);
    }
    shm_ring_get_up(&side->shm);
}

static void *run(void *argument)
{
    struct side *side = argument;

    while (side->sent < FRAMES || side->received < FRAMES) {
        if (!turn(side) && (side->sent < FRAMES || side->received < FRAMES))
            sleep_once(side);
    }
    ring(side); /* like the end of a process */
    return NULL;
}

int main(void)
{
    static struct side sides[2] = {{.state = 3}, {.state = 4, .echoes = true}};
    struct memory_address offer;
    pthread_t threads[2];
    int ends[2];

    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    assert(!shm_ring_offer(&sides[0].shm, &offer));
    assert(!shm_ring_accept(&sides[1].shm, &offer));
    shm_ring_confirm(&sides[0].shm);
    for (int i = 0; i < 2; i++) {
        sides[i].bell = ends[i];
        assert(!pthread_create(&threads[i], NULL, run, &sides[i]));
    }
    for (int i = 0; i < 2; i++)
        assert(!pthread_join(threads[i], NULL));
    for (int i = 0; i < 2; i++) { /* no thread rings any more */
        assert(sides[i].sent == FRAMES && sides[i].received == FRAMES);
        printf("%u frames, %llu sleeps\n", sides[i].sent, (unsigned long long)sides[i].sleeps);
        shm_ring_close(&sides[i].shm);
        close(ends[i]);
    }
    return 0;
}
