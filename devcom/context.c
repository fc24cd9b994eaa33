/* The context: opening and closing, how threads wait, and agreement of all ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/leave.h"
#include "base/settings.h"
#include "devcom/internal.h"

#define SLEEP_US 20000 /* then a waiting thread checks whether the other ranks are alive */

/* ---- waiting ---- */

static void waits_open(struct devcom *d)
{
    struct board *board = d->boards[d->rank];

    d->waits = (struct waits){.owner = d,
                              .neighbours = &d->neighbours,
                              .doze = &board->bell,
                              .spin_us = settings_number(SETTING_SPIN_US),
                              .yield_every = YIELD_EVERY,
                              .alone = d->alone ? ALONE_POLLS : 0,
                              .first_us = SLEEP_US,
                              .longest_us = SLEEP_US,
                              .mute = &board->mute};
}

/* ---- open and close ---- */

static unsigned given(unsigned value, unsigned fallback)
{
    return value ? value : fallback;
}

static int options_check(struct devcom *d, const struct devcom_options *options)
{
    struct devcom_options *o = &d->o;

    if (options)
        *o = *options;
    o->segments = given(o->segments, 32);
    o->signals = given(o->signals, 1024);
    o->queues = given(o->queues, 4);
    o->queue_depth = given(o->queue_depth, 1024);
    o->groups = given(o->groups, 8);
    d->eager_given = o->eager_bytes;
    o->eager_bytes = o->eager_bytes ? o->eager_bytes : 8192;
    o->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : (size_t)256 << 10;
    o->passive_bytes = o->passive_bytes ? o->passive_bytes : 4096;
    if (o->segments > MOST_SEGMENTS || o->signals > MOST_SIGNALS || o->queues > MOST_QUEUES || o->queue_depth > 65536 ||
        o->groups > MOST_GROUPS || o->eager_bytes > 65536 || o->chunk_bytes > PIECE_BYTES ||
        o->passive_bytes > (size_t)1 << 20)
        return -EINVAL;
    return 0;
}

/* Collective. */
static int options_agree(MPI_Comm comm, int error, const struct devcom_options *o)
{
    const long values[] = {o->segments,
                           o->signals,
                           o->queues,
                           o->queue_depth,
                           (long)o->eager_bytes,
                           (long)o->chunk_bytes,
                           (long)o->passive_bytes,
                           o->messages,
                           o->groups};

    return ranks_agree_on(comm, error, values, sizeof(values) / sizeof(*values));
}

static void context_free(struct devcom *d)
{
    collective_close(d);
    groups_close(d);
    board_close(d);
    pthread_mutex_destroy(&d->registering);
    pthread_mutex_destroy(&d->receiving);
    for (unsigned i = 0; i < MOST_QUEUES; i++)
        pthread_mutex_destroy(&d->kernels[i]);
    free(d->attachments);
    free(d->letters);
    free(d);
}

static int parts_open(struct devcom *d)
{
    int error;

    d->words = own_signal(d, OWN_GROUPS + 2 * d->o.groups, 0);
    error = board_open(d);
    if (!error) {
        waits_open(d);
        d->attachments = calloc((size_t)d->size * segment_ids(d), sizeof(*d->attachments));
        d->letters = calloc((size_t)d->size, sizeof(*d->letters));
        error = d->attachments && d->letters ? groups_open(d) : -ENOMEM;
        error = ranks_agree(d->comm, error ? error : collective_open(d));
    }
    if (!error && (!d->neighbours.all || d->o.messages))
        error = ranks_agree(d->comm, nic_open(d));
    return error;
}

int devcom_init(MPI_Comm comm, const struct devcom_options *options, struct devcom **out)
{
    static const struct devcom_options none;
    struct devcom *d = calloc(1, sizeof(*d));
    int error = !out ? -EINVAL : d ? options_check(d, options) : -ENOMEM;

    error = options_agree(comm, error, d ? &d->o : &none);
    if (error) {
        free(d);
        return error;
    }
    if (PMPI_Comm_dup(comm, &d->comm)) {
        free(d);
        return -EIO;
    }
    pthread_mutex_init(&d->registering, NULL);
    pthread_mutex_init(&d->receiving, NULL);
    for (unsigned i = 0; i < MOST_QUEUES; i++)
        pthread_mutex_init(&d->kernels[i], NULL);
    PMPI_Comm_rank(d->comm, &d->rank);
    PMPI_Comm_size(d->comm, &d->size);
    error = parts_open(d);
    if (error) {
        if (d->nic)
            nic_close(d, false);
        if (d->attachments)
            segments_close(d);
        PMPI_Comm_free(&d->comm);
        context_free(d);
        return error;
    }
    *out = d;
    return 0;
}

static void leave_together(struct devcom *d, int error)
{
    if (d->nic)
        nic_close(d, !error);
    if (error)
        return;
    PMPI_Comm_free(&d->comm);
    if (!d->neighbours.all)
        leave_quietly(LEAVE_MS);
}

int devcom_finalize(struct devcom *d)
{
    int error = 0, met;

    if (!d)
        return -EINVAL;
    for (unsigned queue = 0; queue < d->o.queues; queue++) {
        int fenced = devcom_quiet(d, queue, DEVCOM_BLOCK);

        error = fenced == -ECONNRESET ? fenced : error;
    }
    met = context_agree(d, 0);
    error = error ? error : met;
    segments_close(d);
    leave_together(d, error);
    context_free(d);
    return error;
}

int devcom_rank(const struct devcom *d)
{
    return d ? d->rank : -EINVAL;
}

int devcom_size(const struct devcom *d)
{
    return d ? d->size : -EINVAL;
}

bool devcom_shares_host(const struct devcom *d, int rank)
{
    return d && rank_valid(d, rank) && d->boards[rank];
}

bool devcom_alive(const struct devcom *d, int rank)
{
    return d && rank_valid(d, rank) && !board_lost(d, rank);
}

/* ---- agreement: each rank notifies all others, by two words alternately, as one may be a round ahead ---- */

int context_agree(struct devcom *d, int error)
{
    uint64_t round = ++d->agreements;
    unsigned first = own_signal(d, OWN_AGREEMENT + round % 2, 0);
    const _Atomic int64_t *words = board_signals(d, d->rank) + first;
    struct waiting waiting;
    int worst = 0, failed = 0;

    for (int rank = 0; rank < d->size && !failed; rank++)
        failed = notify_own(d, rank, first + (unsigned)d->rank, DEVCOM_SIGNAL_SET,
                            (int64_t)(round << 16 | (uint16_t)-error));
    if (failed)
        return failed;
    waiting_begin(&waiting, &d->waits, -1, DEVCOM_BLOCK);
    for (int rank = 0; rank < d->size; rank++) {
        int64_t word;

        while ((uint64_t)(word = atomic_load(&words[rank])) >> 16 != round && waiting_step(&waiting))
            ;
        if (-(int)(word & 0xffff) < worst)
            worst = -(int)(word & 0xffff);
    }
    failed = waiting_end(&waiting);
    return failed ? failed : worst;
}
