/* Frames that arrive: by MPI, or through memory (lane.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link.h"

#define ACK_EVERY 16 /* frames taken without having said so */

int receive_post(struct transport *t, unsigned peer, unsigned slot)
{
    struct inbox *inbox = &t->peers[peer].inboxes[slot];

    return t->job.plugin->receive((int)peer, PLUGIN_CONTROL, FRAME_TAG, inbox->bytes, sizeof(inbox->bytes),
                                  &inbox->request);
}

static void taken(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];

    peer->received++;
    if (peer->received - peer->told >= ACK_EVERY) {
        peer->told = peer->received;
        bell_send(&peer->bell, BELL_ACK, peer->received);
    }
}

static void deliver(struct transport *t, unsigned number, bool local, const void *bytes, size_t length)
{
    int error;

    t->peers[number].bytes_in += HEADER + length;
    if (!local)
        error = t->callbacks.frame(t->callbacks.owner, number, bytes, length);
    else if (t->client)
        error = t->loop ? loop_frame(t->loop, number, bytes, length) : -EBADMSG;
    else
        error = number ? -EBADMSG : t->callbacks.frame(t->callbacks.owner, (unsigned)t->job.size, bytes, length);
    if (error)
        link_lose(t, number, "it sent a malformed frame");
}

static void announce_large(struct transport *t, unsigned number, const uint8_t *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    uint64_t size;

    if (length != sizeof(size)) {
        link_lose(t, number, "it sent a malformed announcement");
        return;
    }
    memcpy(&size, bytes, sizeof(size));
    if (size <= TRANSPORT_MAX_FRAME || size > TRANSPORT_MAX_LARGE) {
        link_lose(t, number, "it announced an impossible frame");
        return;
    }
    peer->large = malloc(size);
    peer->large_length = size;
    if (!peer->large ||
        t->job.plugin->receive((int)number, PLUGIN_CONTROL, LARGE_TAG, peer->large, size, &peer->large_request))
        link_lose(t, number, "no memory for what it sends");
}

static void take_offer(struct transport *t, unsigned number, const uint8_t *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    struct lane_offer offer;

    if (t->client || number != 0 || peer->lane.memory || length != sizeof(offer)) {
        link_lose(t, number, "it offered a lane that cannot be");
        return;
    }
    memcpy(&offer, bytes, sizeof(offer));
    if (!lane_accept(&peer->lane, &offer))
        bell_send(&peer->bell, BELL_LANE, 0);
}

static void take_frame(struct transport *t, unsigned number, struct frame_header header, const uint8_t *bytes,
                       size_t length)
{
    struct peer *peer = &t->peers[number];

    if ((int32_t)(peer->sent - header.acked) < 0) {
        link_lose(t, number, "it confirms what it was not sent");
        return;
    }
    if ((int32_t)(header.acked - peer->bell.acked) > 0)
        peer->bell.acked = header.acked;
    peer->large_local = header.kind & FRAME_LOCAL;
    switch (header.kind & ~(uint32_t)FRAME_LOCAL) {
    case FRAME_WHOLE:
        deliver(t, number, peer->large_local, bytes, length);
        break;
    case FRAME_LARGE:
        announce_large(t, number, bytes, length);
        break;
    case FRAME_LANE:
        take_offer(t, number, bytes, length);
        break;
    default:
        link_lose(t, number, "it sent a frame of no known kind");
    }
    if (peer->alive)
        taken(t, number);
}

/* What comes after it waits. */
static int receive_large(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    uint8_t *large = peer->large;
    size_t length = 0;
    int done = 0;

    if (t->job.plugin->test(&peer->large_request, &done, &length) || !done)
        return 0;
    peer->large = NULL;
    if (length == peer->large_length)
        deliver(t, number, peer->large_local, large, length);
    else
        link_lose(t, number, "a frame is shorter than announced");
    free(large);
    return 1;
}

static int receive_by_lane(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct frame_header header;
    size_t length;
    const uint8_t *bytes = lane_receive(&peer->lane, peer->received, &header.kind, &header.acked, &length);

    take_frame(t, number, header, bytes, length);
    return 1;
}

/* One frame of one peer, if there is one. What MPI has may be later than what is in the lane, and waits then. */
int receive_frame(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct inbox *inbox = &peer->inboxes[peer->head];
    struct frame_header header;
    int done = 0;

    if (peer->large)
        return receive_large(t, number);
    if (lane_waits(&peer->lane, peer->received))
        return receive_by_lane(t, number);
    if (!peer->inbox_full) {
        if (t->job.plugin->test(&inbox->request, &done, &peer->inbox_length)) {
            link_fail(t);
            return 0;
        }
        if (!done)
            return 0;
        peer->inbox_full = true;
        if (lane_waits(&peer->lane, peer->received))
            return receive_by_lane(t, number);
    }
    peer->inbox_full = false;
    if (peer->inbox_length < HEADER) {
        link_lose(t, number, "it sent a frame without a header");
        return 1;
    }
    memcpy(&header, inbox->bytes, HEADER);
    take_frame(t, number, header, inbox->bytes + HEADER, peer->inbox_length - HEADER);
    if (peer->alive) {
        if (receive_post(t, number, peer->head))
            link_fail(t);
        peer->head = (peer->head + 1) % POSTED;
    }
    return 1;
}
