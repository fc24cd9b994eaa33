/* Connections through another connection: see tunnel.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/launch/tunnel.h"
#include "transport/starter.h"

#define MOST_DATA ((64u << 10) - sizeof(struct frame)) /* bytes of one connection in one frame */
#define BOX (512u << 10)                               /* bytes of output, and of input */
#define FULL (128u << 10)                              /* bytes of output from which on no more is read from members */
#define FIRST_WINDOW (64u << 10)                       /* bytes that may be under way to a member */
#define MOST_WINDOW (1u << 20)                         /* the same, to a member that reads quickly */
#define MOST_WINDOWS (64u << 20)                       /* the same, to all members together */

enum kind { CALL = 1, DATA, ROOM, CLOSE, BEAT };

/* The header of all data in the tunnel. value: the member to connect to, the number of bytes that follow, or for how
 * many more there is room. */
struct frame {
    uint32_t kind, channel, value;
};

struct box {
    uint8_t *bytes;
    size_t at, end, capacity;
};

struct channel {
    uint32_t id, to;
    int fd; /* -1: this side has closed it */
    bool say_call, say_close, said_close, heard_close;
    uint32_t room; /* bytes that may be sent to the other end */
    /* expected: bytes that the other end may still send; taken: those that the member has read since the last
     * report to that end. */
    uint32_t expected, taken;
    uint32_t window;
    struct box in; /* what the member has not read yet */
};

struct tunnel {
    int in, out;
    uint32_t side, calls; /* the two sides number their connections with different lowest bits */
    unsigned count, room, most, own, others, next;
    struct channel **channels;
    size_t windows;
    struct box box, came;
    long heard_ms, looked_ms, said_ms;
    tunnel_called *called;
    void *owner;
    unsigned from;
};

/* ---- boxes ---- */

/* Makes room for this many more bytes. */
static bool box_have(struct box *box, size_t length)
{
    if (box->end + length > box->capacity && box->at) {
        memmove(box->bytes, box->bytes + box->at, box->end - box->at);
        box->end -= box->at;
        box->at = 0;
    }
    if (box->end + length > box->capacity) {
        size_t capacity = 2 * (box->end + length);
        uint8_t *longer = realloc(box->bytes, capacity);

        if (!longer)
            return false;
        box->bytes = longer;
        box->capacity = capacity;
    }
    return true;
}

static bool box_add(struct box *box, const void *bytes, size_t length)
{
    if (!box_have(box, length))
        return false;
    memcpy(box->bytes + box->end, bytes, length);
    box->end += length;
    return true;
}

static void box_free(struct box *box)
{
    free(box->bytes);
    *box = (struct box){0};
}

static void box_took(struct box *box, size_t length)
{
    box->at += length;
    if (box->at == box->end)
        box->at = box->end = 0;
}

static bool is_later(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EINTR);
}

/* ---- a connection ---- */

static struct channel *channel_new(struct tunnel *t, uint32_t id, uint32_t to, int fd)
{
    const bool own = (id & 1) == t->side;
    struct channel *channel, **more;

    if ((own ? t->own : t->others) == t->most)
        return NULL;
    if (t->count == t->room) {
        more = realloc(t->channels, (2 * t->room + 8) * sizeof(struct channel *));
        if (!more)
            return NULL;
        t->channels = more;
        t->room = 2 * t->room + 8;
    }
    channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    *channel = (struct channel){
        .id = id, .to = to, .fd = fd, .room = FIRST_WINDOW, .expected = FIRST_WINDOW, .window = FIRST_WINDOW};
    t->windows += channel->window;
    own ? t->own++ : t->others++;
    t->channels[t->count++] = channel;
    return channel;
}

static void channel_free(struct tunnel *t, struct channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    (channel->id & 1) == t->side ? t->own-- : t->others--;
    t->windows -= channel->window;
    box_free(&channel->in);
    free(channel);
}

static void hang_up(struct channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
    channel->say_close = !channel->said_close;
    box_free(&channel->in);
}

/* The member has read these bytes: the other end may send as many again, and more if the member reads quickly. */
static void took(struct tunnel *t, struct channel *channel, size_t length)
{
    channel->taken += (uint32_t)length;
    if (channel->window < MOST_WINDOW && channel->taken >= channel->window / 2 &&
        t->windows + channel->window <= MOST_WINDOWS) {
        t->windows += channel->window;
        channel->taken += channel->window;
        channel->window *= 2;
    }
}

/* Writes to the member what has arrived for it, as far as it reads. */
static void drain(struct tunnel *t, struct channel *channel)
{
    struct box *in = &channel->in;

    while (channel->fd >= 0 && in->at < in->end) {
        ssize_t sent = send(channel->fd, in->bytes + in->at, in->end - in->at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (is_later(sent))
            return;
        if (sent < 0) {
            hang_up(channel);
            return;
        }
        took(t, channel, (size_t)sent);
        box_took(in, (size_t)sent);
    }
    if (in->capacity > FIRST_WINDOW)
        box_free(in);
    if (channel->heard_close && channel->fd >= 0)
        hang_up(channel);
}

static int take_data(struct tunnel *t, struct channel *channel, const uint8_t *bytes, size_t length)
{
    ssize_t sent = 0;

    if (length > channel->expected || channel->heard_close)
        return -EPROTO;
    channel->expected -= (uint32_t)length;
    if (channel->fd < 0)
        return 0;
    if (channel->in.at == channel->in.end) {
        sent = send(channel->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && !is_later(sent)) {
            hang_up(channel);
            return 0;
        }
        sent = sent < 0 ? 0 : sent;
        took(t, channel, (size_t)sent);
    }
    return (size_t)sent == length || box_add(&channel->in, bytes + sent, length - (size_t)sent) ? 0 : -ENOMEM;
}

/* ---- input ---- */

static struct channel *find(const struct tunnel *t, uint32_t id)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (t->channels[i]->id == id)
            return t->channels[i];
    }
    return NULL;
}

static int take_call(struct tunnel *t, const struct frame *frame)
{
    struct channel *channel;
    int ends[2];
    bool heard;

    if ((frame->channel & 1) == t->side || find(t, frame->channel))
        return -EPROTO;
    channel = channel_new(t, frame->channel, 0, -1);
    if (!channel)
        return -EPROTO; /* more connections than the other side may have */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        channel->say_close = true;
        return 0;
    }
    heard = t->called(t->owner, t->from, frame->value, ends[1]);
    close(ends[1]);
    channel->fd = ends[0];
    if (!heard)
        hang_up(channel);
    return 0;
}

static int take_frame(struct tunnel *t, const struct frame *frame, const uint8_t *bytes)
{
    struct channel *channel = find(t, frame->channel);

    if (frame->kind == BEAT)
        return 0;
    if (frame->kind == CALL)
        return take_call(t, frame);
    if (!channel)
        return -EPROTO;
    switch (frame->kind) {
    case DATA:
        return take_data(t, channel, bytes, frame->value);
    case ROOM:
        if (frame->value > MOST_WINDOW || channel->room + frame->value > MOST_WINDOW)
            return -EPROTO;
        channel->room += frame->value;
        return 0;
    case CLOSE:
        channel->heard_close = true;
        drain(t, channel);
        return 0;
    default:
        return -EPROTO;
    }
}

static int take_all(struct tunnel *t)
{
    struct box *came = &t->came;

    while (came->end - came->at >= sizeof(struct frame)) {
        const uint8_t *at = came->bytes + came->at;
        struct frame frame;
        size_t length;
        int error;

        memcpy(&frame, at, sizeof(frame));
        length = sizeof(frame) + (frame.kind == DATA ? frame.value : 0);
        if (frame.kind == DATA && frame.value > MOST_DATA)
            return -EPROTO;
        if (came->end - came->at < length)
            break;
        error = take_frame(t, &frame, at + sizeof(frame));
        if (error)
            return error;
        box_took(came, length);
    }
    if (came->at) {
        memmove(came->bytes, came->bytes + came->at, came->end - came->at);
        came->end -= came->at;
        came->at = 0;
    }
    return 0;
}

static int hear(struct tunnel *t)
{
    struct box *came = &t->came;
    ssize_t got = read(t->in, came->bytes + came->end, came->capacity - came->end);

    if (is_later(got))
        return 0;
    if (got <= 0)
        return got ? -errno : -ECONNRESET;
    came->end += (size_t)got;
    t->heard_ms = clock_ms();
    return take_all(t);
}

int tunnel_feed(struct tunnel *t, const uint8_t *bytes, size_t length)
{
    if (length > t->came.capacity - t->came.end)
        return -EPROTO;
    return box_add(&t->came, bytes, length) ? take_all(t) : -ENOMEM;
}

/* ---- output ---- */

static bool say(struct tunnel *t, enum kind kind, uint32_t channel, uint32_t value)
{
    const struct frame frame = {kind, channel, value};

    return t->box.end - t->box.at + sizeof(frame) <= BOX && box_add(&t->box, &frame, sizeof(frame));
}

/* Sends what is due besides data, as far as there is room. */
static void say_words(struct tunnel *t, struct channel *channel)
{
    if (channel->say_call && say(t, CALL, channel->id, channel->to))
        channel->say_call = false;
    if (channel->say_call)
        return;
    if (channel->fd >= 0 && channel->taken >= channel->window / 2 && say(t, ROOM, channel->id, channel->taken)) {
        channel->expected += channel->taken;
        channel->taken = 0;
    }
    if (channel->say_close && say(t, CLOSE, channel->id, 0)) {
        channel->say_close = false;
        channel->said_close = true;
    }
}

/* Reads data from the member, at most one frame. */
static void read_member(struct tunnel *t, struct channel *channel)
{
    const size_t most = channel->room < MOST_DATA ? channel->room : MOST_DATA;
    struct frame frame = {DATA, channel->id, 0};
    ssize_t got;

    if (!box_have(&t->box, sizeof(frame) + most)) {
        hang_up(channel);
        return;
    }
    got = recv(channel->fd, t->box.bytes + t->box.end + sizeof(frame), most, MSG_DONTWAIT);
    if (is_later(got))
        return;
    if (got <= 0) {
        hang_up(channel);
        return;
    }
    frame.value = (uint32_t)got;
    channel->room -= frame.value;
    memcpy(t->box.bytes + t->box.end, &frame, sizeof(frame));
    t->box.end += sizeof(frame) + (size_t)got;
}

static bool is_read(const struct tunnel *t, const struct channel *channel)
{
    return channel->fd >= 0 && channel->room && !channel->say_call && t->box.end - t->box.at < FULL;
}

static int push(struct tunnel *t)
{
    struct box *box = &t->box;

    for (unsigned i = 0; i < t->count; i++)
        say_words(t, t->channels[i]);
    if (settings_peer_ms() && clock_ms() - t->said_ms >= settings_tick_ms() && box->at == box->end)
        say(t, BEAT, 0, 0);
    while (box->at < box->end) {
        ssize_t sent = write(t->out, box->bytes + box->at, box->end - box->at);

        if (is_later(sent))
            return 0;
        if (sent < 0)
            return -errno;
        t->said_ms = clock_ms();
        box_took(box, (size_t)sent);
    }
    return 0;
}

/* Returns -ETIMEDOUT if the other end was silent for too long. Only time in which this process ran, and had
 * connections, counts. */
static int judge(struct tunnel *t)
{
    const long timeout = settings_peer_ms(), now = clock_ms();

    if (now - t->looked_ms > timeout / 2 || !t->count)
        t->heard_ms = now;
    t->looked_ms = now;
    return timeout && now - t->heard_ms > timeout ? -ETIMEDOUT : 0;
}

/* ---- a turn ---- */

unsigned tunnel_width(const struct tunnel *t)
{
    return t->count + 2;
}

int tunnel_nap(void)
{
    return settings_peer_ms() ? (int)settings_tick_ms() : -1;
}

static void sweep(struct tunnel *t)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < t->count; i++) {
        struct channel *channel = t->channels[i];

        if (channel->fd < 0 && channel->said_close && channel->heard_close)
            channel_free(t, channel);
        else
            t->channels[kept++] = channel;
    }
    t->count = kept;
}

unsigned tunnel_poll(struct tunnel *t, struct pollfd *fds)
{
    sweep(t);
    push(t); /* an error is found again later */
    fds[0] = (struct pollfd){t->in, POLLIN, 0};
    fds[1] = (struct pollfd){t->box.at < t->box.end ? t->out : -1, POLLOUT, 0};
    for (unsigned i = 0; i < t->count; i++) {
        const struct channel *channel = t->channels[i];
        const short events =
            (short)((is_read(t, channel) ? POLLIN : 0) | (channel->in.at < channel->in.end ? POLLOUT : 0));

        fds[i + 2] = (struct pollfd){events ? channel->fd : -1, events, 0};
    }
    return t->count + 2;
}

int tunnel_turn(struct tunnel *t, const struct pollfd *fds, unsigned count)
{
    const unsigned channels = count - 2;
    int error = fds[0].revents ? hear(t) : 0;

    for (unsigned i = 0; !error && i < channels; i++) {
        const unsigned at = (t->next + i) % channels; /* no connection is always the last */
        struct channel *channel = t->channels[at];
        const short found = fds[at + 2].revents;

        if (found & (POLLOUT | POLLERR | POLLHUP))
            drain(t, channel);
        if (found & (POLLIN | POLLERR | POLLHUP) && fds[at + 2].events & POLLIN && is_read(t, channel))
            read_member(t, channel);
    }
    t->next++;
    if (!error)
        error = push(t);
    return error ? error : judge(t);
}

bool tunnel_is_idle(const struct tunnel *t)
{
    return t->box.at == t->box.end && !t->own && !t->others;
}

bool tunnel_call(struct tunnel *t, unsigned to, int fd)
{
    struct channel *channel = channel_new(t, t->calls, to, fd);

    if (!channel) {
        close(fd);
        return false;
    }
    channel->say_call = true;
    t->calls += 2;
    return true;
}

struct tunnel *tunnel_open(int in, int out, bool near, unsigned most, tunnel_called *called, void *owner, unsigned from)
{
    struct tunnel *t = calloc(1, sizeof(*t));

    if (!t || !(t->came.bytes = malloc(BOX))) {
        free(t);
        return NULL;
    }
    t->in = in;
    t->out = out;
    t->side = t->calls = near;
    t->most = most;
    t->called = called;
    t->owner = owner;
    t->from = from;
    t->came.capacity = BOX;
    t->heard_ms = t->looked_ms = t->said_ms = clock_ms();
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    return t;
}

void tunnel_close(struct tunnel *t)
{
    if (!t)
        return;
    while (t->count)
        channel_free(t, t->channels[--t->count]);
    free(t->channels);
    box_free(&t->box);
    box_free(&t->came);
    close(t->in);
    if (t->out != t->in)
        close(t->out);
    free(t);
}

bool tunnel_hand(int member, int fd)
{
    const struct tunnel_call call = {0};
    struct pollfd ready = {member, POLLOUT, 0};

    return poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT &&
           !socket_send_descriptors(member, &call, sizeof(call), &fd, 1);
}
