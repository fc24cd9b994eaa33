/* See neighbours.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "ground/neighbours.h"

#define LOOK_US 10000

int ranks_agree(MPI_Comm comm, int error)
{
    int least = 0;

    return PMPI_Allreduce(&error, &least, 1, MPI_INT, MPI_MIN, comm) ? -EIO : least;
}

int ranks_agree_on(MPI_Comm comm, int error, const long *values, unsigned count)
{
    long mine[1 + 2 * count],
        least[1 + 2 * count]; /* of each value v: v and -v, so that the least of both give minimum and maximum */

    mine[0] = error;
    for (unsigned i = 0; i < count; i++) {
        mine[1 + 2 * i] = values[i];
        mine[2 + 2 * i] = -values[i];
    }
    if (PMPI_Allreduce(mine, least, 1 + 2 * (int)count, MPI_LONG, MPI_MIN, comm))
        return -EIO;
    error = (int)least[0];
    for (unsigned i = 0; i < count && !error; i++)
        error = least[1 + 2 * i] == -least[2 + 2 * i] ? 0 : -EINVAL;
    return error;
}

/* ---- opening ---- */

static void detach(struct neighbours *n, int rank)
{
    if (n->memory[rank])
        munmap(n->memory[rank], n->bytes);
    n->memory[rank] = NULL;
}

static void attach(struct neighbours *n, int rank, const struct memory_address *address)
{
    uint8_t *memory;

    if (!memory_accept(address, n->bytes, &memory))
        n->memory[rank] = (struct memory_owner *)memory;
}

/* Maps the memory of all ranks. Two ranks are neighbours only if each can map the memory of the other. */
static int attach_all(struct neighbours *n, MPI_Comm comm, const struct memory_address *addresses)
{
    int *mine = calloc((size_t)n->size * 2, sizeof(*mine)), *theirs = mine ? mine + n->size : NULL;
    int all = 1, error = ranks_agree(comm, mine ? 0 : -ENOMEM);

    for (int rank = 0; rank < n->size && !error; rank++) {
        if (rank != n->rank && settings_number(SETTING_SHARE))
            attach(n, rank, &addresses[rank]);
        mine[rank] = n->memory[rank] != NULL;
    }
    if (!error && PMPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm))
        error = -EIO;
    for (int rank = 0; rank < n->size && !error; rank++) {
        if (!theirs[rank])
            detach(n, rank);
        all &= n->memory[rank] != NULL;
    }
    free(mine);
    if (!error && PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm))
        error = -EIO;
    n->all = all;
    return error;
}

int neighbours_open(struct neighbours *n, MPI_Comm comm, size_t bytes)
{
    struct memory_address own = {0}, *addresses;
    uint8_t *memory = NULL;
    int fd, error;

    *n = (struct neighbours){.bytes = bytes};
    PMPI_Comm_rank(comm, &n->rank);
    PMPI_Comm_size(comm, &n->size);
    addresses = calloc((size_t)n->size, sizeof(*addresses));
    n->memory = calloc((size_t)n->size, sizeof(*n->memory));
    n->far_lost = calloc((size_t)n->size, sizeof(*n->far_lost));
    fd = memory_offer(bytes, &own, &memory);
    if (n->memory)
        n->memory[n->rank] = (struct memory_owner *)memory;
    error = ranks_agree(comm, !addresses || !n->memory || !n->far_lost ? -ENOMEM : fd < 0 ? fd : 0);
    if (!error && PMPI_Allgather(&own, sizeof(own), MPI_BYTE, addresses, sizeof(own), MPI_BYTE, comm))
        error = -EIO;
    if (!error)
        error = attach_all(n, comm, addresses);
    if (fd >= 0)
        close(fd);
    free(addresses);
    return error;
}

void neighbours_close(struct neighbours *n)
{
    for (int rank = 0; rank < n->size && n->memory; rank++)
        detach(n, rank);
    free(n->memory);
    free(n->far_lost);
    n->memory = NULL;
    n->far_lost = NULL;
}

/* ---- losses ---- */

pid_t neighbours_process(const struct neighbours *n, int rank)
{
    return (pid_t)n->memory[rank]->process;
}

bool neighbours_lose(struct neighbours *n, int rank)
{
    return !atomic_exchange(&n->far_lost[rank], true);
}

bool neighbours_lost(const struct neighbours *n, int rank)
{
    if (rank == n->rank)
        return false;
    if (n->memory[rank])
        return process_gone(neighbours_process(n, rank));
    return atomic_load(&n->far_lost[rank]);
}

bool neighbours_any_lost_now(struct neighbours *n)
{
    for (int rank = 0; rank < n->size && !atomic_load(&n->someone_lost); rank++) {
        if (neighbours_lost(n, rank))
            atomic_store(&n->someone_lost, true);
    }
    return atomic_load(&n->someone_lost);
}

bool neighbours_any_lost(struct neighbours *n)
{
    long now = clock_us(), looked = atomic_load(&n->looked_us);

    if (atomic_load(&n->someone_lost))
        return true;
    if (now - looked < LOOK_US || !atomic_compare_exchange_strong(&n->looked_us, &looked, now))
        return false;
    return neighbours_any_lost_now(n);
}
