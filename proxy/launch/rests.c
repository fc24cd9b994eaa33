/* A pool's session rests: see rests.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "proxy/launch/costs.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/rests.h"

static char program_name[64], program_job[64];

static struct {
    bool on;
    char address[128]; /* of a daemon at which it was, the first one to know of it; */
    unsigned next;     /* the one to be told when that is lost */
    int devices;       /* that it had */
    char ended[128];   /* it is not to go on: why */
} rest;

struct inquiry rests_inquiry = {.client.fd = -1};

/* Who waits for the program's answer: the daemon of a part, or, of what rests, that one. The program takes one after
 * the other (client/survive/rest.c), so that who asks while another is answered need not be refused. */
static struct asker {
    bool waits;
    char part[64]; /* or "" */
} askers[8];

bool rests_now(void)
{
    return rest.on;
}

const char *rests_ended(void)
{
    return rest.ended;
}

/* ---- who has asked ---- */

/* It stays as it is. part "": of a session that rests it was the daemon that knows of that. */
static void refuse(const char *part, const char *why)
{
    json_t *message = json_pack("{s:s, s:s}", "do", "stays", "text", why);

    costs_asked(0);
    for (unsigned i = 0; *part && i < session.count; i++) {
        if (!strcmp(session.nodes[i].place.part, part))
            session_tell(&session.nodes[i], json_incref(message));
    }
    if (!*part)
        inquiry_say(&rests_inquiry, json_incref(message));
    json_decref(message);
}

/* Free, and none other is of the same part; or NULL. */
static struct asker *find_asker(const char *part)
{
    struct asker *found = NULL;

    for (struct asker *asker = askers; asker < askers + sizeof(askers) / sizeof(*askers); asker++) {
        if (asker->waits && !strcmp(asker->part, part))
            return NULL;
        if (!asker->waits)
            found = asker;
    }
    return found;
}

static void hear_answer(void *owner, enum request_answer answer, const char *text)
{
    struct asker *asker = owner;

    if (answer == ANSWER_PROGRESS)
        return;
    if (answer != ANSWER_DONE)
        refuse(asker->part, text);
    asker->waits = false;
}

static void ask_program(const char *words, const char *part)
{
    struct asker *asker = find_asker(part);
    const char *why = moves_now() ? "a move of it is under way" : !asker ? "that has been asked of it already" : NULL;

    if (why || requests_ask(words, hear_answer, asker, &why) < 0) {
        refuse(part, why);
        return;
    }
    asker->waits = true;
    snprintf(asker->part, sizeof(asker->part), "%s", part);
}

void rests_hear_daemon(struct attended *node, const json_t *message)
{
    if (!json_object_get(message, "suspend"))
        return;
    costs_asked(clock_ms());
    ask_program("suspend", node->place.part);
}

/* ---- the daemon that knows of it ---- */

static bool change_daemon(struct inquiry *inquiry)
{
    snprintf(inquiry->address, sizeof(inquiry->address), "%s",
             session.pool.nodes[rest.next++ % session.pool.count].address);
    return true;
}

const char *rests_daemon(bool lost)
{
    if (lost)
        client_close(&rests_inquiry.client);
    rests_inquiry.lost |= lost;
    return rests_inquiry.client.fd < 0 ? NULL : rests_inquiry.address;
}

static void hear_daemon(struct inquiry *inquiry, const json_t *message)
{
    (void)inquiry;
    if (json_object_get(message, "wake"))
        ask_program("resume", "");
    else if (json_object_get(message, "end"))
        text_print(rest.ended, sizeof(rest.ended), "%s", text_of(message, "end"));
    else if (json_object_get(message, "error"))
        vocl_log(LOG_WARN, "the pool: %s", text_of(message, "error"));
}

static void lose_daemon(struct inquiry *inquiry, bool reached, const char *why)
{
    (void)inquiry;
    vocl_log(LOG_INFO, "it rests, and %s%s", reached ? "its daemon is lost: " : "", why);
}

static void begins(void)
{
    costs_went(clock_ms());
    rest.on = true;
    rest.next = 0;
    inquiry_begin(&rests_inquiry, rest.address,
                  json_pack("{s:s, s:s, s:s, s:s, s:i}", "do", "rest", "session", session.id, "program", program_name,
                            "job", program_job, "devices", rest.devices));
}

/* For how long it has to do nothing before it is put to rest for others. */
static void tell_patience(long ms)
{
    for (unsigned i = 0; i < session.count; i++)
        session_tell(&session.nodes[i],
                     json_pack("{s:s, s:i}", "do", "patience", "ms", (int)(ms < INT_MAX ? ms : INT_MAX)));
}

static void ends(void)
{
    if (!rest.on)
        return;
    rest.on = false;
    rest.devices = 0;
    tell_patience(costs_came(clock_ms()));
    inquiry_say(&rests_inquiry, json_pack("{s:s, s:s}", "do", "woken", "text", ""));
    inquiry_end(&rests_inquiry);
    describe();
}

/* ---- the program ---- */

/* It lets go of a worker: for a rest, if not for a move. */
static bool let_go(const struct channel_message *message)
{
    struct attended *node = session_find(message->number);

    if (!node || rest.on || node->leaving || *node->why || !strcmp(message->text, "now") || moves_has(node) ||
        !node->place.wish)
        return false;
    rest.devices += (int)json_integer_value(json_object_get(node->place.wish, "count"));
    snprintf(rest.address, sizeof(rest.address), "%s", node->place.address);
    node->rests = true;
    session_leave(node, false, "put to rest");
    return true;
}

bool rests_hear_program(const struct channel_message *message)
{
    if (message->kind == CHANNEL_STATE && !strcmp(message->text, "resting"))
        begins();
    else if (message->kind == CHANNEL_STATE && !*message->text)
        ends();
    return message->kind == CHANNEL_STATE || (message->kind == CHANNEL_END && let_go(message));
}

void rests_open(const char *program, const char *job)
{
    static struct inquiry_kind kind = {
        .reach_ms = AGAIN_MS, .again_ms = AGAIN_MS, .hear = hear_daemon, .lost = lose_daemon, .change = change_daemon};

    inquiry_open(&rests_inquiry, &kind, &session.pool);
    snprintf(program_name, sizeof(program_name), "%s", program);
    snprintf(program_job, sizeof(program_job), "%s", job);
}
