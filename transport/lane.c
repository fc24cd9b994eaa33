/*
 * Frames of one host's session through memory, instead of MPI: a lane each way, as XTQ's (xtq/ring.h) but with slots of
 * one size, one for each frame that may be unacknowledged; so a slot is free when its turn comes, and there is nothing
 * to count. Frames that do not fit, and all before both sides have the memory, are another provider's; their numbers
 * keep the order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/settings.h"
#include "transport/link.h"

struct slot {
    _Atomic uint32_t number; /* of the frame here, counted from 1; written last */
    uint32_t kind, acked, length;
    uint8_t bytes[LANE_FRAME];
};

struct lane_memory {
    uint8_t nonce[LANE_NONCE];
    struct slot slots[2][TRANSPORT_WINDOW] __attribute__((aligned(64))); /* from the application, from the worker */
};

static struct lane_memory *map(int fd)
{
    void *memory = mmap(NULL, sizeof(struct lane_memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

int lane_offer(struct lane *lane, struct lane_offer *offer)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int error;

    *lane = (struct lane){.fd = -1};
    if (!settings_share_memory() || !settings_number(SETTING_LANE))
        return -ENOTSUP;
    lane->fd = memfd_create("vocl-lane", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (lane->fd < 0)
        return -errno;
    if (ftruncate(lane->fd, sizeof(struct lane_memory)) || fcntl(lane->fd, F_ADD_SEALS, seals) ||
        !(lane->memory = map(lane->fd)) || !(lane->copy = malloc(LANE_FRAME)) ||
        getrandom(lane->memory->nonce, LANE_NONCE, 0) != LANE_NONCE) {
        error = -errno;
        lane_close(lane);
        return error;
    }
    lane->out = 0;
    *offer = (struct lane_offer){.process = (uint32_t)getpid(), .descriptor = (uint32_t)lane->fd};
    memcpy(offer->nonce, lane->memory->nonce, LANE_NONCE);
    return 0;
}

/* The process and descriptor may be another host's, and its size must not change under our hands. */
int lane_accept(struct lane *lane, const struct lane_offer *offer)
{
    struct lane_memory *memory = NULL;
    uint64_t size;
    int fd = memory_of_process(offer->process, offer->descriptor, &size), seals;

    if (fd < 0)
        return fd;
    seals = fcntl(fd, F_GET_SEALS);
    if (size == sizeof(struct lane_memory) && seals >= 0 && seals & F_SEAL_SHRINK)
        memory = map(fd);
    close(fd);
    if (memory && memcmp(memory->nonce, offer->nonce, LANE_NONCE)) {
        munmap(memory, sizeof(*memory));
        memory = NULL;
    }
    if (!memory)
        return -EXDEV;
    *lane = (struct lane){.fd = -1, .memory = memory, .copy = malloc(LANE_FRAME), .out = 1, .open = true};
    if (lane->copy)
        return 0;
    lane_close(lane);
    return -ENOMEM;
}

void lane_confirm(struct lane *lane)
{
    if (!lane->memory || lane->open)
        return;
    lane->open = true;
    close(lane->fd);
    lane->fd = -1;
}

void lane_close(struct lane *lane)
{
    if (lane->memory)
        munmap(lane->memory, sizeof(*lane->memory));
    free(lane->copy);
    if (lane->fd >= 0)
        close(lane->fd);
    *lane = (struct lane){.fd = -1};
}

bool lane_send(struct lane *lane, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes, size_t length)
{
    struct slot *slot;

    if (!lane->open || length > sizeof(slot->bytes))
        return false;
    slot = &lane->memory->slots[lane->out][number % TRANSPORT_WINDOW];
    slot->kind = kind;
    slot->acked = acked;
    slot->length = (uint32_t)length;
    memcpy(slot->bytes, bytes, length);
    atomic_store_explicit(&slot->number, number + 1, memory_order_release);
    return true;
}

bool lane_waits(const struct lane *lane, uint32_t number)
{
    return lane->memory && atomic_load_explicit(&lane->memory->slots[!lane->out][number % TRANSPORT_WINDOW].number,
                                                memory_order_acquire) == number + 1;
}

/* Copied, or the other side could change it after it has been checked. */
const uint8_t *lane_receive(const struct lane *lane, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length)
{
    const struct slot *slot = &lane->memory->slots[!lane->out][number % TRANSPORT_WINDOW];
    size_t said = *(const volatile uint32_t *)&slot->length;

    *length = said < LANE_FRAME ? said : LANE_FRAME;
    *kind = slot->kind;
    *acked = slot->acked;
    memcpy(lane->copy, slot->bytes, *length);
    return lane->copy;
}

/* ---- the provider ---- */

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
    const struct lane *lane = &t->peers[peer].lane;

    if (!lane_waits(lane, number))
        return false;
    frame->bytes = lane_receive(lane, number, &frame->header.kind, &frame->header.acked, &frame->length);
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

/* Beside another, which carries what does not fit, and the bell. */
const struct provider provider_lane = {
    .name = "lane",
    .most_frame = LANE_FRAME,
    .polled = true,
    .send = provider_send,
    .receive = provider_receive,
    .lose = provider_lose,
    .close = provider_close,
};
