/* The provider of frames through memory, beside another, which carries what does not fit, and the bell. */
#include <errno.h>
#include <unistd.h>

#include "transport/core/link.h"

static int provider_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header,
                         const void *bytes, size_t length)
{
    struct peer *to = &t->peers[peer];

    if (to->bell.lane)
        lane_confirm(&to->lane);
    return lane_send(&to->lane, number, header.kind, header.acked, bytes, length) ? 0 : -EXDEV;
}

static bool provider_receive(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame)
{
    const uint8_t *bytes =
        lane_receive(&t->peers[peer].lane, number, &frame->header.kind, &frame->header.acked, &frame->length);

    if (!bytes)
        return false; /* and the frame may be another provider's */
    frame->bytes = bytes;
    return true;
}

static void provider_lose(struct transport *t, unsigned peer)
{
    lane_close(&t->peers[peer].lane);
}

static void provider_close(struct transport *t, unsigned peer, bool forget)
{
    (void)forget;
    if (t->peers[peer].lane.fd >= 0)
        close(t->peers[peer].lane.fd);
}

const struct provider provider_lane = {
    .name = "lane",
    .most_frame = LANE_FRAME,
    .polled = true,
    .send = provider_send,
    .receive = provider_receive,
    .lose = provider_lose,
    .close = provider_close,
};
