/* Memory that initiators of the same host write, as MPI shares it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/futex.h"
#include "base/settings.h"
#include "xtq/internal.h"

#define PAGE 4096

/* header | bells by queue and initiator | credits likewise | rings likewise */
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
    return (struct region_header *)region->bases[rank];
}

static size_t lane_number(const struct region *region, unsigned queue, unsigned initiator)
{
    return (size_t)queue * region->ranks + initiator;
}

struct ring region_lane(const struct region *region, unsigned target, unsigned queue, unsigned initiator)
{
    uint8_t *base = region->bases[target];
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

static void ring_if(_Atomic uint32_t *asleep, uint32_t value)
{
    if (atomic_load(asleep) == value && atomic_compare_exchange_strong(asleep, &value, AWAKE))
        futex_wake(asleep);
}

void region_ring(_Atomic uint32_t *asleep)
{
    ring_if(asleep, ASLEEP);
    ring_if(asleep, ALONE);
}

void region_rouse(_Atomic uint32_t *asleep)
{
    atomic_store(asleep, AWAKE);
    futex_wake(asleep);
}

void region_wake_napping(const struct region *region, unsigned rank)
{
    _Static_assert((uint32_t)UP == AWAKE, "one function for both");

    ring_if(&region_header(region, rank)->napping, NAPPING);
}

void region_wake(const struct region *region, unsigned rank, unsigned queue, bool quiet)
{
    uint32_t server = atomic_load_explicit(&region_header(region, rank)->server_of[queue], memory_order_relaxed);

    _Atomic uint32_t *asleep = region_asleep(region, rank, server < SERVERS ? server : REFUSER);

    if (!quiet)
        ring_if(asleep, ASLEEP);
    ring_if(asleep, ALONE);
    region_wake_napping(region, rank);
}

/* Where the ranks of this host have their regions here: each begins with the first page that MPI's memory holds whole.
 */
static int find_others(struct region *region, MPI_Comm comm, MPI_Comm node)
{
    int size, *theirs, *ours, *skips, error = 0, skip = (int)(-(uintptr_t)region->own & (PAGE - 1));
    MPI_Group group, node_group;

    PMPI_Comm_size(node, &size);
    theirs = calloc((size_t)size * 3, sizeof(*theirs));
    if (!theirs)
        return -ENOMEM;
    ours = theirs + size;
    skips = ours + size;
    PMPI_Allgather(&skip, 1, MPI_INT, skips, 1, MPI_INT, node);
    region->own += skip;
    for (int i = 0; i < size; i++)
        theirs[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(node, &node_group);
    PMPI_Group_translate_ranks(node_group, size, theirs, group, ours);
    for (int i = 0; i < size && !error; i++) {
        MPI_Aint bytes;
        void *base;
        int unit;

        if (PMPI_Win_shared_query(region->window, i, &bytes, &unit, &base))
            error = -EIO;
        else
            region->bases[ours[i]] = (uint8_t *)base + skips[i];
    }
    PMPI_Group_free(&group);
    PMPI_Group_free(&node_group);
    free(theirs);
    return error;
}

int region_open(struct region *region, MPI_Comm comm, unsigned queues, size_t lane_bytes)
{
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Info info;
    int rank, size, together, least = 0, error = 0;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    *region =
        (struct region){.window = MPI_WIN_NULL, .ranks = (unsigned)size, .queues = queues, .lane_bytes = lane_bytes};
    region->bases = calloc((size_t)size, sizeof(*region->bases));
    if (settings_number(SETTING_SHARE))
        PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    else
        PMPI_Comm_split(comm, rank, 0, &node);
    PMPI_Comm_size(node, &together);
    PMPI_Info_create(&info);
    PMPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (PMPI_Win_allocate_shared((MPI_Aint)region_bytes(region) + PAGE, 1, info, node, &region->own, &region->window))
        error = -ENOMEM;
    PMPI_Info_free(&info);
    region->mirror = aligned_alloc(RING_LINE, queues * (size_t)size * sizeof(struct ring_credit));
    if (!error && (!region->bases || !region->mirror))
        error = -ENOMEM;
    if (!error)
        error = find_others(region, comm, node);
    if (!error) {
        memset(region->mirror, 0, queues * (size_t)size * sizeof(struct ring_credit));
        memset(region->own, 0, rings_at(region));
        region_header(region, (unsigned)rank)->pid = (uint64_t)getpid();
        for (unsigned queue = 0; queue < MOST_QUEUES; queue++)
            region_header(region, (unsigned)rank)->server_of[queue] = REFUSER;
    }
    PMPI_Comm_free(&node);
    PMPI_Allreduce(&together, &least, 1, MPI_INT, MPI_MIN, comm);
    region->all_shared = least == size;
    PMPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MIN, comm); /* a barrier, too */
    return error;
}

void region_close(struct region *region, bool collective)
{
    if (collective && region->window != MPI_WIN_NULL)
        PMPI_Win_free(&region->window);
    free(region->bases);
    free(region->mirror);
}
