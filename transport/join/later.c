/*
 * Workers of a session of many, by pairs or over TLS, that are not connected with each other yet. A worker that has
 * something to send asks vocl-launcher, and both are handed connections (struct tunnel_call); or they connect over TLS
 * (apart.c). Until then frames wait in the sender (-EAGAIN), and bulk operations in this file's provider. So two
 * workers that never communicate have nothing for each other: no descriptor, no heartbeat, no memory.
 *
 * No other worker would notice the loss of an unconnected one: the program does, and reports it to all (MEMBER_GONE). A
 * worker that is connected with the lost one waits for the end of the connection, since data that was sent before is
 * still to be received.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/join/apart.h"
#include "transport/join/later.h"
#include "transport/stream/stream.h"

#define ANSWER_MS 10000 /* patience, if no silent peer is ever lost */

/* ---- the provider of a pair without connections ---- */

static void carry_nothing(void *carrier, unsigned number, const struct bell_record *record)
{
    (void)carrier, (void)number, (void)record;
}

/* Asks once; if the launcher's socket is full, later_poll() asks again. */
static void ask_launcher(struct transport *t, unsigned number)
{
    const struct tunnel_call call = {number};
    struct peer *peer = &t->peers[number];
    const int fd = stored_fd(&t->job.calls);

    if (peer->asked_ms)
        return;
    if (send(fd, &call, sizeof(call), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(call))
        peer->asked_ms = clock_ms();
    else if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
        peer->bell.lost = true;
}

void later_ask(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];

    if (!peer->wanted) {
        peer->wanted = true;
        peer->asked_ms = 0;
        t->wanted++;
    }
    if (apart_is(t, number))
        apart_ask(t, number);
    else
        ask_launcher(t, number);
}

static int later_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header,
                      const void *bytes, size_t length)
{
    (void)number, (void)header, (void)bytes, (void)length;
    later_ask(t, peer);
    return -EAGAIN;
}

static bool later_receive(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame)
{
    (void)t, (void)peer, (void)number, (void)frame;
    return false;
}

static int later_hear(struct transport *t, unsigned peer)
{
    (void)t, (void)peer;
    return 0;
}

static int later_bulk(struct transport *t, struct bulk *bulk)
{
    later_ask(t, bulk->peer);
    return 0;
}

static void later_lose(struct transport *t, unsigned peer)
{
    apart_forget(t, peer);
    t->wanted -= t->peers[peer].wanted;
    t->peers[peer].wanted = false;
}

static const struct provider provider_later = {
    .name = "later",
    .most_frame = TRANSPORT_MAX_LARGE,
    .window = TRANSPORT_WINDOW,
    .bells = true,
    .is_absent = true,
    .send = later_send,
    .receive = later_receive,
    .hear = later_hear,
    .bulk_start = later_bulk,
    .poll = later_hear,
    .lose = later_lose,
};

bool later_may_be(const struct transport *t, unsigned number)
{
    return t->job.later && number && number != link_local(t) && number < link_capacity(t) &&
           number != transport_rank(t);
}

/* ---- a worker ---- */

void later_expect(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];

    peer->alive = true;
    peer->provider = &provider_later;
    peer->bell.carry = carry_nothing;
    if (t->width <= number)
        t->width = number + 1;
    memcpy(peer->host, t->peers[0].host, sizeof(peer->host));
}

void later_expect_all(struct transport *t)
{
    for (unsigned i = 1; i < t->job.others; i++) {
        if (i != transport_rank(t) && i != link_local(t) && !t->peers[i].alive)
            later_expect(t, i);
    }
}

/* Begins the waiting operations, in their order. */
static void begin_bulk(struct transport *t, unsigned number)
{
    struct bulk *bulk;

    TAILQ_FOREACH (bulk, &t->bulks, all) {
        if (bulk->peer != number || bulk->is_over)
            continue;
        if (t->peers[number].provider->bulk_start(t, bulk)) {
            t->peers[number].bell.lost = true;
            return;
        }
    }
}

void later_meet(struct transport *t, unsigned number, struct streams *streams)
{
    struct peer *peer = &t->peers[number];
    struct member member = {.fd = -1, .rank = number, .provider = &provider_tls, .way = streams};

    later_lose(t, number);
    memcpy(member.host, peer->host, sizeof(member.host));
    *peer = (struct peer){.bell.socket.fd = -1, .ring.fd.fd = -1};
    link_open_peer(t, &member);
    heartbeat_add(t->job.heartbeat, &peer->beat, &peer->bell.socket);
    vocl_log(LOG_DEBUG, "connections with worker %u", number);
    begin_bulk(t, number);
}

static void be_handed(struct transport *t, unsigned number, const int sockets[PAIR_SOCKETS])
{
    struct streams *streams = pair_way(sockets);

    if (streams)
        later_meet(t, number, streams);
    else
        t->peers[number].bell.lost = true;
}

/* Takes one message of vocl-launcher: connections with another worker, or that it is lost; a connection that another
 * worker makes through it (apart.c); or a report that the program lives, which the heartbeat thread takes, too. */
static int hear_one(struct transport *t)
{
    struct tunnel_call call = {0};
    unsigned count = PAIR_SOCKETS;
    int sockets[PAIR_SOCKETS];
    const ssize_t got = socket_receive_descriptors(stored_fd(&t->job.calls), &call, sizeof(call), sockets, &count, 1);
    const bool known = got == (ssize_t)sizeof(call) && call.to < t->width && t->peers[call.to].alive &&
                       t->peers[call.to].provider->is_absent;

    if (known && count == PAIR_SOCKETS) {
        be_handed(t, call.to, sockets);
        return 1;
    }
    if (got == (ssize_t)sizeof(call) && count == 1) {
        apart_come(t, sockets[0]);
        return 1;
    }
    if (count)
        vocl_log(LOG_WARN, "%u connections with worker %u are not of use", count, call.to);
    while (count)
        close(sockets[--count]);
    if (known)
        link_lose(t, call.to, "its process is gone");
    if (got == 1)
        atomic_fetch_add(&t->peers[0].beat.carried, 1);
    if (got > 0)
        return 1;
    if (got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT)
        return 0;
    stored_close(&t->job.calls);
    return 0;
}

/* Why there is no hope of connections. NULL: there is. */
static const char *in_vain(const struct transport *t, unsigned number)
{
    const long patience = settings_peer_ms() ? settings_peer_ms() : ANSWER_MS;
    const struct peer *peer = &t->peers[number];

    if (apart_is(t, number))
        return peer->bell.lost || apart_gives_up(peer) ? "no connections with it can be made" : NULL;
    return peer->bell.lost || (peer->asked_ms && clock_ms() - peer->asked_ms >= patience)
               ? "the launcher does not connect this worker with it"
               : NULL;
}

static int look_at_wanted(struct transport *t)
{
    int count = 0;

    for (unsigned i = 1; t->wanted && i < t->width; i++) {
        const struct peer *peer = &t->peers[i];
        const char *why;

        if (!peer->alive || !peer->wanted)
            continue;
        if (!peer->bell.lost)
            later_ask(t, i);
        why = in_vain(t, i);
        if (!why)
            continue;
        link_lose(t, i, why);
        count++;
    }
    return count;
}

int later_poll(struct transport *t)
{
    struct pollfd calls = {t->job.calls.fd, POLLIN, 0};
    int count = 0;

    while (calls.fd >= 0 && poll(&calls, 1, 0) > 0 && hear_one(t)) {
        calls.fd = t->job.calls.fd;
        count++;
    }
    return count + apart_poll(t) + look_at_wanted(t);
}

/* ---- the program ---- */

void later_lost(struct transport *t, unsigned number)
{
    unsigned *more = realloc(t->gone, (t->gone_count + 1) * sizeof(*more));

    if (!more)
        return;
    t->gone = more;
    t->gone[t->gone_count++] = number;
    t->untold = true;
}

/* A peer whose connection has no room gets the message the next time. */
void later_tell(struct transport *t)
{
    t->untold = false;
    for (unsigned i = 1; i < t->width; i++) {
        struct peer *peer = &t->peers[i];

        while (peer->alive && i != link_local(t) && peer->told < t->gone_count) {
            const struct member_news news = {.what = MEMBER_GONE, .number = t->gone[peer->told]};

            if (link_tell(t, i, &news)) {
                t->untold = true;
                break;
            }
            peer->told++;
        }
    }
}
