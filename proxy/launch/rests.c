/* A pool's session rests: see rests.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/requests.h"
#include "base/text.h"
#include "proxy/launch/costs.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/rests.h"
#include "proxy/launch/wanted.h"

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
} rest = {.line.fd = -1};

/* Who waits for the program's answer: the daemon of a part, or, of what rests, that of the line. The program takes one
 * after the other (client/survive/rest.c), so that who asks while another is answered need not be refused. */
static struct asker {
    bool waits;
    int answers;
    char part[64]; /* or "" */
} askers[RESTS_ASKERS];

bool rests_now(void)
{
    return rest.on;
}

bool rests_busy(void)
{
    return rest.on && rest.line.fd < 0;
}

/* ---- who has asked ---- */

static void tell_line(const char *what, const char *text)
{
    json_t *message = json_pack("{s:s, s:s}", "do", what, "text", text);

    if (rest.line.fd >= 0)
        client_send(&rest.line, message);
    json_decref(message);
}

/* It stays as it is. part "": of a session that rests it was the daemon that knows of that. */
static void refuse(const char *part, const char *why)
{
    json_t *message = json_pack("{s:s, s:s}", "do", "stays", "text", why);

    costs_asked(0);
    for (unsigned i = 0; *part && i < *session.count; i++) {
        if (!strcmp(session.nodes[i].part, part))
            tell_node(&session.nodes[i], message);
    }
    if (!*part)
        tell_line("stays", why);
    json_decref(message);
}

/* Free, and none other is of the same part; or NULL. */
static struct asker *find_asker(const char *part)
{
    struct asker *found = NULL;

    for (unsigned i = 0; i < RESTS_ASKERS; i++) {
        if (askers[i].waits && !strcmp(askers[i].part, part))
            return NULL;
        if (!askers[i].waits)
            found = &askers[i];
    }
    return found;
}

static void ask_program(const char *words, const char *part)
{
    struct asker *asker = find_asker(part);
    const char *why = moves_now() ? "a move of it is under way" : !asker ? "that has been asked of it already" : NULL;
    int answers = -1;

    if (!why)
        answers = requests_ask(words, &why);
    if (answers < 0) {
        refuse(part, why);
        return;
    }
    *asker = (struct asker){.waits = true, .answers = answers};
    snprintf(asker->part, sizeof(asker->part), "%s", part);
}

static void hear_answer(struct asker *asker)
{
    char line[REQUESTS_MOST + 1];
    ssize_t got = recv(asker->answers, line, REQUESTS_MOST, MSG_DONTWAIT);
    const char *space;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    space = strchr(line, ' ');
    if (!strncmp(line, REQUEST_PROGRESS, strlen(REQUEST_PROGRESS)))
        return;
    if (strncmp(line, REQUEST_DONE, strlen(REQUEST_DONE)))
        refuse(asker->part, got > 0 && space ? space + 1 : "the program has ended, or does not answer");
    close(asker->answers);
    asker->waits = false;
}

void rests_hear_daemon(struct attended *node, const json_t *message)
{
    if (!json_object_get(message, "suspend"))
        return;
    costs_asked(clock_ms());
    ask_program("suspend", node->part);
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
        ask_program("resume", "");
    else if (json_object_get(message, "end"))
        text_print(rest.ended, sizeof(rest.ended), "%s", text_of(message, "end"));
    else if (json_object_get(message, "error"))
        vocl_log(LOG_WARN, "the pool: %s", text_of(message, "error"));
    json_decref(message);
}

static void begins(void)
{
    costs_went(clock_ms());
    rest.on = true;
    rest.next = 0;
    rest.tried_ms = 0;
    open_line();
}

/* For how long it has to do nothing before it is put to rest for others. */
static void tell_patience(long ms)
{
    json_t *message = json_pack("{s:s, s:i}", "do", "patience", "ms", (int)(ms < INT_MAX ? ms : INT_MAX));

    for (unsigned i = 0; i < *session.count; i++)
        tell_node(&session.nodes[i], message);
    json_decref(message);
}

static void ends(void)
{
    if (!rest.on)
        return;
    rest.on = false;
    tell_patience(costs_came(clock_ms()));
    tell_line("woken", "");
    client_close(&rest.line);
    forget_had();
    session.changed();
}

/* ---- a place for who comes ---- */

/* The daemon that knows that it rests takes the request; should it be lost, another one that has been told. */
static const char *daemon_to_ask(bool lost)
{
    if (lost)
        client_close(&rest.line);
    return rest.line.fd < 0 ? NULL : rest.address;
}

static void want(const struct channel_message *message, unsigned member)
{
    json_t *request = NULL;

    for (unsigned i = 0; i < had_count && !request; i++) {
        if (had[i].member == member)
            request = json_copy(had[i].wish);
    }
    if (*rest.ended || !request) {
        wanted_refuse(message, *rest.ended ? rest.ended : "the session had no such worker");
        json_decref(request);
        return;
    }
    costs_wanted(clock_ms());
    json_object_set_new(request, "rest", json_string(session.id));
    json_object_set_new(request, "wait", json_integer(MOST_WAIT));
    wanted_begin(message, request, daemon_to_ask);
}

/* ---- the program ---- */

/* It lets go of a worker: for a rest, if not for a move. */
static bool let_go(const struct channel_message *message)
{
    struct attended *node = newcomers_find(&session, message->number);

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
    unsigned member;

    if (message->kind == CHANNEL_STATE && !strcmp(message->text, "resting"))
        begins();
    else if (message->kind == CHANNEL_STATE && !*message->text)
        ends();
    return message->kind == CHANNEL_STATE || (message->kind == CHANNEL_END && let_go(message)) ||
           (rest.on && wanted_read(message, &member) && (want(message, member), true));
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
    for (unsigned i = 0; i < RESTS_ASKERS; i++)
        fds[1 + i] = (struct pollfd){askers[i].waits ? askers[i].answers : -1, POLLIN, 0};
}

void rests_turn(const struct pollfd *fds)
{
    if (fds[0].revents && fds[0].fd == rest.line.fd)
        hear_line();
    for (unsigned i = 0; i < RESTS_ASKERS; i++) {
        if (fds[1 + i].revents && askers[i].waits && askers[i].answers == fds[1 + i].fd)
            hear_answer(&askers[i]);
    }
    if (rest.line.fd >= 0 && client_beat(&rest.line))
        client_close(&rest.line);
    if (rest.on && rest.line.fd < 0)
        open_line();
}
