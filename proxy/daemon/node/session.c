/*
 * The sessions on this node. A broker reserves devices for a session (reserve.c); its client sends what the worker
 * needs (session_start), or the reservation expires; the session is over when the worker's process has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/daemon/node/internal.h"
#include "transport/starter.h"

#define GRACE_SECONDS 2
#define WORD_SECONDS 0.3 /* for a client to say why its worker has ended */
#define MOST_VARIABLES 16

struct session *session_find(const struct daemon *d, const char *id)
{
    struct session *s = d->sessions;

    while (s && strcmp(s->id, id))
        s = s->next;
    return s;
}

bool session_uses(const struct session *s, unsigned device, unsigned *ordinal)
{
    for (unsigned i = 0; i < s->device_count; i++) {
        if (s->devices[i] == device) {
            if (ordinal)
                *ordinal = i;
            return true;
        }
    }
    return false;
}

/* ---- the list ---- */

static unsigned free_slot(const struct daemon *d)
{
    const struct session *s = d->sessions;
    unsigned slot = 0;

    while (s) {
        if (s->slot == slot) {
            slot++;
            s = d->sessions;
        } else {
            s = s->next;
        }
    }
    return slot;
}

struct session *session_new(struct daemon *d, const char *id)
{
    struct session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->daemon = d;
    s->pidfd = -1;
    text_print(s->id, sizeof(s->id), "%s", id);
    text_print(s->of, sizeof(s->of), "%s", id);
    s->began = wall_seconds();
    s->joules_before = -1;
    s->share = 100;
    s->slot = free_slot(d);
    s->next = d->sessions;
    d->sessions = s;
    return s;
}

void session_free(struct session *s)
{
    struct session **at = &s->daemon->sessions;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->exited)
        event_free(s->exited);
    timer_stop(&s->timer);
    if (s->pidfd >= 0)
        close(s->pidfd);
    relay_close(s);
    move_end(s, "its part of the session is over");
    json_decref(s->move);
    free(s);
}

void session_set_timer(struct session *s, void (*run)(void *session), double seconds)
{
    timer_set(&s->timer, s->daemon, run, s, (long)(seconds * 1000));
}

/* ---- running ---- */

/* Its worker has ended normally, and no reason will follow. */
static void conclude(struct session *s)
{
    s->state = SESSION_RUNNING;
    session_gone(s, 0);
}

static void client_closed(struct connection *c)
{
    struct session *s = c->argument;

    s->client = NULL;
    relay_close(s);
    if (s->held)
        hold_leave(s);
    else if (s->ended)
        conclude(s);
    else if (s->state == SESSION_RESERVED)
        session_end(s, "its program went away");
    else if (s->state == SESSION_RUNNING && !s->alone_until_ms)
        silence_begins(s, connection_is_silent(c) ? SILENCE_TIMEOUT : SILENCE_LOST);
}

/* Its worker ends by itself; `why` says so if that is not the program's end. */
static void leave(struct session *s, const json_t *message)
{
    if (s->state != SESSION_ENDING || s->ended) /* otherwise the reason is already known */
        text_print(s->why, sizeof(s->why), "%s", message_text(message, "why", ""));
    s->leaving = true;
    s->suspended = json_is_true(json_object_get(message, "suspended"));
    if (s->suspended)
        idle_went(s);
    if (s->ended) {
        conclude(s);
        return;
    }
    silence_begins(s, SILENCE_LEFT);
    daemon_changed(s->daemon);
}

/* It was asked to suspend, and is not suspended. */
static void stay(struct session *s, const char *why)
{
    daemon_log("notice", "session %s is not suspended: %s", s->of, why);
    event_note_session(s, "session-stay", message_pack("{s:s}", "why", why));
    s->refused_ms = clock_ms();
    move_end(s, why);
}

static void client_message(struct connection *c, json_t *message)
{
    const char *what = message_text(message, "do", ""), *text = json_string_value(json_object_get(message, "text"));

    if (!strcmp(what, "leave"))
        leave(c->argument, message);
    else if (!strcmp(what, "end"))
        session_end(c->argument, message_text(message, "why", "it is not needed any more"));
    else if (!strcmp(what, "moving") || !strcmp(what, "moved"))
        move_hear(c->argument, message, !strcmp(what, "moved"));
    else if (!strcmp(what, "suspending"))
        move_show(c->argument, message);
    else if (!strcmp(what, "patience"))
        idle_hear(c->argument, message);
    else if (!strcmp(what, "stays"))
        stay(c->argument, text ? text : "");
    else if (!strcmp(what, "pmi") && text)
        relay_take(c->argument, text);
    else
        connection_fail(c, "there is no such request in a session");
}

static const struct connection_owner client = {.message = client_message, .closed = client_closed, .prompt = true};

void session_attach(struct session *s, struct connection *c)
{
    struct connection *before = s->client;

    s->client = c;
    connection_own(c, &client, s);
    silence_begins(s, SILENCE_NONE);
    if (!before)
        return;
    connection_own(before, NULL, NULL);
    connection_close(before);
}

static void time_is_up(void *argument)
{
    session_end(argument, "its time is up");
}

/* Only such text from outside reaches a worker. */
static bool is_plain(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-[]=") == strlen(text);
}

static bool take_environment(const struct config *config, const json_t *message, char **list, char *why,
                             size_t why_size)
{
    static const char *const settings[] = {
        "VOCL_ZERO_COPY=", "VOCL_PIPELINE=", "VOCL_SPIN_US=", "VOCL_PEER_TIMEOUT=", "VOCL_RECOVER="};
    const char *endpoint = message_text(message, "endpoint", ""), *token = message_text(message, "token", "");
    const char *secret = message_text(message, "secret", ""), *guests = message_text(message, "guests", "");
    const long long rank = message_number(message, "rank", 0), size = message_number(message, "size", 0);
    const bool joins = json_is_true(json_object_get(message, "joins"));
    const json_t *given = json_object_get(message, "environment"), *variable;
    uint8_t bytes[SECRET_BYTES];
    unsigned count = 0;
    size_t index;

    if (!*secret && strcmp(config->network, "mpi")) {
        text_print(why, why_size, "the network of node %s is %s, and the session's is mpi", config->name,
                   config->network);
        return false;
    }
    text_print(why, why_size, "no worker can be started with that");
    if (strncmp(endpoint, "tcp:", 4) || !is_plain(endpoint) || strlen(endpoint) > 120 || rank < 1 || rank >= size ||
        size > SESSION_MOST_NUMBERS(SETTINGS_MOST_COUNT) ||
        !(*secret ? hex_read(secret, bytes, SECRET_BYTES) : hex_read(token, bytes, TOKEN_BYTES)) ||
        (*guests && !hex_read(guests, bytes, SECRET_BYTES)))
        return false;
    json_array_foreach(given, index, variable)
    {
        const char *text = json_string_value(variable);
        bool known = false;

        if (!text || strlen(text) > 200 || !is_plain(text) || count + 8 >= MOST_VARIABLES)
            return false;
        for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings); i++)
            known |= !strncmp(text, settings[i], strlen(settings[i]));
        if (known && asprintf(&list[count++], "%s", text) < 0)
            return false;
    }
    return asprintf(&list[count], SESSION_ENDPOINT "=%s", endpoint) >= 0 &&
           (*secret ? asprintf(&list[count + 1], SESSION_SECRET "=%s", secret)
                    : asprintf(&list[count + 1], SESSION_TOKEN "=%s", token)) >= 0 &&
           asprintf(&list[count + 2], "PMI_RANK=%lld", rank) >= 0 &&
           asprintf(&list[count + 3], "PMI_SIZE=%lld", size) >= 0 &&
           (!joins || asprintf(&list[count + 4], SESSION_JOINS "=%lld", rank) >= 0) &&
           (!*guests || asprintf(&list[count + 4 + joins], SESSION_GUESTS "=%s", guests) >= 0);
}

static void word_is_late(void *argument)
{
    conclude(argument);
}

static void exited(evutil_socket_t fd, short what, void *argument)
{
    struct session *s = argument;
    siginfo_t info = {0};

    (void)fd;
    (void)what;
    worker_start_over(s);
    measure_session(s);           /* while its process can still be read */
    worker_contained(s, SIGKILL); /* kills what it may have left, while its PID cannot be reused */
    if (waitid((idtype_t)P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOHANG) || !info.si_pid) {
        info.si_status = state_status(s); /* not this daemon's child, but its predecessor's */
        info.si_code = CLD_EXITED;
    }
    if (info.si_code == CLD_EXITED && !info.si_status && s->client && !s->leaving && s->state == SESSION_RUNNING) {
        s->ended = true;
        s->state = SESSION_ENDING;
        session_set_timer(s, word_is_late, WORD_SECONDS);
        return;
    }
    session_gone(s, info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
}

void session_keep(struct session *s)
{
    s->pidfd = process_open(s->supervisor);
    s->exited = s->pidfd >= 0 ? event_new(s->daemon->base, s->pidfd, EV_READ, exited, s) : NULL;
    if (s->exited)
        event_add(s->exited, NULL);
}

void session_watch(struct session *s)
{
    s->state = SESSION_RUNNING;
    timer_stop(&s->timer);
    if (!s->client) /* adopted from the previous daemon */
        silence_begins(s, SILENCE_LOST);
    if (s->daemon->config->session_seconds) {
        double left = s->began + s->daemon->config->session_seconds - wall_seconds();

        session_set_timer(s, time_is_up, left > 0.01 ? left : 0.01);
    }
}

int session_start(struct session *s, struct connection *c, const json_t *message, char *why, size_t why_size)
{
    char *environment[MOST_VARIABLES] = {NULL};
    int pmi = -1, error = -EIO;

    if (s->state != SESSION_RESERVED || s->client || s->held) {
        text_print(why, why_size, "it was started already");
        return -EBUSY;
    }
    if (take_environment(s->daemon->config, message, environment, why, why_size) &&
        (*message_text(message, "secret", "") || !relay_open(s, &pmi)))
        error = worker_start(s, environment, pmi, why, why_size);
    for (unsigned i = 0; i < MOST_VARIABLES; i++)
        free(environment[i]);
    if (error) {
        relay_close(s);
        return error;
    }
    timer_stop(&s->timer); /* the reservation no longer expires */
    session_attach(s, c);
    return 0;
}

static void begin(struct session *s)
{
    s->started = true;
    s->start_time = process_start_time(s->pid);
    s->began = wall_seconds();
    s->joules_before = energy_review(s->daemon);
    session_watch(s);
    if (state_save(s)) {
        char why[256];

        text_print(why, sizeof(why), "%s %s", s->daemon->config->name, s->daemon->trouble);
        connection_answer(&s->client, message_error(why)); /* so the client learns that there is no worker */
        session_end(s, why);
        return;
    }
    connection_send(s->client, message_pack("{s:s}", "started", s->id));
    s->daemon->totals.sessions++;
    daemon_log("info", "session %s begins: user=%s program=%s from=%s devices=%u pid=%d", s->of, s->user, s->program,
               s->from, s->device_count, (int)s->pid);
    event_note_session(s, "session-begin", NULL);
    for (unsigned i = 0; i < s->device_count; i++)
        share_review(s->daemon, s->devices[i]);
    daemon_changed(s->daemon);
}

/* ---- the end ---- */

static void kill_harder(void *argument)
{
    struct session *s = argument;

    worker_contained(s, SIGKILL);
    session_set_timer(s, kill_harder, GRACE_SECONDS);
}

void session_started(struct session *s, pid_t worker, int error)
{
    s->pid = worker;
    if (!error && s->state == SESSION_RESERVED) {
        begin(s);
        return;
    }
    if (s->state == SESSION_RESERVED) {
        text_print(s->why, sizeof(s->why), "the worker does not start: %s", strerror(error));
        connection_answer(&s->client, message_error(s->why));
    }
    s->state = SESSION_ENDING;
    if (s->supervisor > 0)
        kill_harder(s); /* kills what exists; then the session is gone */
    else
        session_gone(s, 0);
}

void session_end_worker(struct session *s)
{
    s->state = SESSION_ENDING;
    worker_contained(s, SIGTERM);
    session_set_timer(s, kill_harder, GRACE_SECONDS);
}

void session_end(struct session *s, const char *why)
{
    if (s->state == SESSION_ENDING)
        return;
    if (why != s->why)
        text_print(s->why, sizeof(s->why), "%s", why);
    if (s->state == SESSION_RESERVED) {
        s->state = SESSION_ENDING;
        if (s->start)
            worker_start_cancel(s);
        else
            session_gone(s, 0);
        return;
    }
    if (s->client)
        connection_send(s->client, message_pack("{s:s, s:s}", "ended", s->id, "why", why));
    session_end_worker(s);
    /* For the next daemon; if it fails, that one does not know that the session is ending. */
    state_save(s);
    daemon_changed(s->daemon);
}

void session_gone(struct session *s, int status)
{
    struct connection *c = s->client;
    struct daemon *d = s->daemon;
    unsigned devices[MOST_DEVICES], count = s->device_count;

    memcpy(devices, s->devices, sizeof(devices));
    share_leave(s);
    if (!s->held && !s->started)
        state_remove(d, s->id);
    if (s->held)
        sessions_account(s, status);
    if (s->started || s->supervisor > 0)
        worker_clean(s);
    if (s->started) {
        d->totals.failed += status > 0;
        if (!*s->why && status > 0)
            text_print(s->why, sizeof(s->why), "its worker ended with status %d", status);
        sessions_account(s, status);
    }
    connection_answer(&s->client, message_pack("{s:s, s:s}", "ended", s->id, "why", s->why));
    if (c)
        connection_close(c);
    session_free(s);
    for (unsigned i = 0; i < count; i++)
        share_review(d, devices[i]);
    daemon_changed(d);
}
