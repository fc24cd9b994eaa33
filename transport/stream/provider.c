/*
 * The provider by streams: frames, the bell and messages about bulk data go by one connection (frames.c); bulk data by
 * others (bulk.c). If bytes are lost or forged the peer is lost: TLS reports it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timeline.h"
#include "transport/stream/distance.h"
#include "transport/stream/stream.h"

#define FRAMES_MOST 65536 /* on the way to one peer: the connection has its own limit */
#define LAST_WORDS_MS 500 /* for unsent messages when the session ends */

const struct tls_plugin *tls_plugin;

void streams_break(struct streams *streams, struct peer *peer, const char *why)
{
    if (!streams->broken)
        streams->broken = why;
    link_give_up(peer, why);
}

void streams_wake(struct transport *t)
{
    if (t->announced)
        transport_wake(t);
}

bool stream_ready(struct stream *stream)
{
    int fd = stream->tls ? stored_fd(&stream->socket) : -1;

    if (fd >= 0)
        stream->by->use(stream->tls, fd);
    return fd >= 0;
}

/* Returns the time in ns, or 0 if the timeline does not record this. */
static uint64_t began(const struct stream *stream)
{
    return timeline_wanted() && stream->by == tls_plugin ? (uint64_t)clock_ns() : 0;
}

ssize_t stream_read(struct stream *stream, void *bytes, size_t length)
{
    const uint64_t since = began(stream);
    const ssize_t got = stream->by->read(stream->tls, bytes, length);

    stream->dry = got >= 0 && (size_t)got < length;
    if (since && got > 0)
        timeline_count(TIMELINE_CIPHER, stream->peer, false, since, (uint64_t)got);
    return got;
}

ssize_t stream_write(struct stream *stream, const void *bytes, size_t length)
{
    const uint64_t since = began(stream);
    const ssize_t taken = stream->by->write(stream->tls, bytes, length);

    if (since && taken > 0)
        timeline_count(TIMELINE_CIPHER, stream->peer, true, since, (uint64_t)taken);
    return taken;
}

/* ---- a peer ---- */

/* Takes reports that the program lives, which have no connection; connections are taken elsewhere
 * (transport/join/join.c). */
static void take_vouchers(struct streams *streams, struct beat *beat)
{
    struct tunnel_call call;

    while (streams->voucher.fd >= 0 && recv(streams->voucher.fd, &call, sizeof(call), MSG_DONTWAIT | MSG_PEEK) == 1) {
        recv(streams->voucher.fd, &call, sizeof(call), MSG_DONTWAIT);
        atomic_fetch_add(&beat->carried, 1);
    }
}

/* Sends and receives heartbeats, of one byte, on a connection that no other thread uses. */
static void carry_beat(struct beat *beat, bool say)
{
    struct streams *streams = beat->carrier;
    uint8_t bytes[64];
    ssize_t got;

    if (!stream_ready(&streams->beat))
        return;
    while ((got = streams->beat.by->read(streams->beat.tls, bytes, sizeof(bytes))) > 0)
        atomic_fetch_add(&beat->carried, (unsigned)got);
    if (got < 0)
        atomic_store(&beat->gone, true);
    take_vouchers(streams, beat);
    if (say && !got && streams->beat.by->write(streams->beat.tls, "", 1) == 1)
        streams->beat.by->flush(streams->beat.tls);
}

void streams_share(struct streams *streams)
{
    for (unsigned i = 0; streams->is_far && i < streams->pipe_count; i++)
        distance_share(stored_fd(&streams->pipes[i].stream.socket), streams->used);
}

static int stream_open(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct streams *streams = peer->way;
    const long us = distance_us(streams->frames.socket.fd);

    streams->frames.peer = number;
    peer->beat.carry = carry_beat;
    peer->beat.carrier = streams;
    peer->beat.vouched = streams->voucher.fd >= 0;
    link_keep(t, &streams->beat.socket, streams->beat.socket.fd);
    peer->bell.carry = tls_ring;
    peer->bell.carrier = t;
    peer->bell.number = number;
    link_keep(t, &streams->frames.socket, streams->frames.socket.fd);
    distance_make_room(streams->frames.socket.fd, us);
    for (unsigned i = 0; i < streams->pipe_count; i++) {
        streams->pipes[i].stream.peer = number;
        distance_make_room(streams->pipes[i].stream.socket.fd, us);
        link_keep(t, &streams->pipes[i].stream.socket, streams->pipes[i].stream.socket.fd);
    }
    streams->us = us;
    streams->is_far = streams->pipe_count > 2;
    streams->window = distance_window(us, WINDOW_LEAST, WINDOW_MOST);
    streams_share(streams);
    streams->aside_window = streams->window < ASIDE_MOST ? streams->window : ASIDE_MOST;
    cross_memory_open(streams);
    poll_set_meet(t, number);
    if (able_open(streams, us, !t->client && !number))
        frames_say_able(streams);
    vocl_log(LOG_INFO, "with %u: a round trip takes %ld us; %u connections for bulk data, %llu MiB may be under way",
             number, us, streams->pipe_count, (unsigned long long)streams->window >> 20);
    return 0;
}

/* Whether bulk data has arrived, or may have. */
static bool has_come(const struct transport *t, const struct streams *streams)
{
    bool come = t->poll_set < 0 && t->listens;

    for (unsigned i = 0; t->poll_set >= 0 && !come && i < streams->pipe_count; i++)
        come = !poll_set_are_quiet(t, &streams->pipes[i].stream);
    return come;
}

static int tls_poll(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);

    const int taken = TAILQ_EMPTY(&streams->cross_memory.taking) ? 0 : cross_memory_turn(t, number);

    if (streams->frames.blocked)
        frames_push(t, number);
    if (taken)
        return taken;
    return streams->takes || streams->gives || streams->waits_aside || streams->pipes_blocked || has_come(t, streams)
               ? tls_bulk_poll(t, number)
               : 0;
}

static void tls_follow(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);

    if (streams->broken)
        return;
    if (streams->messages != streams->followed) {
        bell_send(&t->peers[number].bell, BELL_BEAT, 0);
        streams->followed = streams->messages;
    }
    tls_bulk_follow(t, number);
}

/* The poll set holds what can be read. */
static unsigned sleep_on_blocked(struct streams *streams, struct pollfd *descriptors)
{
    unsigned count = 0;

    if (streams->frames.blocked)
        descriptors[count++] = (struct pollfd){stored_fd(&streams->frames.socket), POLLOUT, 0};
    for (unsigned i = 0; i < streams->pipe_count; i++) {
        if (streams->pipes[i].stream.blocked)
            descriptors[count++] = (struct pollfd){stored_fd(&streams->pipes[i].stream.socket), POLLOUT, 0};
    }
    return count;
}

static unsigned tls_sleep_on(struct transport *t, unsigned number, struct pollfd *descriptors)
{
    struct streams *streams = streams_of(t, number);
    unsigned count = 0;

    if (t->poll_set >= 0)
        return sleep_on_blocked(streams, descriptors);

    descriptors[count++] =
        (struct pollfd){stored_fd(&streams->frames.socket),
                        (short)((streams->waits_aside ? 0 : POLLIN) | (streams->frames.blocked ? POLLOUT : 0)), 0};
    for (unsigned i = 0; i < streams->pipe_count; i++) {
        struct stream *stream = &streams->pipes[i].stream;

        descriptors[count++] =
            (struct pollfd){stored_fd(&stream->socket), (short)(POLLIN | (stream->blocked ? POLLOUT : 0)), 0};
    }
    return count;
}

/* The peer receives no more from this side either. */
static void cut(struct stream *stream)
{
    const int fd = stored_fd(&stream->socket);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

static void tls_lose(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);

    if (!streams->broken)
        streams->broken = "it is lost";
    poll_set_lose(t, number);
    cut(&streams->frames);
    cut(&streams->beat);
    for (unsigned i = 0; i < streams->pipe_count; i++)
        cut(&streams->pipes[i].stream);
}

/* Gives the last messages a little time. */
static void say_last_words(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    const long until = clock_ms() + LAST_WORDS_MS;

    while (streams->frames.blocked && !streams->broken && clock_ms() < until) {
        struct pollfd ready = {stored_fd(&streams->frames.socket), POLLOUT, 0};

        if (poll(&ready, 1, (int)(until - clock_ms())) > 0 && ready.revents & (POLLERR | POLLHUP))
            break;
        frames_push(t, number);
    }
}

static void tls_close(struct transport *t, unsigned number, bool forget)
{
    struct peer *peer = &t->peers[number];

    if (!peer->way)
        return;
    if (!forget)
        say_last_words(t, number);
    if (!forget && streams_of(t, number)->given)
        vocl_log(LOG_INFO, "to %u: %.1f MiB of bulk data, carried as %.1f MiB", number,
                 (double)streams_of(t, number)->given / 1048576, (double)streams_of(t, number)->carried / 1048576);
    if (!forget && streams_of(t, number)->cross_memory.bytes)
        vocl_log(LOG_INFO, "to %u: %.1f MiB of bulk data that it read where they were", number,
                 (double)streams_of(t, number)->cross_memory.bytes / 1048576);
    streams_free(peer->way, forget);
    peer->way = NULL;
}

const struct provider provider_tls = {
    .name = "tls",
    .most_frame = TRANSPORT_MAX_LARGE,
    .window = FRAMES_MOST,
    .bells = true,
    .open = stream_open,
    .own_frame = cross_memory_frame,
    .send = tls_send,
    .receive = tls_receive,
    .taken = tls_taken,
    .hear = tls_hear,
    .bulk_start = tls_bulk_start,
    .bulk_drop = tls_bulk_drop,
    .follow = tls_follow,
    .poll = tls_poll,
    .sleep_on = tls_sleep_on,
    .lose = tls_lose,
    .close = tls_close,
};
