#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/meeting.h"
#include "transport/over_tls.h"
#include "wire/frame.h"

#define GUESTS 128      /* connections that are not yet somebody's */
#define SHAKE_MS 5000   /* that one of them has */
#define REVERSE_MS 1000 /* after which who waits for another goes there himself, */
#define REACH_MS 8000   /* and when he gives up */
#define BEAT 255        /* the connection for heartbeats; 0 is the one for frames, others are for bulk data */
#define ANYBODY 65535   /* the number of a worker that has none */

const struct tls_plugin *tls_plugin;

/* ---- what is said first ---- */

/* By the one with the higher number, on the connection for frames with the application. */
struct greeting {
    uint32_t magic, version, byte_order, pointer_size, rank, unused;
    char host[64], endpoint[128];
};

/* The application's answer, when all are there; so many places follow. */
struct welcome {
    uint32_t magic, accepted, rank, size, pipes, unused;
    char why[128];
};

struct place {
    char host[64], endpoint[128];
};

/* On every other connection: by the one with the lower number. */
struct consent {
    uint32_t magic, accepted;
};

struct guest {
    int fd;
    struct tls *tls;
    enum { GUEST_NONE, GUEST_CONNECTING, GUEST_SHAKING, GUEST_SAYS } state;
    bool came;            /* to this side; else this side went there */
    unsigned peer, index; /* of the connection: see BEAT */
    long until;
    size_t got;
    union {
        struct greeting greeting;
        struct consent consent;
    } said;
};

struct meeting {
    struct job *job;
    struct start *start; /* the application's, or NULL */
    unsigned rank, size, pipes;
    int listeners[2];
    struct tls_way **ways; /* by number; NULL before the numbers are given */
    struct place *places;
    long *next_try;
    struct guest guests[GUESTS];
    char *why;
    size_t why_size;
};

/* The two numbers, who connects first, and what for: nobody's key is another's. */
static void make_identity(char identity[TLS_IDENTITY], unsigned from, unsigned to, unsigned index)
{
    const char *kind = index == BEAT ? "beat" : index ? "bulk" : "frames";

    snprintf(identity, TLS_IDENTITY, "vocl:%s:%u:%u:%u", kind, from, to, index);
}

static bool read_identity(const char *identity, unsigned *from, unsigned *to, unsigned *index)
{
    char kind[8], same[TLS_IDENTITY];

    if (sscanf(identity, "vocl:%7[a-z]:%u:%u:%u", kind, from, to, index) != 4)
        return false;
    make_identity(same, *from, *to, *index);
    return !strcmp(identity, same);
}

/* ---- ways ---- */

static struct tls_way *way_new(unsigned pipes)
{
    struct tls_way *way = calloc(1, sizeof(*way));

    if (!way || !(way->pipes = calloc(pipes, sizeof(*way->pipes)))) {
        free(way);
        return NULL;
    }
    way->pipe_count = pipes;
    way->offers_last = &way->offers;
    way->frames.socket.fd = way->beat.socket.fd = -1;
    for (unsigned i = 0; i < pipes; i++)
        way->pipes[i].stream.socket.fd = -1;
    return way;
}

static struct stream *stream_of(struct tls_way *way, unsigned index)
{
    return index == BEAT ? &way->beat : index ? &way->pipes[index - 1].stream : &way->frames;
}

static bool is_whole(const struct tls_way *way)
{
    bool whole = way && way->frames.tls && way->beat.tls;

    for (unsigned i = 0; whole && i < way->pipe_count; i++)
        whole = way->pipes[i].stream.tls != NULL;
    return whole;
}

/* ---- guests ---- */

static void guest_end(struct guest *guest)
{
    tls_plugin->close(guest->tls);
    if (guest->fd >= 0)
        close(guest->fd);
    *guest = (struct guest){.fd = -1};
}

/* The connection is somebody's now. */
static void guest_settle(struct guest *guest, struct tls_way *way)
{
    struct stream *stream = stream_of(way, guest->index);

    kept_trust(&stream->socket, guest->fd);
    stream->tls = guest->tls;
    vocl_log(LOG_DEBUG, "connection %u with %u%s", guest->index, guest->peer,
             tls_plugin->by_kernel(guest->tls) ? ", the kernel encrypts" : "");
    *guest = (struct guest){.fd = -1};
}

/* When all places are taken the oldest loses his: who is of the session has long come through by then. */
static struct guest *guest_place(struct meeting *m)
{
    struct guest *oldest = NULL;

    for (unsigned i = 0; i < GUESTS; i++) {
        struct guest *guest = &m->guests[i];

        if (guest->state == GUEST_NONE)
            return guest;
        if (guest->came && guest->state == GUEST_SHAKING && (!oldest || guest->until < oldest->until))
            oldest = guest;
    }
    if (oldest)
        guest_end(oldest);
    return oldest;
}

static struct guest *guest_new(struct meeting *m, int fd, const char *identity)
{
    struct guest *guest = guest_place(m);
    struct tls *tls = guest ? tls_plugin->open(fd, identity) : NULL;

    if (!tls) {
        close(fd);
        return NULL;
    }
    socket_tune(fd);
    *guest =
        (struct guest){.fd = fd, .tls = tls, .state = GUEST_SHAKING, .came = !identity, .until = clock_ms() + SHAKE_MS};
    return guest;
}

static void accept_guests(struct meeting *m, int listener)
{
    for (int i = 0; i < 16; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        guest_new(m, fd, NULL);
    }
}

static void go_to(struct meeting *m, unsigned peer, unsigned index)
{
    char identity[TLS_IDENTITY];
    struct guest *guest;
    int fd = endpoint_connect_start(m->places[peer].endpoint);

    if (fd < 0) {
        vocl_log(LOG_DEBUG, "%s: %s", m->places[peer].endpoint, strerror(-fd));
        return;
    }
    make_identity(identity, m->rank, peer, index);
    guest = guest_new(m, fd, identity);
    if (!guest)
        return;
    guest->state = GUEST_CONNECTING;
    guest->peer = peer;
    guest->index = index;
}

static bool write_now(struct tls *tls, const void *bytes, size_t length)
{
    return tls_plugin->write(tls, bytes, length) == (ssize_t)length && tls_plugin->flush(tls) >= 0;
}

static bool is_underway(const struct meeting *m, unsigned peer, unsigned index)
{
    for (unsigned i = 0; i < GUESTS; i++) {
        if (m->guests[i].state != GUEST_NONE && !m->guests[i].came && m->guests[i].peer == peer &&
            m->guests[i].index == index)
            return true;
    }
    return false;
}

/* Whether this connection may be made, by who is to consent. */
static bool is_wanted(struct meeting *m, const struct guest *guest)
{
    return m->ways && guest->peer < m->size && m->ways[guest->peer] &&
           (guest->index <= m->pipes || guest->index == BEAT) && !stream_of(m->ways[guest->peer], guest->index)->tls;
}

/* The handshake is done: who it is. */
static bool guest_known(struct meeting *m, struct guest *guest)
{
    static const struct consent yes = {HELLO_MAGIC, 1};
    unsigned to;

    if (guest->came) {
        if (!read_identity(tls_plugin->identity(guest->tls), &guest->peer, &to, &guest->index) || to != m->rank)
            return false;
        if (!m->rank && !guest->index && !m->ways) { /* a worker: it says more of itself */
            guest->state = GUEST_SAYS;
            return true;
        }
    }
    if (!is_wanted(m, guest) || guest->peer == m->rank)
        return false;
    if (guest->peer < m->rank) { /* it is for the other to consent */
        guest->state = GUEST_SAYS;
        return true;
    }
    if (!write_now(guest->tls, &yes, sizeof(yes)))
        return false;
    guest_settle(guest, m->ways[guest->peer]);
    return true;
}

/* ---- workers come to the application ---- */

static const char *greeting_wrong(const struct greeting *greeting)
{
    if (greeting->magic != HELLO_MAGIC)
        return "not a VOCL process";
    if (greeting->byte_order != 0x01020304 || greeting->pointer_size != sizeof(void *))
        return "byte order or pointer size differ";
    if (greeting->version != WIRE_VERSION)
        return "protocol versions differ: the same VOCL must be installed on both sides";
    return NULL;
}

/* Negative: a worker of this session that does not fit; nobody will come in its place. */
static int take_greeting(struct meeting *m, struct guest *guest)
{
    struct greeting *greeting = &guest->said.greeting;
    const char *wrong = greeting_wrong(greeting);
    struct welcome welcome = {.magic = HELLO_MAGIC};
    struct member *member;

    greeting->host[sizeof(greeting->host) - 1] = greeting->endpoint[sizeof(greeting->endpoint) - 1] = '\0';
    if (!wrong && m->job->member_count == m->size - 1)
        wrong = "not expected";
    if (wrong) {
        vocl_log(LOG_ERROR, "refused a process on %s: %s", greeting->host, wrong);
        snprintf(m->why, m->why_size, "a worker on %s: %s", greeting->host, wrong);
        snprintf(welcome.why, sizeof(welcome.why), "%s", wrong);
        write_now(guest->tls, &welcome, sizeof(welcome));
        return -EPROTO;
    }
    member = &m->job->members[m->job->member_count];
    *member = (struct member){.fd = -1, .rank = greeting->rank, .way = way_new(m->pipes)};
    if (!member->way)
        return -ENOMEM;
    m->job->member_count++;
    memcpy(member->host, greeting->host, sizeof(member->host));
    memcpy(member->endpoint, greeting->endpoint, sizeof(member->endpoint));
    guest_settle(guest, member->way);
    return 0;
}

/* ---- a turn ---- */

static int guest_says(struct meeting *m, struct guest *guest)
{
    const bool greets = !m->rank && !m->ways;
    const size_t length = greets ? sizeof(guest->said.greeting) : sizeof(guest->said.consent);
    ssize_t got = tls_plugin->read(guest->tls, (uint8_t *)&guest->said + guest->got, length - guest->got);

    if (got < 0) {
        guest_end(guest);
        return 0;
    }
    guest->got += (size_t)got;
    if (guest->got < length)
        return 0;
    if (greets) {
        int error = take_greeting(m, guest);

        if (error)
            guest_end(guest);
        return error;
    }
    if (guest->said.consent.magic == HELLO_MAGIC && guest->said.consent.accepted && is_wanted(m, guest))
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
        error = tls_plugin->shake(guest->tls);
        if (error == -EAGAIN)
            return 0;
        if (error || !guest_known(m, guest)) {
            if (guest->came)
                vocl_log(LOG_WARN, "refused a connection that is none of this session's");
            guest_end(guest);
            return 0;
        }
    }
    return guest->state == GUEST_SAYS ? guest_says(m, guest) : 0;
}

#define OTHERS 3 /* descriptors besides guests' */

static unsigned fill_poll(struct meeting *m, struct pollfd *ready, long *until)
{
    unsigned count = 0;

    ready[count++] = (struct pollfd){m->listeners[0], POLLIN, 0};
    ready[count++] = (struct pollfd){m->listeners[1], POLLIN, 0};
    ready[count++] = (struct pollfd){m->rank ? -1 : m->job->lifeline, POLLIN, 0};
    for (unsigned i = 0; i < GUESTS; i++) {
        const struct guest *guest = &m->guests[i];
        const bool out = guest->state == GUEST_CONNECTING || (guest->state && tls_plugin->waits(guest->tls));

        if (guest->state == GUEST_NONE) {
            ready[count++] = (struct pollfd){-1, 0, 0};
            continue;
        }
        if (guest->until < *until)
            *until = guest->until;
        ready[count++] = (struct pollfd){
            guest->fd, (short)((guest->state == GUEST_CONNECTING ? 0 : POLLIN) | (out ? POLLOUT : 0)), 0};
    }
    return count;
}

/* What happens until then, or a little of it. Negative errno: it cannot become anything. */
static int turn(struct meeting *m, long until)
{
    struct pollfd ready[OTHERS + GUESTS];
    unsigned count = fill_poll(m, ready, &until);
    const long left = until - clock_ms();
    int error = 0;

    poll(ready, count, left > 0 ? (int)left : 0);
    for (unsigned i = 0; i < GUESTS && !error; i++) {
        struct guest *guest = &m->guests[i];

        if (guest->state != GUEST_NONE && ready[OTHERS + i].revents) {
            if (tls_plugin->waits(guest->tls))
                tls_plugin->flush(guest->tls);
            error = guest_go_on(m, guest);
        }
        if (guest->state != GUEST_NONE && clock_ms() >= guest->until)
            guest_end(guest);
    }
    for (unsigned i = 0; i < 2 && !error; i++) {
        if (ready[i].revents)
            accept_guests(m, m->listeners[i]);
    }
    return error;
}

/* ---- each pair ---- */

/* The one with the higher number goes to the other; if it does not come, the other way round. */
static bool pairs_go_on(struct meeting *m, long began)
{
    const long now = clock_ms();
    bool whole = true;

    for (unsigned peer = 0; peer < m->size; peer++) {
        if (peer == m->rank || is_whole(m->ways[peer]))
            continue;
        whole = false;
        if (now < m->next_try[peer] || (peer > m->rank && now < began + REVERSE_MS) || !*m->places[peer].endpoint)
            continue;
        m->next_try[peer] = now + REVERSE_MS;
        for (unsigned i = 0; i <= m->pipes + 1; i++) {
            const unsigned index = i <= m->pipes ? i : BEAT;

            if (!stream_of(m->ways[peer], index)->tls && !is_underway(m, peer, index))
                go_to(m, peer, index);
        }
    }
    return whole;
}

/* Until all have their connections, or it is clear that some have not. */
static int meet(struct meeting *m, long until)
{
    const long began = clock_ms();
    const long most = began + REACH_MS < until ? began + REACH_MS : until;

    while (!pairs_go_on(m, began)) {
        const long now = clock_ms();
        int error;

        if (now >= most)
            break;
        error = turn(m, now + 100 < most ? now + 100 : most);
        if (error)
            return error;
        if (m->start && launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

int meeting_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    if (!tls_plugin)
        tls_plugin = loader_open_tls(why, why_size);
    if (!tls_plugin)
        return -ENOENT;
    if (!tls_plugin->init(secret, ending, argument))
        return 0;
    snprintf(why, why_size, "OpenSSL cannot be used");
    return -EIO;
}

static struct meeting *meeting_new(struct job *job, char *why, size_t why_size)
{
    struct meeting *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct meeting){.job = job, .listeners = {-1, -1}, .why = why, .why_size = why_size};
    for (unsigned i = 0; i < GUESTS; i++)
        m->guests[i].fd = -1;
    return m;
}

static int have_size(struct meeting *m)
{
    m->ways = calloc(m->size, sizeof(*m->ways));
    m->next_try = calloc(m->size, sizeof(*m->next_try));
    m->places = m->places ? m->places : calloc(m->size, sizeof(*m->places));
    return m->ways && m->next_try && m->places ? 0 : -ENOMEM;
}

static void meeting_end(struct meeting *m)
{
    for (unsigned i = 0; i < GUESTS; i++) {
        if (m->guests[i].state != GUEST_NONE)
            guest_end(&m->guests[i]);
    }
    free(m->ways);
    free(m->next_try);
    free(m->places);
    free(m);
}

/* ---- the application ---- */

static int gather(struct meeting *m, long until)
{
    while (m->job->member_count < m->size - 1) {
        int error;

        if (clock_ms() >= until) {
            snprintf(m->why, m->why_size, "%u of %u workers came within VOCL_START_TIMEOUT seconds",
                     m->job->member_count, m->size - 1);
            return -ETIMEDOUT;
        }
        error = turn(m, until);
        if (error)
            return error;
        if (launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

/* A worker whose starter gave it a number has that; the others get what is left in the order in which they came. */
static int give_numbers(struct meeting *m)
{
    struct job *job = m->job;
    unsigned next = 1;

    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        if (!member->rank || member->rank >= m->size || m->ways[member->rank])
            member->rank = 0;
        else
            m->ways[member->rank] = member->way;
    }
    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        while (!member->rank) {
            if (!m->ways[next])
                m->ways[member->rank = next] = member->way;
            next++;
        }
        memcpy(m->places[member->rank].host, member->host, sizeof(member->host));
        memcpy(m->places[member->rank].endpoint, member->endpoint, sizeof(member->endpoint));
    }
    return 0;
}

static int welcome_all(struct meeting *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        const struct welcome welcome = {
            .magic = HELLO_MAGIC, .accepted = 1, .rank = rank, .size = m->size, .pipes = m->pipes};

        if (!write_now(m->ways[rank]->frames.tls, &welcome, sizeof(welcome)) ||
            !write_now(m->ways[rank]->frames.tls, m->places, m->size * sizeof(*m->places))) {
            snprintf(m->why, m->why_size, "a worker on %s was lost at the start", m->places[rank].host);
            return -ECONNRESET;
        }
    }
    return 0;
}

static int check_whole(const struct meeting *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        if (is_whole(m->ways[rank]))
            continue;
        snprintf(m->why, m->why_size, "not all connections with the worker on %s could be made", m->places[rank].host);
        return -ETIMEDOUT;
    }
    return 0;
}

int meeting_open(struct start *start)
{
    struct job *job = start->job;
    struct meeting *m = meeting_new(job, start->why, start->why_size);
    int error = m ? 0 : -ENOMEM;

    if (!error) {
        m->start = start;
        m->size = start->workers + 1;
        m->pipes = settings_streams();
        m->listeners[0] = start->local.fd;
        m->listeners[1] = start->remote.fd;
        error = gather(m, start->until);
    }
    if (!error)
        error = have_size(m);
    if (!error)
        error = give_numbers(m);
    if (!error)
        error = welcome_all(m);
    if (!error)
        error = meet(m, start->until);
    if (!error)
        error = check_whole(m);
    if (!error) {
        job->provider = &provider_tls;
        job->apart = true;
        job->size = (int)m->size;
    }
    if (m)
        meeting_end(m);
    return error;
}

/* ---- a worker ---- */

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

    make_identity(identity, greeting.rank ? greeting.rank : ANYBODY, 0, 0);
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
        error = have_size(m);
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
        if (!is_whole(m->ways[rank])) {
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
        error = meet(m, until);
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
