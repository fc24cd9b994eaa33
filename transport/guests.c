/* Those who come to a meeting, and those who are on their way to others: see guests.h. */
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
#include "transport/guests.h"

/* ---- guests ---- */

void guest_end(struct guest *guest)
{
    if (guest->tls)
        guest->by->close(guest->tls);
    if (guest->fd >= 0)
        close(guest->fd);
    free(guest->extra);
    *guest = (struct guest){.fd = -1};
}

/* The connection is somebody's now. */
void guest_settle(struct guest *guest, struct tls_way *way)
{
    struct stream *stream = way_stream(way, guest->index);

    if (guest->index != BEAT)
        socket_be_patient(guest->fd);
    kept_trust(&stream->socket, guest->fd);
    stream->tls = guest->tls;
    stream->by = guest->by;
    way->tunnelled |= guest->tunnelled;
    vocl_log(LOG_DEBUG, "connection %u with %u%s%s", guest->index, guest->peer,
             guest->tunnelled ? ", through what started the workers" : "",
             guest->by->by_kernel(guest->tls) ? ", the kernel encrypts" : "");
    *guest = (struct guest){.fd = -1};
}

/* When all places are taken the oldest loses his: who is of the session has long come through by then. */
static struct guest *guest_place(struct meeting *m)
{
    struct guest *oldest = NULL;

    for (unsigned i = 0; i < m->guest_count; i++) {
        struct guest *guest = &m->guests[i];

        if (guest->state == GUEST_NONE)
            return guest;
        if (guest->came && !guest->expected && guest->state == GUEST_SHAKING &&
            (!oldest || guest->until < oldest->until))
            oldest = guest;
    }
    if (oldest)
        guest_end(oldest);
    return oldest;
}

static struct guest *guest_new(struct meeting *m, int fd, const struct tls_plugin *by, const char *identity)
{
    struct guest *guest = guest_place(m);
    struct tls *tls = guest ? by->open(fd, identity) : NULL;

    if (!tls) {
        close(fd);
        return NULL;
    }
    socket_tune(fd);
    *guest = (struct guest){
        .fd = fd, .tls = tls, .by = by, .state = GUEST_SHAKING, .came = !identity, .until = clock_ms() + SHAKE_MS};
    return guest;
}

/* At an address of this host others may come, too, whom the kernel knows. */
static bool may_come(int fd)
{
    int domain = 0;
    socklen_t length = sizeof(domain);

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) || domain != AF_UNIX || socket_same_user(fd))
        return true;
    vocl_log(LOG_WARN, "refused a process of another user");
    return false;
}

static void accept_guests(struct meeting *m, int listener)
{
    for (int i = 0; i < 16; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        if (may_come(fd))
            guest_new(m, fd, m->by, NULL);
        else
            close(fd);
    }
}

int guest_call(const struct meeting *m, unsigned peer)
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

/* False: it is under way. */
static bool is_free(struct meeting *m, unsigned peer, unsigned index, bool tunnelled)
{
    for (unsigned i = 0; i < m->guest_count; i++) {
        struct guest *guest = &m->guests[i];

        if (guest->state == GUEST_NONE || guest->came || guest->peer != peer || guest->index != index)
            continue;
        if (!tunnelled || guest->tunnelled || guest->state != GUEST_CONNECTING)
            return false;
        guest_end(guest);
    }
    return true;
}

/* Who comes within a host has no TLS with its members, but with those on others, who have a place. */
static const struct tls_plugin *carrier(const struct meeting *m, unsigned peer)
{
    return m->newcomer && *m->locations[peer].endpoint && tls_plugin ? tls_plugin : m->by;
}

void guest_go(struct meeting *m, unsigned peer, unsigned index, bool tunnelled)
{
    char identity[TLS_IDENTITY];
    struct guest *guest;
    int fd;

    if (!is_free(m, peer, index, tunnelled))
        return;
    fd = tunnelled ? guest_call(m, peer) : endpoint_connect_start(m->locations[peer].endpoint);
    if (fd < 0) {
        vocl_log(LOG_DEBUG, "%s: %s", m->locations[peer].endpoint, strerror(-fd));
        return;
    }
    identity_write(identity, m->rank, peer, index, m->token);
    guest = guest_new(m, fd, carrier(m, peer), identity);
    if (!guest)
        return;
    guest->state = GUEST_CONNECTING;
    guest->tunnelled = tunnelled;
    guest->peer = peer;
    guest->index = index;
}

int guest_expect(struct meeting *m, int fd, unsigned rank)
{
    struct guest *guest = guest_new(m, fd, m->by, NULL);

    if (!guest)
        return -ENOMEM;
    guest->expected = rank;
    guest->until = LONG_MAX;
    return 0;
}

void guest_come(struct meeting *m, int fd)
{
    struct guest *guest;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    guest = guest_new(m, fd, m->by, NULL);
    if (guest)
        guest->tunnelled = true;
}

void guests_forget(struct meeting *m, unsigned peer)
{
    for (unsigned i = 0; i < m->guest_count; i++) {
        if (m->guests[i].state != GUEST_NONE && m->guests[i].peer == peer)
            guest_end(&m->guests[i]);
    }
}

/* One that was handed over; false: there will be no more. */
static bool take_handed(struct meeting *m)
{
    struct tunnel_call call;
    unsigned count = 1;
    int fd = -1;
    ssize_t got = socket_receive_descriptors(m->tunnel, &call, sizeof(call), &fd, &count, 1);

    if (count)
        guest_come(m, fd);
    return got > 0 || got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT;
}

bool stream_say(struct stream *stream, const void *bytes, size_t length)
{
    return stream->by->write(stream->tls, bytes, length) == (ssize_t)length && stream->by->flush(stream->tls) >= 0;
}

bool guest_write(struct guest *guest, const void *bytes, size_t length)
{
    return stream_say(&(struct stream){.tls = guest->tls, .by = guest->by}, bytes, length);
}

/* Whether this connection may be made, by who is to consent. */
static bool is_wanted(struct meeting *m, const struct guest *guest)
{
    return m->ways && guest->peer < m->size && m->ways[guest->peer] &&
           (guest->index <= m->pipes || (guest->index == BEAT && !m->bells)) &&
           !way_stream(m->ways[guest->peer], guest->index)->tls;
}

/* The handshake is done: who it is. */
static bool guest_known(struct meeting *m, struct guest *guest)
{
    static const struct consent yes = {HELLO_MAGIC, 1};
    unsigned to;

    if (guest->came) {
        if (!identity_read(guest->by->identity(guest->tls), m->token, &guest->peer, &to, &guest->index) ||
            to != m->rank || (guest->expected && guest->expected != guest->peer))
            return false;
        if (!m->rank && !guest->index && !m->ways) { /* it says more of itself */
            guest->state = GUEST_SAYS;
            return true;
        }
    }
    if (!is_wanted(m, guest) || guest->peer == m->rank)
        return false;
    if (!meeting_is_above(m, guest->peer)) { /* it is for the other to consent */
        guest->state = GUEST_SAYS;
        return true;
    }
    if (!guest_write(guest, &yes, sizeof(yes)))
        return false;
    guest_settle(guest, m->ways[guest->peer]);
    return true;
}

/* ---- a turn ---- */

/* It is not let in, or gone. */
static int guest_fail(struct meeting *m, struct guest *guest)
{
    const unsigned missing = guest->expected;

    guest_end(guest);
    return missing ? meeting_missing(m, missing) : 0;
}

/* Of what it says, bytes[] after so many others: 1, it is all here; 0, not yet; or negative errno. */
static int guest_hear(struct guest *guest, void *bytes, size_t others, size_t length)
{
    const size_t at = guest->got - others;
    const ssize_t got = at < length ? guest->by->read(guest->tls, (uint8_t *)bytes + at, length - at) : 0;

    if (got < 0)
        return (int)got;
    guest->got += (size_t)got;
    return at + (size_t)got == length;
}

static int guest_greets(struct meeting *m, struct guest *guest)
{
    struct greeting *greeting = &guest->said.greeting;
    int heard = 1, error = 0;

    if (guest->got < sizeof(*greeting))
        heard = guest_hear(guest, greeting, 0, sizeof(*greeting));
    if (heard > 0 && greeting->extra) {
        const int extra = meeting_extra(m, guest);

        if (extra >= 0 && !guest->extra)
            guest->extra = calloc(1, (size_t)extra + 1);
        error = extra < 0 ? extra : guest->extra ? 0 : -ENOMEM;
        if (!error)
            heard = guest_hear(guest, guest->extra, sizeof(*greeting), (size_t)extra);
    }
    if (heard < 0)
        return guest_fail(m, guest);
    if (heard > 0 && !error)
        error = meeting_greeted(m, guest);
    if (error)
        guest_end(guest);
    return error;
}

static int guest_says(struct meeting *m, struct guest *guest)
{
    const struct consent *consent = &guest->said.consent;
    int heard;

    if (!m->rank && !m->ways)
        return guest_greets(m, guest);
    heard = guest_hear(guest, &guest->said.consent, 0, sizeof(*consent));
    if (!heard)
        return 0;
    if (heard > 0 && consent->magic == HELLO_MAGIC && consent->accepted && is_wanted(m, guest))
        guest_settle(guest, m->ways[guest->peer]);
    else
        guest_end(guest);
    return 0;
}

static int guest_go_on(struct meeting *m, struct guest *guest)
{
    int error = 0;

    if (guest->state == GUEST_CONNECTING) {
        socklen_t length = sizeof(error);

        if (getsockopt(guest->fd, SOL_SOCKET, SO_ERROR, &error, &length) || error) {
            guest_end(guest);
            return 0;
        }
        guest->state = GUEST_SHAKING;
    }
    if (guest->state == GUEST_SHAKING) {
        error = guest->by->shake(guest->tls);
        if (error == -EAGAIN)
            return 0;
        if (error || !guest_known(m, guest)) {
            if (guest->came && !guest->expected)
                vocl_log(LOG_WARN, "refused a connection that is none of this session's");
            return guest_fail(m, guest);
        }
    }
    return guest->state == GUEST_SAYS ? guest_says(m, guest) : 0;
}

static unsigned fill_poll(struct meeting *m, long *until)
{
    struct pollfd *ready = m->ready;
    unsigned count = 0;

    ready[count++] = (struct pollfd){m->listeners[0], POLLIN, 0};
    ready[count++] = (struct pollfd){m->listeners[1], POLLIN, 0};
    ready[count++] = (struct pollfd){m->rank ? -1 : m->job->lifeline, POLLIN, 0};
    ready[count++] = (struct pollfd){m->is_handed ? -1 : m->tunnel, POLLIN, 0};
    for (unsigned i = 0; i < m->guest_count; i++) {
        struct guest *guest = &m->guests[i];
        const bool out = guest->state == GUEST_CONNECTING || (guest->state && guest->by->waits(guest->tls));

        if (guest->state == GUEST_NONE)
            continue;
        if (guest->until < *until)
            *until = guest->until;
        guest->place = count;
        ready[count++] = (struct pollfd){
            guest->fd, (short)((guest->state == GUEST_CONNECTING ? 0 : POLLIN) | (out ? POLLOUT : 0)), 0};
    }
    return count;
}

/* What happens until then, or a little of it. Negative errno: it cannot become anything. */
int meeting_turn(struct meeting *m, long until)
{
    struct pollfd *ready = m->ready;
    unsigned count = fill_poll(m, &until);
    const long left = until - clock_ms();
    int error = 0;

    socket_poll(ready, count, left > 0 ? (int)left : 0);
    for (unsigned i = 0; i < m->guest_count && !error; i++) {
        struct guest *guest = &m->guests[i];

        if (guest->state != GUEST_NONE && ready[guest->place].revents) {
            if (guest->by->waits(guest->tls))
                guest->by->flush(guest->tls);
            error = guest_go_on(m, guest);
        }
        if (guest->state != GUEST_NONE && clock_ms() >= guest->until)
            guest_end(guest);
    }
    for (unsigned i = 0; i < 2 && !error; i++) {
        if (ready[i].revents)
            accept_guests(m, m->listeners[i]);
    }
    if (!error && ready[MEETING_OTHERS - 1].revents && !take_handed(m))
        m->tunnel = -1;
    return error;
}
