/*
 * In a session by pairs (transport/join/later.c) two workers get connections when one of them requests these. A worker
 * that does not read for a while, because it computes or is stopped, delays only those that request connections with
 * it.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/launch/ranks.h"
#include "transport/starter.h"

#define AGAIN_MS 20

struct wish {
    unsigned from, to;
};

struct pair_broker {
    unsigned members;
    uint8_t *done; /* a bit for each pair */
    struct wish *wishes;
    unsigned count, room;
};

struct pair_broker *pair_broker_new(unsigned members)
{
    struct pair_broker *broker = calloc(1, sizeof(*broker));

    if (!broker || !(broker->done = calloc(1, ((size_t)members * members + 7) / 8))) {
        free(broker);
        return NULL;
    }
    broker->members = members;
    return broker;
}

void pair_broker_free(struct pair_broker *broker)
{
    if (!broker)
        return;
    free(broker->done);
    free(broker->wishes);
    free(broker);
}

static size_t bit_of(const struct pair_broker *broker, unsigned one, unsigned other)
{
    return (size_t)(one < other ? one : other) * broker->members + (one < other ? other : one);
}

static bool takes(int member)
{
    struct pollfd ready = {member, POLLOUT, 0};

    return poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT;
}

static int hand(int member, unsigned other, const int *sockets, unsigned count)
{
    const struct tunnel_call call = {other};

    return socket_send_descriptors(member, &call, sizeof(call), sockets, count);
}

static bool make(int ends[2][PAIR_SOCKETS])
{
    for (unsigned i = 0; i < PAIR_SOCKETS; i++) {
        int pair[2];

        if (ranks_pair(pair)) {
            while (i--) {
                close(ends[0][i]);
                close(ends[1][i]);
            }
            return false;
        }
        ends[0][i] = pair[0];
        ends[1][i] = pair[1];
    }
    return true;
}

/* Both sockets have room for the message. Returns false if the other has not received it. */
static bool connect_both(const struct ranks *ranks, unsigned from, unsigned to)
{
    int ends[2][PAIR_SOCKETS], error;

    if (!make(ends)) {
        vocl_log(LOG_ERROR, "no connections for workers %u and %u: too few descriptors", from, to);
        return false;
    }
    error = hand(ranks->members[to], from, ends[0], PAIR_SOCKETS);
    if (!error && hand(ranks->members[from], to, ends[1], PAIR_SOCKETS))
        vocl_log(LOG_DEBUG, "worker %u is gone, and had asked for worker %u", from, to);
    for (unsigned i = 0; i < PAIR_SOCKETS; i++) {
        close(ends[0][i]);
        close(ends[1][i]);
    }
    return !error;
}

/* Returns false if this has to be tried again. */
static bool fulfil(struct ranks *ranks, unsigned from, unsigned to)
{
    struct pair_broker *broker = ranks->broker;
    const size_t bit = bit_of(broker, from, to);
    struct pollfd there = {ranks->members[to], 0, 0};
    bool gone;

    if (ranks->members[from] < 0 || broker->done[bit / 8] & 1u << bit % 8)
        return true;
    gone = there.fd < 0 || (poll(&there, 1, 0) > 0 && there.revents & (POLLHUP | POLLERR));
    if (!takes(ranks->members[from]) || (!gone && !takes(ranks->members[to])))
        return false;
    if (!gone && connect_both(ranks, from, to))
        broker->done[bit / 8] |= (uint8_t)(1u << bit % 8);
    else
        hand(ranks->members[from], to, NULL, 0);
    return true;
}

static void remember(struct pair_broker *broker, unsigned from, unsigned to)
{
    if (broker->count == broker->room) {
        const unsigned room = broker->room ? 2 * broker->room : 16;
        struct wish *more = realloc(broker->wishes, room * sizeof(*more));

        if (!more)
            return; /* the worker's own time limit ends the wait */
        broker->wishes = more;
        broker->room = room;
    }
    broker->wishes[broker->count++] = (struct wish){from, to};
}

void pair_broker_ask(struct ranks *ranks, unsigned from, unsigned to)
{
    if (to && to < ranks->most && to != from && !fulfil(ranks, from, to))
        remember(ranks->broker, from, to);
}

void pair_broker_turn(struct ranks *ranks)
{
    struct pair_broker *broker = ranks->broker;
    unsigned left = 0;

    for (unsigned i = 0; broker && i < broker->count; i++) {
        const struct wish wish = broker->wishes[i];

        if (!fulfil(ranks, wish.from, wish.to))
            broker->wishes[left++] = wish;
    }
    if (broker)
        broker->count = left;
}

int pair_broker_nap(const struct ranks *ranks)
{
    return ranks->broker && ranks->broker->count ? AGAIN_MS : -1;
}

void pair_broker_forget(struct ranks *ranks, unsigned rank)
{
    struct pair_broker *broker = ranks->broker;

    for (unsigned other = 0; broker && other < broker->members; other++) {
        const size_t bit = bit_of(broker, rank, other);

        broker->done[bit / 8] &= (uint8_t) ~(1u << bit % 8);
    }
}
