/* The provider of frames through shared memory. Another provider beside it carries larger frames, bulk data, and the
 * bell. */
#include <errno.h>

#include "transport/core/link.h"

static int provider_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header,
                         const void *bytes, size_t length)
{
    struct peer *to = &t->peers[peer];

    if (to->bell.ring)
        shm_ring_confirm(&to->ring);
    return shm_ring_send(&to->ring, number, header.kind, header.acked, bytes, length) ? 0 : -EXDEV;
}

static bool provider_receive(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame)
{
    const uint8_t *bytes =
        shm_ring_receive(&t->peers[peer].ring, number, &frame->header.kind, &frame->header.acked, &frame->length);

    if (!bytes)
        return false; /* the next frame may come by the other provider */
    frame->bytes = bytes;
    return true;
}

static void provider_lose(struct transport *t, unsigned peer)
{
    shm_ring_close(&t->peers[peer].ring);
}

static void provider_close(struct transport *t, unsigned peer, bool forget)
{
    (void)forget;
    stored_close(&t->peers[peer].ring.fd);
}

const struct provider provider_shm = {
    .name = "shm",
    .most_frame = SHM_RING_FRAME,
    .polled = true,
    .send = provider_send,
    .receive = provider_receive,
    .lose = provider_lose,
    .close = provider_close,
};
