/*
 * Moving a part of a session to another place. A client asks the daemon of the part's node, which is this one;
 * vocl-join, which represents the program, carries it out (proxy/launch/moves.c): it requests the new place as it did
 * the first, and reports the progress. If the client leaves while the session waits for a place, the move is cancelled;
 * otherwise it continues.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/node/internal.h"

#define MOST_TEXT 400

static void mover_closed(struct connection *c)
{
    struct session *s = c->argument;

    s->mover = NULL;
    if (s->client)
        connection_send(s->client, message_pack("{s:s}", "unmove", s->id));
}

static const struct connection_owner mover = {.closed = mover_closed};

bool move_may_ask(const struct session *s, const char **why)
{
    *why = s->state == SESSION_ENDING || s->leaving          ? "the session ends"
           : s->state != SESSION_RUNNING || !s->client       ? "its vocl-join is not connected"
           : *s->within == '@'                               ? "its devices are held for its job"
           : s->mover || *message_text(s->move, "phase", "") ? "a move of it is under way, or it is suspended"
                                                             : NULL;
    return !*why;
}

void move_ask(struct session *s, struct connection *c, const json_t *message)
{
    const char *to = message_text(message, "to", "");
    const long long device = message_number(message, "device", -1), wait = message_number(message, "wait", 0);

    const char *why;

    if (!move_may_ask(s, &why)) {
        connection_fail(c, why);
        return;
    }
    if (strlen(to) >= 64 || device < -1 || device >= MOST_DEVICES) {
        connection_fail(c, "there is no such place");
        return;
    }
    daemon_log("notice", "session %s is to move%s%s: asked by %s", s->of, *to ? " to " : "", to, c->peer.name);
    s->mover = c;
    json_decref(s->move);
    s->move = message_pack("{s:s}", "phase", "asked");
    connection_own(c, &mover, s);
    connection_send(s->client, message_pack("{s:{s:s, s:I, s:I, s:b, s:s}}", "move", "to", to, "device",
                                            (json_int_t)device, "wait", (json_int_t)wait, "any",
                                            json_is_true(json_object_get(message, "any")), "by", c->peer.name));
    daemon_changed(s->daemon);
}

/* Copies the members of a message that describe a move. */
static json_t *take_words(const json_t *message)
{
    static const char *const texts[] = {"phase", "from", "to", "text"}, *const numbers[] = {"bytes", "total",
                                                                                            "pause_us"};
    json_t *words = json_object();

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *text = message_text(message, texts[i], NULL);
        char cut[MOST_TEXT + 1];

        if (!text)
            continue;
        text_print(cut, sizeof(cut), "%s", text);
        message_set(&words, texts[i], json_string(cut));
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const long long number = message_number(message, numbers[i], -1);

        if (number >= 0)
            message_set(&words, numbers[i], json_integer(number));
    }
    return words;
}

/* The client learns of a successful move when the old place is free: move_end(). */
static void finish(struct session *s, json_t *words, bool good, bool leaves)
{
    json_object_del(words, "phase");
    json_decref(s->move);
    s->move = good ? words : NULL;
    daemon_log("notice", "session %s %s: %s", s->of, good ? "moves" : "stays where it is",
               message_text(words, "text", ""));
    event_note_session(s, good ? "session-move" : "session-stay",
                       good ? json_incref(words) : message_pack("{s:s}", "why", message_text(words, "text", "")));
    if (good && leaves) {
        text_print(s->why, sizeof(s->why), "moved to %s", message_text(words, "to", "?"));
        s->leaving = true;
    }
    if (!good) {
        move_end(s, message_text(words, "text", "it did not move"));
        json_decref(words);
    }
    daemon_changed(s->daemon);
}

void move_hear(struct session *s, const json_t *message, bool over)
{
    json_t *words = take_words(message);

    if (over) {
        finish(s, words, json_is_true(json_object_get(message, "good")),
               !strcmp(message_text(message, "part", ""), s->id));
        return;
    }
    if (!*message_text(words, "phase", ""))
        message_set(&words, "phase", json_string("moving"));
    json_decref(s->move);
    s->move = words;
    if (s->mover)
        connection_send(s->mover, message_pack("{s:O}", "moving", words));
    daemon_changed(s->daemon);
}

void move_show(struct session *s, const json_t *message)
{
    if (s->mover)
        connection_send(s->mover, message_pack("{s:o}", "moving", take_words(message)));
}

void move_end(struct session *s, const char *why)
{
    const bool moved = s->move && !*message_text(s->move, "phase", "");

    connection_answer(&s->mover, s->suspended ? message_pack("{s:s}", "suspended", s->of)
                                 : moved      ? message_pack("{s:O}", "moved", s->move)
                                              : message_error(why));
}
