/*
 * Frames over TLS, bells, and what is to be said of bulk data: messages on one connection. A frame that would wait
 * there goes by another one (over_tls_aside.c), and has its place here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/over_tls.h"

#define UNSENT_MOST (16u << 20) /* bytes that the connection has not taken: no frames are then */

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

/* As much of it as the connection takes; false if that is not all. */
static bool write_text(struct tls_way *way, struct text *text, size_t length, int *error)
{
    while (length && !*error) {
        ssize_t taken = stream_write(&way->frames, text->bytes + text->at, length);

        if (taken <= 0) {
            *error = (int)taken;
            return false;
        }
        text->at += (size_t)taken;
        length -= (size_t)taken;
        if (text == &way->ordinary)
            way->message_left -= (size_t)taken;
    }
    if (text->at == text->end) {
        text->at = text->end = 0;
        if (text->capacity > 1u << 20)
            text_free(text);
    }
    return true;
}

static int push(struct tls_way *way)
{
    int error = 0;

    for (;;) {
        struct message message;

        if (!way->message_left && !write_text(way, &way->urgent, way->urgent.end - way->urgent.at, &error))
            return error;
        if (way->ordinary.at == way->ordinary.end)
            return error;
        if (!way->message_left) {
            memcpy(&message, way->ordinary.bytes + way->ordinary.at, sizeof(message));
            way->message_left = sizeof(message) + message.length;
        }
        if (!write_text(way, &way->ordinary, way->message_left, &error))
            return error;
    }
}

void frames_push(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    int error;

    if (way->broken)
        return;
    if (!stream_ready(&way->frames)) {
        way_break(way, &t->peers[number], "the program has closed descriptors that are not its own");
        return;
    }
    way->messages++;
    error = push(way);
    if (!error)
        error = way->frames.by->flush(way->frames.tls);
    way->frames.blocked = way->urgent.at < way->urgent.end || way->ordinary.at < way->ordinary.end ||
                          way->frames.by->waits(way->frames.tls);
    if (error < 0) /* what it had said before is still to be heard */
        t->peers[number].bell.lost = true;
    else if (way->frames.blocked)
        way_wake(t);
}

static bool add_message(struct text *text, enum message_kind kind, const void *first, size_t first_length,
                        const void *second, size_t second_length)
{
    const struct message message = {kind, (uint32_t)(first_length + second_length)};
    const size_t end = text->end - text->at;

    if (text_add(text, &message, sizeof(message)) && text_add(text, first, first_length) &&
        text_add(text, second, second_length))
        return true;
    text->end = text->at + end; /* none of it */
    return false;
}

/* If none has room now, each is waited for already. */
static void give_aside(struct transport *t, unsigned peer)
{
    struct tls_way *way = way_of(t, peer);

    for (unsigned i = 0; i < way->used && !TAILQ_EMPTY(&way->asides); i++) {
        struct pipe *pipe = &way->pipes[(way->next_pipe + i) % way->used];

        if (pipe->stream.blocked || !stream_ready(&pipe->stream))
            continue;
        if (tls_give(t, peer, pipe))
            way->next_pipe = (unsigned)(pipe - way->pipes + 1) % way->pipe_count;
        if (pipe->stream.blocked)
            way_wake(t);
        way->pipes_blocked |= pipe->stream.blocked;
    }
}

/* By another connection: here is its place. */
static bool add_aside(struct transport *t, unsigned peer, const struct frame_header *header, const void *bytes,
                      size_t length)
{
    struct tls_way *way = way_of(t, peer);
    const size_t end = way->ordinary.end - way->ordinary.at;
    const struct place place = {*header, way->last_aside + 1, (uint32_t)length};

    if (!add_message(&way->ordinary, MESSAGE_PLACE, &place, sizeof(place), NULL, 0))
        return false;
    if (!aside_send(way, bytes, length)) {
        way->ordinary.end = way->ordinary.at + end;
        return false;
    }
    give_aside(t, peer);
    return true;
}

/* The rest follows in parts, between which other things may be said. Far away these go aside from the first one on, and
 * it begins when there is room for all: on the one connection, which takes megabytes, it would keep what comes behind
 * it waiting, also what is there already. */
static bool add_large(struct transport *t, unsigned peer, struct frame_header header, const uint8_t *bytes,
                      size_t length)
{
    struct tls_way *way = way_of(t, peer);
    struct text *text = &way->ordinary;
    const size_t begin = text->end - text->at;
    const uint64_t size = length;
    const uint32_t before = way->last_aside;
    bool good = add_message(text, MESSAGE_LARGE, &header, HEADER, &size, sizeof(size));

    for (size_t at = 0; good && at < length; at += MOST_PART) {
        const size_t part = length - at < MOST_PART ? length - at : MOST_PART;

        good = (way->is_far && aside_has_window(way, part) && add_aside(t, peer, &header, bytes + at, part)) ||
               add_message(text, MESSAGE_PART, bytes + at, part, NULL, 0);
    }
    if (!good && way->last_aside != before)
        way_break(way, &t->peers[peer], "no memory for what is to be said to it");
    else if (!good)
        text->end = text->at + begin;
    return good;
}

int tls_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
             size_t length)
{
    struct tls_way *way = way_of(t, peer);
    bool aside, good;

    (void)number;
    if (way->broken)
        return -ECONNRESET;
    aside = length > TRANSPORT_MAX_FRAME ? way->is_far : aside_is_due(way, length);
    if (way->ordinary.end - way->ordinary.at > UNSENT_MOST || (aside && !aside_has_room(way, length)))
        return -EAGAIN;
    if (length > TRANSPORT_MAX_FRAME)
        good = add_large(t, peer, header, bytes, length);
    else if (aside)
        good = add_aside(t, peer, &header, bytes, length);
    else
        good = add_message(&way->ordinary, MESSAGE_FRAME, &header, HEADER, bytes, length);
    if (!good)
        return -ENOMEM;
    frames_push(t, peer);
    return 0;
}

void way_want(struct transport *t, unsigned peer, uint32_t id)
{
    struct tls_way *way = way_of(t, peer);
    const struct want want = {id, 0, way->taken, way->aside_taken};

    way->confirmed = way->taken;
    way->aside_confirmed = way->aside_taken;
    if (!add_message(&way->urgent, MESSAGE_WANT, &want, sizeof(want), NULL, 0))
        way_break(way, &t->peers[peer], "no memory for what is to be said to it");
    else
        frames_push(t, peer);
}

/* Goodbye is the last thing that is said. */
void tls_ring(void *owner, unsigned peer, const struct bell_record *record)
{
    struct transport *t = owner;
    struct tls_way *way = way_of(t, peer);

    if (add_message(record->kind == BELL_BYE ? &way->ordinary : &way->urgent, MESSAGE_BELL, record, sizeof(*record),
                    NULL, 0))
        frames_push(t, peer);
}

/* ---- in ---- */

static const uint8_t *message_at(const struct tls_way *way, struct message *message)
{
    memcpy(message, way->in + way->in_at, sizeof(*message));
    return way->in + way->in_at + sizeof(*message);
}

/* What lengths a message may have. */
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

static const char *begin_large(struct tls_way *way, const uint8_t *bytes)
{
    uint64_t size;

    memcpy(&way->large_header, bytes, HEADER);
    memcpy(&size, bytes + HEADER, sizeof(size));
    if (way->large || size <= TRANSPORT_MAX_FRAME || size > TRANSPORT_MAX_LARGE)
        return "it announced an impossible frame";
    way->large = malloc(size);
    way->large_length = size;
    way->large_got = 0;
    return way->large ? NULL : "no memory for what it sends";
}

static const char *add_part(struct tls_way *way, const uint8_t *bytes, size_t length)
{
    if (!way->large || length > way->large_length - way->large_got)
        return "it sent more than it announced";
    memcpy(way->large + way->large_got, bytes, length);
    way->large_got += length;
    way->frame_here = way->large_got == way->large_length;
    return NULL;
}

/* If what was waited for is here, it is a frame, or a part of one. */
static const char *take_aside(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    const char *wrong = aside_look(way);

    if (wrong || !way->here)
        return wrong;
    if (!way->large) {
        way->frame_here = true;
        return NULL;
    }
    wrong = add_part(way, way->here->bytes, way->here->length);
    aside_taken(t, number);
    return wrong;
}

static const char *take_message(struct transport *t, unsigned number, const struct message *message,
                                const uint8_t *bytes)
{
    struct tls_way *way = way_of(t, number);
    struct bell_record record;
    struct want want;

    switch (message->kind) {
    case MESSAGE_BELL:
        memcpy(&record, bytes, sizeof(record));
        bell_take(&t->peers[number].bell, &record);
        return NULL;
    case MESSAGE_FRAME:
        way->frame_here = !way->large;
        return way->large ? "it sent a frame within another" : NULL;
    case MESSAGE_LARGE:
        return begin_large(way, bytes);
    case MESSAGE_PART:
        return add_part(way, bytes, message->length);
    case MESSAGE_ABLE:
        return able_take(way, bytes);
    case MESSAGE_PLACE:
        memcpy(&way->place, bytes, sizeof(way->place));
        way->waits_aside = true;
        return take_aside(t, number);
    default:
        memcpy(&want, bytes, sizeof(want));
        return tls_bulk_wanted(t, number, &want) ? NULL : "it wants what nobody offered";
    }
}

/* What has come as a whole, up to a frame, which is for tls_receive(). */
static int take_messages(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    const char *wrong;
    int count = 0;

    if (way->waits_aside && (wrong = take_aside(t, number)))
        way_break(way, &t->peers[number], wrong);
    while (!way->frame_here && !way->waits_aside && !way->broken &&
           way->in_end - way->in_at >= sizeof(struct message)) {
        struct message message;
        const uint8_t *bytes = message_at(way, &message);

        wrong = is_possible(&message) ? NULL : "it sent what is no message";

        if (!wrong && way->in_end - way->in_at < sizeof(message) + message.length)
            break;
        if (!wrong)
            wrong = take_message(t, number, &message, bytes);
        if (wrong) {
            way_break(way, &t->peers[number], wrong);
            break;
        }
        count++;
        if (message.kind != MESSAGE_FRAME)
            way->in_at += sizeof(message) + message.length;
    }
    return count;
}

static bool read_frames(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    ssize_t got;

    if (ears_are_quiet(t, &way->frames))
        return false;
    if (way->in_at) {
        memmove(way->in, way->in + way->in_at, way->in_end - way->in_at);
        way->in_end -= way->in_at;
        way->in_at = 0;
    }
    if (!stream_ready(&way->frames)) {
        way_break(way, &t->peers[number], "the program has closed descriptors that are not its own");
        return false;
    }
    got = stream_read(&way->frames, way->in + way->in_end, sizeof(way->in) - way->in_end);
    t->came |= got > 0;
    if (got > 0)
        way->in_end += (size_t)got;
    else if (got < 0)
        t->peers[number].bell.lost = true;
    return got > 0;
}

int tls_hear(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    int count = take_messages(t, number);

    while (!way->frame_here && !way->waits_aside && !way->broken && read_frames(t, number))
        count += take_messages(t, number);
    return count;
}

bool tls_receive(struct transport *t, unsigned number, uint32_t wanted, struct arrived *frame)
{
    struct tls_way *way = way_of(t, number);
    struct message message;
    const uint8_t *bytes;

    (void)wanted;
    if (!way->frame_here)
        tls_hear(t, number);
    if (!way->frame_here || way->broken)
        return false;
    if (way->here) {
        *frame = (struct arrived){way->place.header, way->here->bytes, way->here->length};
        return true;
    }
    if (way->large) {
        *frame = (struct arrived){way->large_header, way->large, way->large_length};
        return true;
    }
    bytes = message_at(way, &message);
    memcpy(&frame->header, bytes, HEADER);
    frame->bytes = bytes + HEADER;
    frame->length = message.length - HEADER;
    return true;
}

void tls_taken(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    struct message message;

    way->frame_here = false;
    if (way->here) {
        aside_taken(t, number);
        return;
    }
    if (way->large) {
        free(way->large);
        way->large = NULL;
        return;
    }
    message_at(way, &message);
    way->in_at += sizeof(message) + message.length;
}

void frames_say_able(struct tls_way *way)
{
    add_message(&way->urgent, MESSAGE_ABLE, &way->able, sizeof(way->able), NULL, 0);
    way->frames.blocked = true; /* it is sent with what comes next, or by the next poll */
}

void frames_free(struct tls_way *way)
{
    free(way->large);
    text_free(&way->urgent);
    text_free(&way->ordinary);
}
