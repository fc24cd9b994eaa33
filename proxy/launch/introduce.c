/*
 * In a session by pairs (transport/join/later.c) two workers get their connections when one of them asks for these. Who
 * takes none for a while, as it computes or is stopped, keeps nobody waiting but those who asked for him.
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

struct introductions {
    unsigned members;
    uint8_t *done; /* a bit for each two */
    struct wish *wishes;
    unsigned count, room;
};

struct introductions *introductions_new(unsigned members)
{
    struct introductions *met = calloc(1, sizeof(*met));

    if (!met || !(met->done = calloc(1, ((size_t)members * members + 7) / 8))) {
        free(met);
        return NULL;
    }
    met->members = members;
    return met;
}

void introductions_free(struct introductions *met)
{
    if (!met)
        return;
    free(met->done);
    free(met->wishes);
    free(met);
}

static size_t bit_of(const struct introductions *met, unsigned one, unsigned other)
{
    return (size_t)(one < other ? one : other) * met->members + (one < other ? other : one);
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

/* Both have room for what they are told. False: the other has not got it. */
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

/* False: it has to be tried again. */
static bool fulfil(struct ranks *ranks, unsigned from, unsigned to)
{
    struct introductions *met = ranks->met;
    const size_t bit = bit_of(met, from, to);
    struct pollfd there = {ranks->members[to], 0, 0};
    bool gone;

    if (ranks->members[from] < 0 || met->done[bit / 8] & 1u << bit % 8)
        return true;
    gone = there.fd < 0 || (poll(&there, 1, 0) > 0 && there.revents & (POLLHUP | POLLERR));
    if (!takes(ranks->members[from]) || (!gone && !takes(ranks->members[to])))
        return false;
    if (!gone && connect_both(ranks, from, to))
        met->done[bit / 8] |= (uint8_t)(1u << bit % 8);
    else
        hand(ranks->members[from], to, NULL, 0);
    return true;
}

static void remember(struct introductions *met, unsigned from, unsigned to)
{
    if (met->count == met->room) {
        const unsigned room = met->room ? 2 * met->room : 16;
        struct wish *more = realloc(met->wishes, room * sizeof(*more));

        if (!more)
            return; /* it gives up by itself */
        met->wishes = more;
        met->room = room;
    }
    met->wishes[met->count++] = (struct wish){from, to};
}

void introduce(struct ranks *ranks, unsigned from, unsigned to)
{
    if (to && to < ranks->most && to != from && !fulfil(ranks, from, to))
        remember(ranks->met, from, to);
}

void introductions_turn(struct ranks *ranks)
{
    struct introductions *met = ranks->met;
    unsigned left = 0;

    for (unsigned i = 0; met && i < met->count; i++) {
        const struct wish wish = met->wishes[i];

        if (!fulfil(ranks, wish.from, wish.to))
            met->wishes[left++] = wish;
    }
    if (met)
        met->count = left;
}

int introductions_nap(const struct ranks *ranks)
{
    return ranks->met && ranks->met->count ? AGAIN_MS : -1;
}

void introductions_forget(struct ranks *ranks, unsigned rank)
{
    struct introductions *met = ranks->met;

    for (unsigned other = 0; met && other < met->members; other++) {
        const size_t bit = bit_of(met, rank, other);

        met->done[bit / 8] &= (uint8_t) ~(1u << bit % 8);
    }
}
