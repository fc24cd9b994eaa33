/*
 * Connections to and from the daemon, and messages on them. A connection whose other end does not read is closed.
 * Authentication is in proof.c; until it is complete, the limits of stranger.c apply.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/daemon/net/internal.h"

#define REST_MS 200 /* before accepting again if there are no descriptors */
#define MOST_UNSENT (4u << 20)
#define USER_MS 10000 /* after which a user's data and groups are looked up again */

void connection_blame(struct connection *c, const char *format, ...)
{
    char text[160];
    va_list arguments;

    if (!c->outgoing || *c->why)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    text_visible(text, c->why, sizeof(c->why)); /* it may contain text from the other end */
}

static void blame_error(struct connection *c, int error)
{
    if (error == ECONNREFUSED)
        connection_blame(c, "refused connection at %s", c->remote);
    else
        connection_blame(c, "%s: %s", c->remote, address_error(-error));
}

static void destroy(struct connection *c)
{
    LIST_REMOVE(c, in);
    event_free(c->end);
    timer_stop(&c->deadline);
    question_drop(c->question);
    json_decref(c->deferred);
    if (c->owner && c->owner->closed)
        c->owner->closed(c);
    bufferevent_free(c->stream);
    free(c);
}

static void on_end(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    destroy(argument);
}

void connection_drop(struct connection *c)
{
    c->phase = PHASE_CLOSING;
    c->dropped = true;
    event_active(c->end, EV_TIMEOUT, 0);
}

void connection_set_seconds(struct connection *c, int reading)
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
        connection_drop(c);
}

void connection_own(struct connection *c, const struct connection_owner *owner, void *argument)
{
    c->owner = owner;
    c->argument = argument;
    connection_set_seconds(c, owner ? 0 : IDLE_SECONDS);
}

void connection_send(struct connection *c, json_t *message)
{
    size_t length;
    uint8_t *record;

    if (c->phase != PHASE_OPEN) {
        json_decref(message);
        return;
    }
    record = channel_seal(&c->channel, message, &length);
    json_decref(message);
    if (!record) { /* the other end would wait for it */
        daemon_log("warning", "a message to %s cannot be made: closed", c->remote);
        connection_drop(c);
        return;
    }
    bufferevent_write(c->stream, record, length);
    free(record);
    if (evbuffer_get_length(bufferevent_get_output(c->stream)) <= MOST_UNSENT)
        return;
    daemon_log("warning", "%s does not read its messages: closed", c->remote);
    connection_drop(c);
}

void connection_fail(struct connection *c, const char *error)
{
    connection_send(c, message_error(error));
}

void connection_answer(struct connection **asker, json_t *message)
{
    struct connection *c = *asker;

    *asker = NULL;
    if (!c) {
        json_decref(message);
        return;
    }
    connection_own(c, NULL, NULL);
    connection_send(c, message);
}

void connection_refuse(struct connection *c, const char *why)
{
    c->daemon->totals.refused++;
    daemon_log("warning", "refused %s (%s): %s", c->remote, c->peer.name, why);
    connection_fail(c, why);
    connection_close(c);
}

/* ---- look-ups ---- */

static void on_read(struct bufferevent *stream, void *argument);

void connection_ask(struct connection *c, enum question_kind kind, void (*find)(const struct daemon *d, void *bytes),
                    const void *bytes, size_t size, void (*answered)(void *c, void *bytes))
{
    c->question = question_ask(c->daemon, kind, find, bytes, size, answered, c);
    if (!c->question)
        connection_drop(c);
}

bool connection_answered(struct connection *c)
{
    c->question = NULL;
    return c->phase != PHASE_CLOSING;
}

void connection_resume(struct connection *c)
{
    on_read(c->stream, c);
}

/* ---- messages ---- */

static void (*take_request)(struct connection *c, json_t *message);

static void take_message(struct connection *c, json_t *message)
{
    if (c->stranger && !stranger_end(c))
        return;
    c->heard_ms = clock_ms();
    if (!strcmp(message_text(message, "do", ""), "pulse")) {
        c->pulses = true;
        connection_send(c, message_pack("{s:b}", "pulse", 1));
    } else if (c->owner && c->owner->message) {
        c->owner->message(c, message);
    } else if (c->owner) {
        connection_fail(c, "this connection is for what it was asked for before");
    } else if (!c->outgoing) {
        take_request(c, message);
    }
}

static void on_user(void *argument, void *bytes)
{
    struct connection *c = argument;
    struct daemon *d = c->daemon;
    json_t *message = c->deferred;
    struct user *user = bytes;
    char why[128] = "";

    c->deferred = NULL;
    if (!connection_answered(c)) {
        json_decref(message);
        return;
    }
    if (!user)
        text_print(why, sizeof(why), "your user cannot be looked up now");
    else if (user->by_name && !user->known)
        text_print(why, sizeof(why), "there is no such user here");
    else if (user->by_name && user->uid < d->config->least_uid)
        text_print(why, sizeof(why), "users below number %u have no keys (least-uid)", d->config->least_uid);
    if (*why) {
        connection_refuse(c, why);
    } else {
        c->user = *user;
        c->peer.uid = user->uid;
        c->peer.gid = user->gid;
        memcpy(c->peer.name, user->name, sizeof(c->peer.name));
        take_message(c, message);
    }
    json_decref(message);
    connection_resume(c);
}

/* If the connection has an owner, the user was looked up before. */
static bool is_user_known(const struct connection *c)
{
    const bool recently = c->user_ms && clock_ms() - c->user_ms < USER_MS && c->configured == c->daemon->configured;

    return c->outgoing || c->owner || *c->peer.name == '@' || recently;
}

static void ask_user(struct connection *c)
{
    struct user user;

    memset(&user, 0, sizeof(user)); /* including the padding */
    user.by_name = !strcmp(c->daemon->config->method, "key");
    user.uid = c->peer.uid;
    user.gid = c->peer.gid;
    if (user.by_name)
        memcpy(user.name, c->peer.name, sizeof(user.name));
    c->user_ms = clock_ms();
    c->configured = c->daemon->configured;
    c->question = user_ask(c->daemon, &user, on_user, c);
    if (!c->question)
        connection_drop(c);
}

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
        daemon_log("warning", "%s sent an invalid message (a wrong key?): closed", c->remote);
        connection_blame(c, "%s sent an invalid message (a wrong key?)", c->remote);
        connection_close(c);
        return false;
    }
    evbuffer_drain(input, (size_t)length);
    stranger_known(c);
    if (!is_user_known(c)) {
        c->deferred = message;
        ask_user(c);
        return false;
    }
    take_message(c, message);
    json_decref(message);
    return c->phase == PHASE_OPEN;
}

static void on_read(struct bufferevent *stream, void *argument)
{
    static bool (*const take[])(struct connection *, struct evbuffer *) = {proof_take, proof_give, proof_reply,
                                                                           take_record};
    struct evbuffer *input = bufferevent_get_input(stream);
    struct connection *c = argument;

    while (!c->question && c->phase != PHASE_CLOSING && take[c->phase](c, input))
        ;
}

static void on_written(struct bufferevent *stream, void *argument)
{
    struct connection *c = argument;

    (void)stream;
    if (c->phase == PHASE_CLOSING)
        connection_drop(c);
}

static void on_event(struct bufferevent *stream, short what, void *argument)
{
    struct connection *c = argument;

    (void)stream;
    if (what & BEV_EVENT_CONNECTED)
        return;
    if (what & BEV_EVENT_ERROR)
        blame_error(c, EVUTIL_SOCKET_ERROR());
    else if (what & BEV_EVENT_TIMEOUT)
        connection_blame(c, "%s does not answer", c->remote);
    connection_drop(c);
}

static struct connection *connection_new(struct daemon *d, int fd, enum phase phase)
{
    struct connection *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->end = event_new(d->base, -1, 0, on_end, c);
    c->stream = c->end ? bufferevent_socket_new(d->base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (!c->stream) {
        if (c->end)
            event_free(c->end);
        free(c);
        return NULL;
    }
    c->daemon = d;
    c->phase = phase;
    LIST_INSERT_HEAD(&d->connections, c, in);
    c->channel.is_daemon = phase == PHASE_PROOF;
    bufferevent_setcb(c->stream, on_read, on_written, on_event, c);
    bufferevent_setwatermark(c->stream, EV_READ, 0, MOST_UNREAD);
    connection_set_seconds(c, PROOF_SECONDS);
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
    stranger_begin(c, address);
    channel_greet(&greeting, d->config->method);
    memcpy(c->nonce, greeting.nonce, sizeof(c->nonce));
    bufferevent_write(c->stream, &greeting, sizeof(greeting));
}

static void listen_again(void *argument)
{
    struct daemon *d = argument;

    evconnlistener_enable(d->listener);
}

/* Pending connections stay in the kernel's queue; to accept again at once would keep the daemon busy. */
static void accept_failed(struct evconnlistener *listener, void *argument)
{
    static struct timer rest;
    struct daemon *d = argument;

    daemon_log("warning", "accepting a connection: %s", strerror(errno));
    evconnlistener_disable(listener);
    timer_set(&rest, d, listen_again, d, REST_MS);
}

struct host {
    char address[128];
    /* and these the answer */
    struct sockaddr_storage found;
    socklen_t length;
    int error;
};

static void find_host(const struct daemon *d, void *bytes)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    struct host *asked = bytes;
    const char *port;
    char host[128];

    (void)d;
    asked->error = address_split(asked->address, host, sizeof(host), &port);
    if (!asked->error && getaddrinfo(host, port, &hints, &list))
        asked->error = -ADDRESS_UNKNOWN;
    if (asked->error)
        return;
    memcpy(&asked->found, list->ai_addr, list->ai_addrlen);
    asked->length = list->ai_addrlen;
    freeaddrinfo(list);
}

int connection_listen(struct daemon *d, void (*take)(struct connection *c, json_t *message), char *why, size_t why_size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    struct host own = {.error = 0};

    snprintf(own.address, sizeof(own.address), "%s", d->config->listen);
    take_request = take;
    find_host(d, &own); /* no client waits for this daemon yet */
    if (!own.error)
        d->listener = evconnlistener_new_bind(d->base, on_accept, d,
                                              LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 1024,
                                              (struct sockaddr *)&own.found, (int)own.length);
    if (!d->listener) {
        const int error = own.error ? own.error : -errno;

        snprintf(why, why_size, "listening at %s: %s", d->config->listen, address_error(error));
        return error;
    }
    evconnlistener_set_error_cb(d->listener, accept_failed);
    d->strangers_most = strangers_room();
    snprintf(d->address, sizeof(d->address), "%s", d->config->listen);
    if (!getsockname(evconnlistener_get_fd(d->listener), (struct sockaddr *)&address, &length)) {
        char host[64], port[8];

        if (!getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                         NI_NUMERICHOST | NI_NUMERICSERV))
            address_join(host, (unsigned)atoi(port), d->address, sizeof(d->address));
    }
    return 0;
}

/* Does not use libevent's connect, which does not report the reason at once. */
static int connect_to(struct connection *c, const struct sockaddr_storage *address, socklen_t length)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    socket_tune(fd);
    bufferevent_setfd(c->stream, fd); /* which now closes fd */
    if (connect(fd, (const struct sockaddr *)address, length) && errno != EINPROGRESS)
        return -errno;
    return bufferevent_socket_connect(c->stream, NULL, 0) ? -ENOTCONN : 0;
}

static void on_host(void *argument, void *bytes)
{
    struct connection *c = argument;
    const struct host *host = bytes;
    int error;

    if (!connection_answered(c))
        return;
    error = !host ? -ETIMEDOUT : host->error ? host->error : connect_to(c, &host->found, host->length);
    if (!error)
        return;
    blame_error(c, -error);
    connection_drop(c);
}

struct connection *connection_open(struct daemon *d, const char *node, const char *address,
                                   const struct connection_owner *owner, void *argument)
{
    struct connection *c = connection_new(d, -1, PHASE_GREETING);
    struct host host;

    if (!c)
        return NULL;
    c->outgoing = true;
    snprintf(c->remote, sizeof(c->remote), "%s", address);
    snprintf(c->node, sizeof(c->node), "%s", node);
    c->owner = owner;
    c->argument = argument;
    memset(&host, 0, sizeof(host));
    snprintf(host.address, sizeof(host.address), "%s", address);
    connection_ask(c, QUESTION_HOST, find_host, &host, sizeof(host), on_host);
    return c;
}

#define AT_WORK_MS 10000 /* more for a client that has no session yet, and may be busy getting one */

bool connection_is_silent(const struct connection *c)
{
    return c->pulses && clock_ms() - c->heard_ms > settings_peer_ms() + (c->owner && c->owner->prompt ? 0 : AT_WORK_MS);
}

void connections_judge(struct daemon *d, long now, bool was_away)
{
    struct connection *c;

    LIST_FOREACH (c, &d->connections, in) {
        if (was_away)
            c->heard_ms = now;
        if (c->phase != PHASE_OPEN || !connection_is_silent(c))
            continue;
        daemon_log("warning", "%s does not answer any more", c->remote);
        connection_drop(c);
    }
}

void connections_close(struct daemon *d)
{
    struct connection *c;

    while ((c = LIST_FIRST(&d->connections))) {
        c->phase = PHASE_CLOSING;
        c->owner = NULL; /* the next daemon takes over what it stands for */
        destroy(c);
    }
}

void connections_each(struct daemon *d, const struct connection_owner *owner, void (*visit)(struct connection *c))
{
    struct connection *c;

    LIST_FOREACH (c, &d->connections, in) {
        if (c->owner == owner && c->phase == PHASE_OPEN)
            visit(c);
    }
}
