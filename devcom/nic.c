/* Opening and closing the adapter, and the pending operations of queues: see nic.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "devcom/nic.h"

#define LONGEST_NAP_US 200
#define DRAIN_US 1000000 /* for messages that have not been sent at the end */

/* ---- pending operations of queues ---- */

bool nic_busy(const struct devcom *d, int rank, unsigned queue)
{
    struct lane *lane = nic_lane(d->nic, rank, queue);

    return atomic_load(&lane->sent) != atomic_load(&lane->arrived);
}

bool nic_has_room(const struct devcom *d, int rank, unsigned queue)
{
    struct lane *lane = nic_lane(d->nic, rank, queue);

    return atomic_load(&lane->sent) - atomic_load(&lane->arrived) < d->o.queue_depth;
}

/* The ranks that only names: one rank, or ALL_RANKS. */
static int first_of(int only)
{
    return only == ALL_RANKS ? 0 : only;
}

static int last_of(const struct devcom *d, int only)
{
    return only == ALL_RANKS ? d->size - 1 : only;
}

bool nic_left(struct devcom *d, int only, unsigned queue)
{
    for (int rank = first_of(only); rank <= last_of(d, only); rank++) {
        struct lane *lane = nic_lane(d->nic, rank, queue);
        bool pending = atomic_load(&lane->leaving) || atomic_load(&lane->arrived) < atomic_load(&lane->got);

        if (pending && (nic_busy(d, rank, queue) || !board_lost(d, rank)))
            return false;
    }
    return true;
}

bool nic_arrived(struct devcom *d, int only, unsigned queue)
{
    for (int rank = first_of(only); rank <= last_of(d, only); rank++) {
        if (nic_busy(d, rank, queue))
            return false;
    }
    return true;
}

bool nic_target_lost(const struct devcom *d, int only, unsigned queue)
{
    for (int rank = first_of(only); rank <= last_of(d, only); rank++) {
        if (nic_busy(d, rank, queue) && board_lost(d, rank))
            return true;
    }
    return false;
}

void nic_forgive(struct devcom *d, int only, unsigned queue)
{
    for (int rank = first_of(only); rank <= last_of(d, only); rank++) {
        struct lane *lane = nic_lane(d->nic, rank, queue);

        if (!board_lost(d, rank))
            continue;
        pthread_mutex_lock(&lane->lock);
        atomic_store(&lane->arrived, atomic_load(&lane->sent));
        pthread_mutex_unlock(&lane->lock);
    }
}

int nic_refusal(struct devcom *d, int only, unsigned queue)
{
    int error = 0;

    for (int rank = first_of(only); rank <= last_of(d, only); rank++) {
        struct lane *lane = nic_lane(d->nic, rank, queue);
        uint64_t refused = atomic_load(&lane->refused);

        pthread_mutex_lock(&lane->lock);
        if (refused != lane->refusals_told) {
            int last = atomic_load(&lane->last_refusal);

            lane->refusals_told = refused;
            error = error ? error : last < 0 ? last : -EIO;
        }
        pthread_mutex_unlock(&lane->lock);
    }
    return error;
}

/* ---- open and close ---- */

static void nic_free(struct nic *nic)
{
    for (unsigned i = 0; nic->lanes && i < nic->streams * (unsigned)nic->d->size; i++)
        pthread_mutex_destroy(&nic->lanes[i].lock);
    for (unsigned i = 0; nic->arrivals && i < nic->streams * (unsigned)nic->d->size; i++)
        pthread_mutex_destroy(&nic->arrivals[i].telling);
    nic_place_close(nic);
    nic_askings_close(nic);
    pthread_mutex_destroy(&nic->lock);
    nic_tables_close(nic);
    free(nic->lanes);
    free(nic->arrivals);
    for (int rank = 0; nic->incoming && rank < nic->d->size; rank++)
        free(nic->incoming[rank].buffer);
    free(nic->incoming);
    adapter_close(&nic->adapter);
    free(nic);
}

static int nic_allocate(struct nic *nic)
{
    struct devcom *d = nic->d;
    size_t ranks = (size_t)d->size, more = MOST_EAGER > d->o.passive_bytes ? MOST_EAGER : d->o.passive_bytes;

    nic->streams = stream_count(d);
    nic->buffer_bytes = 2 * sizeof(struct wire) + more;
    nic->lanes = calloc(ranks * nic->streams, sizeof(*nic->lanes));
    nic->arrivals = calloc(ranks * nic->streams, sizeof(*nic->arrivals));
    nic->incoming = calloc(ranks, sizeof(*nic->incoming));
    if (!nic->lanes || !nic->arrivals || !nic->incoming)
        return -ENOMEM;
    for (unsigned i = 0; i < nic->streams * ranks; i++) {
        pthread_mutex_init(&nic->lanes[i].lock, NULL);
        pthread_mutex_init(&nic->arrivals[i].telling, NULL);
    }
    nic_eager_open(nic, d->eager_given);
    return 0;
}

static void ring(void *owner)
{
    const struct nic *nic = owner;

    board_ring(nic->d->boards[nic->d->rank]);
}

static const struct adapter_kind kind = {.name = "devcom",
                                         .nap_us = LONGEST_NAP_US,
                                         .take = nic_take,
                                         .give_up = nic_give_up,
                                         .tell = nic_tell,
                                         .ring = ring};

/* Collective. */
int nic_open(struct devcom *d)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    int error = nic ? adapter_open(&nic->adapter, &kind, nic, &d->neighbours) : -ENOMEM;

    error = ranks_agree(d->comm, error);
    if (error) {
        if (nic)
            adapter_close(&nic->adapter);
        free(nic);
        return error;
    }
    nic->d = d;
    pthread_mutex_init(&nic->lock, NULL);
    error = nic_allocate(nic);
    if (PMPI_Comm_dup(d->comm, &nic->wire) || PMPI_Comm_dup(d->comm, &nic->bulk))
        error = -EIO;
    if (!error) {
        PMPI_Comm_set_errhandler(nic->bulk, MPI_ERRORS_RETURN);
        nic_place_open(nic);
        error = adapter_start(&nic->adapter, nic->wire);
    }
    if (error) {
        nic_free(nic);
        return error;
    }
    d->nic = nic;
    d->waits.adapter = &nic->adapter;
    return 0;
}

static void drain(struct adapter *adapter)
{
    for (long since = clock_us(); !adapter_all_left(adapter) && clock_us() - since < DRAIN_US;) {
        adapter_help(adapter);
        sched_yield();
    }
}

void nic_close(struct devcom *d, bool collective)
{
    struct nic *nic = d->nic;

    drain(&nic->adapter);
    adapter_stop(&nic->adapter);
    if (collective) {
        PMPI_Barrier(d->comm);
        while (adapter_receive_all(&nic->adapter))
            ;
        drain(&nic->adapter);
        PMPI_Comm_free(&nic->wire);
        PMPI_Comm_free(&nic->bulk);
    }
    d->nic = NULL;
    d->waits.adapter = NULL;
    nic_free(nic);
}
