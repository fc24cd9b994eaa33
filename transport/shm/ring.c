/*
 * Frames of one host's session through shared memory, instead of MPI: a ring (base/ring.h) for each direction. Frames
 * that do not fit, and all before both sides have the memory, go by another provider; their numbers keep the order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ring.h"
#include "base/settings.h"
#include "transport/shm/ring.h"

#define RING_BYTES ((size_t)128 << 10) /* fits into caches; holds seven of the longest frames, a window of most */
#define PAD UINT32_MAX                 /* a length: no record follows before the ring's end */

/* The header of a frame in the ring. */
struct record {
    uint32_t number, kind, acked, length;
};

struct shm_ring_memory {
    struct memory_owner owner;
    struct {
        _Atomic uint64_t bell __attribute__((aligned(RING_LINE)));
        struct ring_credit credit;
        uint8_t bytes[RING_BYTES] __attribute__((aligned(RING_LINE)));
    } ways[2]; /* from the application, from the worker */
    struct shm_ring_side sides[2];
};

/* Otherwise the first frames would have page faults. */
static void populate(uint8_t *memory)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(memory, sizeof(struct shm_ring_memory), MADV_POPULATE_WRITE))
        return; /* an old kernel */
#else
    (void)memory;
#endif
}

static struct ring ring_of(const struct shm_ring *shm, int way)
{
    return (struct ring){.bytes = shm->memory->ways[way].bytes,
                         .size = RING_BYTES,
                         .bell = &shm->memory->ways[way].bell,
                         .credit = &shm->memory->ways[way].credit};
}

static void open_memory(struct shm_ring *shm, uint8_t *memory)
{
    shm->memory = (struct shm_ring_memory *)memory;
    shm->own = &shm->memory->sides[shm->out];
    shm->other = &shm->memory->sides[!shm->out];
}

int shm_ring_offer(struct shm_ring *shm, struct memory_address *offer)
{
    uint8_t *memory;
    int fd;

    *shm = (struct shm_ring){.fd.fd = -1};
    if (!settings_share_memory() || !settings_number(SETTING_RING))
        return -ENOTSUP;
    shm->copy = malloc(SHM_RING_FRAME);
    if (!shm->copy)
        return -ENOMEM;
    fd = memory_offer(sizeof(struct shm_ring_memory), offer, &memory);
    if (fd < 0) {
        shm_ring_close(shm);
        return fd;
    }
    stored_hold(&shm->fd, NULL, fd);
    offer->descriptor = (uint32_t)shm->fd.fd;
    populate(memory);
    open_memory(shm, memory);
    return 0;
}

int shm_ring_accept(struct shm_ring *shm, const struct memory_address *offer)
{
    uint8_t *memory, *copy = malloc(SHM_RING_FRAME);
    int error = copy ? memory_accept(offer, sizeof(struct shm_ring_memory), &memory) : -ENOMEM;

    if (error) {
        free(copy);
        return error;
    }
    populate(memory);
    *shm = (struct shm_ring){.fd.fd = -1, .copy = copy, .out = 1, .open = true};
    open_memory(shm, memory);
    return 0;
}

void shm_ring_confirm(struct shm_ring *shm)
{
    if (!shm->memory || shm->open)
        return;
    shm->open = true;
    stored_close(&shm->fd);
}

void shm_ring_close(struct shm_ring *shm)
{
    if (shm->memory)
        munmap(shm->memory, sizeof(*shm->memory));
    free(shm->copy);
    stored_close(&shm->fd);
    *shm = (struct shm_ring){.fd.fd = -1};
}

/* Uses the other side's last known position, and reads it anew only if that leaves too little room. */
static bool has_room(struct shm_ring *shm, const struct ring *ring, uint64_t bytes)
{
    if (shm->head + bytes - shm->done <= ring->size)
        return true;
    shm->done = atomic_load_explicit(&ring->credit->tail, memory_order_acquire);
    return shm->head + bytes - shm->done <= ring->size;
}

bool shm_ring_send(struct shm_ring *shm, uint32_t number, uint32_t kind, uint32_t acked, const void *bytes,
                   size_t length)
{
    const struct record record = {number, kind, acked, (uint32_t)length}, pad = {.length = PAD};
    uint64_t most = ring_lines(sizeof(record) + length), left_out;
    struct ring ring;
    uint8_t *at;

    if (!shm->open || length > SHM_RING_FRAME)
        return false;
    ring = ring_of(shm, shm->out);
    left_out = ring_pad(&ring, shm->head, most);
    if (!has_room(shm, &ring, left_out + most))
        return false;
    if (left_out)
        memcpy(ring_at(&ring, shm->head), &pad, sizeof(pad));
    shm->head += left_out;
    at = ring_at(&ring, shm->head);
    memcpy(at, &record, sizeof(record));
    memcpy(at + sizeof(record), bytes, length);
    shm->head += most;
    ring_publish_only(&ring, shm->head); /* the caller calls shm_ring_must_ring() next */
    return true;
}

/* Copies the next record's header: false if there is none. An invalid record gets the kind SHM_RING_NONSENSE and no
 * bytes. */
static bool next(struct shm_ring *shm, const struct ring *ring, uint32_t number, struct record *record)
{
    uint64_t waits;
    int error = ring_waits(ring, shm->tail, &waits);

    if (!error && !waits)
        return false;
    memcpy(record, ring_at(ring, shm->tail), sizeof(*record));
    atomic_signal_fence(memory_order_seq_cst); /* the checks below are of the copy */
    if (!error && record->length == PAD && waits == ring_rest(ring, shm->tail) && waits != ring->size) {
        shm->tail += waits;
        ring_retire(ring, shm->tail);
        return next(shm, ring, number, record);
    }
    if (error || record->length > SHM_RING_FRAME || ring_lines(sizeof(*record) + record->length) > waits ||
        (int32_t)(record->number - number) < 0)
        *record = (struct record){.number = number, .kind = SHM_RING_NONSENSE};
    return true;
}

bool shm_ring_waits(struct shm_ring *shm, uint32_t number)
{
    struct record record;
    struct ring ring;

    if (!shm->memory)
        return false;
    ring = ring_of(shm, !shm->out);
    return next(shm, &ring, number, &record) && record.number == number;
}

/* The frame is copied: the other side could change it in the ring after it has been checked. */
const uint8_t *shm_ring_receive(struct shm_ring *shm, uint32_t number, uint32_t *kind, uint32_t *acked, size_t *length)
{
    struct ring ring;
    struct record record;

    if (!shm->memory)
        return NULL;
    ring = ring_of(shm, !shm->out);
    if (!next(shm, &ring, number, &record) || record.number != number)
        return NULL;
    *length = record.length;
    *kind = record.kind;
    *acked = record.acked;
    memcpy(shm->copy, ring_at(&ring, shm->tail) + sizeof(record), record.length);
    shm->tail += ring_lines(sizeof(record) + record.length);
    ring_retire(&ring, shm->tail);
    return shm->copy;
}
