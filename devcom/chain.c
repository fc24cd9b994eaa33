/*
 * Chained descriptors: a table of puts that is started again and again. Successive puts to one rank of another host are
 * one operation. For a near rank, puts that are adjacent in both memories are joined into one copy.
 */
#include <errno.h>
#include <stdlib.h>

#include "devcom/internal.h"

/* Successive puts that are started together. */
struct run {
    unsigned first, count;
    unsigned joined, joined_count; /* near ranks: the same puts, joined */
    uint32_t table;                /* a far rank: the number of the rank's table, if it has one */
    bool far, has_table;
};

struct devcom_chain {
    struct devcom *d;
    unsigned count, queue, runs;
    pthread_mutex_t lock;
    struct run *run;
    struct transfer *joined; /* joined puts, and for each how many puts of the chain precede it */
    unsigned *before, joined_count;
    struct transfer transfers[];
};

/* Returns how many puts, from this one on, are started together. */
static unsigned length_of(const struct devcom_chain *chain, unsigned first, bool *far)
{
    const struct devcom *d = chain->d;
    const struct transfer *t = &chain->transfers[first];
    struct chain_size size = {0};
    unsigned count = 1;

    *far = !d->boards[t->rank] && nic_chain_fits(&size, t);
    while (first + count < chain->count) {
        const struct transfer *next = &t[count];

        if (*far ? next->rank != t->rank || !nic_chain_fits(&size, next) : !d->boards[next->rank])
            break;
        count++;
    }
    return count;
}

static bool is_plain(const struct transfer *t)
{
    return t->local.bytes && t->local.count[0] == 1 && t->local.count[1] == 1;
}

/* Joins a put with the next one if they are adjacent. Not within this rank's own memory, where a put may read the data
 * of the previous one. */
static bool join(const struct devcom *d, struct transfer *t, const struct transfer *next)
{
    if (t->op || t->rank == d->rank || t->rank != next->rank || t->local_id != next->local_id ||
        t->remote_id != next->remote_id || !is_plain(t) || !is_plain(next) ||
        next->offset != t->offset + t->local.bytes || next->remote_offset != t->remote_offset + t->remote.bytes)
        return false;
    t->local.bytes += next->local.bytes;
    t->remote.bytes += next->remote.bytes;
    t->signal = next->signal;
    t->op = next->op;
    t->value = next->value;
    return true;
}

static void join_run(struct devcom_chain *chain, struct run *run)
{
    run->joined = chain->joined_count;
    for (unsigned i = run->first; i < run->first + run->count; i++) {
        const struct transfer *t = &chain->transfers[i];

        if (i > run->first && join(chain->d, &chain->joined[chain->joined_count - 1], t))
            continue;
        chain->before[chain->joined_count] = i;
        chain->joined[chain->joined_count++] = *t;
    }
    run->joined_count = chain->joined_count - run->joined;
}

static int make_runs(struct devcom_chain *chain)
{
    chain->run = calloc(chain->count, sizeof(*chain->run));
    chain->joined = calloc(chain->count, sizeof(*chain->joined));
    chain->before = calloc(chain->count, sizeof(*chain->before));
    if (!chain->run || !chain->joined || !chain->before)
        return -ENOMEM;
    for (unsigned first = 0; first < chain->count; chain->runs++) {
        struct run *run = &chain->run[chain->runs];

        run->first = first;
        run->count = length_of(chain, first, &run->far);
        run->far = run->far && run->count > 1;
        if (!run->far)
            join_run(chain, run);
        first += run->count;
    }
    return 0;
}

static void chain_free(struct devcom_chain *chain)
{
    free(chain->run);
    free(chain->joined);
    free(chain->before);
    free(chain);
}

int devcom_chain_create(struct devcom *d, const struct devcom_put *puts, unsigned count, unsigned queue,
                        struct devcom_chain **out)
{
    struct devcom_chain *chain;
    int error = 0;

    if (!d || !puts || !out || !count || queue >= d->o.queues)
        return -EINVAL;
    chain = malloc(sizeof(*chain) + count * sizeof(*chain->transfers));
    if (!chain)
        return -ENOMEM;
    *chain = (struct devcom_chain){.d = d, .count = count, .queue = queue};
    for (unsigned i = 0; i < count && !error; i++)
        error = transfer_check(d, &puts[i], queue, &chain->transfers[i]);
    error = error ? error : make_runs(chain);
    if (error) {
        chain_free(chain);
        return error;
    }
    pthread_mutex_init(&chain->lock, NULL);
    *out = chain;
    return 0;
}

static bool under_way(const struct devcom_chain *chain)
{
    struct devcom *d = chain->d;

    for (unsigned i = 0; i < chain->count && d->nic; i++) {
        if (nic_busy(d, chain->transfers[i].rank, chain->queue))
            return true;
    }
    return false;
}

/* Starts puts to a far rank, as one operation. */
static int start_far(struct devcom_chain *chain, struct run *run)
{
    const struct transfer *transfers = &chain->transfers[run->first];
    int error = 0;

    if (!run->has_table)
        error = nic_chain_table(chain->d, transfers, run->count, &run->table);
    run->has_table = run->has_table || !error;
    return error ? error : nic_chain_start(chain->d, transfers, run->count, run->table);
}

/* Starts puts one by one, and waits for room, since a table may be longer than a queue is deep. */
static int start_singly(struct devcom_chain *chain, struct transfer *transfers, unsigned count, unsigned *done)
{
    unsigned more;
    int error;

    for (*done = 0;;) {
        error = put_checked(chain->d, transfers + *done, count - *done, &more);
        *done += more;
        if (error != -EAGAIN)
            return error;
        error = stream_wait_for_room(chain->d, transfers[*done].rank, chain->queue);
        if (error)
            return error;
    }
}

/* Starts puts to near ranks. If joined puts are refused, they are done one by one up to the one that is invalid. */
static int start_near(struct devcom_chain *chain, const struct run *run)
{
    unsigned done, first, end = run->joined + run->joined_count;
    int error = start_singly(chain, &chain->joined[run->joined], run->joined_count, &done);

    if (!error)
        return 0;
    first = chain->before[run->joined + done];
    end = run->joined + done + 1 < end ? chain->before[run->joined + done + 1] : run->first + run->count;
    return end - first > 1 ? start_singly(chain, &chain->transfers[first], end - first, &done) : error;
}

static int start_run(struct devcom_chain *chain, struct run *run)
{
    int error;

    if (!run->far)
        return start_near(chain, run);
    while ((error = start_far(chain, run)) == -EAGAIN) {
        error = stream_wait_for_room(chain->d, chain->transfers[run->first].rank, chain->queue);
        if (error)
            return error;
    }
    return error;
}

int devcom_chain_start(struct devcom_chain *chain)
{
    int error = -EBUSY;

    if (!chain)
        return -EINVAL;
    if (pthread_mutex_trylock(&chain->lock))
        return error;
    if (!under_way(chain)) {
        error = 0;
        for (unsigned i = 0; i < chain->runs && !error; i++)
            error = start_run(chain, &chain->run[i]);
    }
    pthread_mutex_unlock(&chain->lock);
    return error;
}

int devcom_chain_wait(struct devcom_chain *chain, long timeout_us)
{
    return chain ? devcom_quiet(chain->d, chain->queue, timeout_us) : -EINVAL;
}

void devcom_chain_destroy(struct devcom_chain *chain)
{
    if (!chain)
        return;
    for (unsigned i = 0; i < chain->runs; i++) {
        const struct run *run = &chain->run[i];

        if (run->has_table)
            nic_chain_forget(chain->d, chain->transfers[run->first].rank, chain->queue, run->table);
    }
    pthread_mutex_destroy(&chain->lock);
    chain_free(chain);
}
