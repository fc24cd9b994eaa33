/*
 * The provider of the local member, which is served in the application's own process: nothing is carried. A frame to it
 * is delivered at once, inside transport_send(); a frame from it waits for transport_poll(), as from any other member.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/core/link.h"

struct frame {
    struct frame *next;
    size_t length;
    uint8_t bytes[];
};

/* The local member's half of a bulk operation. */
struct half {
    struct half *next;
    bool take;
    uint32_t tag;
    uint8_t *memory;
    size_t length;
    transport_done *done;
    void *argument;
};

struct loop {
    struct transport_local local;
    struct frame *frames, **last_frame;   /* from the local member */
    struct half *waiting, **last_waiting; /* for the application's half */
    struct half *done, **last_done;
};

static struct loop *loop_of(const struct transport *t)
{
    return t->peers[link_local(t)].way;
}

/* The local member knows already what its bell would say. */
static void carry_nothing(void *carrier, unsigned number, const struct bell_record *record)
{
    (void)carrier, (void)number, (void)record;
}

/* ---- calls of the local member ---- */

int loop_attach(struct transport *t, const struct transport_local *local)
{
    struct peer *peer = &t->peers[link_local(t)];
    struct loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return -ENOMEM;
    loop->local = *local;
    loop->last_frame = &loop->frames;
    loop->last_waiting = &loop->waiting;
    loop->last_done = &loop->done;
    gethostname(peer->host, sizeof(peer->host) - 1);
    peer->bell.carry = carry_nothing;
    peer->provider = &provider_loop;
    peer->way = loop;
    peer->alive = true;
    return 0;
}

int loop_send(struct transport *t, const void *bytes, size_t length)
{
    struct loop *loop = loop_of(t);
    struct frame *frame = malloc(sizeof(*frame) + length);

    if (!frame)
        return -ENOMEM;
    frame->next = NULL;
    frame->length = length;
    memcpy(frame->bytes, bytes, length);
    *loop->last_frame = frame;
    loop->last_frame = &frame->next;
    return 0;
}

static void append(struct half ***last, struct half *half)
{
    half->next = NULL;
    **last = half;
    *last = &half->next;
}

/* Both halves exist: copies the data. done() is called when the owner polls. */
static void meet(struct transport *t, struct bulk *bulk, struct half *half)
{
    const size_t length = bulk->length < half->length ? bulk->length : half->length;

    if (length)
        memcpy(half->take ? half->memory : bulk->memory, half->take ? bulk->memory : half->memory, length);
    bulk->complete = true;
    bulk_over(t, bulk);
    append(&loop_of(t)->last_done, half);
    transport_wake(t);
}

int loop_bulk(struct transport *t, bool take, uint32_t tag, void *memory, size_t length, transport_done *done,
              void *argument)
{
    struct loop *loop = loop_of(t);
    struct half *half = malloc(sizeof(*half));
    struct bulk *bulk = TAILQ_FIRST(&t->bulks);

    if (!half)
        return -ENOMEM;
    *half = (struct half){NULL, take, tag, memory, length, done, argument};
    while (bulk && (bulk->peer != link_local(t) || bulk->complete || bulk->tag != tag || bulk->take == take))
        bulk = TAILQ_NEXT(bulk, all);
    if (bulk)
        meet(t, bulk, half);
    else
        append(&loop->last_waiting, half);
    return 0;
}

/* ---- calls to the local member ---- */

int loop_frame(struct transport *t, unsigned from, const void *bytes, size_t length)
{
    const struct transport_local *local = &loop_of(t)->local;

    return local->frame(local->owner, from, bytes, length);
}

void loop_meet(struct transport *t, unsigned peer)
{
    const struct transport_local *local = &loop_of(t)->local;

    local->joined(local->owner, peer);
}

void loop_lose(struct transport *t, unsigned peer)
{
    const struct transport_local *local = &loop_of(t)->local;

    local->lost(local->owner, peer);
}

/* ---- the provider ---- */

static int provider_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header,
                         const void *bytes, size_t length)
{
    (void)peer, (void)number, (void)header;
    return loop_frame(t, 0, bytes, length);
}

/* The local member has taken all frames, and knows how many of its own were taken. */
static int provider_hear(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];

    peer->bell.acked = peer->sent;
    peer->confirmed = peer->received;
    return 0;
}

static bool provider_receive(struct transport *t, unsigned number, uint32_t frame_number, struct arrived *arrived)
{
    const struct peer *peer = &t->peers[number];
    const struct frame *frame = loop_of(t)->frames;

    (void)frame_number;
    if (frame)
        *arrived = (struct arrived){{FRAME_WHOLE, peer->bell.acked}, frame->bytes, frame->length};
    return frame != NULL;
}

static void provider_taken(struct transport *t, unsigned peer)
{
    struct loop *loop = loop_of(t);
    struct frame *frame = loop->frames;

    (void)peer;
    loop->frames = frame->next;
    if (!frame->next)
        loop->last_frame = &loop->frames;
    free(frame);
}

static int provider_bulk_start(struct transport *t, struct bulk *bulk)
{
    struct loop *loop = loop_of(t);

    for (struct half **at = &loop->waiting; *at; at = &(*at)->next) {
        struct half *half = *at;

        if (half->tag != bulk->tag || half->take == bulk->take)
            continue;
        *at = half->next;
        if (loop->last_waiting == &half->next)
            loop->last_waiting = at;
        meet(t, bulk, half);
        break;
    }
    return 0;
}

static int progress(struct transport *t, unsigned peer, bool idle)
{
    struct loop *loop = loop_of(t);
    int count = loop->local.poll(loop->local.owner, idle);

    if (count < 0) {
        link_lose(t, peer, "the local devices have failed");
        return 0;
    }
    while (t->peers[peer].alive && receive_frame(t, peer))
        count++;
    for (struct half *half; (half = loop->done); count++) {
        loop->done = half->next;
        if (!half->next)
            loop->last_done = &loop->done;
        half->done(half->argument, 0);
        free(half);
    }
    return count;
}

static int provider_poll(struct transport *t, unsigned peer)
{
    return progress(t, peer, false);
}

static void provider_idle(struct transport *t, unsigned peer)
{
    progress(t, peer, true);
}

static unsigned provider_sleep_on(struct transport *t, unsigned peer, struct pollfd *descriptors)
{
    (void)t, (void)peer, (void)descriptors;
    return 0;
}

static bool provider_unseen(const struct transport *t, unsigned peer)
{
    const struct loop *loop = loop_of(t);

    (void)peer;
    return loop->local.unseen(loop->local.owner);
}

static void provider_lose(struct transport *t, unsigned peer)
{
    (void)t, (void)peer;
}

const struct provider provider_loop = {
    .name = "loop",
    .most_frame = SIZE_MAX,
    .window = TRANSPORT_WINDOW,
    .bells = true,
    .send = provider_send,
    .receive = provider_receive,
    .taken = provider_taken,
    .hear = provider_hear,
    .bulk_start = provider_bulk_start,
    .poll = provider_poll,
    .idle = provider_idle,
    .sleep_on = provider_sleep_on,
    .unseen = provider_unseen,
    .lose = provider_lose,
};
