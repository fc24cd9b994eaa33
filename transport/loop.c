/*
 * The local member of a session: served in the application's own process, without MPI. What it is sent it gets at once,
 * inside transport_send(); what it sends waits for transport_poll(), as from any other member.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/internal.h"

struct frame {
    struct frame *next;
    size_t length;
    uint8_t bytes[];
};

/* One half of a bulk operation between the application and the local member. */
struct offer {
    struct offer *next;
    bool by_local, take;
    uint32_t tag;
    uint8_t *memory;
    size_t length;
    transport_done *done;
    void *argument;
};

struct loop {
    struct transport_local local;
    struct frame *frames, **last_frame;
    struct offer *offers, **last_offer; /* that wait for the other half */
    struct offer *done, **last_done;
};

struct loop *loop_open(const struct transport_local *local)
{
    struct loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return NULL;
    loop->local = *local;
    loop->last_frame = &loop->frames;
    loop->last_offer = &loop->offers;
    loop->last_done = &loop->done;
    return loop;
}

int loop_frame(struct loop *loop, unsigned from, const void *bytes, size_t length)
{
    return loop->local.frame(loop->local.owner, from, bytes, length);
}

void loop_lose(struct loop *loop, unsigned peer)
{
    loop->local.lost(loop->local.owner, peer);
}

int loop_send(struct loop *loop, const void *bytes, size_t length)
{
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

static struct offer *find_half(struct loop *loop, const struct offer *other)
{
    for (struct offer **at = &loop->offers; *at; at = &(*at)->next) {
        struct offer *offer = *at;

        if (offer->tag != other->tag || offer->by_local == other->by_local || offer->take == other->take)
            continue;
        *at = offer->next;
        if (loop->last_offer == &offer->next)
            loop->last_offer = at;
        return offer;
    }
    return NULL;
}

static void append(struct offer ***last, struct offer *offer)
{
    offer->next = NULL;
    **last = offer;
    *last = &offer->next;
}

int loop_bulk(struct loop *loop, bool by_local, bool take, uint32_t tag, void *memory, size_t length,
              transport_done *done, void *argument)
{
    struct offer *offer = malloc(sizeof(*offer)), *half;

    if (!offer)
        return -ENOMEM;
    *offer = (struct offer){NULL, by_local, take, tag, memory, length, done, argument};
    half = find_half(loop, offer);
    if (!half) {
        append(&loop->last_offer, offer);
        return 0;
    }
    if (length)
        memcpy(take ? memory : half->memory, take ? half->memory : memory,
               length < half->length ? length : half->length);
    append(&loop->last_done, half);
    append(&loop->last_done, offer);
    return 0;
}

int loop_poll(struct loop *loop, bool idle, int (*deliver)(void *owner, const void *bytes, size_t length), void *owner)
{
    int count = loop->local.poll(loop->local.owner, idle);

    for (struct frame *frame; (frame = loop->frames); count++) {
        loop->frames = frame->next;
        if (!frame->next)
            loop->last_frame = &loop->frames;
        deliver(owner, frame->bytes, frame->length);
        free(frame);
    }
    for (struct offer *offer; (offer = loop->done); count++) {
        loop->done = offer->next;
        if (!offer->next)
            loop->last_done = &loop->done;
        offer->done(offer->argument, 0);
        free(offer);
    }
    return count;
}

bool loop_waits(const struct loop *loop)
{
    return loop->frames || loop->done;
}
