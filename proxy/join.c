/*
 * vocl-join: gets an application its devices of a pool. Started by libvocl, so that authentication, JSON and the rest
 * stay out of the application's process. Descriptor 3 is the lifeline to it, on which both say lines:
 *
 *     queued POSITION WHY          the request waits
 *     granted NODES ADDRESS        so many workers; the first node's daemon
 *     session ENDPOINT TOKEN       from the application: where workers say hello. What comes back is a descriptor: PMI
 *     failed WHY                   that was all
 *     ended NODE WHY               a worker's end, if there is something to say about it
 *
 * Then it has the nodes' daemons start the workers, serves all ranks PMI (the workers' comes and goes through the
 * daemons), and stays until the application is gone.
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
#include "base/settings.h"
#include "base/socket.h"
#include "pool/client.h"
#include "proxy/pmi.h"

#define LIFELINE 3
#define MOST_NODES 64

static struct node {
    char name[64], address[128];
    struct client client;
} nodes[MOST_NODES];
static unsigned node_count;
static struct pmi *server;
static int own_pmi = -1; /* where rank 0 speaks it */
static char session[64], endpoint[160], token_text[2 * TOKEN_BYTES + 1];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    length = length < (int)sizeof(line) - 1 ? length : (int)sizeof(line) - 2;
    line[length] = '\n';
    if (socket_write_all(LIFELINE, line, (size_t)length + 1))
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
    char program[64] = "";
    json_t *request = json_pack(
        "{s:s, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:s}", "do", "request", "count",
        (json_int_t)settings_number(SETTING_POOL_COUNT), "wait", (json_int_t)settings_number(SETTING_POOL_WAIT),
        "share", (json_int_t)settings_number(SETTING_POOL_SHARE), "exclusive",
        settings_number(SETTING_POOL_EXCLUSIVE) != 0, "memory", (json_int_t)settings_bytes(SETTING_POOL_MEMORY), "type",
        settings_string(SETTING_POOL_TYPE), "name", settings_string(SETTING_POOL_NAME), "policy",
        settings_string(SETTING_POOL_POLICY));
    const char *name = getenv("VOCL_POOL_PROGRAM");

    snprintf(program, sizeof(program), "%s", name ? name : "");
    json_object_set_new(request, "program", json_string(program));
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
    json_array_foreach(list, i, node)
    {
        if (node_count == MOST_NODES)
            break;
        snprintf(nodes[node_count].name, sizeof(nodes->name), "%s", text_of(node, "name"));
        snprintf(nodes[node_count].address, sizeof(nodes->address), "%s", text_of(node, "address"));
        nodes[node_count].client.fd = -1;
        node_count++;
    }
}

static bool application_is_gone(void)
{
    struct pollfd ready = {LIFELINE, POLLIN | POLLRDHUP, 0};

    return poll(&ready, 1, 0) > 0 && ready.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Until there is an answer. If a daemon is lost meanwhile, the next one is asked. */
static void get_devices(const struct poolfile *pool, struct client *client)
{
    json_t *message, *request = make_request();
    char why[512];
    int error = -1;

    for (int tries = 0; error && tries < 5; tries++) {
        if (client_connect_any(client, pool, why, sizeof(why)))
            give_up(why);
        error = client_send(client, request);
        while (!error && !node_count) {
            error = client_receive(client, &message, 500);
            if (application_is_gone())
                exit(0);
            if (error == -ETIMEDOUT) {
                error = 0;
                continue;
            }
            if (error)
                break;
            if (json_object_get(message, "error"))
                give_up(text_of(message, "error"));
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

/* Answers that PMI has for a rank. */
static void answer(void *owner, unsigned rank, const char *line, size_t length)
{
    json_t *message;

    (void)owner;
    if (!rank) {
        if (socket_write_all(own_pmi, line, length))
            shutdown(own_pmi, SHUT_RDWR);
        return;
    }
    message = json_pack("{s:s, s:s%}", "do", "pmi", "text", line, length);
    if (client_send(&nodes[rank - 1].client, message))
        client_close(&nodes[rank - 1].client);
    json_decref(message);
}

/* Rank 0 is the program: it gets its end with the lifeline. */
static void open_pmi(void)
{
    int ends[2];

    server = pmi_open(node_count + 1, answer, NULL);
    if (!server || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        give_up(strerror(ENOMEM));
    own_pmi = ends[0];
    if (socket_send_descriptors(LIFELINE, "", 1, &ends[1], 1))
        exit(0);
    close(ends[1]);
}

/* Who still starts does not any more, on any node. */
static void end_pmi(void)
{
    say("failed MPI cannot start: %s", pmi_why(server));
    exit(1);
}

static const char *setting_line(const char *name, char *line, size_t size)
{
    snprintf(line, size, "%s=%s", name, getenv(name));
    return line;
}

static void add_settings(json_t *environment)
{
    static const char *const names[] = {"VOCL_ZERO_COPY", "VOCL_PIPELINE", "VOCL_SPIN_US"};
    char line[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (getenv(names[i]))
            json_array_append_new(environment, json_string(setting_line(names[i], line, sizeof(line))));
    }
}

static void start_worker(struct node *node, const struct poolfile *pool)
{
    json_t *message, *answer, *environment = json_array();
    char why[512];

    add_settings(environment);
    message = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o}", "do", "start", "session", session, "endpoint", endpoint,
                        "token", token_text, "rank", (int)(node - nodes) + 1, "size", (int)node_count + 1,
                        "environment", environment);
    if (client_connect(&node->client, pool, node->address, why, sizeof(why)) ||
        client_call(&node->client, message, &answer, why, sizeof(why)))
        give_up(why);
    json_decref(message);
    json_decref(answer);
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
    if (sscanf(line, "session %159s %32s", endpoint, token_text) != 2)
        exit(1);
}

static int hear_pmi(const struct node *node, const char *text)
{
    if (pmi_hear(server, (unsigned)(node - nodes) + 1, text, strlen(text)))
        end_pmi();
    return 0;
}

static void hear_own(void)
{
    char text[4096];
    ssize_t got = recv(own_pmi, text, sizeof(text), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && pmi_hear(server, 0, text, (size_t)got))
        end_pmi();
    if (got > 0)
        return;
    close(own_pmi);
    own_pmi = -1;
    if (pmi_lose(server, 0))
        end_pmi();
}

static void hear_node(struct node *node)
{
    json_t *message = NULL;
    int error = client_receive(&node->client, &message, 1000);

    if (error == -ETIMEDOUT)
        return;
    if (!error && json_object_get(message, "pmi"))
        error = hear_pmi(node, text_of(message, "pmi"));
    if (!error && json_object_get(message, "ended") && *text_of(message, "why"))
        say("ended %s %s", node->name, text_of(message, "why"));
    json_decref(message);
    if (!error)
        return;
    client_close(&node->client); /* the daemon's end is not the worker's, if that has started */
    if (pmi_lose(server, (unsigned)(node - nodes) + 1))
        end_pmi();
}

static void stay(void)
{
    for (;;) {
        struct pollfd ready[MOST_NODES + 2] = {{LIFELINE, POLLIN | POLLRDHUP, 0}, {own_pmi, POLLIN, 0}};
        char byte;

        for (unsigned i = 0; i < node_count; i++)
            ready[i + 2] = (struct pollfd){nodes[i].client.fd, POLLIN, 0};
        if (poll(ready, node_count + 2, -1) < 0)
            continue;
        if (ready[0].revents && recv(LIFELINE, &byte, 1, 0) <= 0)
            break;
        if (ready[1].revents)
            hear_own();
        for (unsigned i = 0; i < node_count; i++) {
            if (ready[i + 2].revents)
                hear_node(&nodes[i]);
        }
    }
}

int main(void)
{
    struct client broker = {.fd = -1}; /* until all is started: what is not goes back when this closes */
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
    say("granted %u %s", node_count, nodes[0].address);
    read_session();
    open_pmi();
    for (unsigned i = 0; i < node_count; i++)
        start_worker(&nodes[i], &pool);
    client_close(&broker);
    stay();
    return 0;
}
