/*
 * The daemon's pages for browsers and Prometheus, read only: the dashboard, /status.json, /metrics, /sd. libmicrohttpd
 * runs inside the daemon's own loop.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/socket.h"
#include "proxy/daemon/web/internal.h"

#define CONNECTIONS 64
#define SECONDS 10
#define SAMPLE_SECONDS 10
#define SAMPLES 360 /* one hour */

/* A client. */
struct visitor {
    LIST_ENTRY(visitor) in;
    int fd;
    long since_ms;
};

struct http {
    struct MHD_Daemon *server;
    LIST_HEAD(, visitor) visitors;
    struct event *ready;
    struct timer timer, sampler;
    /* Oldest first: the time, the numbers of sessions and waiting requests, and the load of each "node device". */
    json_t *history;
};

/* The page is proxy/daemon/web/dashboard.html. */
__asm__(".section .rodata\n"
        "page_start: .incbin \"" DASHBOARD "\"\n"
        "page_end: .byte 0\n"
        ".previous\n");
extern const char page_start[] __asm__("page_start"), page_end[] __asm__("page_end");

/* ---- content ---- */

/* since: includes the history after that time; NULL: none. */
static char *status_text(struct daemon *d, const char *since)
{
    json_t *status = message_pack("{s:s, s:f, s:o, s:o}", "answered by", d->config->name, "time", wall_seconds(),
                                  "nodes", peers_directory(d), "queue", queue_print(d));
    json_t *history = since ? json_array() : NULL, *sample;
    size_t i;
    char *text;

    json_array_foreach(history ? d->http->history : NULL, i, sample)
    {
        if (json_real_value(json_object_get(sample, "time")) > strtod(since, NULL))
            message_append(&history, json_incref(sample));
    }
    if (since)
        message_set(&status, "history", history);
    text = json_dumps(status, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(status);
    return text;
}

static void sample(void *argument)
{
    struct daemon *d = argument;
    json_t *directory = peers_directory(d), *loads = json_object(), *queue, *node, *device;
    size_t i, j, sessions = 0;
    char name[128];

    timer_set(&d->http->sampler, d, sample, d, 1000 * SAMPLE_SECONDS);
    json_array_foreach(directory, i, node)
    {
        sessions += json_array_size(json_object_get(node, "sessions"));
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            snprintf(name, sizeof(name), "%s %lld", message_text(node, "name", ""), message_number(device, "index", 0));
            message_set(&loads, name, json_real(json_number_value(json_object_get(device, "load"))));
        }
    }
    queue = queue_print(d);
    json_array_append_new(d->http->history,
                          message_pack("{s:f, s:i, s:i, s:o}", "time", wall_seconds(), "sessions", (int)sessions,
                                       "queue", (int)json_array_size(queue), "loads", loads));
    json_decref(queue);
    if (json_array_size(d->http->history) > SAMPLES)
        json_array_remove(d->http->history, 0);
    json_decref(directory);
}

/* ---- HTTP ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type, char *text,
                             enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    if (!text)
        return MHD_NO;
    response = MHD_create_response_from_buffer(strlen(text), text, mode);
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                            "connect-src 'self'");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(void *argument, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *body, size_t *body_size, void **state)
{
    struct daemon *d = argument;

    (void)version;
    (void)body;
    (void)body_size;
    (void)state;
    if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "read only\n", MHD_RESPMEM_PERSISTENT);
    if (!strcmp(url, "/"))
        return reply(connection, MHD_HTTP_OK, "text/html; charset=utf-8", (char *)(uintptr_t)page_start,
                     MHD_RESPMEM_PERSISTENT);
    if (!strcmp(url, "/status.json"))
        return reply(connection, MHD_HTTP_OK, "application/json",
                     status_text(d, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since")),
                     MHD_RESPMEM_MUST_FREE);
    if (!strcmp(url, "/metrics"))
        return reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4",
                     metrics_text(d, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "pool") != NULL),
                     MHD_RESPMEM_MUST_FREE);
    if (!strcmp(url, "/sd"))
        return reply(connection, MHD_HTTP_OK, "application/json", discovery_text(d), MHD_RESPMEM_MUST_FREE);
    return reply(connection, MHD_HTTP_NOT_FOUND, "text/plain", "there are /, /status.json, /metrics and /sd\n",
                 MHD_RESPMEM_PERSISTENT);
}

/* ---- clients ---- */

/* Disconnects clients that have been connected for too long, or longest if there are many: libmicrohttpd only limits
 * silence, and a request may take for ever, a byte at a time. */
static void cut_off(const struct http *http)
{
    const long now = clock_ms();
    const struct visitor *at;
    unsigned position = 0;

    LIST_FOREACH (at, &http->visitors, in) {
        if (++position > CONNECTIONS * 3 / 4 || now - at->since_ms > SECONDS * 1000)
            shutdown(at->fd, SHUT_RDWR);
    }
}

static void on_visit(void *argument, struct MHD_Connection *connection, void **own,
                     enum MHD_ConnectionNotificationCode code)
{
    struct http *http = ((struct daemon *)argument)->http;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct visitor *visitor = *own;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED && visitor) {
        LIST_REMOVE(visitor, in);
        free(visitor);
        return;
    }
    visitor = code == MHD_CONNECTION_NOTIFY_STARTED && info ? calloc(1, sizeof(*visitor)) : NULL;
    *own = visitor;
    if (!visitor)
        return;
    *visitor = (struct visitor){.fd = info->connect_fd, .since_ms = clock_ms()};
    LIST_INSERT_HEAD(&http->visitors, visitor, in);
    cut_off(http);
}

static void run(evutil_socket_t fd, short what, void *argument)
{
    struct daemon *d = argument;

    (void)fd;
    (void)what;
    cut_off(d->http);
    MHD_run(d->http->server);
}

static void every_second(void *argument)
{
    struct daemon *d = argument;

    timer_set(&d->http->timer, d, every_second, d, 1000);
    run(-1, 0, d);
}

/* Accepts only numeric addresses, so that no name server is asked. */
static struct addrinfo *parse(const char *where)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *port;
    char host[64];

    if (address_split(where, host, sizeof(host), &port) || !atoi(port) || getaddrinfo(host, port, &hints, &found))
        return NULL;
    return found;
}

static int open_server(struct daemon *d, struct http *http, char *why, size_t why_size)
{
    const union MHD_DaemonInfo *info;
    struct addrinfo *address = parse(d->config->http);

    if (!address) {
        snprintf(why, why_size, "http: \"%s\" is no address:port", d->config->http);
        return -EINVAL;
    }
    http->server = MHD_start_daemon(MHD_USE_EPOLL | (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL,
                                    answer, d, MHD_OPTION_SOCK_ADDR, address->ai_addr, MHD_OPTION_CONNECTION_LIMIT,
                                    CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
                                    on_visit, d, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    freeaddrinfo(address);
    info = http->server ? MHD_get_daemon_info(http->server, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        snprintf(why, why_size, "http: %s: %s", d->config->http, strerror(errno));
        if (http->server)
            MHD_stop_daemon(http->server);
        return -EADDRINUSE;
    }
    http->history = json_array();
    http->ready = event_new(d->base, info->epoll_fd, EV_READ | EV_PERSIST, run, d);
    event_add(http->ready, NULL);
    timer_set(&http->timer, d, every_second, d, 1000);
    timer_set(&http->sampler, d, sample, d, 0);
    return 0;
}

int http_open(struct daemon *d, char *why, size_t why_size)
{
    struct http *http = calloc(1, sizeof(*http));
    int error = http ? open_server(d, http, why, why_size) : -ENOMEM;

    if (error)
        free(http);
    else
        d->http = http;
    return error;
}

void http_close(struct daemon *d)
{
    if (!d->http)
        return;
    event_free(d->http->ready);
    timer_stop(&d->http->timer);
    timer_stop(&d->http->sampler);
    MHD_stop_daemon(d->http->server);
    json_decref(d->http->history);
    free(d->http);
    d->http = NULL;
}
