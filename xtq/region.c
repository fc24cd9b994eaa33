/* A rank's memory that initiators of the same host write: its layout, and waking threads that wait there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xtq/internal.h"

#define PAGE 4096

/* The layout: header | bells by queue and initiator | credits likewise | rings likewise */
static size_t bells_at(const struct region *region, unsigned queue)
{
    return sizeof(struct region_header) + queue * ring_lines(region->ranks * sizeof(uint64_t));
}

static size_t credits_at(const struct region *region)
{
    return bells_at(region, region->queues);
}

static size_t rings_at(const struct region *region)
{
    size_t end = credits_at(region) + (size_t)region->queues * region->ranks * sizeof(struct ring_credit);

    return (end + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t region_bytes(const struct region *region)
{
    return rings_at(region) + (size_t)region->queues * region->ranks * region->lane_bytes;
}

struct region_header *region_header(const struct region *region, unsigned rank)
{
    return (struct region_header *)region->neighbours.memory[rank];
}

static size_t lane_number(const struct region *region, unsigned queue, unsigned initiator)
{
    return (size_t)queue * region->ranks + initiator;
}

struct ring region_lane(const struct region *region, unsigned target, unsigned queue, unsigned initiator)
{
    uint8_t *base = (uint8_t *)region->neighbours.memory[target];
    size_t number = lane_number(region, queue, initiator);

    return (struct ring){
        .bytes = base + rings_at(region) + number * region->lane_bytes,
        .size = region->lane_bytes,
        .bell = (_Atomic uint64_t *)(base + bells_at(region, queue)) + initiator,
        .credit = (struct ring_credit *)(base + credits_at(region)) + number,
    };
}

struct ring_credit *region_mirror(const struct region *region, unsigned target, unsigned queue)
{
    return (struct ring_credit *)region->mirror + lane_number(region, queue, target);
}

_Atomic uint32_t *region_asleep(const struct region *region, unsigned rank, unsigned server)
{
    return &region_header(region, rank)->servers[server].asleep;
}

void region_ring(_Atomic uint32_t *asleep)
{
    doze_ring(asleep, ASLEEP);
    doze_ring(asleep, ALONE);
}

void region_rouse(_Atomic uint32_t *asleep)
{
    atomic_store(asleep, AWAKE);
    futex_wake(asleep);
}

void region_wake_napping(const struct region *region, unsigned rank)
{
    doze_ring(&region_header(region, rank)->napping, DOZE_SLEEPS);
}

void region_wake(const struct region *region, unsigned rank, unsigned queue, bool quiet)
{
    uint32_t server = atomic_load_explicit(&region_header(region, rank)->server_of[queue], memory_order_relaxed);

    _Atomic uint32_t *asleep = region_asleep(region, rank, server < SERVERS ? server : REFUSER);

    if (!quiet)
        doze_ring(asleep, ASLEEP);
    doze_ring(asleep, ALONE);
    region_wake_napping(region, rank);
}

int region_open(struct region *region, MPI_Comm comm, unsigned queues, size_t lane_bytes)
{
    int rank, size, error;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    *region = (struct region){.ranks = (unsigned)size, .queues = queues, .lane_bytes = lane_bytes};
    error = neighbours_open(&region->neighbours, comm, region_bytes(region));
    region->mirror = aligned_alloc(RING_LINE, queues * (size_t)size * sizeof(struct ring_credit));
    if (!error && !region->mirror)
        error = -ENOMEM;
    if (!error) {
        memset(region->mirror, 0, queues * (size_t)size * sizeof(struct ring_credit));
        for (unsigned queue = 0; queue < MOST_QUEUES; queue++)
            region_header(region, (unsigned)rank)->server_of[queue] = REFUSER;
    }
    return ranks_agree(comm, error); /* also a barrier */
}

void region_close(struct region *region)
{
    neighbours_close(&region->neighbours);
    free(region->mirror);
}
