/* The thread that stands for a NIC, and what queues have under way: see nic.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "devcom/nic.h"
#include "ground/nap.h"

#define LONGEST_NAP_US 200
#define HELPED_NAP_US 200 /* where threads that wait do the work: acknowledgements may wait so long when they leave */
#define DRAIN_US 1000000  /* for what has not left at the end */

/* Negative: another is at it. */
static int serve(struct nic *nic)
{
    int count;

    if (pthread_mutex_trylock(&nic->serving))
        return -EBUSY;
    count = nic_receive(nic);
    if (nic->owes && (!count || count >= MOST_RECEIVED))
        nic_acknowledge(nic);
    pthread_mutex_unlock(&nic->serving);
    count += nic_poll_partings(nic);
    if (count)
        board_ring(nic->d->boards[nic->d->rank]);
    return count;
}

void nic_help_begin(struct devcom *d)
{
    atomic_fetch_add(&d->nic->helpers, 1);
}

/* Who receives something long spins for it, perhaps on this processor. */
void nic_help(struct devcom *d)
{
    atomic_fetch_add_explicit(&d->nic->helps, 1, memory_order_relaxed);
    if (serve(d->nic) < 0)
        sched_yield();
}

void nic_help_end(struct devcom *d)
{
    atomic_fetch_sub(&d->nic->helpers, 1);
}

static void *nic_run(void *argument)
{
    struct nic *nic = argument;
    struct nap nap = nap_begin(LONGEST_NAP_US);
    unsigned seen = 0;

    while (!atomic_load(&nic->stop)) {
        unsigned helps = atomic_load_explicit(&nic->helps, memory_order_relaxed);

        if (atomic_load(&nic->helpers) && helps != seen) {
            seen = helps;
            nic_beat(nic);
            nanosleep(&(struct timespec){.tv_nsec = HELPED_NAP_US * 1000}, NULL);
            continue;
        }
        if (serve(nic) > 0) {
            nap = nap_begin(LONGEST_NAP_US);
            continue;
        }
        nic_beat(nic);
        if (atomic_load(&nic->under_way))
            sched_yield();
        else
            nap_take(&nap);
    }
    return NULL;
}

/* ---- what queues have under way ---- */

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

bool nic_left(struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (atomic_load(&nic_lane(d->nic, rank, queue)->leaving) && (nic_busy(d, rank, queue) || !board_lost(d, rank)))
            return false;
    }
    return true;
}

bool nic_arrived(struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (nic_busy(d, rank, queue))
            return false;
    }
    return true;
}

bool nic_target_lost(const struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (nic_busy(d, rank, queue) && board_lost(d, rank))
            return true;
    }
    return false;
}

void nic_give_up(struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        struct lane *lane = nic_lane(d->nic, rank, queue);

        if (!board_lost(d, rank))
            continue;
        pthread_mutex_lock(&lane->lock);
        atomic_store(&lane->arrived, atomic_load(&lane->sent));
        pthread_mutex_unlock(&lane->lock);
    }
}

int nic_refusal(struct devcom *d, unsigned queue)
{
    int error = 0;

    for (int rank = 0; rank < d->size; rank++) {
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
    pthread_mutex_destroy(&nic->serving);
    nic_askings_close(nic);
    pthread_mutex_destroy(&nic->lock);
    partings_close(&nic->partings);
    nic_tables_close(nic);
    free(nic->lanes);
    free(nic->arrivals);
    free(nic->letters);
    free(nic->incoming);
    beats_close(&nic->beats);
    free(nic->buffer);
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
    nic->letters = calloc(ranks, sizeof(*nic->letters));
    nic->incoming = calloc(ranks, sizeof(*nic->incoming));
    nic->buffer = malloc(nic->buffer_bytes);
    if (!nic->lanes || !nic->arrivals || !nic->letters || !nic->incoming || beats_open(&nic->beats, d->size) ||
        !nic->buffer)
        return -ENOMEM;
    for (unsigned i = 0; i < nic->streams * ranks; i++) {
        pthread_mutex_init(&nic->lanes[i].lock, NULL);
        pthread_mutex_init(&nic->arrivals[i].telling, NULL);
    }
    nic_eager_open(nic, d->eager_given);
    return 0;
}

/* Collective. */
int nic_open(struct devcom *d)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    int level, error;

    PMPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE)
        vocl_log(LOG_ERROR, "devcom: messages between ranks need MPI_THREAD_MULTIPLE");
    error = ranks_agree(d->comm, level < MPI_THREAD_MULTIPLE ? -ENOTSUP : nic ? 0 : -ENOMEM);
    if (error) {
        free(nic);
        return error;
    }
    nic->d = d;
    pthread_mutex_init(&nic->serving, NULL);
    pthread_mutex_init(&nic->lock, NULL);
    partings_open(&nic->partings);
    error = nic_allocate(nic);
    if (PMPI_Comm_dup(d->comm, &nic->wire) || PMPI_Comm_dup(d->comm, &nic->bulk))
        error = -EIO;
    if (!error) {
        PMPI_Comm_set_errhandler(nic->wire, MPI_ERRORS_RETURN);
        PMPI_Comm_set_errhandler(nic->bulk, MPI_ERRORS_RETURN);
        nic_place_open(nic);
        error = -thread_start(&nic->thread, nic_run, nic);
    }
    if (error) {
        nic_free(nic);
        return error;
    }
    d->nic = nic;
    return 0;
}

static void drain(struct nic *nic)
{
    for (long since = clock_us(); !partings_none(&nic->partings) && clock_us() - since < DRAIN_US;) {
        serve(nic);
        sched_yield();
    }
}

void nic_close(struct devcom *d, bool collective)
{
    struct nic *nic = d->nic;

    drain(nic);
    atomic_store(&nic->stop, true);
    pthread_join(nic->thread, NULL);
    if (collective) {
        PMPI_Barrier(d->comm);
        while (nic_receive(nic))
            ;
        drain(nic);
        PMPI_Comm_free(&nic->wire);
        PMPI_Comm_free(&nic->bulk);
    }
    d->nic = NULL;
    nic_free(nic);
}
