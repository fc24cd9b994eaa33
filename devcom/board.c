/* Memory that the ranks of one host share: each has a board, and shares its segments the same way. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/settings.h"
#include "devcom/internal.h"

#define LOOK_US 10000 /* between looks whether the others are alive */

/* ---- shared memory ---- */

int memory_create(size_t bytes, void *at, uint8_t **out)
{
    int fd = memfd_create("devcom", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *memory;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
        close(fd);
        return -ENOMEM;
    }
    memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return -ENOMEM;
    }
    *out = memory;
    return fd;
}

/* What could be cut short under us would be our end. */
int memory_attach(pid_t pid, int fd, size_t bytes, void *at, uint8_t **out)
{
    uint64_t size = 0;
    int file = fd < 0 ? -EINVAL : memory_of_process((uint32_t)pid, (uint32_t)fd, &size);
    void *memory;

    if (file < 0)
        return file;
    if (size < bytes || !bytes || !(fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK)) {
        close(file);
        return -EINVAL;
    }
    memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    *out = memory;
    return 0;
}

/* ---- layout: board | signals | letters by sender ---- */

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

static size_t letter_bytes(const struct devcom *d)
{
    return lines(sizeof(struct letter) + d->o.passive_bytes);
}

static size_t letters_at(const struct devcom *d)
{
    return lines(sizeof(struct board)) + lines(d->words * sizeof(int64_t));
}

_Atomic int64_t *board_signals(const struct devcom *d, int rank)
{
    return (_Atomic int64_t *)((uint8_t *)d->boards[rank] + lines(sizeof(struct board)));
}

struct letter *board_letter(const struct devcom *d, int rank, int sender)
{
    return (struct letter *)((uint8_t *)d->boards[rank] + letters_at(d) + (size_t)sender * letter_bytes(d));
}

/* ---- opening ---- */

/* How the others find a rank's board. */
struct address {
    uint64_t nonce;
    int32_t pid, fd;
};

static void attach_board(struct devcom *d, int rank, const struct address *address)
{
    uint8_t *memory;

    if (memory_attach(address->pid, address->fd, d->board_bytes, NULL, &memory))
        return;
    d->boards[rank] = (struct board *)memory;
    if (d->boards[rank]->nonce != address->nonce || d->boards[rank]->rank != rank) {
        munmap(memory, d->board_bytes); /* another host's process had that number */
        d->boards[rank] = NULL;
    }
}

/* Ranks are near only if each of the two can see the other. */
static int attach_boards(struct devcom *d, const struct address *addresses)
{
    int *mine = calloc((size_t)d->size * 2, sizeof(*mine)), *theirs = mine ? mine + d->size : NULL;
    bool share = settings_number(SETTING_SHARE);

    d->all_near = true;
    for (int rank = 0; rank < d->size && mine; rank++) {
        if (share && rank != d->rank)
            attach_board(d, rank, &addresses[rank]);
        mine[rank] = d->boards[rank] != NULL;
    }
    if (context_agree_early(d, mine ? 0 : -ENOMEM) || PMPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, d->comm)) {
        free(mine);
        return -ENOMEM;
    }
    for (int rank = 0; rank < d->size; rank++) {
        if (d->boards[rank] && !theirs[rank]) {
            munmap(d->boards[rank], d->board_bytes);
            d->boards[rank] = NULL;
        }
        d->all_near = d->all_near && d->boards[rank];
    }
    free(mine);
    return 0;
}

int board_open(struct devcom *d)
{
    struct address own = {.pid = (int32_t)getpid()}, *all = calloc((size_t)d->size, sizeof(*all));
    uint8_t *memory = NULL;
    int error = 0;

    d->board_bytes = letters_at(d) + (size_t)d->size * letter_bytes(d);
    d->boards = calloc((size_t)d->size, sizeof(*d->boards));
    own.fd = memory_create(d->board_bytes, NULL, &memory);
    if (!all || !d->boards || own.fd < 0 || getrandom(&own.nonce, sizeof(own.nonce), 0) != sizeof(own.nonce))
        error = -ENOMEM;
    if (memory && d->boards) {
        d->boards[d->rank] = (struct board *)memory;
        d->boards[d->rank]->nonce = own.nonce;
        d->boards[d->rank]->pid = own.pid;
        d->boards[d->rank]->rank = d->rank;
    }
    error = context_agree_early(d, error);
    if (!error && PMPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, d->comm))
        error = -EIO;
    if (!error)
        error = attach_boards(d, all);
    if (own.fd >= 0) {
        PMPI_Barrier(d->comm);
        close(own.fd);
    }
    free(all);
    return error;
}

void board_close(struct devcom *d)
{
    for (int rank = 0; rank < d->size && d->boards; rank++) {
        if (d->boards[rank])
            munmap(d->boards[rank], d->board_bytes);
    }
    free(d->boards);
}

/* ---- telling, and losses ---- */

/* Sequentially consistent, as what was written before is: a sleeper says that it sleeps and then looks once more. */
void board_ring(struct board *board)
{
    if (!atomic_load(&board->sleepers))
        return;
    atomic_fetch_add(&board->bell, 1);
    futex_wake(&board->bell);
}

bool board_lost(const struct devcom *d, int rank)
{
    if (rank == d->rank)
        return false;
    return d->boards[rank] ? process_gone(d->boards[rank]->pid) : nic_lost(d, rank);
}

bool board_any_lost(struct devcom *d)
{
    long now = clock_us(), looked = atomic_load(&d->looked_us);

    if (atomic_load(&d->someone_lost))
        return true;
    if (now - looked < LOOK_US || !atomic_compare_exchange_strong(&d->looked_us, &looked, now))
        return false;
    for (int rank = 0; rank < d->size; rank++) {
        if (board_lost(d, rank))
            atomic_store(&d->someone_lost, true);
    }
    return atomic_load(&d->someone_lost);
}
