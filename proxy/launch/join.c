/*
 * vocl-join: gets an application devices of a pool. libvocl starts it, so that authentication, JSON and the rest stay
 * out of the application's process. Descriptor 3 is the control socket to the application, on which both send lines:
 *
 *    queued POSITION WHY          the request waits
 *    granted NODES ADDRESS NETWORK
 *                                 how many workers; the first node's daemon; the network of sessions in this pool
 *    session ENDPOINT SECRET [TOKEN]
 *                                 from the application: where workers connect. With a token the session uses MPI:
 *                                 the answer is a descriptor, PMI, and the secret is for workers that come later
 *    failed WHY                   nothing else follows
 *    ended NODE WHY               a worker has ended, and there is a reason to report; also in the log
 *
 * As `vocl-join --hold PID` it starts nothing, but holds what was granted until that process has ended:
 *
 *    held NAME                    sessions that name it (VOCL_POOL_HOLD) use these devices
 *
 * As `vocl-join --keep SECONDS` it holds until the control socket closes; the hold then remains for so many seconds,
 * for another such process to take it over: `vocl-join --keep SECONDS NAME PART ADDRESS...`. A line on the control
 * socket returns the devices.
 *
 *    part PART ADDRESS            a part of the hold, before the line `held`
 *
 * Otherwise it has the nodes' daemons start the workers, serves PMI to all ranks (to the workers through the daemons),
 * and stays until the application has ended.
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
#include "proxy/launch/attend.h"
#include "proxy/launch/hold.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/pmi.h"
#include "proxy/launch/suspend.h"
#include "proxy/launch/replacement.h"

#define CONTROL_SOCKET 3
#define MOST_TRIES 30 /* to find a daemon again, after one was reached that has sent a message */
#define TURN_MS 200

static struct pmi *server;
static int own_pmi = -1; /* rank 0's PMI socket */
static char endpoint[160], secret[2 * SECRET_BYTES + 1], token[2 * TOKEN_BYTES + 1], network[8] = "tls";

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[1000], line[1002];
    va_list arguments;
    size_t length;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    length = strlen(text_visible(text, line, sizeof(line) - 1)); /* parts of it come from other hosts */
    line[length] = '\n';
    if (socket_write_all(CONTROL_SOCKET, line, length + 1))
        exit(0); /* the application has ended */
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
    bool good;

    if (!text_read_bytes(settings_string(SETTING_POOL_MEMORY), &memory))
        give_up("VOCL_POOL_MEMORY is not a size in bytes, such as 8G");
    request = json_pack("{s:s, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:s}", "do", "request", "count",
                        (json_int_t)settings_number(SETTING_POOL_COUNT), "wait",
                        (json_int_t)(getenv("VOCL_POOL_NOW") ? 0 : settings_number(SETTING_POOL_WAIT)), "share",
                        (json_int_t)settings_number(SETTING_POOL_WEIGHT), "exclusive",
                        settings_number(SETTING_POOL_EXCLUSIVE) != 0, "memory", (json_int_t)memory, "type",
                        settings_string(SETTING_POOL_TYPE), "name", settings_string(SETTING_POOL_NAME), "policy",
                        settings_string(SETTING_POOL_POLICY));
    text_print(program, sizeof(program), "%s", name ? name : "");
    good = !json_object_set_new(request, "program", json_string(program)) || /* or it is not UTF-8 */
           !json_object_set_new(request, "program", json_string(text_visible(program, visible, sizeof(visible))));
    if (*settings_string(SETTING_POOL_HOLD) && !holds)
        good &= !json_object_set_new(request, "within", json_string(settings_string(SETTING_POOL_HOLD)));
    text_visible(settings_string(SETTING_POOL_JOB), visible, sizeof(visible));
    if (!good || json_object_set_new(request, "job", json_string(visible)))
        give_up("the request cannot be made: there is no memory, or a setting is no text");
    return request;
}

static void take_grant(const json_t *message)
{
    const json_t *list = json_object_get(message, "nodes"), *node;
    size_t i;

    snprintf(session.id, sizeof(session.id), "%s", text_of(message, "granted"));
    if (*text_of(message, "network"))
        snprintf(network, sizeof(network), "%s", text_of(message, "network"));
    json_array_foreach(list, i, node)
    {
        if (session.count == SESSION_FIRST)
            break;
        place_read(&session.nodes[session.count].place, node);
        session.nodes[session.count].member = session.count + 1;
        session.nodes[session.count].inquiry.client.fd = -1;
        session.count++;
    }
}

static struct {
    unsigned tries, unheard; /* connections in a row without a message */
    bool had_daemon;
} asking;

static void hear_answer(struct inquiry *inquiry, const json_t *message)
{
    (void)inquiry;
    if (json_object_get(message, "error"))
        give_up(text_of(message, "error"));
    if (json_object_get(message, "queued"))
        say("queued %lld %s", (long long)json_integer_value(json_object_get(message, "queued")),
            text_of(message, "why"));
    else
        take_grant(message);
}

/* Only the daemon's first answer shows whether it has a slot and accepts the key. */
static void lose_daemon(struct inquiry *inquiry, bool reached, const char *why)
{
    if (session.count) /* the request was answered */
        return;
    asking.had_daemon |= reached;
    asking.tries = inquiry->client.heard ? 0 : asking.tries;
    asking.unheard = !reached ? asking.unheard : inquiry->client.heard ? 0 : asking.unheard + 1;
    if (!asking.had_daemon || ++asking.tries == MOST_TRIES || asking.unheard == CLIENT_TRIES)
        give_up(why);
    if (!reached)
        return;
    inquiry->kind->tried_ms = 0; /* the place in the queue is kept for a moment only */
    client_nap();
}

/* Waits for the grant. If the daemon is lost meanwhile, the next one is asked, or the same when it is back. */
static void get_devices(struct inquiry *broker, bool holds)
{
    static struct inquiry_kind kind = {.again_ms = AGAIN_MS, .hear = hear_answer, .lost = lose_daemon};
    struct pollfd ready[2];

    inquiry_open(broker, &kind, &session.pool);
    inquiry_begin(broker, INQUIRY_ANY, make_request(holds));
    while (!session.count) {
        ready[0] = (struct pollfd){CONTROL_SOCKET, POLLRDHUP, 0};
        inquiries_poll(&broker, 1, ready + 1);
        socket_poll(ready, 2, TURN_MS);
        if (ready[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
            exit(0); /* the application has ended */
        inquiries_turn(&broker, 1, ready + 1);
    }
}

/* ---- the ranks ---- */

/* Sends PMI's answer to a rank. */
static void answer(void *owner, unsigned rank, const char *line, size_t length)
{
    (void)owner;
    if (!rank) {
        if (socket_write_all(own_pmi, line, length))
            shutdown(own_pmi, SHUT_RDWR);
        return;
    }
    inquiry_say(&session.nodes[rank - 1].inquiry, json_pack("{s:s, s:s%}", "do", "pmi", "text", line, length));
}

/* Rank 0 is the program: it receives its end through the control socket. */
static void open_pmi(void)
{
    int ends[2];

    server = pmi_open(session.count + 1, answer, NULL);
    if (!server || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        give_up(strerror(ENOMEM));
    own_pmi = ends[0];
    if (socket_send_descriptors(CONTROL_SOCKET, "", 1, &ends[1], 1))
        exit(0);
    close(ends[1]);
}

/* Ends the start: ranks that are still starting fail, on all nodes. */
static void end_pmi(void)
{
    say("failed MPI cannot start: %s", pmi_why(server));
    exit(1);
}

static bool by_tls(void)
{
    return !*token;
}

/* Returns false if memory is exhausted. */
static bool add_settings(json_t *environment)
{
    static const char *const names[] = {"VOCL_ZERO_COPY", "VOCL_PIPELINE", "VOCL_SPIN_US", "VOCL_PEER_TIMEOUT",
                                        "VOCL_RECOVER"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value && json_array_append_new(environment, json_sprintf("%s=%s", names[i], value)))
            return false;
    }
    return true;
}

/* Makes the message that starts a worker, or returns NULL. joins: the worker comes to a running session, by TLS. */
static json_t *start_message(const char *part, const char *where, unsigned number, unsigned size, bool joins)
{
    const bool tls = by_tls() || joins;
    json_t *environment = json_array(), *message;

    if (!add_settings(environment)) {
        json_decref(environment);
        return NULL;
    }
    message = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:o}", "do", "start", "session", part, "endpoint", where,
                        tls ? "secret" : "token", tls ? secret : token, "rank", (int)number, "size", (int)size, "joins",
                        joins, "environment", environment);
    if (tls || !json_object_set_new(message, "guests", json_string(secret)))
        return message;
    json_decref(message);
    return NULL;
}

json_t *start_newcomer(const char *part, const char *where, unsigned number)
{
    return start_message(part, where, number, number + 1, true);
}

static void start_workers(struct inquiry *broker)
{
    char why[512];

    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];

        attend_open(node);
        if (session_begin(node, start_message(node->place.part, endpoint, node->member, session.count + 1, false),
                          attend_question(node), why, sizeof(why)))
            give_up(why);
        inquiries_beat(&broker, 1); /* the broker's answers no longer matter */
        attend_beat();
    }
}

/* ---- the session ---- */

static void read_session(void)
{
    char line[512];
    size_t length = 0;

    while (length + 1 < sizeof(line)) {
        if (socket_read_all(CONTROL_SOCKET, line + length, 1, 60000))
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
        suspend_hear_daemon(node, message);
}

/* The loss of the daemon is not the end of the worker, if that has started. */
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

/* A worker has ended, and there is a reason to report: sends it to the application, which otherwise only sees that the
 * worker has gone, and logs it. */
static void tell_end(const char *node, const char *why)
{
    char name[128], text[512];

    vocl_log(*settings_string(SETTING_RECOVER) ? LOG_WARN : LOG_ERROR, "%s has ended the session: %s",
             text_visible(node, name, sizeof(name)), text_visible(why, text, sizeof(text)));
    say("ended %s %s", node, why); /* exits if the application has ended */
}

/* Describes the session, for users that ask. */
void describe(void)
{
    const struct attended *node;
    char list[512] = "";
    size_t length = 0;

    for (unsigned i = 0; i < session.count && length + sizeof(node->place.name) + 1 < sizeof(list); i++) {
        node = &session.nodes[i];
        if (!node->over && !node->leaving)
            length += (size_t)snprintf(list + length, sizeof(node->place.name) + 1, "%s%s", length ? "," : "",
                                       node->place.name);
    }
    requests_describe(list, by_tls() ? "tls" : "mpi", session.id);
}

/* Handles a request of the program. */
static void hear_program(void *owner, const struct starter_message *message, int fd)
{
    (void)owner;
    if (fd >= 0)
        close(fd); /* no connections are handed over here */
    if (!replacement_hear_program(message) && !suspend_hear_program(message))
        moves_hear_program(message);
}

static bool poll_others(struct pollfd *fds)
{
    fds[0] = (struct pollfd){own_pmi, POLLIN, 0};
    fds[1] = moves_poll();
    return replacement_is_wanted();
}

static void turn_others(const struct pollfd *fds)
{
    if (fds[0].revents && own_pmi >= 0)
        hear_own();
    moves_turn(fds + 1);
    replacement_turn();
}

static void lose_worker(struct attended *node)
{
    replacement_keep(node);
    moves_lose(node);
}

static void attend_session(void)
{
    static struct inquiry *const inquiries[] = {&moves_inquiry, &suspend_inquiry, &replacement_inquiry};
    static const struct attend_hooks hooks = {.ended = tell_end,
                                              .over = lose_worker,
                                              .said = hear_node,
                                              .lost = lose_pmi,
                                              .heard = hear_program,
                                              .inquiries = inquiries,
                                              .inquiry_count = sizeof(inquiries) / sizeof(*inquiries),
                                              .width = 2,
                                              .poll = poll_others,
                                              .turn = turn_others};

    replacement_open();
    moves_open();
    suspend_open(text_of(session.nodes[0].place.wish, "program"), text_of(session.nodes[0].place.wish, "job"));
    requests_on(moves_asked);
    attend(CONTROL_SOCKET, &hooks);
}

/* How long the devices are held: as long as a process exists, or as there is a control socket. */
struct holding {
    pid_t process; /* or 0 */
    bool keeps;
    unsigned keep_seconds; /* without this process */
    char **parts;          /* of a hold that exists: its name, then PART ADDRESS of each; NULL: a new one */
};

static bool read_holding(struct holding *holding, int count, char **words)
{
    uint64_t number;

    *holding = (struct holding){.process = 0};
    if (count < 3)
        return false;
    if (count == 3 && !strcmp(words[1], "--hold"))
        holding->process = (pid_t)strtol(words[2], NULL, 10);
    holding->keeps = !strcmp(words[1], "--keep") && text_read_number(words[2], 0, 1000000, &number);
    if (holding->keeps)
        holding->keep_seconds = (unsigned)number;
    if (holding->keeps && count > 5 && count % 2 == 0 && count < 2 * SESSION_FIRST)
        holding->parts = words + 3;
    return holding->process || holding->keeps;
}

/* Takes the parts of a hold that exists. */
static void take_parts(char **words)
{
    snprintf(session.id, sizeof(session.id), "%s", *words++);
    for (; words[0] && words[1]; words += 2) {
        struct place *place = &session.nodes[session.count].place;

        snprintf(place->part, sizeof(place->part), "%s", words[0]);
        snprintf(place->address, sizeof(place->address), "%s", words[1]);
        session.nodes[session.count++].inquiry.client.fd = -1;
    }
}

/* Keeps nothing of a process open whose end is waited for: it would seem to be alive. */
static void hold(const struct holding *holding, struct inquiry *broker)
{
    char why[512];

    if (hold_all(holding->keep_seconds, why, sizeof(why)))
        give_up(why);
    for (unsigned i = 0; holding->keeps && i < session.count; i++)
        say("part %s %s", session.nodes[i].place.part, session.nodes[i].place.address);
    say("held %s", session.id);
    inquiry_end(broker);
    if (holding->keeps) {
        hold_until_told(CONTROL_SOCKET);
    } else {
        close(CONTROL_SOCKET);
        hold_until(holding->process);
    }
}

int main(int count, char **words)
{
    struct poolfile *pool = &session.pool;
    struct holding holding;
    const bool holds = read_holding(&holding, count, words);
    /* Until everything is started: what is not started is returned when it ends. */
    struct inquiry broker = {.client.fd = -1};
    char why[512];

    signal(SIGPIPE, SIG_IGN);
    if (fcntl(CONTROL_SOCKET, F_GETFD) < 0) {
        fprintf(stderr, "vocl-join: started by VOCL only\n");
        return 2;
    }
    if (!holds)
        requests_open(CONTROL_SOCKET);
    if (poolfile_read(pool, settings_string(SETTING_POOL), why, sizeof(why)))
        give_up(why);
    if (poolfile_take_settings(pool))
        give_up(strerror(ENOMEM));
    if (holding.parts)
        take_parts(holding.parts);
    else
        get_devices(&broker, holds);
    if (holds) {
        hold(&holding, &broker);
        return 0;
    }
    if (!strcmp(pool->network, "tls")) /* a user may choose more security than the pool requires */
        strcpy(network, "tls");
    else if (*pool->network && strcmp(pool->network, network))
        give_up("its daemons want tls, and its file says mpi");
    say("granted %u %s %s", session.count, session.nodes[0].place.address, network);
    read_session();
    if (!by_tls())
        open_pmi();
    describe();
    start_workers(&broker);
    inquiry_end(&broker);
    attend_session();
    return 0;
}
