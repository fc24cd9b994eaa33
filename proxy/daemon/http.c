/*
 * The daemon's view for browsers and for Prometheus, read only: a page, /status.json, /metrics. libmicrohttpd runs
 * inside the daemon's own loop.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "base/clock.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/daemon/daemon.h"

#define CONNECTIONS 64
#define SECONDS 10
#define SAMPLE_SECONDS 5
#define SAMPLES 240

/* One of the clients, the newest first. */
struct visitor {
    struct visitor *next;
    int fd;
    long since_ms;
};

struct http {
    struct MHD_Daemon *server;
    struct visitor *visitors;
    struct event *ready, *timer, *sampler;
    json_t *history; /* oldest first: time, sessions, and the load of each "node device" */
};

/* The page, as it lies in proxy/daemon/dashboard.html. */
__asm__(".section .rodata\n"
        "page_start: .incbin \"" DASHBOARD "\"\n"
        "page_end: .byte 0\n"
        ".previous\n");
extern const char page_start[] __asm__("page_start"), page_end[] __asm__("page_end");

/* ---- what is told ---- */

/* Of the history what came after since, which may be NULL: none of it. */
static char *status_text(struct daemon *d, const char *since)
{
    json_t *status = json_pack("{s:s, s:f, s:o, s:o}", "answered by", d->config->name, "time", wall_seconds(), "nodes",
                               peers_directory(d), "queue", queue_of_pool(d));
    json_t *history = since ? json_array() : NULL, *sample;
    size_t i;
    char *text;

    json_array_foreach(history ? d->http->history : NULL, i, sample)
    {
        if (json_real_value(json_object_get(sample, "time")) > strtod(since, NULL))
            json_array_append(history, sample);
    }
    if (history)
        json_object_set_new(status, "history", history);
    text = json_dumps(status, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(status);
    return text;
}

static void print_label(FILE *out, const char *text)
{
    char visible[256];

    for (const char *at = text_visible(text, visible, sizeof(visible)); *at; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', out);
        fputc(*at, out);
    }
}

static void print_device(FILE *out, const json_t *node, const json_t *device, const char *metric, double value)
{
    fprintf(out, "%s{node=\"", metric);
    print_label(out, message_text(node, "name", ""));
    fprintf(out, "\",device=\"%lld\",name=\"", message_number(device, "index", 0));
    print_label(out, message_text(device, "name", ""));
    fprintf(out, "\"} %.10g\n", value);
}

static void print_devices(FILE *out, const json_t *directory)
{
    static const struct {
        const char *metric, *member, *help;
    } metrics[] = {{"vocl_device_load", "load", "Part of the time in which something ran on the device."},
                   {"vocl_device_sessions", "sessions", "Sessions that use the device."},
                   {"vocl_device_memory_bytes", "memory", "Memory of the device."},
                   {"vocl_device_free_bytes", "free", "Memory of the device that no session has or uses."}};
    const json_t *node, *device;
    size_t i, j;

    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", metrics[m].metric, metrics[m].help, metrics[m].metric);
        json_array_foreach(directory, i, node)
        {
            json_array_foreach(json_object_get(node, "devices"), j, device)
            {
                print_device(out, node, device, metrics[m].metric,
                             json_number_value(json_object_get(device, metrics[m].member)));
            }
        }
    }
}

static void print_nodes(FILE *out, const json_t *directory)
{
    const json_t *node;
    size_t i;

    fputs("# HELP vocl_node_up Whether the node takes sessions.\n# TYPE vocl_node_up gauge\n", out);
    json_array_foreach(directory, i, node)
    {
        fputs("vocl_node_up{node=\"", out);
        print_label(out, message_text(node, "name", ""));
        fprintf(out, "\"} %d\n", !strcmp(message_text(node, "state", ""), "up"));
    }
    fputs("# HELP vocl_node_sessions Sessions on the node.\n# TYPE vocl_node_sessions gauge\n", out);
    json_array_foreach(directory, i, node)
    {
        fputs("vocl_node_sessions{node=\"", out);
        print_label(out, message_text(node, "name", ""));
        fprintf(out, "\"} %zu\n", json_array_size(json_object_get(node, "sessions")));
    }
}

static void print_total(FILE *out, const char *name, const char *help, double value)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s counter\n%s %.10g\n", name, help, name, name, value);
}

/* Of this node: the others tell of theirs; or, if asked for, of all as this daemon knows them. */
static char *metrics_text(struct daemon *d, bool whole_pool)
{
    json_t *directory = whole_pool ? peers_directory(d) : json_pack("[o]", node_describe(d));
    json_t *queue = whole_pool ? queue_of_pool(d) : broker_queue(d);
    size_t length;
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);

    if (out) {
        print_nodes(out, directory);
        print_devices(out, directory);
        fprintf(out,
                "# HELP vocl_queue_length Requests that wait for devices.\n# TYPE vocl_queue_length gauge\n"
                "vocl_queue_length %zu\n",
                json_array_size(queue));
        print_total(out, "vocl_sessions_total", "Sessions that were started on this node.", (double)d->totals.sessions);
        print_total(out, "vocl_sessions_failed_total", "Of those, how many workers ended badly.",
                    (double)d->totals.failed);
        print_total(out, "vocl_launches_total", "Kernel launches on this node.", (double)d->totals.launches);
        print_total(out, "vocl_received_bytes_total", "Bytes from applications.", (double)d->totals.bytes_in);
        print_total(out, "vocl_sent_bytes_total", "Bytes to applications.", (double)d->totals.bytes_out);
        print_total(out, "vocl_device_seconds_total", "Time in which something ran on this node's devices.",
                    d->totals.device_seconds);
        print_total(out, "vocl_connections_total", "Connections to this daemon.", (double)d->totals.connections);
        print_total(out, "vocl_connections_refused_total", "Of those, how many were refused.",
                    (double)d->totals.refused);
        fclose(out);
    }
    json_decref(directory);
    json_decref(queue);
    return text;
}

static void sample(evutil_socket_t fd, short what, void *argument)
{
    struct daemon *d = argument;
    json_t *directory = peers_directory(d), *loads = json_object(), *node, *device;
    size_t i, j, sessions = 0;
    char name[128];

    (void)fd;
    (void)what;
    json_array_foreach(directory, i, node)
    {
        sessions += json_array_size(json_object_get(node, "sessions"));
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            snprintf(name, sizeof(name), "%s %lld", message_text(node, "name", ""), message_number(device, "index", 0));
            json_object_set(loads, name, json_object_get(device, "load"));
        }
    }
    json_array_append_new(d->http->history, json_pack("{s:f, s:i, s:o}", "time", wall_seconds(), "sessions",
                                                      (int)sessions, "loads", loads));
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
    return reply(connection, MHD_HTTP_NOT_FOUND, "text/plain", "there are /, /status.json and /metrics\n",
                 MHD_RESPMEM_PERSISTENT);
}

/* ---- visitors ---- */

static void visitor_leave(struct http *http, struct visitor *visitor)
{
    struct visitor **at = &http->visitors;

    while (*at && *at != visitor)
        at = &(*at)->next;
    if (*at) {
        *at = visitor->next;
    }
    free(visitor);
}

/* Those who have been there too long, or longest when there are many, are cut off: libmicrohttpd knows only of silence,
 * and a request may take for ever a byte at a time. */
static void cut_off(const struct http *http)
{
    const long now = clock_ms();
    unsigned position = 0;

    for (const struct visitor *at = http->visitors; at; at = at->next) {
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
        visitor_leave(http, visitor);
        return;
    }
    visitor = code == MHD_CONNECTION_NOTIFY_STARTED && info ? calloc(1, sizeof(*visitor)) : NULL;
    *own = visitor;
    if (!visitor)
        return;
    *visitor = (struct visitor){http->visitors, info->connect_fd, clock_ms()};
    http->visitors = visitor;
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

static int parse(const char *where, struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    const char *port;
    char host[64];
    int error = address_split(where, host, sizeof(host), &port);

    if (error || atoi(port) < 1 || atoi(port) > 65535)
        return -EINVAL;
    memset(address, 0, sizeof(*address));
    address->ss_family = strchr(host, ':') ? AF_INET6 : AF_INET;
    if (address->ss_family == AF_INET6)
        six->sin6_port = htons((uint16_t)atoi(port));
    else
        four->sin_port = htons((uint16_t)atoi(port));
    return inet_pton(address->ss_family, host,
                     address->ss_family == AF_INET6 ? (void *)&six->sin6_addr : (void *)&four->sin_addr) == 1
               ? 0
               : -EINVAL;
}

static int open_server(struct daemon *d, struct http *http, char *why, size_t why_size)
{
    const struct timeval second = {1, 0}, sampling = {SAMPLE_SECONDS, 0};
    const union MHD_DaemonInfo *info;
    struct sockaddr_storage address;
    int error = parse(d->config->http, &address);

    if (error) {
        snprintf(why, why_size, "http: \"%s\" is no address:port", d->config->http);
        return error;
    }
    http->server = MHD_start_daemon(MHD_USE_EPOLL | (address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL,
                                    answer, d, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
                                    MHD_OPTION_CONNECTION_TIMEOUT, SECONDS, MHD_OPTION_NOTIFY_CONNECTION, on_visit, d,
                                    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    info = http->server ? MHD_get_daemon_info(http->server, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        snprintf(why, why_size, "http: %s: %s", d->config->http, strerror(errno));
        if (http->server)
            MHD_stop_daemon(http->server);
        return -EADDRINUSE;
    }
    http->history = json_array();
    http->ready = event_new(d->base, info->epoll_fd, EV_READ | EV_PERSIST, run, d);
    http->timer = event_new(d->base, -1, EV_PERSIST, run, d);
    http->sampler = event_new(d->base, -1, EV_PERSIST, sample, d);
    event_add(http->ready, NULL);
    event_add(http->timer, &second);
    event_add(http->sampler, &sampling);
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
    event_free(d->http->timer);
    event_free(d->http->sampler);
    MHD_stop_daemon(d->http->server);
    json_decref(d->http->history);
    free(d->http);
    d->http = NULL;
}
