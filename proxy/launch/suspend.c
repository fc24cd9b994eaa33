/* Suspending a pool's session: see suspend.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/requests.h"
#include "base/text.h"
#include "proxy/launch/costs.h"
#include "proxy/launch/moves.h"
#include "proxy/launch/suspend.h"

static char program_name[64], program_job[64];

static struct {
    bool on;
    char address[128]; /* the daemon that it left last, which gets the first report */
    unsigned next;     /* index of the daemon that gets the report when that one is lost */
    int devices;       /* how many devices it had */
    char ended[128];   /* why it is not to resume */
} suspended;

struct inquiry suspend_inquiry = {.client.fd = -1};

/* A daemon that waits for the program's answer: that of a part, or, while the session is suspended, the one that
 * knows of it. The program handles the requests one after the other (client/survive/suspend.c), so several may wait
 * at once. */
static struct asker {
    bool waits;
    bool shows;    /* somebody sees how far it is; older daemons would not understand that */
    char part[64]; /* or "" */
} askers[8];

bool suspend_is_on(void)
{
    return suspended.on;
}

const char *suspend_ended(void)
{
    return suspended.ended;
}

/* ---- requests ---- */

/* Sends a message to the daemon of the part. Takes ownership of message. */
static void tell_part(const char *part, json_t *message)
{
    for (unsigned i = 0; *part && i < session.count; i++) {
        if (!strcmp(session.nodes[i].place.part, part))
            session_tell(&session.nodes[i], json_incref(message));
    }
    json_decref(message);
}

/* The session stays as it is. part "": the request was from the daemon that knows of the suspended session. */
static void refuse(const char *part, const char *why)
{
    json_t *message = json_pack("{s:s, s:s}", "do", "stays", "text", why);

    costs_asked(0);
    if (*part)
        tell_part(part, message);
    else
        inquiry_say(&suspend_inquiry, message);
}

static void report(const struct asker *asker, const char *words)
{
    struct request_phase phase;

    if (asker->shows && request_read_phase(words, &phase))
        tell_part(asker->part, json_pack("{s:s, s:s, s:I, s:I}", "do", "suspending", "phase", phase.name, "bytes",
                                         (json_int_t)phase.bytes, "total", (json_int_t)phase.total));
}

/* Returns a free entry; NULL if there is none, or one already waits for this part. */
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

    if (answer == ANSWER_PROGRESS) {
        report(asker, text);
        return;
    }
    if (answer != ANSWER_DONE)
        refuse(asker->part, text);
    asker->waits = false;
}

static void ask_program(const char *words, const char *part, bool shows)
{
    struct asker *asker = find_asker(part);
    const char *why = moves_now() ? "a move of it is under way" : !asker ? "that has been asked of it already" : NULL;

    if (why || requests_ask(words, hear_answer, asker, &why) < 0) {
        refuse(part, why);
        return;
    }
    asker->waits = true;
    asker->shows = shows;
    snprintf(asker->part, sizeof(asker->part), "%s", part);
}

void suspend_hear_daemon(struct attended *node, const json_t *message)
{
    if (!json_object_get(message, "suspend"))
        return;
    costs_asked(clock_ms());
    ask_program("suspend", node->place.part, json_is_true(json_object_get(message, "shows")));
}

/* ---- the daemon that knows of the suspension ---- */

static bool change_daemon(struct inquiry *inquiry)
{
    snprintf(inquiry->address, sizeof(inquiry->address), "%s",
             session.pool.nodes[suspended.next++ % session.pool.count].address);
    return true;
}

const char *suspend_daemon(bool lost)
{
    if (lost)
        client_close(&suspend_inquiry.client);
    suspend_inquiry.lost |= lost;
    return suspend_inquiry.client.fd < 0 ? NULL : suspend_inquiry.address;
}

static void hear_daemon(struct inquiry *inquiry, const json_t *message)
{
    (void)inquiry;
    if (json_object_get(message, "resume"))
        ask_program("resume", "", false);
    else if (json_object_get(message, "end"))
        text_print(suspended.ended, sizeof(suspended.ended), "%s", text_of(message, "end"));
    else if (json_object_get(message, "error"))
        vocl_log(LOG_WARN, "the pool: %s", text_of(message, "error"));
}

static void lose_daemon(struct inquiry *inquiry, bool reached, const char *why)
{
    (void)inquiry;
    vocl_log(LOG_INFO, "it is suspended, and %s%s", reached ? "its daemon is lost: " : "", why);
}

static void begins(void)
{
    costs_went(clock_ms());
    suspended.on = true;
    suspended.next = 0;
    inquiry_begin(&suspend_inquiry, suspended.address,
                  json_pack("{s:s, s:s, s:s, s:s, s:i}", "do", "suspended", "session", session.id, "program",
                            program_name, "job", program_job, "devices", suspended.devices));
}

/* Tells the daemons how long the session has to be idle before it is suspended for others. */
static void tell_patience(long ms)
{
    for (unsigned i = 0; i < session.count; i++)
        session_tell(&session.nodes[i],
                     json_pack("{s:s, s:i}", "do", "patience", "ms", (int)(ms < INT_MAX ? ms : INT_MAX)));
}

static void ends(void)
{
    if (!suspended.on)
        return;
    suspended.on = false;
    suspended.devices = 0;
    tell_patience(costs_came(clock_ms()));
    inquiry_say(&suspend_inquiry, json_pack("{s:s, s:s}", "do", "resumed", "text", ""));
    inquiry_end(&suspend_inquiry);
    describe();
}

/* ---- the program ---- */

/* The program releases a worker: because the session is suspended, unless the worker moves. */
static bool let_go(const struct starter_message *message)
{
    struct attended *node = session_find(message->number);

    if (!node || suspended.on || node->leaving || *node->why || !strcmp(message->text, "now") || moves_has(node) ||
        !node->place.wish)
        return false;
    suspended.devices += (int)json_integer_value(json_object_get(node->place.wish, "count"));
    snprintf(suspended.address, sizeof(suspended.address), "%s", node->place.address);
    node->suspended = true;
    session_leave(node, false, "suspended");
    return true;
}

bool suspend_hear_program(const struct starter_message *message)
{
    if (message->kind == STARTER_STATE && !strcmp(message->text, "suspended"))
        begins();
    else if (message->kind == STARTER_STATE && !*message->text)
        ends();
    return message->kind == STARTER_STATE || (message->kind == STARTER_END && let_go(message));
}

void suspend_open(const char *program, const char *job)
{
    static struct inquiry_kind kind = {
        .reach_ms = AGAIN_MS, .again_ms = AGAIN_MS, .hear = hear_daemon, .lost = lose_daemon, .change = change_daemon};

    inquiry_open(&suspend_inquiry, &kind, &session.pool);
    snprintf(program_name, sizeof(program_name), "%s", program);
    snprintf(program_job, sizeof(program_job), "%s", job);
}
