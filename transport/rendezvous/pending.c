/* Pending connections, in both directions: see pending.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/socket.h"
#include "transport/rendezvous/pending.h"

void pending_end(struct pending *pending)
{
    if (pending->tls)
        pending->by->close(pending->tls);
    if (pending->fd >= 0)
        close(pending->fd);
    free(pending->extra);
    *pending = (struct pending){.fd = -1};
}

void pending_settle(struct pending *pending, struct streams *streams)
{
    struct stream *stream = streams_at(streams, pending->index);

    if (pending->index != BEAT)
        socket_be_patient(pending->fd);
    stored_trust(&stream->socket, pending->fd);
    stream->tls = pending->tls;
    stream->by = pending->by;
    streams->tunnelled |= pending->tunnelled;
    vocl_log(LOG_DEBUG, "connection %u with %u%s%s", pending->index, pending->peer,
             pending->tunnelled ? ", through what started the workers" : "",
             pending->by->by_kernel(pending->tls) ? ", the kernel encrypts" : "");
    *pending = (struct pending){.fd = -1};
}

/* If all slots are taken the oldest connection is dropped: members of the session have long completed the handshake by
 * then. */
static struct pending *pending_place(struct rendezvous *m)
{
    struct pending *oldest = NULL;

    for (unsigned i = 0; i < m->pending_count; i++) {
        struct pending *pending = &m->pending[i];

        if (pending->state == PENDING_NONE)
            return pending;
        if (pending->came && !pending->expected && pending->state == PENDING_SHAKING &&
            (!oldest || pending->until < oldest->until))
            oldest = pending;
    }
    if (oldest)
        pending_end(oldest);
    return oldest;
}

static struct pending *pending_new(struct rendezvous *m, int fd, const struct tls_plugin *by, const char *identity)
{
    struct pending *pending = pending_place(m);
    struct tls *tls = pending ? by->open(fd, identity) : NULL;

    if (!tls) {
        close(fd);
        return NULL;
    }
    socket_tune(fd);
    *pending = (struct pending){
        .fd = fd, .tls = tls, .by = by, .state = PENDING_SHAKING, .came = !identity, .until = clock_ms() + SHAKE_MS};
    return pending;
}

/* Whether a connection may be accepted. At a Unix socket other users could connect; the kernel knows them. */
static bool may_come(int fd)
{
    int domain = 0;
    socklen_t length = sizeof(domain);

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) || domain != AF_UNIX || socket_same_user(fd))
        return true;
    vocl_log(LOG_WARN, "refused a process of another user");
    return false;
}

static void accept_guests(struct rendezvous *m, int listener)
{
    for (int i = 0; i < 16; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        if (may_come(fd))
            pending_new(m, fd, m->by, NULL);
        else
            close(fd);
    }
}

int pending_call(const struct rendezvous *m, unsigned peer)
{
    const struct tunnel_call call = {peer};
    int ends[2], error;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -errno;
    error = socket_send_descriptors(m->tunnel, &call, sizeof(call), &ends[1], 1);
    close(ends[1]);
    if (error)
        close(ends[0]);
    return error ? error : ends[0];
}

/* False: a connection to the peer is under way. */
static bool is_free(struct rendezvous *m, unsigned peer, unsigned index, bool tunnelled)
{
    for (unsigned i = 0; i < m->pending_count; i++) {
        struct pending *pending = &m->pending[i];

        if (pending->state == PENDING_NONE || pending->came || pending->peer != peer || pending->index != index)
            continue;
        if (!tunnelled || pending->tunnelled || pending->state != PENDING_CONNECTING)
            return false;
        pending_end(pending);
    }
    return true;
}

/* A newcomer within a host has no TLS with members of its host, but with those on others, which have a location. */
static const struct tls_plugin *carrier(const struct rendezvous *m, unsigned peer)
{
    return m->newcomer && *m->locations[peer].endpoint && tls_plugin ? tls_plugin : m->by;
}

void pending_go(struct rendezvous *m, unsigned peer, unsigned index, bool tunnelled)
{
    char identity[TLS_IDENTITY];
    struct pending *pending;
    int fd;

    if (!is_free(m, peer, index, tunnelled))
        return;
    fd = tunnelled ? pending_call(m, peer) : endpoint_connect_start(m->locations[peer].endpoint);
    if (fd < 0) {
        vocl_log(LOG_DEBUG, "%s: %s", m->locations[peer].endpoint, strerror(-fd));
        return;
    }
    identity_write(identity, m->rank, peer, index, m->token);
    pending = pending_new(m, fd, carrier(m, peer), identity);
    if (!pending)
        return;
    pending->state = PENDING_CONNECTING;
    pending->tunnelled = tunnelled;
    pending->peer = peer;
    pending->index = index;
}

int pending_expect(struct rendezvous *m, int fd, unsigned rank)
{
    struct pending *pending = pending_new(m, fd, m->by, NULL);

    if (!pending)
        return -ENOMEM;
    pending->expected = rank;
    pending->until = LONG_MAX;
    return 0;
}

void pending_come(struct rendezvous *m, int fd)
{
    struct pending *pending;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    pending = pending_new(m, fd, m->by, NULL);
    if (pending)
        pending->tunnelled = true;
}

void pending_forget(struct rendezvous *m, unsigned peer)
{
    for (unsigned i = 0; i < m->pending_count; i++) {
        if (m->pending[i].state != PENDING_NONE && m->pending[i].peer == peer)
            pending_end(&m->pending[i]);
    }
}

/* Takes a connection that was handed over; false: no more will come. */
static bool take_handed(struct rendezvous *m)
{
    struct tunnel_call call;
    unsigned count = 1;
    int fd = -1;
    ssize_t got = socket_receive_descriptors(m->tunnel, &call, sizeof(call), &fd, &count, 1);

    if (count)
        pending_come(m, fd);
    return got > 0 || got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT;
}

bool stream_say(struct stream *stream, const void *bytes, size_t length)
{
    return stream->by->write(stream->tls, bytes, length) == (ssize_t)length && stream->by->flush(stream->tls) >= 0;
}

bool pending_write(struct pending *pending, const void *bytes, size_t length)
{
    return stream_say(&(struct stream){.tls = pending->tls, .by = pending->by}, bytes, length);
}

/* Whether this connection is still to be made, as the consenting side decides. */
static bool is_wanted(struct rendezvous *m, const struct pending *pending)
{
    return m->streams && pending->peer < m->size && m->streams[pending->peer] &&
           (pending->index <= m->pipes || (pending->index == BEAT && !m->bells)) &&
           !streams_at(m->streams[pending->peer], pending->index)->tls;
}

/* The handshake is complete: checks who the peer is. */
static bool pending_known(struct rendezvous *m, struct pending *pending)
{
    static const struct consent yes = {HELLO_MAGIC, 1};
    unsigned to;

    if (pending->came) {
        if (!identity_read(pending->by->identity(pending->tls), m->token, &pending->peer, &to, &pending->index) ||
            to != m->rank || (pending->expected && pending->expected != pending->peer))
            return false;
        if (!m->rank && !pending->index && !m->streams) { /* the peer's greeting follows */
            pending->state = PENDING_SAYS;
            return true;
        }
    }
    if (!is_wanted(m, pending) || pending->peer == m->rank)
        return false;
    if (!rendezvous_is_above(m, pending->peer)) { /* the other side has to consent */
        pending->state = PENDING_SAYS;
        return true;
    }
    if (!pending_write(pending, &yes, sizeof(yes)))
        return false;
    pending_settle(pending, m->streams[pending->peer]);
    return true;
}

/* ---- a turn ---- */

/* The connection was refused, or its peer has ended. */
static int pending_fail(struct rendezvous *m, struct pending *pending)
{
    const unsigned missing = pending->expected;

    pending_end(pending);
    return missing ? rendezvous_missing(m, missing) : 0;
}

/* Reads a part of the peer's message, bytes[], which follows `others` other bytes. Returns 1 when all of it has
 * arrived, 0 if not yet, or a negative errno. */
static int pending_hear(struct pending *pending, void *bytes, size_t others, size_t length)
{
    const size_t at = pending->got - others;
    const ssize_t got = at < length ? pending->by->read(pending->tls, (uint8_t *)bytes + at, length - at) : 0;

    if (got < 0)
        return (int)got;
    pending->got += (size_t)got;
    return at + (size_t)got == length;
}

static int pending_greets(struct rendezvous *m, struct pending *pending)
{
    struct greeting *greeting = &pending->said.greeting;
    int heard = 1, error = 0;

    if (pending->got < sizeof(*greeting))
        heard = pending_hear(pending, greeting, 0, sizeof(*greeting));
    if (heard > 0 && greeting->extra) {
        const int extra = rendezvous_extra(m, pending);

        if (extra >= 0 && !pending->extra)
            pending->extra = calloc(1, (size_t)extra + 1);
        error = extra < 0 ? extra : pending->extra ? 0 : -ENOMEM;
        if (!error)
            heard = pending_hear(pending, pending->extra, sizeof(*greeting), (size_t)extra);
    }
    if (heard < 0)
        return pending_fail(m, pending);
    if (heard > 0 && !error)
        error = rendezvous_greeted(m, pending);
    if (error)
        pending_end(pending);
    return error;
}

static int pending_says(struct rendezvous *m, struct pending *pending)
{
    const struct consent *consent = &pending->said.consent;
    int heard;

    if (!m->rank && !m->streams)
        return pending_greets(m, pending);
    heard = pending_hear(pending, &pending->said.consent, 0, sizeof(*consent));
    if (!heard)
        return 0;
    if (heard > 0 && consent->magic == HELLO_MAGIC && consent->accepted && is_wanted(m, pending))
        pending_settle(pending, m->streams[pending->peer]);
    else
        pending_end(pending);
    return 0;
}

static int pending_go_on(struct rendezvous *m, struct pending *pending)
{
    int error = 0;

    if (pending->state == PENDING_CONNECTING) {
        socklen_t length = sizeof(error);

        if (getsockopt(pending->fd, SOL_SOCKET, SO_ERROR, &error, &length) || error) {
            pending_end(pending);
            return 0;
        }
        pending->state = PENDING_SHAKING;
    }
    if (pending->state == PENDING_SHAKING) {
        error = pending->by->shake(pending->tls);
        if (error == -EAGAIN)
            return 0;
        if (error || !pending_known(m, pending)) {
            if (pending->came && !pending->expected)
                vocl_log(LOG_WARN, "refused a connection that does not belong to this session");
            return pending_fail(m, pending);
        }
    }
    return pending->state == PENDING_SAYS ? pending_says(m, pending) : 0;
}

static unsigned fill_poll(struct rendezvous *m, long *until)
{
    struct pollfd *ready = m->ready;
    unsigned count = 0;

    ready[count++] = (struct pollfd){m->listeners[0], POLLIN, 0};
    ready[count++] = (struct pollfd){m->listeners[1], POLLIN, 0};
    ready[count++] = (struct pollfd){m->rank ? -1 : m->job->control_socket, POLLIN, 0};
    ready[count++] = (struct pollfd){m->is_handed ? -1 : m->tunnel, POLLIN, 0};
    for (unsigned i = 0; i < m->pending_count; i++) {
        struct pending *pending = &m->pending[i];
        const bool out = pending->state == PENDING_CONNECTING || (pending->state && pending->by->waits(pending->tls));

        if (pending->state == PENDING_NONE)
            continue;
        if (pending->until < *until)
            *until = pending->until;
        pending->place = count;
        ready[count++] = (struct pollfd){
            pending->fd, (short)((pending->state == PENDING_CONNECTING ? 0 : POLLIN) | (out ? POLLOUT : 0)), 0};
    }
    return count;
}

/* Makes progress until then, or less. Returns a negative errno if the session cannot start any more. */
int rendezvous_turn(struct rendezvous *m, long until)
{
    struct pollfd *ready = m->ready;
    unsigned count = fill_poll(m, &until);
    const long left = until - clock_ms();
    int error = 0;

    socket_poll(ready, count, left > 0 ? (int)left : 0);
    for (unsigned i = 0; i < m->pending_count && !error; i++) {
        struct pending *pending = &m->pending[i];

        if (pending->state != PENDING_NONE && ready[pending->place].revents) {
            if (pending->by->waits(pending->tls))
                pending->by->flush(pending->tls);
            error = pending_go_on(m, pending);
        }
        if (pending->state != PENDING_NONE && clock_ms() >= pending->until)
            pending_end(pending);
    }
    for (unsigned i = 0; i < 2 && !error; i++) {
        if (ready[i].revents)
            accept_guests(m, m->listeners[i]);
    }
    if (!error && ready[RENDEZVOUS_OTHERS - 1].revents && !take_handed(m))
        m->tunnel = -1;
    return error;
}
