/* The global address space: one range of addresses, the same on all ranks (chapter 6; TCA's window), with slots for
 * each rank and device. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/memory.h"
#include "devcom/internal.h"

#define TRIES 8
#define ALIGNMENT ((size_t)2 << 20)
#define FURTHER ((uintptr_t)16 << 30) /* more than a process has mapped in one place */

struct devcom_ggas {
    struct devcom *d;
    uint8_t *base;
    size_t slot_bytes, used_bytes;
    unsigned first, slots;
};

static size_t range_bytes(const struct devcom_ggas *g)
{
    return (size_t)g->d->size * g->slots * g->slot_bytes;
}

static uint8_t *slot_at(const struct devcom_ggas *g, int rank, unsigned slot)
{
    return g->base + ((size_t)rank * g->slots + slot) * g->slot_bytes;
}

/* Reserves a range of addresses: at the address that another rank has found (fixed), or anywhere, preferably there. */
static uint8_t *reserve(size_t bytes, void *at, bool fixed)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (fixed ? MEMORY_AT : 0);
    void *range = mmap(at, bytes, PROT_NONE, flags, -1, 0);

    if (range == MAP_FAILED)
        return NULL;
    if (fixed && range != at) {
        munmap(range, bytes);
        return NULL;
    }
    return range;
}

/* The first rank finds a range, and the others try to reserve it. The next try is far from there, as the mapping in the
 * way is large. Unsuitable ranges stay reserved until the end, since they would be found again. */
static int reserve_everywhere(struct devcom_ggas *g)
{
    uint8_t *tried[TRIES] = {NULL};
    int error = -ENOMEM;

    for (int i = 0; i < TRIES && error == -ENOMEM; i++) {
        uint64_t place = 0;

        if (g->d->rank == 0) {
            tried[i] =
                reserve(range_bytes(g), i && tried[i - 1] ? (void *)((uintptr_t)tried[i - 1] - FURTHER) : NULL, false);
            place = (uintptr_t)tried[i];
        }
        error = collective_share(g->d, &place);
        if (error)
            break;
        if (g->d->rank != 0 && place)
            tried[i] = reserve(range_bytes(g), (void *)(uintptr_t)place, true);
        error = context_agree(g->d, tried[i] ? 0 : -ENOMEM);
        if (!error) {
            g->base = tried[i];
            tried[i] = NULL;
        }
    }
    for (int i = 0; i < TRIES; i++) {
        if (tried[i])
            munmap(tried[i], range_bytes(g));
    }
    return error;
}

static int map_slots(struct devcom_ggas *g, const struct devcom_memory *memory)
{
    int error = 0;

    for (unsigned slot = 0; slot < g->slots && !error; slot++)
        error = segment_alloc_at(g->d, g->first + slot, memory, slot_at(g, g->d->rank, slot));
    error = context_agree(g->d, error);
    for (int rank = 0; rank < g->d->size && !error; rank++) {
        for (unsigned slot = 0; slot < g->slots && rank != g->d->rank && !error; slot++)
            error = attachment_fix(g->d, rank, g->first + slot, slot_at(g, rank, slot));
    }
    return context_agree(g->d, error);
}

/* Deletes the slots, whose addresses stay reserved until the whole range is unmapped here. */
static void unmap_slots(struct devcom_ggas *g)
{
    for (unsigned slot = 0; slot < g->slots; slot++) {
        devcom_segment_delete(g->d, g->first + slot);
        for (int rank = 0; rank < g->d->size; rank++)
            attachment_forget(g->d, rank, g->first + slot);
    }
    if (g->base)
        munmap(g->base, range_bytes(g));
    free(g);
}

static int check(struct devcom *d, unsigned first, unsigned slots, const struct devcom_memory *memory)
{
    if (!slots || !memory->bytes || memory->bytes > (size_t)1 << 40 || first >= d->o.segments ||
        slots > d->o.segments - first || memory->address || memory->buffer)
        return -EINVAL;
    if (!d->neighbours.all) {
        vocl_log(LOG_ERROR, "devcom: a global address space needs all ranks on one host; some are on other hosts");
        return -ENOTSUP;
    }
    for (unsigned slot = 0; slot < slots; slot++) {
        if (d->own[first + slot])
            return -EBUSY;
    }
    return 0;
}

/* Collective. Whether all ranks pass the same values: they place all ranks' slots by their own. */
static int agree_on(struct devcom *d, const uint64_t *values, unsigned count)
{
    bool same = true;
    int error = 0;

    for (unsigned i = 0; i < count && !error; i++) {
        uint64_t value = values[i];

        error = collective_share(d, &value);
        same = same && value == values[i];
    }
    return error ? error : context_agree(d, same ? 0 : -EINVAL);
}

int devcom_ggas_open(struct devcom *d, unsigned first, unsigned slots, const struct devcom_memory *memory,
                     struct devcom_ggas **out)
{
    struct devcom_ggas *g;
    int error;

    if (!d)
        return -EINVAL;
    g = calloc(1, sizeof(*g));
    error = context_agree(d, !g ? -ENOMEM : memory && out ? check(d, first, slots, memory) : -EINVAL);
    if (!error)
        error = agree_on(d, (uint64_t[]){first, slots, memory->bytes}, 3);
    if (error) {
        free(g);
        return error;
    }
    *g = (struct devcom_ggas){.d = d, .first = first, .slots = slots, .used_bytes = memory->bytes};
    g->slot_bytes = (memory->bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    error = reserve_everywhere(g);
    if (!error)
        error = map_slots(g, memory);
    if (error) {
        unmap_slots(g);
        return error;
    }
    *out = g;
    return 0;
}

int devcom_ggas_close(struct devcom_ggas *g)
{
    int error = g ? context_agree(g->d, 0) : -EINVAL;

    if (!g)
        return error;

    unmap_slots(g);
    return error;
}

void *devcom_ggas_ptr(const struct devcom_ggas *g, int rank, unsigned slot)
{
    return g && rank_valid(g->d, rank) && slot < g->slots ? slot_at(g, rank, slot) : NULL;
}

int devcom_ggas_owner(const struct devcom_ggas *g, const void *address, int *rank, unsigned *slot, size_t *offset)
{
    uintptr_t from;

    if (!g || !rank || !slot || !offset)
        return -EINVAL;
    from = (uintptr_t)address - (uintptr_t)g->base;
    if ((uintptr_t)address < (uintptr_t)g->base || from >= range_bytes(g) || from % g->slot_bytes >= g->used_bytes)
        return -EFAULT;
    *rank = (int)(from / g->slot_bytes / g->slots);
    *slot = (unsigned)(from / g->slot_bytes % g->slots);
    *offset = from % g->slot_bytes;
    return 0;
}
