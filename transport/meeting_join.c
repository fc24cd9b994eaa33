/* A worker's side of a meeting: it goes to the application and says who it is, and then meets the others. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/guests.h"
#include "transport/meeting.h"
#include "wire/frame.h"

#define ANYBODY 65535 /* the number of a worker that has none */

/* The number that its starter gave it. */
static unsigned given_rank(void)
{
    const char *rank = getenv("PMI_RANK");

    return rank ? (unsigned)atoi(rank) : 0;
}

/* Until what is to be done is done. */
static int exchange(struct tls *tls, int fd, void *bytes, size_t length, long until, bool read)
{
    size_t at = 0;

    while (at < length || tls_plugin->waits(tls)) {
        struct pollfd ready = {fd, (short)(POLLIN | (tls_plugin->waits(tls) ? POLLOUT : 0)), 0};
        const long left = until - clock_ms();
        ssize_t moved = 0;

        if (left <= 0)
            return -ETIMEDOUT;
        if (at < length)
            moved = read ? tls_plugin->read(tls, (uint8_t *)bytes + at, length - at)
                         : tls_plugin->write(tls, (uint8_t *)bytes + at, length - at);
        if (moved < 0 || tls_plugin->flush(tls) < 0)
            return moved < 0 ? (int)moved : -ECONNRESET;
        at += (size_t)moved;
        if (!moved && at < length)
            poll(&ready, 1, (int)left);
    }
    return 0;
}

static int shake_hands(struct tls *tls, int fd, long until)
{
    int error;

    while ((error = tls_plugin->shake(tls)) == -EAGAIN) {
        struct pollfd ready = {fd, (short)(POLLIN | (tls_plugin->waits(tls) ? POLLOUT : 0)), 0};
        const long left = until - clock_ms();

        if (left <= 0)
            return -ETIMEDOUT;
        poll(&ready, 1, (int)left);
        if (tls_plugin->waits(tls) && tls_plugin->flush(tls) < 0)
            return -ECONNRESET;
    }
    return error;
}

static int take_welcome(struct meeting *m, struct tls *tls, int fd, long until)
{
    struct welcome welcome;
    int error = exchange(tls, fd, &welcome, sizeof(welcome), until, true);

    if (error) {
        snprintf(m->why, m->why_size, "the application is gone: %s", strerror(-error));
        return error;
    }
    if (welcome.magic != HELLO_MAGIC || !welcome.accepted || !welcome.rank || welcome.rank >= welcome.size ||
        welcome.size > ANYBODY || !welcome.pipes || welcome.pipes > MOST_PIPES) {
        welcome.why[sizeof(welcome.why) - 1] = '\0';
        snprintf(m->why, m->why_size, "refused: %s",
                 welcome.magic == HELLO_MAGIC && !welcome.accepted ? welcome.why : "not a VOCL program");
        return -EPROTO;
    }
    m->rank = welcome.rank;
    m->size = welcome.size;
    m->pipes = welcome.pipes;
    m->places = calloc(m->size, sizeof(*m->places));
    error = m->places ? exchange(tls, fd, m->places, m->size * sizeof(*m->places), until, true) : -ENOMEM;
    for (unsigned i = 0; !error && i < m->size; i++)
        m->places[i].host[sizeof(m->places->host) - 1] = m->places[i].endpoint[sizeof(m->places->endpoint) - 1] = '\0';
    return error;
}

/* The connection for frames with the application, and what it says. */
static int hail(struct meeting *m, const char *endpoint, int fd, struct endpoint *own, long until)
{
    struct greeting greeting = {HELLO_MAGIC, WIRE_VERSION, 0x01020304, sizeof(void *), given_rank(), 0, "", ""};
    char identity[TLS_IDENTITY];
    struct tls *tls;
    int error;

    guest_identity(identity, greeting.rank ? greeting.rank : ANYBODY, 0, 0);
    tls = tls_plugin->open(fd, identity);
    error = tls ? shake_hands(tls, fd, clock_ms() + SHAKE_MS < until ? clock_ms() + SHAKE_MS : until) : -ENOMEM;
    if (error)
        snprintf(m->why, m->why_size, "%s: %s", endpoint,
                 error == -ETIMEDOUT ? strerror(ETIMEDOUT)
                                     : "it is not the session's program, or this is not its worker");
    if (!error && fellows_listen(own, endpoint, fd))
        own->fd = -1;
    if (!error) {
        gethostname(greeting.host, sizeof(greeting.host) - 1);
        if (own->fd >= 0)
            memcpy(greeting.endpoint, own->text, sizeof(greeting.endpoint));
        error = exchange(tls, fd, &greeting, sizeof(greeting), until, false);
    }
    if (!error)
        error = take_welcome(m, tls, fd, until);
    if (!error)
        error = meeting_have_size(m);
    for (unsigned i = 0; !error && i < m->size; i++) {
        if (i != m->rank && !(m->ways[i] = way_new(m->pipes)))
            error = -ENOMEM;
    }
    if (error) {
        tls_plugin->close(tls);
        close(fd);
        return error;
    }
    memcpy(m->places[0].endpoint, endpoint, strnlen(endpoint, sizeof(m->places->endpoint) - 1));
    kept_trust(&m->ways[0]->frames.socket, fd);
    m->ways[0]->frames.tls = tls;
    return 0;
}

/* Who could not be reached is none of this worker's: data then has no way between these two. */
static int take_members(struct meeting *m)
{
    struct job *job = m->job;

    job->members = calloc(m->size, sizeof(*job->members));
    if (!job->members)
        return -ENOMEM;
    for (unsigned rank = 0; rank < m->size; rank++) {
        struct member *member = &job->members[job->member_count];

        if (!m->ways[rank])
            continue;
        if (!way_is_whole(m->ways[rank])) {
            if (!rank) {
                snprintf(m->why, m->why_size, "not all connections with the application could be made");
                return -ETIMEDOUT;
            }
            vocl_log(LOG_WARN, "worker %u on %s cannot be reached", rank, m->places[rank].host);
            way_free(m->ways[rank], false);
        } else {
            *member = (struct member){.fd = -1, .rank = rank, .way = m->ways[rank]};
            snprintf(member->host, sizeof(member->host), "%s", m->places[rank].host);
            job->member_count++;
        }
        m->ways[rank] = NULL;
    }
    job->provider = &provider_tls;
    job->rank = (int)m->rank;
    job->size = (int)m->size;
    return 0;
}

int meeting_join(struct job *job, const char *endpoint, const uint8_t *secret, long until, void (*ending)(void *),
                 void *argument, char *why, size_t why_size)
{
    struct meeting *m = meeting_new(job, why, why_size);
    struct endpoint own = {.fd = -1};
    int error = m ? meeting_prepare(secret, ending, argument, why, why_size) : -ENOMEM, fd = -1;

    if (!error) {
        fd = endpoint_connect(endpoint);
        error = fd < 0 ? fd : 0;
        if (error)
            snprintf(why, why_size, "%s: %s", endpoint, strerror(-fd));
    }
    if (!error) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        socket_tune(fd);
        error = hail(m, endpoint, fd, &own, until);
    }
    if (!error) {
        m->listeners[0] = own.fd;
        error = meeting_meet(m, until);
    }
    if (!error)
        error = take_members(m);
    for (unsigned i = 0; m && m->ways && i < m->size; i++)
        way_free(m->ways[i], false);
    if (own.fd >= 0)
        close(own.fd);
    if (m)
        meeting_end(m);
    return error;
}
