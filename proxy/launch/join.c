/*
 * vocl-join: gets an application its devices of a pool. Started by libvocl, so that authentication, JSON and the rest
 * stay out of the application's process. Descriptor 3 is the lifeline to it, on which both say lines:
 *
 *     queued POSITION WHY          the request waits
 *     granted NODES ADDRESS NETWORK
 *                                  so many workers; the first node's daemon; what the pool wants a session carried by
 *     session ENDPOINT SECRET [TOKEN]
 *                                  from the application: where workers say hello. With a token it is carried by MPI:
 *                                  what comes back is a descriptor, PMI, and with the secret comes who comes later
 *     failed WHY                   that was all
 *     ended NODE WHY               a worker's end, if there is something to say about it; also in the log
 *
 * As `vocl-join --hold PID` it does not start anything, but keeps what was granted until that process has ended:
 *
 *     held NAME                    sessions that name it (VOCL_POOL_HOLD) have these devices
 *
 * Otherwise it has the nodes' daemons start the workers, serves all ranks PMI (the workers' comes and goes through the
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
#include "base/log.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "pool/client.h"
#include "proxy/launch/attend.h"
#include "proxy/launch/hold.h"
#include "proxy/launch/losses.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/pmi.h"
#include "proxy/launch/requests.h"
#include "proxy/launch/rests.h"
#include "proxy/launch/wanted.h"

#define LIFELINE 3
#define MOST_TRIES 30 /* to find a daemon again, once one was there */
#define RETRY_MS 1000

static struct attended nodes[ATTEND_MOST];
static unsigned node_count;
static struct pmi *server;
static int own_pmi = -1; /* where rank 0 speaks it */
static char session[64], endpoint[160], secret[2 * SECRET_BYTES + 1], token[2 * TOKEN_BYTES + 1], network[8] = "tls";

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

static json_t *make_request(bool holds)
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
    text_print(program, sizeof(program), "%s", name ? name : "");
    if (json_object_set_new(request, "program", json_string(program))) /* no UTF-8 */
        json_object_set_new(request, "program", json_string(text_visible(program, visible, sizeof(visible))));
    if (*settings_string(SETTING_POOL_HOLD) && !holds)
        json_object_set_new(request, "within", json_string(settings_string(SETTING_POOL_HOLD)));
    json_object_set_new(request, "job",
                        json_string(text_visible(settings_string(SETTING_POOL_JOB), visible, sizeof(visible))));
    return request;
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
        if (node_count == ATTEND_FIRST)
            break;
        snprintf(nodes[node_count].name, sizeof(nodes->name), "%s", text_of(node, "name"));
        snprintf(nodes[node_count].address, sizeof(nodes->address), "%s", text_of(node, "address"));
        snprintf(nodes[node_count].part, sizeof(nodes->part), "%s", text_of(node, "part"));
        nodes[node_count].member = node_count + 1;
        nodes[node_count].wish = json_incref(json_object_get(node, "wish"));
        nodes[node_count].client.fd = -1;
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
static void get_devices(const struct poolfile *pool, struct client *client, bool holds)
{
    json_t *message, *request = make_request(holds);
    unsigned unheard = 0; /* tries after which nothing was said */
    bool had_daemon = false;
    char why[512];
    int error = -1;

    for (int tries = 0; error && tries < MOST_TRIES && unheard < CLIENT_TRIES; tries++) {
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
            unheard = client->heard ? 0 : unheard + 1;
            client_close(client);
            if (unheard)
                client_nap();
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

static bool by_tls(void)
{
    return !*token;
}

static const char *setting_line(const char *name, char *line, size_t size)
{
    snprintf(line, size, "%s=%s", name, getenv(name));
    return line;
}

static void add_settings(json_t *environment)
{
    static const char *const names[] = {"VOCL_ZERO_COPY", "VOCL_PIPELINE", "VOCL_SPIN_US", "VOCL_PEER_TIMEOUT",
                                        "VOCL_RECOVER"};
    char line[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (getenv(names[i]) && *getenv(names[i]))
            json_array_append_new(environment, json_string(setting_line(names[i], line, sizeof(line))));
    }
}

/* What starts a worker; joins: it comes to a session that runs, by TLS. */
static json_t *start_message(const char *part, const char *where, unsigned number, unsigned size, bool joins)
{
    const bool tls = by_tls() || joins;
    json_t *environment = json_array(), *message;

    add_settings(environment);
    message = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:o}", "do", "start", "session", part, "endpoint", where,
                        tls ? "secret" : "token", tls ? secret : token, "rank", (int)number, "size", (int)size, "joins",
                        joins, "environment", environment);
    if (!tls)
        json_object_set_new(message, "guests", json_string(secret));
    return message;
}

static json_t *start_newcomer(const char *part, const char *where, unsigned number)
{
    return start_message(part, where, number, number + 1, true);
}

static void start_worker(struct attended *node, const struct poolfile *pool)
{
    json_t *message = start_message(node->part, endpoint, node->member, node_count + 1, false), *answer;
    char why[512];

    if (client_connect(&node->client, pool, node->address, why, sizeof(why)))
        give_up(why);
    client_beat(&node->client); /* from here on the daemon misses it */
    if (client_call(&node->client, message, &answer, why, sizeof(why)))
        give_up(why);
    json_decref(message);
    json_decref(answer);
}

static void start_workers(const struct poolfile *pool, struct client *broker)
{
    for (unsigned i = 0; i < node_count; i++) {
        start_worker(&nodes[i], pool);
        client_beat(broker); /* what it says to that is of no interest any more */
        attend_beat(nodes, i);
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
    if (sscanf(line, "session %159s %64s %32s", endpoint, secret, token) < 2)
        exit(1);
}

static void hear_node(struct attended *node, const json_t *message)
{
    const char *text = json_string_value(json_object_get(message, "pmi"));

    if (text && server && pmi_hear(server, node->member, text, strlen(text)))
        end_pmi();
    if (!text)
        moves_hear_daemon(node, message);
    if (!text)
        rests_hear_daemon(node, message);
}

/* The daemon's end is not the worker's, if that has started. */
static void lose_pmi(struct attended *node)
{
    if (server && pmi_lose(server, node->member))
        end_pmi();
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

/* A worker's end, if there is something to say about it: to the application, and on its standard error, if that is
 * VOCL's, too: the application itself sees no more than that its worker is gone. */
static void tell_end(const char *node, const char *why)
{
    char name[128], text[512];

    vocl_log(*settings_string(SETTING_RECOVER) ? LOG_WARN : LOG_ERROR, "%s has ended the session: %s",
             text_visible(node, name, sizeof(name)), text_visible(why, text, sizeof(text)));
    say("ended %s %s", node, why); /* the last word, if the application is gone */
}

/* What session this is, for who asks. */
static void describe(void)
{
    char list[512] = "";
    size_t length = 0;

    for (unsigned i = 0; i < node_count && length + sizeof(nodes->name) + 1 < sizeof(list); i++) {
        if (!nodes[i].over && !nodes[i].leaving)
            length +=
                (size_t)snprintf(list + length, sizeof(nodes->name) + 1, "%s%s", length ? "," : "", nodes[i].name);
    }
    requests_describe(list, by_tls() ? "tls" : "mpi", session);
}

/* What the program wants to have done. */
static void hear_program(void *owner, const struct channel_message *message, int fd)
{
    const bool waits_no_more = message->kind == CHANNEL_END && wanted_drop(message->number);

    if (message->kind == CHANNEL_UNFIT)
        wanted_hear_unfit(message);
    else if (!waits_no_more && !rests_hear_program(message) && !losses_hear_program(message))
        moves_hear_program(owner, message, fd);
    else if (fd >= 0)
        close(fd); /* nobody's connections are handed over here */
}

static void poll_others(struct pollfd *fds)
{
    fds[0] = (struct pollfd){own_pmi, POLLIN, 0};
    moves_poll(fds + 1);
    rests_poll(fds + 1 + MOVES_WIDTH);
    fds[1 + MOVES_WIDTH + RESTS_WIDTH] = wanted_poll();
}

static void turn_others(const struct pollfd *fds)
{
    if (fds[0].revents && own_pmi >= 0)
        hear_own();
    moves_turn(fds + 1);
    rests_turn(fds + 1 + MOVES_WIDTH);
    wanted_turn(fds + 1 + MOVES_WIDTH + RESTS_WIDTH);
}

static bool is_busy(void)
{
    return rests_busy() || wanted_now();
}

static void lose_worker(struct attended *node)
{
    losses_keep(node);
    moves_lose(node);
}

static const struct attend_hooks hooks = {.ended = tell_end,
                                          .over = lose_worker,
                                          .said = hear_node,
                                          .lost = lose_pmi,
                                          .heard = hear_program,
                                          .width = 1 + MOVES_WIDTH + RESTS_WIDTH + 1,
                                          .poll = poll_others,
                                          .turn = turn_others,
                                          .busy = is_busy};

/* Nothing of who asked for it is kept open, or he would seem to be there still. */
static void hold(pid_t process, const struct poolfile *pool, struct client *broker)
{
    char why[512];

    if (hold_all(nodes, node_count, pool, why, sizeof(why)))
        give_up(why);
    say("held %s", session);
    close(LIFELINE);
    client_close(broker);
    hold_until(process, nodes, node_count, pool);
}

int main(int count, char **words)
{
    const pid_t process = count == 3 && !strcmp(words[1], "--hold") ? (pid_t)strtol(words[2], NULL, 10) : 0;
    struct client broker = {.fd = -1}; /* until all is started: what is not goes back when this closes */
    struct pool_session own = {.nodes = nodes, .count = &node_count, .id = session, .start = start_newcomer};
    struct poolfile pool;
    char why[512];

    signal(SIGPIPE, SIG_IGN);
    if (fcntl(LIFELINE, F_GETFD) < 0) {
        fprintf(stderr, "vocl-join: started by VOCL only\n");
        return 2;
    }
    if (!process)
        requests_open(LIFELINE);
    if (poolfile_read(&pool, settings_string(SETTING_POOL), why, sizeof(why)))
        give_up(why);
    if (*settings_string(SETTING_POOL_USER))
        pool.user = strdup(settings_string(SETTING_POOL_USER));
    get_devices(&pool, &broker, process != 0);
    if (process) {
        hold(process, &pool, &broker);
        return 0;
    }
    if (!strcmp(pool.network, "tls")) /* who wants more than the pool does may have it */
        strcpy(network, "tls");
    else if (*pool.network && strcmp(pool.network, network))
        give_up("its daemons want tls, and its file says mpi");
    say("granted %u %s %s", node_count, nodes[0].address, network);
    read_session();
    if (!by_tls())
        open_pmi();
    describe();
    start_workers(&pool, &broker);
    client_close(&broker);
    own.pool = &pool;
    own.changed = describe;
    wanted_open(&own);
    losses_open(&own);
    moves_open(&own);
    rests_open(&own, text_of(nodes[0].wish, "program"), text_of(nodes[0].wish, "job"));
    requests_on(moves_asked);
    attend(nodes, &node_count, &pool, LIFELINE, &hooks);
    return 0;
}
