/* How the polling thread sleeps, and what the peers know of it. See transport.h. */
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transport/core/link.h"

#define CONFIRM_US 2000 /* a program that sleeps confirms after this time the frames that it has taken */
#define JOIN_US 1000    /* between polls while a member joins */
#define RUNG_US 1000    /* while MPI may hold a frame whose bell was faster: MPI makes progress only when polled */

/* Whether the confirmation can wait. It costs a poll of the worker, which is computing the answer. The next frame
 * confirms as well; only a program that receives much from its worker, and sends nothing, never sends one. */
static bool confirms_later(const struct transport *t, const struct peer *peer)
{
    return t->client && t->doze_us == FIRST_DOZE_US && peer->received - peer->confirmed < TRANSPORT_WINDOW / 4;
}

/* Sends a peer, before this side sleeps, what it has to know. False: a confirmation waits, so this side must not sleep
 * long. */
static bool announce_to(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    bool later = false;

    if (peer->ring.open)
        peer->bell.rung = false;
    if (peer->ring.memory)
        shm_ring_lie_down(&peer->ring);
    if (peer->ring.open)
        link_look(peer);
    else
        link_hear(t, number);
    /* A side that finds no frame in shared memory, and that arriving data wake, need not announce sleep: only the
     * frames that it took. */
    if (peer->ring.open) {
        if (shm_ring_must_ring_for_taken(&peer->ring))
            bell_send(&peer->bell, BELL_RING, peer->sent);
    } else if (!peer->provider->polled && !peer->ring.memory) {
        later = peer->confirmed != peer->received && confirms_later(t, peer);
        if (peer->confirmed != peer->received && !later)
            bell_send(&peer->bell, BELL_ACK, peer->received);
        /* Once is enough: a second time would wake a peer that sleeps, which would answer likewise, for ever. */
    } else if (!peer->said_sleep || peer->bell.rung || peer->confirmed != peer->received) {
        bell_send(&peer->bell, BELL_SLEEP, peer->received);
        peer->said_sleep = true;
        peer->bell.rung = false;
    }
    if (!later)
        peer->confirmed = peer->received;
    if (peer->provider->sleep_on)
        t->sleep_count += peer->provider->sleep_on(t, number, t->sleep_on + t->sleep_count);
    else
        t->sleep_on[t->sleep_count++] = (struct pollfd){peer->bell.socket.fd, POLLIN, 0};
    return !later;
}

/* Whether something may happen that does not wake this side: a message that MPI still has to send, or one whose bell
 * was faster. Not a frame in the ring, which is there before the bell is rung. */
static bool moves_unseen(const struct transport *t, unsigned number)
{
    const struct peer *peer = &t->peers[number];

    if (peer->provider->unseen && peer->provider->unseen(t, number))
        return true;
    if (!peer->ring.open)
        return peer->provider->polled || peer->ring.memory;
    return peer->provider->polled && peer->sent != peer->bell.acked;
}

static bool is_rung_for(const struct peer *peer)
{
    return peer->provider->polled && (int32_t)(peer->bell.rung_for - peer->received) > 0;
}

/* A connection that also carries frames is read in the last look, and with them the bell. If it rang, the peer has
 * cleared `asleep`, perhaps for a frame that had been found before: this side must lie down again. */
bool sleep_was_rung(const struct transport *t)
{
    for (unsigned i = 0; i < t->width; i++) {
        if (t->peers[i].alive && t->peers[i].ring.open && t->peers[i].bell.rung)
            return true;
    }
    return false;
}

void transport_announce(struct transport *t)
{
    bool polled = false, restless = false, all = true, rung_for = false;

    t->sleep_count = 0;
    t->starter = NULL;
    for (unsigned i = 0; i < t->width; i++) {
        struct peer *peer = &t->peers[i];

        if (peer->alive && peer->provider->idle)
            peer->provider->idle(t, i);
        if (!peer->alive)
            continue;
        all &= announce_to(t, i);
        rung_for |= is_rung_for(peer);
        polled |= rung_for || moves_unseen(t, i);
        restless |= peer->provider->restless && peer->provider->restless(t, i);
    }
    /* Poll again, soon at first. */
    t->sleep_most_us = polled ? t->doze_us : LONGEST_DOZE_US;
    if (rung_for && t->sleep_most_us > RUNG_US)
        t->sleep_most_us = RUNG_US;
    if (t->doze_us < LONGEST_DOZE_US)
        t->doze_us *= 2;
    if (restless)
        t->sleep_most_us = 10000;
    if (!all && t->sleep_most_us > CONFIRM_US)
        t->sleep_most_us = CONFIRM_US;
    if (!TAILQ_EMPTY(&t->bulks)) {
        long nap = bulk_nap(t);

        if (t->sleep_most_us > nap)
            t->sleep_most_us = nap;
    }
    if ((t->join || t->apart) && t->sleep_most_us > JOIN_US)
        t->sleep_most_us = JOIN_US;
    if (t->sleep_most_us > t->look_us)
        t->sleep_most_us = t->look_us;
    t->announced = t->lies = true;
}

void transport_sleep(struct transport *t, int extra_fd, long timeout_us)
{
    struct timespec timeout;
    nfds_t count = t->sleep_count;
    char rings[64];

    if (timeout_us > t->sleep_most_us)
        timeout_us = t->sleep_most_us;
    timeout = (struct timespec){timeout_us / 1000000, timeout_us % 1000000 * 1000};
    t->sleep_on[count++] = (struct pollfd){stored_fd(&t->wake), POLLIN, 0};
    t->starter = starter_sleep_on(t, t->sleep_on + count) ? t->sleep_on + count++ : NULL;
    if (t->job.later && t->job.calls.fd >= 0)
        t->sleep_on[count++] = (struct pollfd){t->job.calls.fd, POLLIN, 0};
    if (t->poll_set >= 0)
        t->sleep_on[count++] = (struct pollfd){t->poll_set, POLLIN, 0};
    if (extra_fd >= 0)
        t->sleep_on[count++] = (struct pollfd){extra_fd, POLLIN, 0};
    if (ppoll(t->sleep_on, count, &timeout, NULL) <= 0 && t->starter)
        t->starter->revents = 0;
    t->woke = true; /* the next poll listens to the bells */
    if (read(stored_fd(&t->wake), rings, sizeof(rings)) < 0)
        return; /* something else woke this thread */
}

void transport_wake(struct transport *t)
{
    if (write(stored_fd(&t->waker), "", 1) < 0)
        return; /* full: it wakes as well */
}

void sleep_over(struct transport *t)
{
    for (unsigned i = 0; i < t->width && t->lies; i++) {
        if (t->peers[i].ring.memory)
            shm_ring_get_up(&t->peers[i].ring);
    }
    t->lies = false;
}
