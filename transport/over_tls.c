/*
 * The provider over TLS: frames, bells and what is to be said of bulk data go through one connection, in messages; bulk
 * data through others (over_tls_bulk.c). Who has lost a byte of it, or got one that was not sent, has lost the peer:
 * TLS tells.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timeline.h"
#include "transport/distance.h"
#include "transport/over_tls.h"

#define FRAMES_MOST 65536       /* on the way to one peer: the connection says when it is enough, */
#define UNSENT_MOST (16u << 20) /* or so many bytes that it has not taken */
#define LAST_WORDS_MS 500       /* for what is to be sent yet when the session ends */

static struct tls_way *way_of(const struct transport *t, unsigned peer)
{
    return t->peers[peer].way;
}

void way_break(struct tls_way *way, struct peer *peer, const char *why)
{
    if (!way->broken)
        way->broken = why;
    if (!peer->bell.lost)
        peer->bell.why = why;
    peer->bell.lost = true;
}

void way_wake(struct transport *t)
{
    if (t->announced)
        transport_wake(t);
}

bool stream_ready(struct stream *stream)
{
    int fd = stream->tls ? kept_fd(&stream->socket) : -1;

    if (fd >= 0)
        stream->by->use(stream->tls, fd);
    return fd >= 0;
}

/* 0: nothing is to be written down of it. */
static uint64_t began(const struct stream *stream)
{
    return timeline_wanted() && stream->by == tls_plugin ? (uint64_t)clock_ns() : 0;
}

ssize_t stream_read(struct stream *stream, void *bytes, size_t length)
{
    const uint64_t since = began(stream);
    const ssize_t got = stream->by->read(stream->tls, bytes, length);

    if (since && got > 0)
        timeline_count(TIMELINE_CIPHER, stream->peer, false, since, (uint64_t)got);
    return got;
}

ssize_t stream_write(struct stream *stream, const void *bytes, size_t length)
{
    const uint64_t since = began(stream);
    const ssize_t taken = stream->by->write(stream->tls, bytes, length);

    if (since && taken > 0)
        timeline_count(TIMELINE_CIPHER, stream->peer, true, since, (uint64_t)taken);
    return taken;
}

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

/* What is there to be sent, as far as the connection takes it. */
static void push_frames(struct transport *t, unsigned number)
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

/* The rest follows in parts, between which other things may be said. */
static bool add_large(struct text *text, struct frame_header header, const uint8_t *bytes, size_t length)
{
    const size_t begin = text->end - text->at;
    const uint64_t size = length;
    bool good = add_message(text, MESSAGE_LARGE, &header, HEADER, &size, sizeof(size));

    for (size_t at = 0; good && at < length; at += MOST_PART)
        good = add_message(text, MESSAGE_PART, bytes + at, length - at < MOST_PART ? length - at : MOST_PART, NULL, 0);
    if (!good)
        text->end = text->at + begin;
    return good;
}

static int tls_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
                    size_t length)
{
    struct tls_way *way = way_of(t, peer);

    (void)number;
    if (way->broken)
        return -ECONNRESET;
    if (way->ordinary.end - way->ordinary.at > UNSENT_MOST)
        return -EAGAIN;
    if (length <= TRANSPORT_MAX_FRAME ? !add_message(&way->ordinary, MESSAGE_FRAME, &header, HEADER, bytes, length)
                                      : !add_large(&way->ordinary, header, bytes, length))
        return -ENOMEM;
    push_frames(t, peer);
    return 0;
}

void way_want(struct transport *t, unsigned peer, uint32_t id)
{
    struct tls_way *way = way_of(t, peer);
    const struct want want = {id, 0, way->taken};

    way->confirmed = way->taken;
    if (!add_message(&way->urgent, MESSAGE_WANT, &want, sizeof(want), NULL, 0))
        way_break(way, &t->peers[peer], "no memory for what is to be said to it");
    else
        push_frames(t, peer);
}

/* The bell's; goodbye is the last thing that is said. */
static void ring(void *owner, unsigned peer, const struct bell_record *record)
{
    struct transport *t = owner;
    struct tls_way *way = way_of(t, peer);

    if (add_message(record->kind == BELL_BYE ? &way->ordinary : &way->urgent, MESSAGE_BELL, record, sizeof(*record),
                    NULL, 0))
        push_frames(t, peer);
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
    default:
        memcpy(&want, bytes, sizeof(want));
        return tls_bulk_wanted(t, number, &want) ? NULL : "it wants what nobody offered";
    }
}

/* What has come as a whole, up to a frame, which is for tls_receive(). */
static int take_messages(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    int count = 0;

    while (!way->frame_here && !way->broken && way->in_end - way->in_at >= sizeof(struct message)) {
        struct message message;
        const uint8_t *bytes = message_at(way, &message);
        const char *wrong = is_possible(&message) ? NULL : "it sent what is no message";

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
    if (got > 0)
        way->in_end += (size_t)got;
    else if (got < 0)
        t->peers[number].bell.lost = true;
    return got > 0;
}

static int tls_hear(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    int count = take_messages(t, number);

    while (!way->frame_here && !way->broken && read_frames(t, number))
        count += take_messages(t, number);
    return count;
}

static bool tls_receive(struct transport *t, unsigned number, uint32_t wanted, struct arrived *frame)
{
    struct tls_way *way = way_of(t, number);
    struct message message;
    const uint8_t *bytes;

    (void)wanted;
    if (!way->frame_here)
        tls_hear(t, number);
    if (!way->frame_here || way->broken)
        return false;
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

static void tls_taken(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    struct message message;

    way->frame_here = false;
    if (way->large) {
        free(way->large);
        way->large = NULL;
        return;
    }
    message_at(way, &message);
    way->in_at += sizeof(message) + message.length;
}

/* ---- the way to a member ---- */

/* job.c's, or rather meeting.c's, has made it. */
/* Words without a connection; what has one is the owner's (join.c). */
static void take_vouchers(struct tls_way *way, struct beat *beat)
{
    struct tunnel_call call;

    while (way->voucher.fd >= 0 && recv(way->voucher.fd, &call, sizeof(call), MSG_DONTWAIT | MSG_PEEK) == 1) {
        recv(way->voucher.fd, &call, sizeof(call), MSG_DONTWAIT);
        atomic_fetch_add(&beat->carried, 1);
    }
}

/* On a connection that no other thread uses: a byte each way. */
static void carry_beat(struct beat *beat, bool say)
{
    struct tls_way *way = beat->carrier;
    uint8_t bytes[64];
    ssize_t got;

    if (!stream_ready(&way->beat))
        return;
    while ((got = way->beat.by->read(way->beat.tls, bytes, sizeof(bytes))) > 0)
        atomic_fetch_add(&beat->carried, (unsigned)got);
    if (got < 0)
        atomic_store(&beat->gone, true);
    take_vouchers(way, beat);
    if (say && !got && way->beat.by->write(way->beat.tls, "", 1) == 1)
        way->beat.by->flush(way->beat.tls);
}

void tls_open_way(struct transport *t, unsigned number, struct tls_way *way)
{
    struct peer *peer = &t->peers[number];
    const long us = distance_us(way->frames.socket.fd);

    peer->way = way;
    way->frames.peer = number;
    peer->beat.carry = carry_beat;
    peer->beat.carrier = way;
    peer->beat.vouched = way->voucher.fd >= 0;
    link_keep(t, &way->beat.socket, way->beat.socket.fd);
    peer->bell.carry = ring;
    peer->bell.carrier = t;
    peer->bell.number = number;
    link_keep(t, &way->frames.socket, way->frames.socket.fd);
    distance_make_room(way->frames.socket.fd, us);
    for (unsigned i = 0; i < way->pipe_count; i++) {
        way->pipes[i].stream.peer = number;
        distance_make_room(way->pipes[i].stream.socket.fd, us);
        link_keep(t, &way->pipes[i].stream.socket, way->pipes[i].stream.socket.fd);
    }
    way->window = distance_window(us, WINDOW_LEAST, WINDOW_MOST);
    if (able_open(way, us, !t->client && !number)) {
        add_message(&way->urgent, MESSAGE_ABLE, &way->able, sizeof(way->able), NULL, 0);
        way->frames.blocked = true; /* it is sent with what comes next, or by the next poll */
    }
    vocl_log(LOG_INFO, "with %u: a round trip takes %ld us; %u connections for bulk data, %llu MiB may be under way",
             number, us, way->pipe_count, (unsigned long long)way->window >> 20);
}

static int tls_poll(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    if (way->frames.blocked)
        push_frames(t, number);
    return way->takes || way->gives || way->pipes_blocked || t->listens ? tls_bulk_poll(t, number) : 0;
}

static void tls_follow(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    if (way->broken)
        return;
    if (way->messages != way->followed) {
        bell_send(&t->peers[number].bell, BELL_BEAT, 0);
        way->followed = way->messages;
    }
    tls_bulk_follow(t, number);
}

static unsigned tls_sleep_on(struct transport *t, unsigned number, struct pollfd *descriptors)
{
    struct tls_way *way = way_of(t, number);
    unsigned count = 0;

    descriptors[count++] =
        (struct pollfd){kept_fd(&way->frames.socket), (short)(POLLIN | (way->frames.blocked ? POLLOUT : 0)), 0};
    for (unsigned i = 0; i < way->pipe_count; i++) {
        struct stream *stream = &way->pipes[i].stream;

        descriptors[count++] =
            (struct pollfd){kept_fd(&stream->socket), (short)(POLLIN | (stream->blocked ? POLLOUT : 0)), 0};
    }
    return count;
}

/* It hears no more of us either. */
static void cut(struct stream *stream)
{
    const int fd = kept_fd(&stream->socket);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

static void tls_lose(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);

    if (!way->broken)
        way->broken = "it is lost";
    cut(&way->frames);
    cut(&way->beat);
    for (unsigned i = 0; i < way->pipe_count; i++)
        cut(&way->pipes[i].stream);
}

static void stream_end(struct stream *stream, bool forget)
{
    if (!forget && stream->tls)
        stream->by->close(stream->tls);
    stream->tls = NULL;
    kept_close(&stream->socket);
}

void way_free(struct tls_way *way, bool forget)
{
    if (!way)
        return;
    stream_end(&way->frames, forget);
    stream_end(&way->beat, forget);
    kept_close(&way->voucher);
    for (unsigned i = 0; i < way->pipe_count; i++) {
        struct pipe *pipe = &way->pipes[i];

        stream_end(&pipe->stream, forget);
        references_drop(pipe, NULL);
        free(pipe->piece);
        free(pipe->packed);
        free(pipe->carried);
    }
    able_close(way);
    offers_free(way);
    free(way->pipes);
    free(way->large);
    text_free(&way->urgent);
    text_free(&way->ordinary);
    free(way);
}

/* What was said last gets a little time. */
static void say_last_words(struct transport *t, unsigned number)
{
    struct tls_way *way = way_of(t, number);
    const long until = clock_ms() + LAST_WORDS_MS;

    while (way->frames.blocked && !way->broken && clock_ms() < until) {
        struct pollfd ready = {kept_fd(&way->frames.socket), POLLOUT, 0};

        if (poll(&ready, 1, (int)(until - clock_ms())) > 0 && ready.revents & (POLLERR | POLLHUP))
            break;
        push_frames(t, number);
    }
}

static void tls_close(struct transport *t, unsigned number, bool forget)
{
    struct peer *peer = &t->peers[number];

    if (!peer->way)
        return;
    if (!forget)
        say_last_words(t, number);
    if (!forget && way_of(t, number)->given)
        vocl_log(LOG_INFO, "to %u: %.1f MiB of bulk data, carried as %.1f MiB", number,
                 (double)way_of(t, number)->given / 1048576, (double)way_of(t, number)->carried / 1048576);
    way_free(peer->way, forget);
    peer->way = NULL;
}

const struct provider provider_tls = {
    .name = "tls",
    .most_frame = TRANSPORT_MAX_LARGE,
    .window = FRAMES_MOST,
    .bells = true,
    .send = tls_send,
    .receive = tls_receive,
    .taken = tls_taken,
    .hear = tls_hear,
    .bulk_start = tls_bulk_start,
    .bulk_drop = tls_bulk_drop,
    .follow = tls_follow,
    .poll = tls_poll,
    .sleep_on = tls_sleep_on,
    .lose = tls_lose,
    .close = tls_close,
};
