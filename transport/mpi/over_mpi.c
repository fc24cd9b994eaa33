/* The provider over the MPI plugin: each frame is a message, and so is each piece of bulk data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/link.h"
#include "wire/frame.h"

#define FRAME_TAG 2 /* 1 is transport/start/mpmd.c's */
#define LARGE_TAG 3
#define POSTED 8 /* receives waiting for one peer's frames */

struct inbox {
    struct plugin_request request;
    uint8_t bytes[TRANSPORT_MAX_FRAME + HEADER] __attribute__((aligned(16)));
};

struct outgoing {
    struct outgoing *next;
    struct plugin_request request;
    size_t capacity;
    uint8_t bytes[] __attribute__((aligned(16)));
};

struct mpi_way {
    struct inbox inboxes[POSTED];
    unsigned head;
    bool inbox_full; /* the one at head holds a frame */
    size_t inbox_length;
    struct outgoing *outgoing, *spare;
    /* a large frame that was announced */
    uint8_t *large;
    struct frame_header large_header;
    size_t large_length;
    bool large_here;
    struct plugin_request large_request;
};

/* ---- frames out ---- */

static struct outgoing *outgoing_new(struct mpi_way *way, size_t length)
{
    struct outgoing *out = way->spare;
    size_t capacity = length > TRANSPORT_MAX_FRAME + HEADER ? length : TRANSPORT_MAX_FRAME + HEADER;

    if (out && out->capacity >= length) {
        way->spare = out->next;
        return out;
    }
    out = malloc(sizeof(*out) + capacity);
    if (out)
        out->capacity = capacity;
    return out;
}

static int launch(struct transport *t, unsigned peer, uint32_t tag, struct outgoing *out, size_t length)
{
    struct mpi_way *way = t->peers[peer].way;

    if (t->job.plugin->send((int)peer, PLUGIN_CONTROL, tag, out->bytes, length, &out->request)) {
        free(out);
        return -ECONNRESET;
    }
    out->next = way->outgoing;
    way->outgoing = out;
    return 0;
}

static int send_whole(struct transport *t, unsigned peer, struct frame_header header, const void *bytes, size_t length)
{
    struct outgoing *out = outgoing_new(t->peers[peer].way, HEADER + length);

    if (!out)
        return -ENOMEM;
    memcpy(out->bytes, &header, HEADER);
    memcpy(out->bytes + HEADER, bytes, length);
    return launch(t, peer, FRAME_TAG, out, HEADER + length);
}

static int mpi_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
                    size_t length)
{
    const uint64_t size = length;
    struct outgoing *large;
    int error;

    (void)number;
    if (length <= TRANSPORT_MAX_FRAME)
        return send_whole(t, peer, header, bytes, length);
    large = outgoing_new(t->peers[peer].way, length);
    if (!large)
        return -ENOMEM;
    memcpy(large->bytes, bytes, length);
    header.kind = FRAME_LARGE | (header.kind & FRAME_LOCAL);
    error = send_whole(t, peer, header, &size, sizeof(size));
    if (error) {
        free(large);
        return error;
    }
    return launch(t, peer, LARGE_TAG, large, length);
}

static int finish_outgoing(struct transport *t, struct mpi_way *way)
{
    int count = 0;

    for (struct outgoing **at = &way->outgoing; *at;) {
        struct outgoing *out = *at;
        size_t length;
        int done = 0;

        if (t->job.plugin->test(&out->request, &done, &length)) {
            link_fail(t);
            break;
        }
        if (!done) {
            at = &out->next;
            continue;
        }
        *at = out->next;
        if (out->capacity > TRANSPORT_MAX_FRAME + HEADER) {
            free(out);
        } else {
            out->next = way->spare;
            way->spare = out;
        }
        count++;
    }
    return count;
}

/* ---- frames in ---- */

static int post(struct transport *t, unsigned peer, unsigned slot)
{
    struct inbox *inbox = &((struct mpi_way *)t->peers[peer].way)->inboxes[slot];

    return t->job.plugin->receive((int)peer, PLUGIN_CONTROL, FRAME_TAG, inbox->bytes, sizeof(inbox->bytes),
                                  &inbox->request);
}

static void post_next(struct transport *t, unsigned peer)
{
    struct mpi_way *way = t->peers[peer].way;

    way->inbox_full = false;
    if (post(t, peer, way->head))
        link_fail(t);
    way->head = (way->head + 1) % POSTED;
}

static void announced(struct transport *t, unsigned peer, struct frame_header header, const uint8_t *bytes,
                      size_t length)
{
    struct mpi_way *way = t->peers[peer].way;
    uint64_t size;

    if (length != sizeof(size)) {
        link_lose(t, peer, "it sent a malformed announcement");
        return;
    }
    memcpy(&size, bytes, sizeof(size));
    if (size <= TRANSPORT_MAX_FRAME || size > TRANSPORT_MAX_LARGE) {
        link_lose(t, peer, "it announced an impossible frame");
        return;
    }
    way->large_header = (struct frame_header){FRAME_WHOLE | (header.kind & FRAME_LOCAL), header.acked};
    way->large = malloc(size);
    way->large_length = size;
    way->large_here = false;
    if (!way->large ||
        t->job.plugin->receive((int)peer, PLUGIN_CONTROL, LARGE_TAG, way->large, size, &way->large_request))
        link_lose(t, peer, "no memory for what it sends");
    else
        post_next(t, peer);
}

/* Later frames wait for it. */
static bool receive_large(struct transport *t, unsigned peer, struct arrived *frame)
{
    struct mpi_way *way = t->peers[peer].way;
    size_t length = 0;
    int done = 0;

    if (!way->large_here) {
        if (t->job.plugin->test(&way->large_request, &done, &length) || !done)
            return false;
        if (length != way->large_length) {
            link_lose(t, peer, "a frame is shorter than announced");
            return false;
        }
        way->large_here = true;
    }
    *frame = (struct arrived){way->large_header, way->large, way->large_length};
    return true;
}

static bool mpi_receive(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame)
{
    struct mpi_way *way = t->peers[peer].way;
    const uint8_t *bytes = way->inboxes[way->head].bytes;
    int done = 0;

    (void)number;
    if (way->large)
        return receive_large(t, peer, frame);
    if (!way->inbox_full) {
        if (t->job.plugin->test(&way->inboxes[way->head].request, &done, &way->inbox_length)) {
            link_fail(t);
            return false;
        }
        if (!done)
            return false;
        way->inbox_full = true;
    }
    if (way->inbox_length < HEADER) {
        link_lose(t, peer, "it sent a frame without a header");
        return false;
    }
    memcpy(&frame->header, bytes, HEADER);
    frame->bytes = bytes + HEADER;
    frame->length = way->inbox_length - HEADER;
    if ((frame->header.kind & ~(uint32_t)FRAME_LOCAL) != FRAME_LARGE)
        return true;
    announced(t, peer, frame->header, frame->bytes, frame->length);
    return t->peers[peer].alive && receive_large(t, peer, frame);
}

static void mpi_taken(struct transport *t, unsigned peer)
{
    struct mpi_way *way = t->peers[peer].way;

    if (way->large) {
        free(way->large);
        way->large = NULL;
    } else {
        post_next(t, peer);
    }
}

/* ---- bulk data ---- */

/* MPI does not report the progress within a message: large bulk data go in pieces (transport/core/bulk.c), so that
 * progress can be observed. */
#define PIECE WIRE_CHUNK
#define EAGER (64u << 10) /* below UCX's rendezvous (transport/plugin/loader.c), which costs another round trip */

static int mpi_bulk_start(struct transport *t, struct bulk *bulk)
{
    const struct mpi_plugin *plugin = t->job.plugin;
    int error;

    if (bulk->tag > t->job.last_tag)
        return -EINVAL;
    bulk->complete = !bulk->length;
    if (bulk->complete)
        return 0;
    error = bulk->take
                ? plugin->receive((int)bulk->peer, PLUGIN_BULK, bulk->tag, bulk->memory, bulk->length, &bulk->mpi)
                : plugin->send((int)bulk->peer, PLUGIN_BULK, bulk->tag, bulk->memory, bulk->length, &bulk->mpi);
    if (error)
        link_fail(t);
    return 0;
}

/* A failure of MPI, or a piece of an unexpected length, is considered the peer's fault. */
static int mpi_bulk_move(struct transport *t, struct bulk *bulk)
{
    size_t length = 0;
    int done = 0;

    if (bulk->complete)
        return 0;
    bulk->broken = t->job.plugin->test(&bulk->mpi, &done, &length) || (done && bulk->take && length != bulk->length);
    bulk->complete = done && !bulk->broken;
    return done;
}

/* ---- opening and closing ---- */

static int mpi_open(struct transport *t, unsigned peer)
{
    struct mpi_way *way = malloc(sizeof(*way));

    if (!way)
        return -ENOMEM;
    way->head = 0;
    way->inbox_full = false;
    way->outgoing = way->spare = NULL;
    way->large = NULL;
    t->peers[peer].way = way;
    for (unsigned slot = 0; slot < POSTED; slot++) {
        if (post(t, peer, slot))
            return -EIO;
    }
    return 0;
}

static int mpi_poll(struct transport *t, unsigned peer)
{
    struct mpi_way *way = t->peers[peer].way;

    return way->outgoing ? finish_outgoing(t, way) : 0;
}

static bool mpi_restless(const struct transport *t, unsigned peer)
{
    return ((const struct mpi_way *)t->peers[peer].way)->outgoing != NULL;
}

static void mpi_lose(struct transport *t, unsigned peer)
{
    ((struct mpi_way *)t->peers[peer].way)->outgoing = NULL; /* not freed: MPI may hold it for ever */
}

const struct provider provider_mpi = {
    .name = "mpi",
    .most_frame = TRANSPORT_MAX_LARGE,
    .window = TRANSPORT_WINDOW,
    .most_bulk = PIECE,
    .most_eager = EAGER,
    .polled = true,
    .open = mpi_open,
    .send = mpi_send,
    .receive = mpi_receive,
    .taken = mpi_taken,
    .bulk_start = mpi_bulk_start,
    .bulk_move = mpi_bulk_move,
    .poll = mpi_poll,
    .restless = mpi_restless,
    .lose = mpi_lose,
};
