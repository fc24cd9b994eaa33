/* A worker's side of the rendezvous: it connects to the program, identifies itself, and then connects to the others. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/rendezvous/pending.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/stream/plain.h"

#define DIRECT_MS 2000 /* to reach the program, if there is another way */

/* Returns the number that the starter or MPI gave this worker, or 0. */
static unsigned given_rank(void)
{
    const char *pmi = getenv("PMI_RANK"), *rank = pmi ? pmi : getenv("OMPI_COMM_WORLD_RANK");

    return rank ? (unsigned)atoi(rank) : 0;
}

/* Reads or writes all bytes, or fails at the time `until`. */
static int exchange(const struct stream *stream, int fd, void *bytes, size_t length, long until, bool read)
{
    size_t at = 0;

    while (at < length || stream->by->waits(stream->tls)) {
        struct pollfd ready = {fd, (short)(POLLIN | (stream->by->waits(stream->tls) ? POLLOUT : 0)), 0};
        const long left = until - clock_ms();
        ssize_t moved = 0;

        if (left <= 0)
            return -ETIMEDOUT;
        if (at < length)
            moved = read ? stream->by->read(stream->tls, (uint8_t *)bytes + at, length - at)
                         : stream->by->write(stream->tls, (uint8_t *)bytes + at, length - at);
        if (moved < 0 || stream->by->flush(stream->tls) < 0)
            return moved < 0 ? (int)moved : -ECONNRESET;
        at += (size_t)moved;
        if (!moved && at < length)
            poll(&ready, 1, (int)left);
    }
    return 0;
}

static int shake_hands(const struct stream *stream, int fd, long until)
{
    int error;

    while ((error = stream->by->shake(stream->tls)) == -EAGAIN) {
        struct pollfd ready = {fd, (short)(POLLIN | (stream->by->waits(stream->tls) ? POLLOUT : 0)), 0};
        const long left = until - clock_ms();

        if (left <= 0)
            return -ETIMEDOUT;
        poll(&ready, 1, (int)left);
        if (stream->by->waits(stream->tls) && stream->by->flush(stream->tls) < 0)
            return -ECONNRESET;
    }
    return error;
}

static int take_welcome(struct rendezvous *m, const struct stream *stream, int fd, long until)
{
    struct welcome welcome;
    int error = exchange(stream, fd, &welcome, sizeof(welcome), until, true);

    if (error) {
        snprintf(m->why, m->why_size, "the application is gone: %s", strerror(-error));
        return error;
    }
    if (welcome.magic != HELLO_MAGIC || !welcome.accepted || welcome.accepted > ACCEPTED_LATER_TLS || !welcome.rank ||
        welcome.rank >= welcome.size || welcome.size > ANYBODY || (m->newcomer && welcome.rank != m->newcomer) ||
        welcome.base < 2 || welcome.base > welcome.size || !welcome.pipes != m->bells || welcome.pipes > MOST_PIPES) {
        welcome.why[sizeof(welcome.why) - 1] = '\0';
        snprintf(m->why, m->why_size, "refused: %s",
                 welcome.magic == HELLO_MAGIC && !welcome.accepted ? welcome.why : "not a VOCL program");
        return -EPROTO;
    }
    m->rank = welcome.rank;
    m->size = welcome.size;
    m->pipes = welcome.pipes;
    m->base = welcome.base;
    m->later = welcome.accepted >= ACCEPTED_LATER;
    m->by_tls = welcome.accepted == ACCEPTED_LATER_TLS;
    m->locations = calloc(m->size, sizeof(*m->locations));
    error = m->locations ? 0 : -ENOMEM;
    if (!error && !m->later)
        error = exchange(stream, fd, m->locations, m->size * sizeof(*m->locations), until, true);
    for (unsigned i = 0; !error && i < m->size; i++)
        m->locations[i].host[sizeof(m->locations->host) - 1] =
            m->locations[i].endpoint[sizeof(m->locations->endpoint) - 1] = '\0';
    return error;
}

/* Makes the handshake, which proves that the peer is this session's program; closes the connection if it is not. */
static struct tls *knock(const struct rendezvous *m, int fd, long until)
{
    const unsigned rank = given_rank();
    const long most = clock_ms() + SHAKE_MS < until ? clock_ms() + SHAKE_MS : until;
    char identity[TLS_IDENTITY];
    struct tls *tls;
    int error;

    identity_write(identity, rank ? rank : ANYBODY, 0, 0, m->token);
    tls = m->by->open(fd, identity);
    error = tls ? shake_hands(&(struct stream){.tls = tls, .by = m->by}, fd, most) : -ENOMEM;
    if (!error)
        return tls;
    snprintf(m->why, m->why_size, "%s",
             error == -ETIMEDOUT ? strerror(ETIMEDOUT) : "it is not the session's program, or this is not its worker");
    if (tls)
        m->by->close(tls);
    close(fd);
    return NULL;
}

/* Connects to the program's address. There is less time for it if there is a tunnel, too. */
static int connect_direct(const struct rendezvous *m, const char *endpoint)
{
    const int fd = m->tunnel < 0 ? endpoint_connect(endpoint) : endpoint_connect_within(endpoint, DIRECT_MS);

    if (fd < 0)
        return fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    socket_tune(fd);
    return fd;
}

/* Makes the first connection with the program, and listens for the other members. */
static struct tls *reach(struct rendezvous *m, const struct introduction *by, struct endpoint *own, bool *tunnelled,
                         int *fd)
{
    const char *endpoint = by->endpoint ? by->endpoint : "";
    const bool alone = !strcmp(endpoint, TUNNEL_ENDPOINT);
    const char *host = getenv(SESSION_HOST);
    struct tls *tls = NULL;
    bool listens = false;

    *tunnelled = false;
    own->fd = -1;
    *fd = by->born[0];
    if (*fd >= 0)
        return knock(m, *fd, by->until);
    *fd = alone ? -ENETUNREACH : connect_direct(m, endpoint);
    if (*fd >= 0 && (tls = knock(m, *fd, by->until)))
        listens = !endpoint_listen_beside(own, endpoint, *fd);
    else if (*fd < 0 && !alone)
        snprintf(m->why, m->why_size, "%s: %s", endpoint, strerror(-*fd));
    *tunnelled = !tls && m->tunnel >= 0;
    if (*tunnelled) {
        vocl_log(LOG_INFO, "the program is reached through the launcher%s%s", *m->why ? ": " : "", m->why);
        *fd = pending_call(m, 0);
        tls = *fd < 0 ? NULL : knock(m, *fd, by->until);
        listens = tls && !alone && host && !endpoint_listen_tcp(own, host);
    }
    if (!listens)
        own->fd = -1;
    if (tls)
        *m->why = '\0';
    return tls;
}

/* Sends the greeting, and takes the welcome. */
static int introduce(struct rendezvous *m, const struct stream *stream, int fd, const struct endpoint *own,
                     const char *library, long until)
{
    struct greeting greeting;
    int error;

    greeting_fill(&greeting, given_rank());
    if (own->fd >= 0)
        snprintf(greeting.endpoint, sizeof(greeting.endpoint), "%s", own->text);
    greeting_put_library(&greeting, library);
    error = exchange(stream, fd, &greeting, sizeof(greeting), until, false);
    if (!error)
        error = take_welcome(m, stream, fd, until);
    if (!error)
        error = rendezvous_have_size(m);
    for (unsigned i = 0; !error && i < m->size; i++) {
        const bool there = !i || (!m->later && (!m->newcomer || *m->locations[i].host));

        if (there && i != m->rank && !(m->streams[i] = streams_new(m->pipes)))
            error = -ENOMEM;
    }
    return error;
}

/* Makes the connection for frames with the application, and exchanges the greeting. */
static int hail(struct rendezvous *m, const struct introduction *by, struct endpoint *own)
{
    bool tunnelled;
    int fd, error;
    struct tls *tls = reach(m, by, own, &tunnelled, &fd);

    if (!tls)
        return -ENOTCONN;
    error = introduce(m, &(struct stream){.tls = tls, .by = m->by}, fd, own, by->library, by->until);
    if (error) {
        m->by->close(tls);
        close(fd);
        return error;
    }
    if (!tunnelled && by->endpoint)
        snprintf(m->locations[0].endpoint, sizeof(m->locations->endpoint), "%s", by->endpoint);
    socket_be_patient(fd);
    stored_trust(&m->streams[0]->frames.socket, fd);
    m->streams[0]->frames.tls = tls;
    m->streams[0]->frames.by = m->by;
    m->streams[0]->tunnelled = tunnelled;
    return 0;
}

/* Fills in job->members. Workers that could not be reached are left out: data cannot be sent to them. */
static int take_members(struct rendezvous *m)
{
    struct job *job = m->job;

    job->members = calloc(m->size, sizeof(*job->members));
    if (!job->members)
        return -ENOMEM;
    for (unsigned rank = 0; rank < m->size; rank++) {
        struct member *member = &job->members[job->member_count];

        if (!m->streams[rank])
            continue;
        if (!streams_is_whole(m->streams[rank])) {
            if (!rank) {
                snprintf(m->why, m->why_size, "not all connections with the application could be made");
                return -ETIMEDOUT;
            }
            vocl_log(LOG_WARN, "worker %u on %s cannot be reached", rank, m->locations[rank].host);
            streams_free(m->streams[rank], false);
        } else {
            *member = (struct member){.fd = -1, .rank = rank};
            if (m->bells)
                member->fd = streams_take_bell(m->streams[rank]);
            else
                member->way = m->streams[rank];
            snprintf(member->host, sizeof(member->host), "%s", m->locations[rank].host);
            job->member_count++;
        }
        m->streams[rank] = NULL;
    }
    if (!m->bells)
        job->provider = &provider_tls;
    job->pipes = m->pipes;
    job->rank = (int)m->rank;
    job->size = (int)m->base;
    job->later = m->later;
    job->by_tls = m->by_tls;
    job->others = m->size;
    return 0;
}

/* Loads TLS for a newcomer within the program's host, if there are members on other hosts: only those have
 * locations. */
static int prepare_for_others(struct rendezvous *m)
{
    const struct newcomer_key *key = &m->job->newcomers;
    bool any = false;

    for (unsigned i = 0; i < m->size; i++)
        any |= *m->locations[i].endpoint != '\0';
    if (!any || m->by == tls_plugin || !m->newcomer)
        return 0;
    if (key->known)
        return rendezvous_prepare(key->secret, key->ending, key->argument, m->why, m->why_size);
    snprintf(m->why, m->why_size, "it has no secret for members on other hosts");
    return -ENOENT;
}

/* Takes the connections that this worker inherited: the rest with the program, and "RANK:DESCRIPTOR,..." with other
 * workers. */
static int inherit(struct rendezvous *m, const struct introduction *by, const char *list)
{
    const unsigned each = m->bells ? 1 : PAIR_SOCKETS;

    if (!m->bells && !pair_settle(m->streams[0], by->born))
        return -ENOMEM;
    while (list && *list) {
        int sockets[PAIR_SOCKETS] = {-1, -1, -1}, length;
        unsigned rank = 0, before = 0;

        for (unsigned i = 0; i < each; i++, before = rank) {
            if (sscanf(list, "%u:%d%n", &rank, &sockets[i], &length) != 2 || !rank || rank >= m->size ||
                rank == m->rank || (i && rank != before) || fcntl(sockets[i], F_SETFD, FD_CLOEXEC))
                return -EBADF;
            list += length;
            list += *list == ',';
        }
        if (!m->streams[rank] || m->streams[rank]->frames.tls)
            return -EBADF;
        if (!(m->bells ? streams_settle_bell(m->streams[rank], sockets[0]) : pair_settle(m->streams[rank], sockets)))
            return -ENOMEM;
    }
    return 0;
}

/* From now on a thread sends the program heartbeats, even while this one waits. */
static void answer(struct job *job, int bell)
{
    stored_trust(&job->first, bell);
    job->heartbeat = heartbeat_start(true);
    heartbeat_add(job->heartbeat, &job->beat, &job->first);
}

static struct rendezvous *begin(struct job *job, const struct introduction *by, int tunnel, char *why, size_t why_size)
{
    struct rendezvous *m = rendezvous_new(job, 0, why, why_size);
    const char *joins = getenv(SESSION_JOINS);

    if (!m)
        return NULL;
    m->by = by->secret ? tls_plugin : &plain_plugin;
    memcpy(m->token, by->token, sizeof(m->token));
    m->bells = by->bells;
    m->newcomer = joins ? (unsigned)atoi(joins) : 0;
    m->tunnel = tunnel;
    return m;
}

int rendezvous_join(struct job *job, const struct introduction *by, char *why, size_t why_size)
{
    struct endpoint own = {.fd = -1};
    int tunnel = environment_descriptor(SESSION_TUNNEL), error = 0; /* its starter may have given it one */
    struct rendezvous *m;

    if (by->secret)
        error = rendezvous_prepare(by->secret, by->ending, by->argument, why, why_size);
    m = error ? NULL : begin(job, by, tunnel, why, why_size);
    if (!error)
        error = m ? hail(m, by, &own) : -ENOMEM;
    if (!error && by->bells)
        answer(job, m->streams[0]->frames.socket.fd);
    if (!error && by->born[0] >= 0)
        error = inherit(m, by, getenv(SESSION_PEERS));
    if (!error)
        error = prepare_for_others(m);
    if (!error) {
        m->listeners[0] = own.fd;
        error = rendezvous_meet(m, by->until);
    }
    if (!error && tunnel >= 0 && (!m->streams[0]->tunnelled || !by->secret)) {
        stored_trust(&job->calls, tunnel);
        tunnel = -1;
    } else if (!error && m->streams[0]->tunnelled) {
        stored_trust(&job->calls, fcntl(tunnel, F_DUPFD_CLOEXEC, 0));
        stored_trust(&m->streams[0]->voucher, tunnel);
        tunnel = -1;
    }
    if (!error)
        error = take_members(m);
    rendezvous_drop(m);
    if (own.fd >= 0)
        close(own.fd);
    if (tunnel >= 0)
        close(tunnel);
    if (error && !*why)
        snprintf(why, why_size, "the connections with the session's members: %s", strerror(-error));
    return error;
}
