/* Opening and closing, and how threads wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/leave.h"
#include "base/settings.h"
#include "devcom/internal.h"
#include "ground/adapter.h"

#define LONGEST_SLEEP_US 20000 /* then it is looked whether the others are alive */
#define MUTE_SLEEP_US 100      /* while devices write signals that cannot wake anybody */

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
    d->eager_given = o->eager_bytes;
    o->eager_bytes = o->eager_bytes ? o->eager_bytes : 8192;
    o->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : (size_t)256 << 10;
    o->passive_bytes = o->passive_bytes ? o->passive_bytes : 4096;
    if (o->segments > MOST_SEGMENTS || o->signals > MOST_SIGNALS || o->queues > MOST_QUEUES || o->queue_depth > 65536 ||
        o->eager_bytes > 65536 || o->chunk_bytes > PIECE_BYTES || o->passive_bytes > (size_t)1 << 20)
        return -EINVAL;
    return 0;
}

/* The worst of all ranks' errors, or -EINVAL if they do not want the same. */
static int options_agree(const struct devcom *d, MPI_Comm comm, int error)
{
    long mine[] = {error,
                   d->o.segments,
                   d->o.signals,
                   d->o.queues,
                   d->o.queue_depth,
                   (long)d->o.eager_bytes,
                   (long)d->o.chunk_bytes,
                   (long)d->o.passive_bytes,
                   d->o.messages};
    enum { COUNT = sizeof(mine) / sizeof(*mine) };
    long least[COUNT], most[COUNT];

    if (PMPI_Allreduce(mine, least, COUNT, MPI_LONG, MPI_MIN, comm) ||
        PMPI_Allreduce(mine, most, COUNT, MPI_LONG, MPI_MAX, comm))
        return -EIO;
    if (least[0])
        return (int)least[0];
    return memcmp(least, most, sizeof(least)) ? -EINVAL : 0;
}

static void context_free(struct devcom *d)
{
    collective_close(d);
    board_close(d);
    pthread_mutex_destroy(&d->registering);
    pthread_mutex_destroy(&d->receiving);
    for (unsigned i = 0; i < MOST_QUEUES; i++)
        pthread_mutex_destroy(&d->kernels[i]);
    free(d->attachments);
    free(d);
}

static int parts_open(struct devcom *d)
{
    int error;

    d->words = d->o.signals + OWN_FIXED + 4 * (unsigned)d->size;
    error = board_open(d);
    if (!error) {
        d->attachments = calloc((size_t)d->size * segment_ids(d), sizeof(*d->attachments));
        error = ranks_agree(d->comm, d->attachments ? collective_open(d) : -ENOMEM);
    }
    if (!error && (!d->neighbours.all || d->o.messages))
        error = ranks_agree(d->comm, nic_open(d));
    return error;
}

int devcom_init(MPI_Comm comm, const struct devcom_options *options, struct devcom **out)
{
    struct devcom *d = calloc(1, sizeof(*d)), none = {0};
    int error = !out ? -EINVAL : d ? options_check(d, options) : -ENOMEM;

    error = options_agree(d ? d : &none, comm, error);
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
    d->spin_us = settings_number(SETTING_SPIN_US);
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
        int fenced = devcom_queue_fence(d, queue, DEVCOM_BLOCK);

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

/* ---- waiting ---- */

void waiting_begin(struct devcom *d, struct waiting *waiting, long timeout_us)
{
    if (timeout_us == DEVCOM_TEST) {
        *waiting = (struct waiting){.once = true};
        return;
    }
    *waiting = (struct waiting){.polling = polling_begin(), .spin_us = d->spin_us};
    waiting->polling.alone = d->alone ? ALONE_POLLS : 0;
    waiting->until_us = timeout_us >= 0 && timeout_us < INT64_MAX - waiting->polling.since_us
                            ? waiting->polling.since_us + timeout_us
                            : INT64_MAX;
    waiting->helping = d->nic;
    if (waiting->helping)
        adapter_help_begin(d->adapter);
}

static void help_no_more(struct devcom *d, struct waiting *waiting)
{
    if (waiting->helping)
        adapter_help_end(d->adapter);
    waiting->helping = false;
}

static void sleep_on_bell(struct devcom *d, struct waiting *waiting, long left)
{
    struct board *board = d->boards[d->rank];
    long most = atomic_load_explicit(&board->mute, memory_order_relaxed) ? MUTE_SLEEP_US : LONGEST_SLEEP_US;

    help_no_more(d, waiting);
    if (waiting->listening)
        doze_sleep(&board->bell, waiting->lain_down, left < most ? left : most);
    waiting->listening = true;
    waiting->lain_down = doze_lie_down(&board->bell);
}

/* The first step after the polling only says that this thread sleeps: its caller looks once more before it does, as
 * after a time-out. */
int waiting_step(struct devcom *d, struct waiting *waiting)
{
    bool polls = false;
    long now;

    if (waiting->once) {
        if (d->nic)
            adapter_help(d->adapter);
        return -ETIMEDOUT;
    }
    if (!waiting->listening) {
        if (waiting->helping)
            adapter_help(d->adapter);
        polls = polling_on(&waiting->polling, YIELD_EVERY, waiting->spin_us, NULL);
        if (polls && waiting->polling.polls % YIELD_EVERY)
            return 0;
    }
    now = clock_us();
    if (now >= waiting->until_us)
        return -ETIMEDOUT;
    if (polls)
        return 0;
    if (waiting->until_us == INT64_MAX && board_any_lost(d))
        return -ECONNRESET;
    sleep_on_bell(d, waiting, waiting->until_us - now);
    return 0;
}

void waiting_end(struct devcom *d, struct waiting *waiting)
{
    help_no_more(d, waiting);
    context_heard(d);
}

/* ---- agreement: each tells all others; two words in turns, as one may be a round ahead of another ---- */

int context_agree(struct devcom *d, int error)
{
    uint64_t round = ++d->agreements;
    unsigned first = own_signal(d, OWN_FIXED) + (unsigned)(round % 2) * (unsigned)d->size;
    const _Atomic int64_t *words = board_signals(d, d->rank) + first;
    struct waiting waiting;
    int worst = 0, failed = 0;

    for (int rank = 0; rank < d->size && !failed; rank++)
        failed = notify_own(d, rank, first + (unsigned)d->rank, DEVCOM_SET, (int64_t)(round << 16 | (uint16_t)-error));
    waiting_begin(d, &waiting, DEVCOM_BLOCK);
    for (int rank = 0; rank < d->size && !failed; rank++) {
        int64_t word;

        while ((uint64_t)(word = atomic_load(&words[rank])) >> 16 != round && !failed)
            failed = waiting_step(d, &waiting);
        if (!failed && -(int)(word & 0xffff) < worst)
            worst = -(int)(word & 0xffff);
    }
    waiting_end(d, &waiting);
    return failed ? failed : worst;
}
