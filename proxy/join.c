/*
 * vocl-join: gets an application its devices of a pool. Started by libvocl, so that authentication, JSON and the rest
 * stay out of the application's process. Descriptor 3 is the lifeline to it, on which both say lines:
 *
 *     queued POSITION WHY          the request waits
 *     granted NODES ADDRESS PLACE NETWORK  so many workers; the first node's daemon; where the placeholders of their
 * ranks go; what the pool wants the session to be carried by session ENDPOINT TOKEN       from the application: where
 * workers say hello; with a secret instead of the token the session is carried by TLS, and there are no placeholders
 *     failed WHY                   that was all
 *     ended NODE WHY               a worker's end, if there is something to say about it; also in the log
 *
 * Then it takes what mpiexec gave the placeholders of the workers' ranks to the nodes' daemons, which start the
 * workers, and stays until the application is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/text.h"
#include "pool/client.h"
#include "proxy/attend.h"
#include "transport/internal.h"

#define LIFELINE 3
#define MOST_NODES 64
#define HELLO_MS 10000
#define MOST_TRIES 30 /* to find a daemon again, once one was there */
#define RETRY_MS 1000
#define MAX_ENVIRONMENT (256u << 10)

static struct node {
    int placeholder;
} nodes[MOST_NODES];
static struct attended attended[MOST_NODES]; /* the same nodes */
static unsigned node_count;
static char session[64], endpoint[160], token_text[2 * SECRET_BYTES + 1], network[8] = "tls";

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[1000], line[1002];
    va_list arguments;
    size_t length;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    length = strlen(text_visible(text, line, sizeof(line) - 1)); /* some of it is a peer's */
    line[length] = '\n';
    if (socket_write_all(LIFELINE, line, length + 1))
        exit(0); /* the application is gone */
}

__attribute__((noreturn)) static void give_up(const char *why)
{
    say("failed %s", why);
    exit(1);
}

/* ---- the request ---- */

static json_t *make_request(void)
{
    char program[64] = "", visible[64];
    uint64_t memory = 0;
    const char *name = getenv("VOCL_POOL_PROGRAM");
    json_t *request;

    if (!text_read_bytes(settings_string(SETTING_POOL_MEMORY), &memory))
        give_up("VOCL_POOL_MEMORY is no size in bytes, such as 8G");
    request = json_pack("{s:s, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:s}", "do", "request", "count",
                        (json_int_t)settings_number(SETTING_POOL_COUNT), "wait",
                        (json_int_t)settings_number(SETTING_POOL_WAIT), "share",
                        (json_int_t)settings_number(SETTING_POOL_SHARE), "exclusive",
                        settings_number(SETTING_POOL_EXCLUSIVE) != 0, "memory", (json_int_t)memory, "type",
                        settings_string(SETTING_POOL_TYPE), "name", settings_string(SETTING_POOL_NAME), "policy",
                        settings_string(SETTING_POOL_POLICY));
    snprintf(program, sizeof(program), "%s", name ? name : "");
    if (json_object_set_new(request, "program", json_string(program))) /* no UTF-8 */
        json_object_set_new(request, "program", json_string(text_visible(program, visible, sizeof(visible))));
    return request;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void take_grant(const json_t *message)
{
    const json_t *list = json_object_get(message, "nodes"), *node;
    size_t i;

    snprintf(session, sizeof(session), "%s", text_of(message, "granted"));
    if (*text_of(message, "network"))
        snprintf(network, sizeof(network), "%s", text_of(message, "network"));
    json_array_foreach(list, i, node)
    {
        if (node_count == MOST_NODES)
            break;
        snprintf(attended[node_count].name, sizeof(attended->name), "%s", text_of(node, "name"));
        snprintf(attended[node_count].address, sizeof(attended->address), "%s", text_of(node, "address"));
        attended[node_count].client.fd = nodes[node_count].placeholder = -1;
        node_count++;
    }
}

/* Within that time, in milliseconds. */
static bool application_goes(int time)
{
    struct pollfd ready = {LIFELINE, POLLRDHUP, 0};

    return poll(&ready, 1, time) > 0 && ready.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Until there is an answer. If a daemon is lost meanwhile, the next one is asked, or the same when it is back. */
static void get_devices(const struct poolfile *pool, struct client *client)
{
    json_t *message, *request = make_request();
    bool had_daemon = false;
    char why[512];
    int error = -1;

    for (int tries = 0; error && tries < MOST_TRIES; tries++) {
        if (client_connect_any(client, pool, why, sizeof(why))) {
            if (!had_daemon)
                give_up(why);
            if (application_goes(RETRY_MS))
                exit(0);
            continue;
        }
        had_daemon = true;
        error = client_send(client, request);
        while (!error && !node_count) {
            error = client_receive(client, &message, 200);
            if (application_goes(0))
                exit(0);
            if (error == -ETIMEDOUT) {
                error = client_beat(client);
                continue;
            }
            if (error)
                break;
            if (json_object_get(message, "error"))
                give_up(text_of(message, "error"));
            if (json_object_get(message, "ticket")) /* the place in the queue, should the daemon be lost */
                json_object_set(request, "ticket", json_object_get(message, "ticket"));
            if (json_object_get(message, "queued"))
                say("queued %lld %s", (long long)json_integer_value(json_object_get(message, "queued")),
                    text_of(message, "why"));
            else
                take_grant(message);
            json_decref(message);
        }
        if (!node_count) {
            client_explain(client, error, why, sizeof(why));
            client_close(client);
        }
    }
    json_decref(request);
    if (!node_count)
        give_up(why);
}

/* ---- the ranks ---- */

/* mpiexec gives this host's name, which the other need not know, and listens at all of its addresses, if they are IPv4.
 */
static json_t *pmi_port(const char *variable)
{
    const char *port = strrchr(variable, ':'), *unused;
    char host[128] = "";

    address_split(endpoint + 4, host, sizeof(host), &unused);
    if (strchr(host, ':') && strcmp(host, "::1"))
        return json_string(variable);
    return json_sprintf("PMI_PORT=%s%s", strchr(host, ':') ? "127.0.0.1" : host, port ? port : "");
}

static void take_placeholder(int listener, struct node *node, json_t **environment)
{
    struct verdict verdict = {.magic = HELLO_MAGIC, .accepted = 1};
    uint8_t token[TOKEN_BYTES];
    struct hello hello;
    char *variables;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (!token_read(token_text, token) || socket_read_all(fd, &hello, sizeof(hello), HELLO_MS) ||
        hello_check(&hello, token) || hello.role != HELLO_PLACEHOLDER || !hello.extra ||
        hello.extra > MAX_ENVIRONMENT || !(variables = calloc(1, hello.extra + 1))) {
        close(fd);
        return;
    }
    if (socket_read_all(fd, variables, hello.extra, HELLO_MS) || socket_write_all(fd, &verdict, sizeof(verdict))) {
        free(variables);
        close(fd);
        return;
    }
    *environment = json_array();
    for (char *at = variables; at < variables + hello.extra; at += strlen(at) + 1) {
        if (!strncmp(at, "PMI_PORT=", 9))
            json_array_append_new(*environment, pmi_port(at));
        else if (!strncmp(at, "PMI_", 4) || !strncmp(at, "MPI_LOCAL", 9))
            json_array_append_new(*environment, json_string(at));
    }
    free(variables);
    node->placeholder = fd;
}

static bool by_tls(void)
{
    return strlen(token_text) == 2 * SECRET_BYTES;
}

static const char *setting_line(const char *name, char *line, size_t size)
{
    snprintf(line, size, "%s=%s", name, getenv(name));
    return line;
}

static void add_settings(json_t *environment)
{
    static const char *const names[] = {"VOCL_ZERO_COPY", "VOCL_PIPELINE", "VOCL_SPIN_US", "VOCL_PEER_TIMEOUT"};
    char line[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (getenv(names[i]))
            json_array_append_new(environment, json_string(setting_line(names[i], line, sizeof(line))));
    }
}

static void start_worker(struct attended *node, const struct poolfile *pool, json_t *environment)
{
    json_t *message, *answer;
    char why[512];

    add_settings(environment);
    message = json_pack("{s:s, s:s, s:s, s:s, s:o}", "do", "start", "session", session, "endpoint", endpoint,
                        by_tls() ? "secret" : "token", token_text, "environment", environment);
    if (client_connect(&node->client, pool, node->address, why, sizeof(why)) ||
        client_call(&node->client, message, &answer, why, sizeof(why)))
        give_up(why);
    json_decref(message);
    json_decref(answer);
}

static void start_workers(int listener, const struct poolfile *pool, struct client *broker)
{
    long until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;

    for (unsigned i = 0; i < node_count && by_tls(); i++) {
        json_t *environment = json_array();

        json_array_append_new(environment, json_sprintf("VOCL_SESSION_RANK=%u", i + 1));
        start_worker(&attended[i], pool, environment);
    }
    for (unsigned i = 0; i < node_count && !by_tls();) {
        struct pollfd ready[] = {{listener, POLLIN, 0}, {LIFELINE, POLLRDHUP, 0}};
        json_t *environment = NULL;

        if (clock_ms() > until)
            give_up("the placeholders of the workers' ranks did not come");
        poll(ready, 2, 100);
        if (ready[1].revents)
            exit(0);
        client_beat(broker); /* what it says to that is of no interest any more */
        attend_beat(attended, i);
        if (!ready[0].revents)
            continue;
        take_placeholder(listener, &nodes[i], &environment);
        if (environment)
            start_worker(&attended[i++], pool, environment);
    }
}

/* ---- the session ---- */

static void read_session(void)
{
    char line[512];
    size_t length = 0;

    while (length + 1 < sizeof(line)) {
        if (socket_read_all(LIFELINE, line + length, 1, 60000))
            exit(0);
        if (line[length] == '\n')
            break;
        length++;
    }
    line[length] = '\0';
    if (sscanf(line, "session %159s %64s", endpoint, token_text) != 2)
        exit(1);
}

/* A worker's end, if there is something to say about it: to the application, and on its standard error, if that is
 * VOCL's, too: the application itself sees no more than that its worker is gone. */
static void tell_end(const char *node, const char *why)
{
    char name[128], text[512];

    say("ended %s %s", node, why);
    vocl_log(LOG_ERROR, "%s has ended the session: %s", text_visible(node, name, sizeof(name)),
             text_visible(why, text, sizeof(text)));
}

int main(void)
{
    struct client broker = {.fd = -1}; /* until all is started: what is not goes back when this closes */
    struct endpoint place;
    struct poolfile pool;
    char why[512];

    signal(SIGPIPE, SIG_IGN);
    if (fcntl(LIFELINE, F_GETFD) < 0) {
        fprintf(stderr, "vocl-join: started by VOCL only\n");
        return 2;
    }
    if (poolfile_read(&pool, settings_string(SETTING_POOL), why, sizeof(why)))
        give_up(why);
    if (*settings_string(SETTING_POOL_USER))
        pool.user = strdup(settings_string(SETTING_POOL_USER));
    get_devices(&pool, &broker);
    if (endpoint_listen_unix(&place))
        give_up("no place for placeholders");
    if (!strcmp(pool.network, "tls")) /* who wants more than the pool does may have it */
        strcpy(network, "tls");
    else if (*pool.network && strcmp(pool.network, network))
        give_up("its daemons want tls, and its file says mpi");
    say("granted %u %s %s %s", node_count, attended[0].address, place.text, network);
    read_session();
    start_workers(place.fd, &pool, &broker);
    client_close(&broker);
    close(place.fd);
    attend(attended, node_count, &pool, session, LIFELINE, tell_end);
    for (unsigned i = 0; i < node_count; i++) {
        if (nodes[i].placeholder >= 0)
            socket_write_all(nodes[i].placeholder, "q", 1);
    }
    return 0;
}
