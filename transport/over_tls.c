/*
 * The provider over TLS: frames, bells and what is to be said of bulk data go through one connection
 * (over_tls_frames.c); bulk data through others (over_tls_bulk.c). Who has lost a byte of it, or got one that was not
 * sent, has lost the peer: TLS tells.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timeline.h"
#include "transport/distance.h"
#include "transport/over_tls.h"

#define FRAMES_MOST 65536 /* on the way to one peer: the connection says when it is enough */
#define LAST_WORDS_MS 500 /* for what is to be sent yet when the session ends */

void way_break(struct tls_way *way, struct peer *peer, const char *why)
{
    if (!way->broken)
        way->broken = why;
    link_give_up(peer, why);
}

void way_wake(struct transport *t)
{
    if (t->announced)
        transport_wake(t);
}

bool stream_ready(struct stream *stream)
{
    int fd = stream->tls ? kept_fd(&stream->socket) : -1;

    if (fd >= 0)
        stream->by->use(stream->tls, fd);
    return fd >= 0;
}

/* 0: nothing is to be written down of it. */
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

/* ---- the way to a member ---- */

/* job.c's, or rather meeting.c's, has made it. */
/* Words without a connection; what has one is the owner's (join.c). */
static void take_vouchers(struct tls_way *way, struct beat *beat)
{
    struct tunnel_call call;

    while (way->voucher.fd >= 0 && recv(way->voucher.fd, &call, sizeof(call), MSG_DONTWAIT | MSG_PEEK) == 1) {
        recv(way->voucher.fd, &call, sizeof(call), MSG_DONTWAIT);
        atomic_fetch_add(&beat->carried, 1);
    }
}

/* On a connection that no other thread uses: a byte each way. */
static void carry_beat(struct beat *beat, bool say)
{
    struct tls_way *way = beat->carrier;
    uint8_t bytes[64];
    ssize_t got;

    if (!stream_ready(&way->beat))
        return;
    while ((got = way->beat.by->read(way->beat.tls, bytes, sizeof(bytes))) > 0)
        atomic_fetch_add(&beat->carried, (unsigned)got);
    if (got < 0)
        atomic_store(&beat->gone, true);
    take_vouchers(way, beat);
    if (say && !got && way->beat.by->write(way->beat.tls, "", 1) == 1)
        way->beat.by->flush(way->beat.tls);
}

void way_share(struct tls_way *way)
{
    for (unsigned i = 0; way->is_far && i < way->pipe_count; i++)
        distance_share(kept_fd(&way->pipes[i].stream.socket), way->used);
}

static int tls_open(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct tls_way *way = peer->way;
    const long us = distance_us(way->frames.socket.fd);

    way->frames.peer = number;
    peer->beat.carry = carry_beat;
    peer->beat.carrier = way;
    peer->beat.vouched = way->voucher.fd >= 0;
    link_keep(t, &way->beat.socket, way->beat.socket.fd);
    peer->bell.carry = tls_ring;
    peer->bell.carrier = t;
    peer->bell.number = number;
    link_keep(t, &way->frames.socket, way->frames.socket.fd);
    distance_make_room(way->frames.socket.fd, us);
    for (unsigned i = 0; i < way->pipe_count; i++) {
        way->pipes[i].stream.peer = number;
        distance_make_room(way->pipes[i].stream.socket.fd, us);
        link_keep(t, &way->pipes[i].stream.socket, way->pipes[i].stream.socket.fd);
    }
    way->us = us;
    way->is_far = way->pipe_count > 2;
    way->window = distance_window(us, WINDOW_LEAST, WINDOW_MOST);
    way_share(way);
    way->aside_window = way->window < ASIDE_MOST ? way->window : ASIDE_MOST;
    reach_open(way);
    ears_meet(t, number);
    if (able_open(way, us, !t->client && !number))
        frames_say_able(way);
    vocl_log(LOG_INFO, "with %u: a round trip takes %ld us; %u connections for bulk data, %llu MiB may be under way",
             number, us, way->pipe_count, (unsigned long long)way->window >> 20);
    return 0;
}

/* Or may have. */
static bool has_come(const struct transport *t, const struct tls_way *way)
{
    bool come = t->ears < 0 && t->listens;

    for (unsigned i = 0; t->ears >= 0 && !come && i < way->pipe_count; i++)
        come = !ears_are_quiet(t, &way->pipes[i].stream);
    return come;
}

static int tls_poll(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    const int taken = TAILQ_EMPTY(&way->reach.taking) ? 0 : reach_turn(t, number);

    if (way->frames.blocked)
        frames_push(t, number);
    if (taken)
        return taken;
    return way->takes || way->gives || way->waits_aside || way->pipes_blocked || has_come(t, way)
               ? tls_bulk_poll(t, number)
               : 0;
}

static void tls_follow(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    if (way->broken)
        return;
    if (way->messages != way->followed) {
        bell_send(&t->peers[number].bell, BELL_BEAT, 0);
        way->followed = way->messages;
    }
    tls_bulk_follow(t, number);
}

/* The ears hear what comes. */
static unsigned sleep_on_blocked(struct tls_way *way, struct pollfd *descriptors)
{
    unsigned count = 0;

    if (way->frames.blocked)
        descriptors[count++] = (struct pollfd){kept_fd(&way->frames.socket), POLLOUT, 0};
    for (unsigned i = 0; i < way->pipe_count; i++) {
        if (way->pipes[i].stream.blocked)
            descriptors[count++] = (struct pollfd){kept_fd(&way->pipes[i].stream.socket), POLLOUT, 0};
    }
    return count;
}

static unsigned tls_sleep_on(struct transport *t, unsigned number, struct pollfd *descriptors)
{
    struct tls_way *way = way_of(t, number);
    unsigned count = 0;

    if (t->ears >= 0)
        return sleep_on_blocked(way, descriptors);

    descriptors[count++] =
        (struct pollfd){kept_fd(&way->frames.socket),
                        (short)((way->waits_aside ? 0 : POLLIN) | (way->frames.blocked ? POLLOUT : 0)), 0};
    for (unsigned i = 0; i < way->pipe_count; i++) {
        struct stream *stream = &way->pipes[i].stream;

        descriptors[count++] =
            (struct pollfd){kept_fd(&stream->socket), (short)(POLLIN | (stream->blocked ? POLLOUT : 0)), 0};
    }
    return count;
}

/* It hears no more of us either. */
static void cut(struct stream *stream)
{
    const int fd = kept_fd(&stream->socket);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

static void tls_lose(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    if (!way->broken)
        way->broken = "it is lost";
    ears_lose(t, number);
    cut(&way->frames);
    cut(&way->beat);
    for (unsigned i = 0; i < way->pipe_count; i++)
        cut(&way->pipes[i].stream);
}

/* What was said last gets a little time. */
static void say_last_words(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    const long until = clock_ms() + LAST_WORDS_MS;

    while (way->frames.blocked && !way->broken && clock_ms() < until) {
        struct pollfd ready = {kept_fd(&way->frames.socket), POLLOUT, 0};

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
    if (!forget && way_of(t, number)->given)
        vocl_log(LOG_INFO, "to %u: %.1f MiB of bulk data, carried as %.1f MiB", number,
                 (double)way_of(t, number)->given / 1048576, (double)way_of(t, number)->carried / 1048576);
    if (!forget && way_of(t, number)->reach.bytes)
        vocl_log(LOG_INFO, "to %u: %.1f MiB of bulk data that it read where they were", number,
                 (double)way_of(t, number)->reach.bytes / 1048576);
    way_free(peer->way, forget);
    peer->way = NULL;
}

const struct provider provider_tls = {
    .name = "tls",
    .most_frame = TRANSPORT_MAX_LARGE,
    .window = FRAMES_MOST,
    .bells = true,
    .open = tls_open,
    .own_frame = reach_frame,
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
