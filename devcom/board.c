/* Boards: the memory of each rank that the other ranks of its host write. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "devcom/internal.h"

/* ---- layout: board | signals | visits by segment and visitor ---- */

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

static size_t visits_at(const struct devcom *d)
{
    return lines(sizeof(struct board)) + lines(d->words * sizeof(int64_t));
}

_Atomic uint32_t *board_visits(const struct devcom *d, int rank, unsigned segment, int visitor)
{
    return (_Atomic uint32_t *)((uint8_t *)d->boards[rank] + visits_at(d)) + segment * (size_t)d->size + visitor;
}

_Atomic int64_t *board_signals(const struct devcom *d, int rank)
{
    return (_Atomic int64_t *)((uint8_t *)d->boards[rank] + lines(sizeof(struct board)));
}

/* ---- opening ---- */

int board_open(struct devcom *d)
{
    int error =
        neighbours_open(&d->neighbours, d->comm, visits_at(d) + segment_ids(d) * (size_t)d->size * sizeof(uint32_t));
    long near = 0;

    d->boards = calloc((size_t)d->size, sizeof(*d->boards));
    error = ranks_agree(d->comm, error || d->boards ? error : -ENOMEM);
    for (int rank = 0; rank < d->size && !error; rank++)
        near += d->neighbours.memory[rank] != NULL;
    d->alone = near <= sysconf(_SC_NPROCESSORS_ONLN);
    for (int rank = 0; rank < d->size && !error; rank++)
        d->boards[rank] = (struct board *)d->neighbours.memory[rank];
    return error;
}

void board_close(struct devcom *d)
{
    neighbours_close(&d->neighbours);
    free(d->boards);
}

/* ---- waking, and losses ---- */

void board_ring(struct board *board)
{
    doze_ring(&board->bell, DOZE_SLEEPS);
}

bool board_lost(const struct devcom *d, int rank)
{
    return neighbours_lost(&d->neighbours, rank);
}

bool board_any_lost(struct devcom *d)
{
    return neighbours_any_lost(&d->neighbours);
}
