/* Incoming frames, by the provider of the pair or through shared memory (transport/shm/ring.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/timeline.h"
#include "transport/core/link.h"

static void deliver(struct transport *t, unsigned number, bool local, const void *bytes, size_t length)
{
    int error;

    t->peers[number].bytes_in += HEADER + length;
    if (timeline_wanted())
        timeline_count(TIMELINE_FRAME, number, false, (uint64_t)clock_ns(), length);
    if (!local)
        error = t->callbacks.frame(t->callbacks.owner, number, bytes, length);
    else if (t->client)
        error = link_has_local(t) ? loop_frame(t, number, bytes, length) : -EBADMSG;
    else
        error = number ? -EBADMSG : t->callbacks.frame(t->callbacks.owner, link_local(t), bytes, length);
    if (error)
        link_lose(t, number, "it sent a malformed frame");
}

static void take_offer(struct transport *t, unsigned number, const uint8_t *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    struct memory_address offer;

    if (t->client || number != 0 || peer->ring.memory || length != sizeof(offer)) {
        link_lose(t, number, "it offered an invalid shared-memory ring");
        return;
    }
    memcpy(&offer, bytes, sizeof(offer));
    /* From now on the peer confirms frames, and says that it sleeps, in the ring. */
    if (!shm_ring_accept(&peer->ring, &offer))
        bell_send(&peer->bell, BELL_ACCEPTED, 0);
}

static void take_news(struct transport *t, unsigned number, const uint8_t *bytes, size_t length)
{
    struct member_news news;

    if (length == sizeof(news)) {
        memcpy(&news, bytes, sizeof(news));
        news.host[sizeof(news.host) - 1] = news.endpoint[sizeof(news.endpoint) - 1] = '\0';
    }
    if (length != sizeof(news) || t->membership->news(t, number, &news))
        link_lose(t, number, "it sent invalid news of a member");
}

static void take_frame(struct transport *t, unsigned number, const struct arrived *frame)
{
    struct peer *peer = &t->peers[number];

    fault_step(FAULT_FRAME_TAKEN);
    if ((int32_t)(peer->sent - frame->header.acked) < 0) {
        link_lose(t, number, "it acknowledges frames that were not sent");
        return;
    }
    if ((int32_t)(frame->header.acked - peer->bell.acked) > 0)
        peer->bell.acked = frame->header.acked;
    switch (frame->header.kind & ~(uint32_t)FRAME_LOCAL) {
    case FRAME_WHOLE:
        deliver(t, number, frame->header.kind & FRAME_LOCAL, frame->bytes, frame->length);
        break;
    case FRAME_OFFER:
        take_offer(t, number, frame->bytes, frame->length);
        break;
    case FRAME_MEMBER:
        take_news(t, number, frame->bytes, frame->length);
        break;
    case FRAME_THERE:
    case FRAME_TOOK:
        if (!peer->provider->own_frame ||
            !peer->provider->own_frame(t, number, frame->header.kind, frame->bytes, frame->length))
            link_lose(t, number,
                      frame->header.kind == FRAME_TOOK ? "it confirmed a copy that was not offered"
                                                       : "it made an invalid offer of bulk data");
        break;
    default:
        link_lose(t, number, "it sent a frame of no known kind");
    }
    if (peer->alive)
        link_took(peer);
}

/* Takes one frame of the peer, if there is one. The provider may have a later frame than the ring, which then waits: so
 * the ring is read once more. */
int receive_frame(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    const struct provider *provider = peer->provider;
    struct arrived frame;

    if (provider_shm.receive(t, number, peer->received, &frame)) {
        take_frame(t, number, &frame);
        return 1;
    }
    if (!provider->receive(t, number, peer->received, &frame))
        return 0;
    if (provider_shm.receive(t, number, peer->received, &frame)) {
        take_frame(t, number, &frame);
        return 1;
    }
    take_frame(t, number, &frame);
    if (peer->alive)
        provider->taken(t, number);
    return 1;
}
