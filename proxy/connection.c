/*
 * Connections to and from the daemon. One that does not read what it asked for is closed. Before the other end has
 * proved who it is, by a first message under the connection's key, it is a stranger, who gets little time and little
 * room: strangers have places of their own, so many for an address, and where these are taken the next one has the
 * place of the one that has been there longest. So they hold up nobody who knows who he is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/daemon.h"

#define PROOF_SECONDS 5 /* in all, however it is spent */
#define STRANGERS 256   /* of them, a quarter of one address */
#define STRANGER_UNREAD (64u << 10)
#define REST_MS 200 /* when there are no descriptors */
#define IDLE_SECONDS 60
#define MOST_UNSENT (4u << 20)
#define MOST_UNREAD (CHANNEL_MOST + 4)

enum phase { PHASE_PROOF, PHASE_GREETING, PHASE_VERDICT, PHASE_OPEN, PHASE_CLOSING };

struct connection {
    struct connection *next, **at;
    struct daemon *daemon;
    struct bufferevent *stream;
    enum phase phase;
    struct channel channel;
    uint8_t nonce[AUTH_NONCE];
    struct auth_peer peer;
    char remote[64], node[64]; /* of an outgoing one, to which */
    uint8_t address[16];       /* whose strangers it counts with */
    const struct connection_owner *owner;
    void *argument;
    struct event *deadline; /* a stranger's */
    bool pulses;            /* it says that it is there */
    long heard_ms;
    bool outgoing, stranger, busy, gone; /* busy: inside one of its callbacks */
};

const struct auth_peer *connection_peer(const struct connection *c)
{
    return &c->peer;
}

const char *connection_remote(const struct connection *c)
{
    return c->remote;
}

struct daemon *connection_daemon(const struct connection *c)
{
    return c->daemon;
}

const struct connection_owner *connection_owner(const struct connection *c)
{
    return c->owner;
}

void *connection_argument(const struct connection *c)
{
    return c->argument;
}

static void destroy(struct connection *c)
{
    if (c->busy) {
        c->gone = true;
        return;
    }
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    if (c->deadline)
        event_free(c->deadline);
    if (c->owner && c->owner->closed)
        c->owner->closed(c);
    bufferevent_free(c->stream);
    free(c);
}

static void set_seconds(struct connection *c, int reading)
{
    const struct timeval read = {reading, 0}, write = {10, 0};

    bufferevent_set_timeouts(c->stream, reading ? &read : NULL, &write);
}

void connection_close(struct connection *c)
{
    if (c->phase == PHASE_CLOSING)
        return;
    c->phase = PHASE_CLOSING;
    bufferevent_disable(c->stream, EV_READ);
    if (!evbuffer_get_length(bufferevent_get_output(c->stream)))
        destroy(c);
}

void connection_own(struct connection *c, const struct connection_owner *owner, void *argument)
{
    c->owner = owner;
    c->argument = argument;
    set_seconds(c, owner ? 0 : IDLE_SECONDS);
}

void connection_send(struct connection *c, json_t *message)
{
    size_t length;
    uint8_t *record = c->phase == PHASE_OPEN ? channel_seal(&c->channel, message, &length) : NULL;

    json_decref(message);
    if (!record)
        return;
    bufferevent_write(c->stream, record, length);
    free(record);
    if (evbuffer_get_length(bufferevent_get_output(c->stream)) <= MOST_UNSENT)
        return;
    daemon_log("warning", "%s does not read what it is sent: closed", c->remote);
    c->phase = PHASE_CLOSING;
    destroy(c);
}

void connection_fail(struct connection *c, const char *error)
{
    connection_send(c, json_pack("{s:s}", "error", error));
}

/* ---- who is it ---- */

static void auth_settings_of(const struct connection *c, struct auth_settings *settings)
{
    const struct config *config = c->daemon->config;

    *settings = (struct auth_settings){.key_file = config->key_file,
                                       .node = config->name,
                                       .other = c->node,
                                       .socket = config->munge_socket,
                                       .daemon = geteuid(),
                                       .least = config->least_uid};
}

/* By key it says which daemon it is; only those of the pool file are. */
static int check_daemon(const struct connection *c, char *why, size_t why_size)
{
    const struct poolfile *pool = &c->daemon->pool;

    if (*c->peer.name != '@')
        return 0;
    for (unsigned i = 0; i < pool->count; i++) {
        if (!strcmp(pool->nodes[i].name, c->peer.name + 1))
            return 0;
    }
    snprintf(why, why_size, "no daemon of this pool: %s", c->peer.name);
    return -EACCES;
}

static bool take_proof(struct connection *c, struct evbuffer *input)
{
    struct channel_verdict verdict = {.accepted = 1};
    struct auth_settings settings;
    struct channel_proof proof;
    uint8_t bytes[AUTH_MOST];
    int error = 0;

    if (evbuffer_copyout(input, &proof, sizeof(proof)) < (ssize_t)sizeof(proof))
        return false;
    if (memcmp(proof.magic, CHANNEL_MAGIC, sizeof(proof.magic)) || proof.length > AUTH_MOST) {
        snprintf(verdict.why, sizeof(verdict.why), "no client of VOCL");
        error = -EBADMSG;
    } else if (evbuffer_get_length(input) < sizeof(proof) + proof.length) {
        return false;
    } else if (proof.version != CHANNEL_VERSION) {
        snprintf(verdict.why, sizeof(verdict.why), "versions of VOCL differ");
        error = -EPROTO;
    }
    if (!error) {
        evbuffer_drain(input, sizeof(proof));
        evbuffer_remove(input, bytes, proof.length);
        auth_settings_of(c, &settings);
        error = c->daemon->plugin->check(&settings, c->nonce, bytes, proof.length, c->channel.key, &c->peer,
                                         verdict.why, sizeof(verdict.why));
    }
    if (!error)
        error = check_daemon(c, verdict.why, sizeof(verdict.why));
    verdict.accepted = !error;
    bufferevent_write(c->stream, &verdict, sizeof(verdict));
    if (error) {
        c->daemon->totals.refused++;
        daemon_log("warning", "refused %s: %s", c->remote, verdict.why);
        connection_close(c);
        return false;
    }
    c->phase = PHASE_OPEN;
    return true;
}

/* ---- strangers ---- */

static bool is_stranger_of(const struct connection *c, const uint8_t *address)
{
    return c->stranger && !c->gone && (!address || !memcmp(c->address, address, sizeof(c->address)));
}

/* How many of an address, NULL: of all, there are; and who of them has been there longest. */
static unsigned count_strangers(const struct daemon *d, const uint8_t *address, struct connection **oldest)
{
    unsigned count = 0;

    for (struct connection *c = d->connections; c; c = c->next) { /* the newest first */
        if (!is_stranger_of(c, address))
            continue;
        *oldest = c;
        count++;
    }
    return count;
}

/* The oldest of the address that has most. */
static struct connection *find_excess(const struct daemon *d)
{
    struct connection *found = NULL, *oldest = NULL;
    unsigned most = 0, count;

    for (struct connection *c = d->connections; c; c = c->next) {
        count = c->stranger ? count_strangers(d, c->address, &oldest) : 0;
        if (count <= most)
            continue;
        most = count;
        found = oldest;
    }
    return found;
}

static void turn_away(struct connection *c, const char *why)
{
    c->daemon->totals.refused++;
    daemon_log("warning", "%s has not proved who it is: %s", c->remote, why);
    c->phase = PHASE_CLOSING;
    destroy(c);
}

static void make_room(struct daemon *d, const uint8_t *address)
{
    struct connection *oldest = NULL;

    if (count_strangers(d, address, &oldest) >= d->strangers_most / 4 + 1)
        turn_away(oldest, "another one of its address has its place");
    else if (count_strangers(d, NULL, &oldest) >= d->strangers_most)
        turn_away(find_excess(d), "another one has its place");
}

static void time_is_up(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    turn_away(argument, "its time is up");
}

static void become_stranger(struct connection *c, const struct sockaddr *address)
{
    const struct timeval time = {PROOF_SECONDS, 0};

    if (address->sa_family == AF_INET)
        memcpy(c->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6) /* who has one address there has all of its network */
        memcpy(c->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
    make_room(c->daemon, c->address);
    c->stranger = true;
    c->deadline = evtimer_new(c->daemon->base, time_is_up, c);
    if (c->deadline)
        evtimer_add(c->deadline, &time);
    bufferevent_setwatermark(c->stream, EV_READ, 0, STRANGER_UNREAD);
}

/* Other daemons and root always get in. */
static bool has_place(const struct connection *c, char *why, size_t why_size)
{
    const struct config *config = c->daemon->config;
    unsigned all = 0, own = 0;

    if (c->peer.is_daemon || !c->peer.uid)
        return true;
    for (const struct connection *other = c->daemon->connections; other; other = other->next) {
        const bool counts = !other->outgoing && !other->stranger && other->phase == PHASE_OPEN;

        all += counts;
        own += counts && other->peer.uid == c->peer.uid;
    }
    if (own >= config->connections_per_user)
        snprintf(why, why_size, "you have as many connections as you may: %u", config->connections_per_user);
    else if (all >= config->connection_limit)
        snprintf(why, why_size, "the daemon has as many connections as it takes: %u", config->connection_limit);
    return own < config->connections_per_user && all < config->connection_limit;
}

/* Its first message came under the key that only who it says it is can have. */
static bool stop_being_stranger(struct connection *c)
{
    char why[128];
    bool good = has_place(c, why, sizeof(why));

    c->stranger = false;
    event_free(c->deadline);
    c->deadline = NULL;
    bufferevent_setwatermark(c->stream, EV_READ, 0, MOST_UNREAD);
    set_seconds(c, IDLE_SECONDS);
    if (good)
        return true;
    c->daemon->totals.refused++;
    daemon_log("warning", "refused %s (%s): %s", c->remote, c->peer.name, why);
    connection_fail(c, why);
    connection_close(c);
    return false;
}

static bool take_greeting(struct connection *c, struct evbuffer *input)
{
    struct channel_proof proof = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    struct channel_greeting greeting;
    struct auth_settings settings;
    uint8_t bytes[AUTH_MOST];
    char why[128] = "it is no daemon of this pool";
    size_t length = 0;

    if (evbuffer_get_length(input) < sizeof(greeting))
        return false;
    evbuffer_remove(input, &greeting, sizeof(greeting));
    auth_settings_of(c, &settings);
    if (memcmp(greeting.magic, CHANNEL_MAGIC, sizeof(greeting.magic)) || greeting.version != CHANNEL_VERSION ||
        strncmp(greeting.method, c->daemon->config->method, sizeof(greeting.method)) ||
        c->daemon->plugin->prove(&settings, greeting.nonce, bytes, &length, c->channel.key, why, sizeof(why))) {
        daemon_log("warning", "%s: %s", c->remote, why);
        connection_close(c);
        return false;
    }
    proof.length = (uint32_t)length;
    bufferevent_write(c->stream, &proof, sizeof(proof));
    bufferevent_write(c->stream, bytes, length);
    c->phase = PHASE_VERDICT;
    return true;
}

static bool take_verdict(struct connection *c, struct evbuffer *input)
{
    struct channel_verdict verdict;

    if (evbuffer_get_length(input) < sizeof(verdict))
        return false;
    evbuffer_remove(input, &verdict, sizeof(verdict));
    verdict.why[sizeof(verdict.why) - 1] = '\0';
    if (!verdict.accepted) {
        daemon_log("warning", "%s refuses this daemon: %s", c->remote, verdict.why);
        connection_close(c);
        return false;
    }
    c->phase = PHASE_OPEN;
    set_seconds(c, 0);
    if (c->owner && c->owner->opened)
        c->owner->opened(c);
    return true;
}

/* ---- messages ---- */

static bool take_record(struct connection *c, struct evbuffer *input)
{
    uint8_t head[4], *box;
    json_t *message;
    long length;

    if (evbuffer_copyout(input, head, sizeof(head)) < (ssize_t)sizeof(head))
        return false;
    length = channel_length(head);
    if (length > 0 && evbuffer_get_length(input) < sizeof(head) + (size_t)length)
        return false;
    evbuffer_drain(input, sizeof(head));
    box = length > 0 ? evbuffer_pullup(input, length) : NULL;
    message = box ? channel_open(&c->channel, box, (size_t)length) : NULL;
    if (!message) {
        c->daemon->totals.refused++;
        daemon_log("warning", "%s sent what is no message (a wrong key?): closed", c->remote);
        connection_close(c);
        return false;
    }
    evbuffer_drain(input, (size_t)length);
    if (c->stranger && !stop_being_stranger(c)) {
        json_decref(message);
        return false;
    }
    c->heard_ms = clock_ms();
    if (!strcmp(message_text(message, "do", ""), "pulse")) {
        c->pulses = true;
        connection_send(c, json_pack("{s:b}", "pulse", 1));
    } else if (c->owner && c->owner->message)
        c->owner->message(c, message);
    else if (c->owner)
        connection_fail(c, "this connection is for what it was asked for before");
    else if (!c->outgoing)
        message_take(c, message);
    json_decref(message);
    return c->phase == PHASE_OPEN;
}

static void on_read(struct bufferevent *stream, void *argument)
{
    static bool (*const take[])(struct connection *, struct evbuffer *) = {take_proof, take_greeting, take_verdict,
                                                                           take_record};
    struct evbuffer *input = bufferevent_get_input(stream);
    struct connection *c = argument;

    c->busy = true;
    while (c->phase != PHASE_CLOSING && take[c->phase](c, input))
        ;
    c->busy = false;
    if (c->gone)
        destroy(c);
}

static void on_written(struct bufferevent *stream, void *argument)
{
    struct connection *c = argument;

    (void)stream;
    if (c->phase == PHASE_CLOSING)
        destroy(c);
}

static void on_event(struct bufferevent *stream, short what, void *argument)
{
    struct connection *c = argument;

    (void)stream;
    if (what & BEV_EVENT_CONNECTED)
        return;
    c->phase = PHASE_CLOSING;
    destroy(c);
}

static struct connection *connection_new(struct daemon *d, int fd, enum phase phase)
{
    struct connection *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->stream = bufferevent_socket_new(d->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!c->stream) {
        free(c);
        return NULL;
    }
    c->daemon = d;
    c->phase = phase;
    c->next = d->connections;
    c->at = &d->connections;
    if (c->next)
        c->next->at = &c->next;
    d->connections = c;
    c->channel.is_daemon = phase == PHASE_PROOF;
    bufferevent_setcb(c->stream, on_read, on_written, on_event, c);
    bufferevent_setwatermark(c->stream, EV_READ, 0, MOST_UNREAD);
    set_seconds(c, PROOF_SECONDS);
    bufferevent_enable(c->stream, EV_READ | EV_WRITE);
    return c;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length,
                      void *argument)
{
    struct daemon *d = argument;
    struct channel_greeting greeting;
    struct connection *c;
    char host[64], port[8];

    (void)listener;
    d->totals.connections++;
    socket_tune(fd);
    c = connection_new(d, fd, PHASE_PROOF);
    if (!c) {
        close(fd);
        return;
    }
    if (getnameinfo(address, (socklen_t)length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV))
        snprintf(c->remote, sizeof(c->remote), "?");
    else
        address_join(host, (unsigned)atoi(port), c->remote, sizeof(c->remote));
    become_stranger(c, address);
    channel_greet(&greeting, d->config->method);
    memcpy(c->nonce, greeting.nonce, sizeof(c->nonce));
    bufferevent_write(c->stream, &greeting, sizeof(greeting));
}

static void listen_again(evutil_socket_t fd, short what, void *argument)
{
    struct daemon *d = argument;

    (void)fd;
    (void)what;
    evconnlistener_enable(d->listener);
}

/* Who comes stays in the kernel's queue; to ask for him again at once would be all that the daemon did. */
static void accept_failed(struct evconnlistener *listener, void *argument)
{
    const struct timeval rest = {0, REST_MS * 1000};
    struct daemon *d = argument;

    daemon_log("warning", "accepting a connection: %s", strerror(errno));
    evconnlistener_disable(listener);
    event_base_once(d->base, -1, EV_TIMEOUT, listen_again, d, &rest);
}

/* Where there are few descriptors strangers get a quarter of them. */
static unsigned strangers_most(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 4 >= STRANGERS)
        return STRANGERS;
    return (unsigned)files.rlim_cur / 4;
}

static int find_address(const char *address, struct sockaddr_storage *found, socklen_t *length)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    const char *port;
    char host[128];
    int error = address_split(address, host, sizeof(host), &port);

    if (error)
        return error;
    if (getaddrinfo(host, port, &hints, &list))
        return -ADDRESS_UNKNOWN;
    memcpy(found, list->ai_addr, list->ai_addrlen);
    *length = list->ai_addrlen;
    freeaddrinfo(list);
    return 0;
}

int connection_listen(struct daemon *d, char *why, size_t why_size)
{
    struct sockaddr_storage address;
    socklen_t length;
    int error = find_address(d->config->listen, &address, &length);

    if (!error)
        d->listener = evconnlistener_new_bind(d->base, on_accept, d,
                                              LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 1024,
                                              (struct sockaddr *)&address, (int)length);
    if (error || !d->listener) {
        snprintf(why, why_size, "listening at %s: %s", d->config->listen, address_error(error ? error : -errno));
        return error ? error : -errno;
    }
    evconnlistener_set_error_cb(d->listener, accept_failed);
    d->strangers_most = strangers_most();
    snprintf(d->address, sizeof(d->address), "%s", d->config->listen);
    length = sizeof(address);
    if (!getsockname(evconnlistener_get_fd(d->listener), (struct sockaddr *)&address, &length)) {
        char host[64], port[8];

        if (!getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                         NI_NUMERICHOST | NI_NUMERICSERV))
            address_join(host, (unsigned)atoi(port), d->address, sizeof(d->address));
    }
    return 0;
}

struct connection *connection_open(struct daemon *d, const char *node, const char *address,
                                   const struct connection_owner *owner, void *argument)
{
    struct sockaddr_storage found;
    struct connection *c;
    socklen_t length;

    if (find_address(address, &found, &length))
        return NULL;
    c = connection_new(d, -1, PHASE_GREETING);
    if (!c)
        return NULL;
    c->outgoing = true;
    snprintf(c->remote, sizeof(c->remote), "%s", address);
    snprintf(c->node, sizeof(c->node), "%s", node);
    if (bufferevent_socket_connect(c->stream, (struct sockaddr *)&found, (int)length)) {
        destroy(c);
        return NULL;
    }
    c->owner = owner;
    c->argument = argument;
    socket_tune(bufferevent_getfd(c->stream));
    return c;
}

#define AT_WORK_MS 10000 /* who has no session yet may be busy getting one */

bool connection_is_silent(const struct connection *c)
{
    return c->pulses && clock_ms() - c->heard_ms > settings_peer_ms() + (session_stands_for(c) ? 0 : AT_WORK_MS);
}

void connections_judge(struct daemon *d, long now, bool was_away)
{
    struct connection *next;

    for (struct connection *c = d->connections; c; c = next) {
        next = c->next;
        if (was_away)
            c->heard_ms = now;
        if (c->phase != PHASE_OPEN || !connection_is_silent(c))
            continue;
        daemon_log("warning", "%s does not answer any more", c->remote);
        c->phase = PHASE_CLOSING;
        destroy(c);
        next = d->connections; /* others may have gone with it */
    }
}

void connections_close(struct daemon *d)
{
    while (d->connections) {
        d->connections->phase = PHASE_CLOSING;
        destroy(d->connections);
    }
}

void connections_each(struct daemon *d, const struct connection_owner *owner, void (*visit)(struct connection *c))
{
    struct connection *next;

    for (struct connection *c = d->connections; c; c = next) {
        next = c->next;
        if (c->owner == owner && c->phase == PHASE_OPEN)
            visit(c);
    }
}
