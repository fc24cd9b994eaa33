/* A pool's session rests: see rests.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/requests.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/rests.h"

#define AGAIN_MS 1000     /* between tries to reach a daemon, and between words to the program that waits */
#define MOST_WAIT 1000000 /* seconds for a place: the program waits as long as it does */

static struct pool_session session;
static char program_name[64], program_job[64];

/* What the session had: a node's worker, and how such a place is asked for. */
static struct had {
    unsigned member;
    json_t *wish;
} had[ATTEND_FIRST];
static unsigned had_count;

static struct {
    bool on;
    struct client line; /* to a daemon, which tells of it */
    char address[128];
    unsigned next; /* daemon to be tried, 0: that one */
    long tried_ms;
    char ended[128]; /* it is not to go on: why */
    /* who has asked, and waits for the program's answer: a node's daemon, or, of what rests, the line's */
    struct attended *asked;
    int answers;
} rest = {.line.fd = -1, .answers = -1};

/* The worker for which there is to be a place. */
static struct {
    const struct had *had; /* or NULL */
    unsigned number;
    char endpoint[200], ticket[64];
    struct client broker;
    long tried_ms, told_ms;
} wanted = {.broker.fd = -1};

bool rests_now(void)
{
    return rest.on;
}

bool rests_busy(void)
{
    return rest.on && (wanted.had || rest.line.fd < 0);
}

/* ---- who has asked ---- */

static void tell_line(const char *what, const char *text)
{
    json_t *message = json_pack("{s:s, s:s}", "do", what, "text", text);

    if (rest.line.fd >= 0)
        client_send(&rest.line, message);
    json_decref(message);
}

/* It stays as it is. asked NULL: of a session that rests it was the daemon that knows of that. */
static void refuse(struct attended *asked, const char *why)
{
    json_t *message = json_pack("{s:s, s:s}", "do", "stays", "text", why);

    if (asked)
        tell_node(asked, message);
    else
        tell_line("stays", why);
    json_decref(message);
}

static void ask_program(const char *words, struct attended *node)
{
    const char *why = session.refusal     ? session.refusal
                      : moves_now()       ? "a move of it is under way"
                      : rest.answers >= 0 ? "it is just being put to rest, or goes on"
                                          : NULL;
    int answers = -1;

    if (!why)
        answers = requests_ask(words, &why);
    if (answers < 0) {
        refuse(node, why);
        return;
    }
    rest.asked = node;
    rest.answers = answers;
}

static void hear_answer(void)
{
    char line[REQUESTS_MOST + 1];
    ssize_t got = recv(rest.answers, line, REQUESTS_MOST, MSG_DONTWAIT);
    const char *space;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    space = strchr(line, ' ');
    if (!strncmp(line, REQUEST_PROGRESS, strlen(REQUEST_PROGRESS)))
        return;
    if (strncmp(line, REQUEST_DONE, strlen(REQUEST_DONE)))
        refuse(rest.asked, got > 0 && space ? space + 1 : "the program has ended, or does not answer");
    close(rest.answers);
    rest.answers = -1;
    rest.asked = NULL;
}

void rests_hear_daemon(struct attended *node, const json_t *message)
{
    if (json_object_get(message, "suspend"))
        ask_program("suspend", node);
}

/* ---- the daemon that knows of it ---- */

static void forget_had(void)
{
    while (had_count)
        json_decref(had[--had_count].wish);
}

static unsigned count_devices(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < had_count; i++)
        count += (unsigned)json_integer_value(json_object_get(had[i].wish, "count"));
    return count;
}

/* The one that the session was at, else another. */
static void open_line(void)
{
    json_t *message;
    char why[256];

    if (clock_ms() - rest.tried_ms < AGAIN_MS)
        return;
    if (rest.next)
        snprintf(rest.address, sizeof(rest.address), "%s",
                 session.pool->nodes[(rest.next - 1) % session.pool->count].address);
    rest.next++;
    if (!client_connect_within(&rest.line, session.pool, rest.address, AGAIN_MS, why, sizeof(why))) {
        message = json_pack("{s:s, s:s, s:s, s:s, s:i}", "do", "rest", "session", session.id, "program", program_name,
                            "job", program_job, "devices", (int)count_devices());
        if (client_send(&rest.line, message))
            client_close(&rest.line);
        else
            client_beat(&rest.line);
        json_decref(message);
    } else {
        vocl_log(LOG_INFO, "it rests, and %s", why);
    }
    rest.tried_ms = clock_ms();
}

static void hear_line(void)
{
    json_t *message = NULL;
    int error = client_receive(&rest.line, &message, 100);

    if (error == -ETIMEDOUT)
        return;
    if (error) {
        client_close(&rest.line);
        return;
    }
    if (json_object_get(message, "wake"))
        ask_program("resume", NULL);
    else if (json_object_get(message, "end"))
        snprintf(rest.ended, sizeof(rest.ended), "%s", text_of(message, "end"));
    else if (json_object_get(message, "error"))
        vocl_log(LOG_WARN, "the pool: %s", text_of(message, "error"));
    json_decref(message);
}

static void begins(void)
{
    rest.on = true;
    rest.next = 0;
    rest.tried_ms = 0;
    open_line();
}

static void ends(void)
{
    if (!rest.on)
        return;
    rest.on = false;
    tell_line("woken", "");
    client_close(&rest.line);
    forget_had();
    session.changed();
}

/* ---- a place for who comes ---- */

static void give_up(const char *why)
{
    client_close(&wanted.broker);
    wanted.had = NULL;
    tell_program(CHANNEL_ENDED, wanted.number, why);
}

/* The daemon that knows that it rests takes the request; should it be lost, another one that has been told. */
static void ask_for_place(void)
{
    json_t *request;
    char why[256];

    if (wanted.broker.fd >= 0 || rest.line.fd < 0 || clock_ms() - wanted.tried_ms < AGAIN_MS)
        return;
    wanted.tried_ms = clock_ms();
    if (client_connect_within(&wanted.broker, session.pool, rest.address, REACH_MS, why, sizeof(why)))
        return;
    request = json_copy(wanted.had->wish);
    json_object_set_new(request, "rest", json_string(session.id));
    json_object_set_new(request, "wait", json_integer(MOST_WAIT));
    if (*wanted.ticket)
        json_object_set_new(request, "ticket", json_string(wanted.ticket));
    if (client_send(&wanted.broker, request))
        client_close(&wanted.broker);
    else
        client_beat(&wanted.broker);
    json_decref(request);
}

static void start(const struct place *place)
{
    struct attended *node;
    char why[300];

    attend_beat(session.nodes, *session.count);
    node = newcomer_start(&session, place, wanted.number, wanted.endpoint, NULL, why, sizeof(why));
    if (!node) {
        give_up(why);
        return;
    }
    tell_program(CHANNEL_STARTED, wanted.number, "0");
    client_close(&wanted.broker);
    wanted.had = NULL;
}

static void hear_broker(void)
{
    struct place place = {.wish = NULL};
    json_t *message = NULL;
    int error = client_receive(&wanted.broker, &message, 100);

    if (error == -ETIMEDOUT)
        return;
    if (error) { /* the next daemon, with the place in the queue */
        client_close(&wanted.broker);
        client_close(&rest.line);
        return;
    }
    if (json_object_get(message, "error"))
        give_up(text_of(message, "error"));
    else if (json_object_get(message, "queued"))
        snprintf(wanted.ticket, sizeof(wanted.ticket), "%s", text_of(message, "ticket"));
    else if (json_object_get(message, "granted") && place_read(&place, message))
        start(&place);
    else if (json_object_get(message, "granted"))
        give_up("there is no one place for it");
    place_free(&place);
    json_decref(message);
}

/* "#NUMBER<tab>ENDPOINT" */
static void want(const struct channel_message *message)
{
    const char *tab = strchr(message->text, '\t');
    unsigned member = 0;

    wanted.number = message->number;
    wanted.had = NULL;
    sscanf(message->text, "#%u", &member);
    for (unsigned i = 0; i < had_count; i++) {
        if (had[i].member == member)
            wanted.had = &had[i];
    }
    snprintf(wanted.endpoint, sizeof(wanted.endpoint), "%s", tab ? tab + 1 : "");
    *wanted.ticket = '\0';
    wanted.tried_ms = wanted.told_ms = 0;
    client_close(&wanted.broker);
    if (*rest.ended)
        give_up(rest.ended);
    else if (!wanted.had || !rest.on)
        give_up("the session had no such worker");
    else
        ask_for_place();
}

/* ---- the program ---- */

/* It lets go of a worker: for a rest, if not for a move. */
static bool let_go(const struct channel_message *message)
{
    struct attended *node = newcomers_find(&session, message->number);

    if (wanted.had && wanted.number == message->number) { /* it waits no more */
        give_up("not needed");
        return true;
    }
    if (!node || rest.on || node->leaving || *node->why || !strcmp(message->text, "now") || moves_has(node) ||
        !node->wish || had_count == ATTEND_FIRST)
        return false;
    had[had_count++] = (struct had){node->member, json_incref(node->wish)};
    snprintf(rest.address, sizeof(rest.address), "%s", node->address);
    node->rests = true;
    attend_leave(node, false, "put to rest");
    return true;
}

bool rests_hear_program(const struct channel_message *message)
{
    if (message->kind == CHANNEL_STATE && !strcmp(message->text, "resting"))
        begins();
    else if (message->kind == CHANNEL_STATE && !*message->text)
        ends();
    return message->kind == CHANNEL_STATE || (message->kind == CHANNEL_END && let_go(message)) ||
           (message->kind == CHANNEL_START && *message->text == '#' && (want(message), true));
}

/* ---- a turn ---- */

void rests_open(const struct pool_session *given, const char *program, const char *job)
{
    session = *given;
    snprintf(program_name, sizeof(program_name), "%s", program);
    snprintf(program_job, sizeof(program_job), "%s", job);
}

void rests_poll(struct pollfd *fds)
{
    fds[0] = (struct pollfd){rest.line.fd, POLLIN, 0};
    fds[1] = (struct pollfd){rest.answers, POLLIN, 0};
    fds[2] = (struct pollfd){wanted.broker.fd, POLLIN, 0};
}

void rests_turn(const struct pollfd *fds)
{
    if (fds[0].revents && fds[0].fd == rest.line.fd)
        hear_line();
    if (fds[1].revents && fds[1].fd == rest.answers)
        hear_answer();
    if (fds[2].revents && fds[2].fd == wanted.broker.fd)
        hear_broker();
    if (rest.line.fd >= 0 && client_beat(&rest.line))
        client_close(&rest.line);
    if (wanted.broker.fd >= 0 && client_beat(&wanted.broker))
        client_close(&wanted.broker);
    if (rest.on && rest.line.fd < 0)
        open_line();
    if (!wanted.had)
        return;
    ask_for_place();
    if (clock_ms() - wanted.told_ms < AGAIN_MS)
        return;
    tell_program(CHANNEL_WAITS, wanted.number, ""); /* or it would not wait any longer */
    wanted.told_ms = clock_ms();
}
