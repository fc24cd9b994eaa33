/*
 * Frames over streams, the bell, and messages about bulk data: all on one connection. A frame that would wait there
 * goes by another one (aside.c), and has its place here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/stream/stream.h"

#define UNSENT_MOST (16u << 20) /* bytes that the connection has not taken: no more frames are accepted then */

/* ---- out ---- */

static bool text_add(struct text *text, const void *bytes, size_t length)
{
    if (text->at > text->end - text->at && text->end + length > text->capacity) {
        memmove(text->bytes, text->bytes + text->at, text->end - text->at);
        text->end -= text->at;
        text->at = 0;
    }
    if (text->end + length > text->capacity) {
        size_t capacity = 2 * (text->end + length);
        uint8_t *longer = realloc(text->bytes, capacity);

        if (!longer)
            return false;
        text->bytes = longer;
        text->capacity = capacity;
    }
    if (length)
        memcpy(text->bytes + text->end, bytes, length);
    text->end += length;
    return true;
}

static void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

/* Writes as much as the connection takes; false if that is not all. */
static bool write_text(struct streams *streams, struct text *text, size_t length, int *error)
{
    while (length && !*error) {
        ssize_t taken = stream_write(&streams->frames, text->bytes + text->at, length);

        if (taken <= 0) {
            *error = (int)taken;
            return false;
        }
        text->at += (size_t)taken;
        length -= (size_t)taken;
        if (text == &streams->ordinary)
            streams->message_left -= (size_t)taken;
    }
    if (text->at == text->end) {
        text->at = text->end = 0;
        if (text->capacity > 1u << 20)
            text_free(text);
    }
    return true;
}

static int push(struct streams *streams)
{
    int error = 0;

    for (;;) {
        struct message message;

        if (!streams->message_left &&
            !write_text(streams, &streams->urgent, streams->urgent.end - streams->urgent.at, &error))
            return error;
        if (streams->ordinary.at == streams->ordinary.end)
            return error;
        if (!streams->message_left) {
            memcpy(&message, streams->ordinary.bytes + streams->ordinary.at, sizeof(message));
            streams->message_left = sizeof(message) + message.length;
        }
        if (!write_text(streams, &streams->ordinary, streams->message_left, &error))
            return error;
    }
}

void frames_push(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    int error;

    if (streams->broken)
        return;
    if (!stream_ready(&streams->frames)) {
        streams_break(streams, &t->peers[number], "the program has closed descriptors that are not its own");
        return;
    }
    streams->messages++;
    error = push(streams);
    if (!error)
        error = streams->frames.by->flush(streams->frames.tls);
    streams->frames.blocked = streams->urgent.at < streams->urgent.end ||
                              streams->ordinary.at < streams->ordinary.end ||
                              streams->frames.by->waits(streams->frames.tls);
    if (error < 0) /* messages that the peer sent before are still to be received */
        t->peers[number].bell.lost = true;
    else if (streams->frames.blocked)
        streams_wake(t);
}

static bool add_message(struct text *text, enum message_kind kind, const void *first, size_t first_length,
                        const void *second, size_t second_length)
{
    const struct message message = {kind, (uint32_t)(first_length + second_length)};
    const size_t end = text->end - text->at;

    if (text_add(text, &message, sizeof(message)) && text_add(text, first, first_length) &&
        text_add(text, second, second_length))
        return true;
    text->end = text->at + end; /* removes a partial message */
    return false;
}

/* If no connection has room now, each is waited for already. */
static void give_aside(struct transport *t, unsigned peer)
{
    struct streams *streams = streams_of(t, peer);

    for (unsigned i = 0; i < streams->used && !TAILQ_EMPTY(&streams->asides); i++) {
        struct pipe *pipe = &streams->pipes[(streams->next_pipe + i) % streams->used];

        if (pipe->stream.blocked || !stream_ready(&pipe->stream))
            continue;
        if (tls_give(t, peer, pipe))
            streams->next_pipe = (unsigned)(pipe - streams->pipes + 1) % streams->pipe_count;
        if (pipe->stream.blocked)
            streams_wake(t);
        streams->pipes_blocked |= pipe->stream.blocked;
    }
}

/* Sends a frame by another connection, and its place here. */
static bool add_aside(struct transport *t, unsigned peer, const struct frame_header *header, const void *bytes,
                      size_t length)
{
    struct streams *streams = streams_of(t, peer);
    const size_t end = streams->ordinary.end - streams->ordinary.at;
    const struct place place = {*header, streams->last_aside + 1, (uint32_t)length};

    if (!add_message(&streams->ordinary, MESSAGE_PLACE, &place, sizeof(place), NULL, 0))
        return false;
    if (!aside_send(streams, bytes, length)) {
        streams->ordinary.end = streams->ordinary.at + end;
        return false;
    }
    give_aside(t, peer);
    return true;
}

/* Sends a large frame in parts, with other messages between them. Over long distances the parts go aside from the first
 * one on, and only when there is room for all: this connection buffers megabytes, and would delay later frames, also
 * those that have arrived already. */
static bool add_large(struct transport *t, unsigned peer, struct frame_header header, const uint8_t *bytes,
                      size_t length)
{
    struct streams *streams = streams_of(t, peer);
    struct text *text = &streams->ordinary;
    const size_t begin = text->end - text->at;
    const uint64_t size = length;
    const uint32_t before = streams->last_aside;
    bool good = add_message(text, MESSAGE_LARGE, &header, HEADER, &size, sizeof(size));

    for (size_t at = 0; good && at < length; at += MOST_PART) {
        const size_t part = length - at < MOST_PART ? length - at : MOST_PART;

        good = (streams->is_far && aside_has_window(streams, part) && add_aside(t, peer, &header, bytes + at, part)) ||
               add_message(text, MESSAGE_PART, bytes + at, part, NULL, 0);
    }
    if (!good && streams->last_aside != before)
        streams_break(streams, &t->peers[peer], "no memory for a message to it");
    else if (!good)
        text->end = text->at + begin;
    return good;
}

int tls_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
             size_t length)
{
    struct streams *streams = streams_of(t, peer);
    bool aside, good;

    (void)number;
    if (streams->broken)
        return -ECONNRESET;
    aside = length > TRANSPORT_MAX_FRAME ? streams->is_far : aside_is_due(streams, length);
    if (streams->ordinary.end - streams->ordinary.at > UNSENT_MOST || (aside && !aside_has_room(streams, length)))
        return -EAGAIN;
    if (length > TRANSPORT_MAX_FRAME)
        good = add_large(t, peer, header, bytes, length);
    else if (aside)
        good = add_aside(t, peer, &header, bytes, length);
    else
        good = add_message(&streams->ordinary, MESSAGE_FRAME, &header, HEADER, bytes, length);
    if (!good)
        return -ENOMEM;
    frames_push(t, peer);
    return 0;
}

void streams_want(struct transport *t, unsigned peer, uint32_t id)
{
    struct streams *streams = streams_of(t, peer);
    const struct want want = {id, 0, streams->taken, streams->aside_taken};

    streams->confirmed = streams->taken;
    streams->aside_confirmed = streams->aside_taken;
    if (!add_message(&streams->urgent, MESSAGE_WANT, &want, sizeof(want), NULL, 0))
        streams_break(streams, &t->peers[peer], "no memory for a message to it");
    else
        frames_push(t, peer);
}

/* Goodbye is the last message. */
void tls_ring(void *owner, unsigned peer, const struct bell_record *record)
{
    struct transport *t = owner;
    struct streams *streams = streams_of(t, peer);

    if (add_message(record->kind == BELL_BYE ? &streams->ordinary : &streams->urgent, MESSAGE_BELL, record,
                    sizeof(*record), NULL, 0))
        frames_push(t, peer);
}

/* ---- in ---- */

static const uint8_t *message_at(const struct streams *streams, struct message *message)
{
    memcpy(message, streams->in + streams->in_at, sizeof(*message));
    return streams->in + streams->in_at + sizeof(*message);
}

/* Whether a message can have this length. */
static bool is_possible(const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_BELL:
        return message->length == sizeof(struct bell_record);
    case MESSAGE_FRAME:
        return message->length >= HEADER && message->length <= MOST_MESSAGE;
    case MESSAGE_LARGE:
        return message->length == HEADER + sizeof(uint64_t);
    case MESSAGE_PART:
        return message->length && message->length <= MOST_PART;
    case MESSAGE_WANT:
        return message->length == sizeof(struct want);
    case MESSAGE_ABLE:
        return message->length == sizeof(struct able);
    case MESSAGE_PLACE:
        return message->length == sizeof(struct place);
    default:
        return false;
    }
}

static const char *begin_large(struct streams *streams, const uint8_t *bytes)
{
    uint64_t size;

    memcpy(&streams->large_header, bytes, HEADER);
    memcpy(&size, bytes + HEADER, sizeof(size));
    if (streams->large || size <= TRANSPORT_MAX_FRAME || size > TRANSPORT_MAX_LARGE)
        return "it announced an impossible frame";
    streams->large = malloc(size);
    streams->large_length = size;
    streams->large_got = 0;
    return streams->large ? NULL : "no memory for what it sends";
}

static const char *add_part(struct streams *streams, const uint8_t *bytes, size_t length)
{
    if (!streams->large || length > streams->large_length - streams->large_got)
        return "it sent more than it announced";
    memcpy(streams->large + streams->large_got, bytes, length);
    streams->large_got += length;
    streams->frame_here = streams->large_got == streams->large_length;
    return NULL;
}

/* If the frame aside in question has arrived, takes it: it is a frame, or a part of one. */
static const char *take_aside(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    const char *wrong = aside_look(streams);

    if (wrong || !streams->here)
        return wrong;
    if (!streams->large) {
        streams->frame_here = true;
        return NULL;
    }
    wrong = add_part(streams, streams->here->bytes, streams->here->length);
    aside_taken(t, number);
    return wrong;
}

static const char *take_message(struct transport *t, unsigned number, const struct message *message,
                                const uint8_t *bytes)
{
    struct streams *streams = streams_of(t, number);
    struct bell_record record;
    struct want want;

    switch (message->kind) {
    case MESSAGE_BELL:
        memcpy(&record, bytes, sizeof(record));
        bell_take(&t->peers[number].bell, &record);
        return NULL;
    case MESSAGE_FRAME:
        streams->frame_here = !streams->large;
        return streams->large ? "it sent a frame within another" : NULL;
    case MESSAGE_LARGE:
        return begin_large(streams, bytes);
    case MESSAGE_PART:
        return add_part(streams, bytes, message->length);
    case MESSAGE_ABLE:
        return able_take(streams, bytes);
    case MESSAGE_PLACE:
        memcpy(&streams->place, bytes, sizeof(streams->place));
        streams->waits_aside = true;
        return take_aside(t, number);
    default:
        memcpy(&want, bytes, sizeof(want));
        return tls_bulk_wanted(t, number, &want) ? NULL : "it wants what nobody offered";
    }
}

/* Handles the complete messages, up to a frame, which is left for tls_receive(). */
static int take_messages(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    const char *wrong;
    int count = 0;

    if (streams->waits_aside && (wrong = take_aside(t, number)))
        streams_break(streams, &t->peers[number], wrong);
    while (!streams->frame_here && !streams->waits_aside && !streams->broken &&
           streams->in_end - streams->in_at >= sizeof(struct message)) {
        struct message message;
        const uint8_t *bytes = message_at(streams, &message);

        wrong = is_possible(&message) ? NULL : "it sent an invalid message";

        if (!wrong && streams->in_end - streams->in_at < sizeof(message) + message.length)
            break;
        if (!wrong)
            wrong = take_message(t, number, &message, bytes);
        if (wrong) {
            streams_break(streams, &t->peers[number], wrong);
            break;
        }
        count++;
        if (message.kind != MESSAGE_FRAME)
            streams->in_at += sizeof(message) + message.length;
    }
    return count;
}

static bool read_frames(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    ssize_t got;

    if (poll_set_are_quiet(t, &streams->frames))
        return false;
    if (streams->in_at) {
        memmove(streams->in, streams->in + streams->in_at, streams->in_end - streams->in_at);
        streams->in_end -= streams->in_at;
        streams->in_at = 0;
    }
    if (!stream_ready(&streams->frames)) {
        streams_break(streams, &t->peers[number], "the program has closed descriptors that are not its own");
        return false;
    }
    got = stream_read(&streams->frames, streams->in + streams->in_end, sizeof(streams->in) - streams->in_end);
    t->came |= got > 0;
    if (got > 0)
        streams->in_end += (size_t)got;
    else if (got < 0)
        t->peers[number].bell.lost = true;
    return got > 0;
}

int tls_hear(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    int count = take_messages(t, number);

    while (!streams->frame_here && !streams->waits_aside && !streams->broken && read_frames(t, number))
        count += take_messages(t, number);
    return count;
}

bool tls_receive(struct transport *t, unsigned number, uint32_t wanted, struct arrived *frame)
{
    struct streams *streams = streams_of(t, number);
    struct message message;
    const uint8_t *bytes;

    (void)wanted;
    if (!streams->frame_here)
        tls_hear(t, number);
    if (!streams->frame_here || streams->broken)
        return false;
    if (streams->here) {
        *frame = (struct arrived){streams->place.header, streams->here->bytes, streams->here->length};
        return true;
    }
    if (streams->large) {
        *frame = (struct arrived){streams->large_header, streams->large, streams->large_length};
        return true;
    }
    bytes = message_at(streams, &message);
    memcpy(&frame->header, bytes, HEADER);
    frame->bytes = bytes + HEADER;
    frame->length = message.length - HEADER;
    return true;
}

void tls_taken(struct transport *t, unsigned number)
{
    struct streams *streams = streams_of(t, number);
    struct message message;

    streams->frame_here = false;
    if (streams->here) {
        aside_taken(t, number);
        return;
    }
    if (streams->large) {
        free(streams->large);
        streams->large = NULL;
        return;
    }
    message_at(streams, &message);
    streams->in_at += sizeof(message) + message.length;
}

void frames_say_able(struct streams *streams)
{
    add_message(&streams->urgent, MESSAGE_ABLE, &streams->able, sizeof(streams->able), NULL, 0);
    streams->frames.blocked = true; /* sent with the next message, or by the next poll */
}

void frames_free(struct streams *streams)
{
    free(streams->large);
    text_free(&streams->urgent);
    text_free(&streams->ordinary);
}
