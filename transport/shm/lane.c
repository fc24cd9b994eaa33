/*
 * Frames of one host's session through memory, instead of MPI: a ring (base/ring.h) each way. Frames that do not fit,
 * and all before both sides have the memory, are another provider's; their numbers keep the order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ring.h"
#include "base/settings.h"
#include "transport/shm/lane.h"

#define RING_BYTES ((size_t)128 << 10) /* caches keep it; seven of the longest frames, a window of most */
#define PAD UINT32_MAX                 /* as a length: nothing comes before the ring's end */

/* Before a frame's bytes. */
struct record {
    uint32_t number, kind, acked, length;
};

struct lane_memory {
    struct memory_owner owner;
    struct {
        _Atomic uint64_t bell __attribute__((aligned(RING_LINE)));
        struct ring_credit credit;
        uint8_t bytes[RING_BYTES] __attribute__((aligned(RING_LINE)));
    } ways[2]; /* from the application, from the worker */
    struct lane_side sides[2];
};

/* Or the first frames would find it page by page. */
static void populate(uint8_t *memory)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(memory, sizeof(struct lane_memory), MADV_POPULATE_WRITE))
        return; /* an old kernel */
#else
    (void)memory;
#endif
}

static struct ring ring_of(const struct lane *lane, int way)
{
    return (struct ring){.bytes = lane->memory->ways[way].bytes,
                         .size = RING_BYTES,
                         .bell = &lane->memory->ways[way].bell,
                         .credit = &lane->memory->ways[way].credit};
}

static void open_memory(struct lane *lane, uint8_t *memory)
{
    lane->memory = (struct lane_memory *)memory;
    lane->own = &lane->memory->sides[lane->out];
    lane->other = &lane->memory->sides[!lane->out];
}

int lane_offer(struct lane *lane, struct memory_address *offer)
{
    uint8_t *memory;

    *lane = (struct lane){.fd = -1};
    if (!settings_share_memory() || !settings_number(SETTING_LANE))
        return -ENOTSUP;
    lane->copy = malloc(LANE_FRAME);
    if (!lane->copy)
        return -ENOMEM;
    lane->fd = memory_offer(sizeof(struct lane_memory), offer, &memory);
    if (lane->fd < 0) {
        int error = lane->fd;

        lane_close(lane);
        return error;
    }
    populate(memory);
    open_memory(lane, memory);
    return 0;
}

int lane_accept(struct lane *lane, const struct memory_address *offer)
{
    uint8_t *memory, *copy = malloc(LANE_FRAME);
    int error = copy ? memory_accept(offer, sizeof(struct lane_memory), &memory) : -ENOMEM;

    if (error) {
        free(copy);
        return error;
    }
    populate(memory);
    *lane = (struct lane){.fd = -1, .copy = copy, .out = 1, .open = true};
    open_memory(lane, memory);
    return 0;
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

/* By what the other side has said, asked only when that is too little. */
static bool has_room(struct lane *lane, const struct ring *ring, uint64_t bytes)
{
    if (lane->head + bytes - lane->done <= ring->size)
        return true;
    lane->done = atomic_load_explicit(&ring->credit->tail, memory_order_acquire);
    return lane->head + bytes - lane->done <= ring->size;
}

bool lane_send(struct lane *lane, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes, size_t length)
{
    const struct record record = {number, kind, acked, (uint32_t)length}, pad = {.length = PAD};
    uint64_t most = ring_lines(sizeof(record) + length), left_out;
    struct ring ring;
    uint8_t *at;

    if (!lane->open || length > LANE_FRAME)
        return false;
    ring = ring_of(lane, lane->out);
    left_out = ring_pad(&ring, lane->head, most);
    if (!has_room(lane, &ring, left_out + most))
        return false;
    if (left_out)
        memcpy(ring_at(&ring, lane->head), &pad, sizeof(pad));
    lane->head += left_out;
    at = ring_at(&ring, lane->head);
    memcpy(at, &record, sizeof(record));
    memcpy(at + sizeof(record), bytes, length);
    lane->head += most;
    ring_publish_only(&ring, lane->head); /* lane_must_ring() comes next */
    return true;
}

/* The next record, copied: false if there is none. What cannot be is one of no known kind, and of no bytes. */
static bool next(struct lane *lane, const struct ring *ring, uint32_t number, struct record *record)
{
    uint64_t waits;
    int error = ring_waits(ring, lane->tail, &waits);

    if (!error && !waits)
        return false;
    memcpy(record, ring_at(ring, lane->tail), sizeof(*record));
    atomic_signal_fence(memory_order_seq_cst); /* the copy is what is checked */
    if (!error && record->length == PAD && waits == ring_rest(ring, lane->tail) && waits != ring->size) {
        lane->tail += waits;
        ring_retire(ring, lane->tail);
        return next(lane, ring, number, record);
    }
    if (error || record->length > LANE_FRAME || ring_lines(sizeof(*record) + record->length) > waits ||
        (int32_t)(record->number - number) < 0)
        *record = (struct record){.number = number, .kind = LANE_NONSENSE};
    return true;
}

bool lane_waits(struct lane *lane, uint32_t number)
{
    struct record record;
    struct ring ring;

    if (!lane->memory)
        return false;
    ring = ring_of(lane, !lane->out);
    return next(lane, &ring, number, &record) && record.number == number;
}

/* Copied, or the other side could change it after it has been checked. */
const uint8_t *lane_receive(struct lane *lane, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length)
{
    struct ring ring;
    struct record record;

    if (!lane->memory)
        return NULL;
    ring = ring_of(lane, !lane->out);
    if (!next(lane, &ring, number, &record) || record.number != number)
        return NULL;
    *length = record.length;
    *kind = record.kind;
    *acked = record.acked;
    memcpy(lane->copy, ring_at(&ring, lane->tail) + sizeof(record), record.length);
    lane->tail += ring_lines(sizeof(record) + record.length);
    ring_retire(&ring, lane->tail);
    return lane->copy;
}
