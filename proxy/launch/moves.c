/* Moves of a pool's session: see moves.h. There is one move at a time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/requests.h"
#include "base/text.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/suspend.h"

#define ANEW_MS 10000 /* for an unsuitable place to be returned */

static struct {
    enum {
        MOVE_NONE,
        MOVE_PLACE,   /* waits for a place */
        MOVE_PROGRAM, /* the program moves */
        MOVE_ANEW,    /* the place was unsuitable, and is being returned */
    } state;
    struct attended *from, *to; /* to: the new node, after its worker was started; or NULL */
    struct place place;
    struct wish {
        char to[64];
        long long device, wait;
        bool any; /* devices of another kind are accepted if there is no place of the same kind */
    } wish;
    bool of_any;   /* such a place is requested */
    json_t *unfit; /* the devices that did not fit, or NULL (place_unfit()); */
    char why[256]; /* why the last such place was unsuitable, or "" */
    /* Which of its devices did not fit, from 1; 0: any; -1: that is not the reason. */
    int device;
    long anew_ms; /* since when that place is being returned */
    /* answers: the program's; out: to a process on this host that waits for them, or -1. */
    int answers, out;
} move = {.answers = -1, .out = -1};

struct inquiry moves_inquiry = {.client.fd = -1}; /* its end returns what it has granted */

/* ---- progress ---- */

/* Sends a message to both daemons. Takes ownership of message. */
static void tell(json_t *message)
{
    if (json_object_set_new(message, "part", json_string(move.from->place.part)) ||
        json_object_set_new(message, "from", json_string(move.from->place.name)) ||
        (*move.place.name && json_object_set_new(message, "to", json_string(move.place.name)))) {
        json_decref(message);
        message = NULL;
    }
    session_tell(move.from, json_incref(message));
    session_tell(move.to, message);
}

static void tell_phase(const char *phase, const char *text)
{
    tell(json_pack("{s:s, s:s, s:s}", "do", "moving", "phase", phase, "text", text));
    if (move.out >= 0 && *text)
        requests_answer(move.out, REQUEST_PROGRESS "%s: %s\n", phase, text);
    else if (move.out >= 0)
        requests_answer(move.out, REQUEST_PROGRESS REQUEST_PHASE "%s\n", phase);
}

static void tell_moved(bool good, const char *text, unsigned long long bytes, long pause_us)
{
    tell(json_pack("{s:s, s:b, s:s, s:I, s:I}", "do", "moved", "good", good, "text", text, "bytes", (json_int_t)bytes,
                   "pause_us", (json_int_t)pause_us));
    if (good) /* for when the program releases it */
        snprintf(move.from->why, sizeof(move.from->why), "moved to %s", move.place.name);
}

/* The program waits for this byte. */
static void answer_program(void)
{
    if (send(move.answers, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        vocl_log(LOG_DEBUG, "the program does not listen: %s", strerror(errno));
}

static void pass_on(const char *words)
{
    if (move.out >= 0)
        requests_answer(move.out, REQUEST_PROGRESS "%s\n", words);
}

/* Handles the program's report: a phase, or a sentence. */
static void take_progress(const char *words)
{
    struct request_phase phase;

    if (!strcmp(words, REQUEST_LEAVES)) {
        tell_moved(true, "all commands were sent again, because some wait for a user event", 0, 0);
        answer_program();
    } else if (sscanf(words, REQUEST_UNFIT " %d", &move.device) == 1) {
        return;
    } else {
        if (request_read_phase(words, &phase))
            tell(json_pack("{s:s, s:s, s:I, s:I}", "do", "moving", "phase", phase.name, "bytes",
                           (json_int_t)phase.bytes, "total", (json_int_t)phase.total));
        pass_on(words);
    }
}

/* Ends the move. text: the result, or why the part stays where it was. */
static void finish(bool good, const char *text, unsigned long long bytes, long pause_us)
{
    char visible[REQUESTS_MOST];

    text = text_visible(text, visible, sizeof(visible) / 4);
    tell_moved(good, text, bytes, pause_us);
    vocl_log(LOG_INFO, "%s %s: %s", move.from->place.name, good ? "moves" : "does not move", text);
    if (move.out >= 0) {
        requests_answer(move.out, "%s%s\n", good ? REQUEST_DONE : REQUEST_FAILED, text);
        close(move.out);
    }
    if (move.answers >= 0)
        answer_program(); /* the old part may end now */
    inquiry_end(&moves_inquiry);
    json_decref(move.unfit);
    move.unfit = NULL;
    if (!good && move.to && move.to->member && !move.to->leaving) /* the program has not taken it over */
        session_leave(move.to, true, text);
    move.answers = move.out = -1;
    move.to = NULL;
    move.state = MOVE_NONE;
    if (good)
        describe();
}

static void fail(const char *text)
{
    finish(false, text, 0, 0);
}

/* ---- a place ---- */

/* If another kind of place is accepted, a place of the same kind is not waited for. */
static json_t *make_request(void)
{
    const struct wish *wish = &move.wish;
    json_t *request =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:i, s:b}", "do", "request", "move", move.from->place.part, "node",
                  wish->to, "device", (json_int_t)wish->device, "wait",
                  (json_int_t)(wish->any && !move.of_any ? 0 : wish->wait), "count", 1, "any", move.of_any);

    if (!move.unfit || !json_object_set(request, "unfit", move.unfit))
        return request;
    json_decref(request);
    return NULL;
}

/* Asks the daemon of the node that is left, which knows best what is there. */
static void ask_for_place(bool of_any)
{
    move.state = MOVE_PLACE;
    move.of_any = of_any;
    inquiry_begin(&moves_inquiry, move.from->place.address, make_request());
}

/* No other daemon is asked. */
static void lose_daemon(struct inquiry *inquiry, bool reached, const char *why)
{
    (void)reached;
    inquiry_end(inquiry);
    if (move.state == MOVE_PLACE)
        fail(why);
}

static void begin(struct attended *from, const struct wish *wish, int out)
{
    move.from = from;
    move.to = NULL;
    move.out = out;
    *move.why = '\0';
    move.wish = *wish;
    snprintf(move.place.name, sizeof(move.place.name), "%s", wish->to);
    ask_for_place(false);
}

/* Whether the move can still be cancelled. */
static bool waits(void)
{
    return move.state == MOVE_PLACE || move.state == MOVE_ANEW;
}

/* There is no place. */
static void hear_refusal(const char *text)
{
    char both[600];

    snprintf(both, sizeof(both), "%s%s%s", move.why, *move.why ? "; " : "", text);
    if (move.state != MOVE_PLACE || !move.wish.any || move.of_any)
        fail(both);
    else
        ask_for_place(true);
}

static void hear_program(void *owner, enum request_answer answer, const char *text);

static void ask_program(void)
{
    char words[256], host[128];
    const char *port, *why;

    if (address_split(move.place.address, host, sizeof(host), &port)) {
        fail("the place's address is none");
        return;
    }
    snprintf(words, sizeof(words), "move %smember %u to %s", move.wish.any ? "any " : "", move.from->member, host);
    move.answers = requests_ask(words, hear_program, NULL, &why);
    move.state = MOVE_PROGRAM;
    move.device = -1;
    if (move.answers < 0)
        fail(why);
    else
        tell_phase("starting", "");
}

static void take_grant(const json_t *message)
{
    if (place_read_only(&move.place, message))
        ask_program();
    else
        fail("the grant does not consist of one place");
}

static void hear_daemon(struct inquiry *inquiry, const json_t *message)
{
    (void)inquiry;
    if (json_object_get(message, "error"))
        hear_refusal(text_of(message, "error"));
    else if (json_object_get(message, "queued"))
        tell_phase("waiting", text_of(message, "why"));
    else if (json_object_get(message, "granted") && move.state == MOVE_PLACE)
        take_grant(message);
}

/* The program cannot use the devices of the place: another place is requested when this one has been returned. */
static bool look_elsewhere(const char *text)
{
    if (move.device < 0 || !move.to || !place_unfit(&move.unfit, &move.to->place, (unsigned)move.device))
        return false;
    text_print(move.why, sizeof(move.why), "%s", text);
    answer_program();
    move.answers = -1;
    if (!move.to->leaving)
        session_leave(move.to, true, text);
    tell_phase("waiting", text);
    move.state = MOVE_ANEW;
    move.anew_ms = clock_ms();
    return true;
}

static void ask_anew(void)
{
    move.to = NULL;
    snprintf(move.place.name, sizeof(move.place.name), "%s", move.wish.to);
    ask_for_place(move.of_any);
}

/* ---- the program ---- */

static void start(const struct starter_message *message)
{
    const char *tab = strchr(message->text, '\t');
    const bool granted = move.state == MOVE_PROGRAM && !move.to;
    char why[300];

    attend_beat();
    if (granted && tab)
        move.to = session_add(&move.place, message->number, tab + 1, move.from, why, sizeof(why));
    if (!granted || !tab)
        tell_program(STARTER_ENDED, message->number, "the pool has granted nothing");
    else if (!move.to)
        tell_program(STARTER_ENDED, message->number, why);
    else
        tell_program(STARTER_STARTED, message->number, "0");
    inquiry_end(&moves_inquiry);
}

void moves_hear_program(const struct starter_message *message)
{
    struct attended *node = session_find(message->number);
    const bool now = !strcmp(message->text, "now");
    char why[sizeof(node->why)];

    if (message->kind == STARTER_START) {
        start(message);
    } else if (message->kind == STARTER_END && node) {
        text_print(why, sizeof(why), "%s", *node->why ? node->why : now ? "lost, or not needed" : "not needed");
        session_leave(node, now, why);
    } else if (message->kind == STARTER_END) {
        tell_program(STARTER_ENDED, message->number, "there is no such worker");
    }
}

void moves_lose(struct attended *node)
{
    tell_program(STARTER_ENDED, node->member, *node->why ? node->why : "its daemon has ended it");
    if (node == move.from && waits())
        fail("what was to move is over");
    else if (node == move.to && move.state == MOVE_ANEW)
        ask_anew();
}

static void take_result(const char *words)
{
    unsigned long long bytes = 0;
    long pause_us = 0;
    int at = 0;

    sscanf(words, "bytes %llu pause %ld us: %n", &bytes, &pause_us, &at);
    finish(true, words + at, bytes, pause_us);
}

static void hear_program(void *owner, enum request_answer answer, const char *text)
{
    (void)owner;
    if (answer == ANSWER_PROGRESS)
        take_progress(text);
    else if (answer == ANSWER_DONE)
        take_result(text);
    else if (answer == ANSWER_GONE || !look_elsewhere(text))
        fail(text);
}

/* ---- requests to move ---- */

void moves_hear_daemon(struct attended *node, const json_t *message)
{
    const json_t *wish = json_object_get(message, "move");

    if (json_object_get(message, "unmove") && waits() && node == move.from) {
        fail("the client that asked for the move has gone");
    } else if (wish && move.state != MOVE_NONE) {
        session_tell(node, json_pack("{s:s, s:b, s:s}", "do", "moved", "good", 0, "text", "a move of it is under way"));
    } else if (wish) {
        struct wish taken = {.device = json_integer_value(json_object_get(wish, "device")),
                             .wait = json_integer_value(json_object_get(wish, "wait")),
                             .any = json_is_true(json_object_get(wish, "any"))};

        snprintf(taken.to, sizeof(taken.to), "%s", text_of(wish, "to"));
        begin(node, &taken, -1);
    }
}

/* Handles `vocl move PID [--any] --to NODE [--from NODE]` on this host. */
bool moves_asked(const char *words, int out)
{
    struct wish wish = {.device = -1, .any = !strncmp(words, "move any ", strlen("move any "))};
    char from[64] = "";
    struct attended *found = NULL;
    unsigned parts = 0;

    if (sscanf(words, wish.any ? "move any to %63s from %63s" : "move to %63s from %63s", wish.to, from) < 1 ||
        !strcmp(wish.to, "spare"))
        return false;
    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];

        if (node->over || node->leaving || (*from && strcmp(node->place.name, from)))
            continue;
        found = node;
        parts++;
    }
    if (move.state == MOVE_NONE && parts == 1) {
        begin(found, &wish, out);
        return true;
    }
    requests_answer(out, REQUEST_FAILED "%s\n",
                    move.state != MOVE_NONE ? "a move of it is under way"
                    : parts                 ? "it has devices of several nodes: of which (--from)?"
                    : suspend_is_on()       ? "it is suspended"
                                            : "it has no devices there");
    close(out);
    return true;
}

/* ---- a turn ---- */

void moves_open(void)
{
    static struct inquiry_kind kind = {.reach_ms = REACH_MS, .hear = hear_daemon, .lost = lose_daemon};

    inquiry_open(&moves_inquiry, &kind, &session.pool);
}

struct pollfd moves_poll(void)
{
    return (struct pollfd){waits() ? move.out : -1, 0, 0};
}

void moves_turn(const struct pollfd *fd)
{
    if (fd->revents && fd->fd == move.out && waits())
        fail("the client that asked for the move has gone");
    if (move.state == MOVE_ANEW && clock_ms() - move.anew_ms > ANEW_MS) /* its daemon may be lost */
        ask_anew();
}

bool moves_now(void)
{
    return move.state != MOVE_NONE;
}

bool moves_has(const struct attended *node)
{
    return (move.state == MOVE_PROGRAM || move.state == MOVE_ANEW) && (node == move.from || node == move.to);
}
