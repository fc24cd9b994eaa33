/* The context: one rank's end of all its lanes. Opening and closing, and how threads wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/leave.h"
#include "base/log.h"
#include "base/settings.h"
#include "xtq/internal.h"

#define FIRST_NAP_US 20
#define LONGEST_NAP_US 1000

/* ---- waiting ---- */

void context_tick(struct xtq *x)
{
    atomic_fetch_add(&x->ticks, 1);
    region_wake_napping(&x->region, (unsigned)x->rank);
}

static struct server *server_at(struct xtq *x, unsigned queue)
{
    struct host_queue *host = atomic_load_explicit(&x->queue_slots[queue].host, memory_order_acquire);

    return host ? host_queue_server(host) : NULL;
}

int xtq_progress(struct xtq *x)
{
    int count = 0;

    if (!x)
        return -EINVAL;
    for (unsigned i = 0; i < x->queues; i++) {
        struct server *server = server_at(x, i);

        if (server)
            count += server_poll(server);
    }
    return count;
}

static void for_each_server(struct xtq *x, void (*visit)(struct server *server))
{
    for (unsigned i = 0; i < x->queues; i++) {
        struct server *server = server_at(x, i);

        if (server)
            visit(server);
    }
}

static void help_begin(void *owner)
{
    struct xtq *x = owner;

    atomic_fetch_add(&x->helpers, 1);
    for_each_server(x, server_help_begin);
}

static bool help(void *owner, struct waiting *waiting)
{
    struct xtq *x = owner;
    uint32_t before = waiting->ticks;

    waiting->ticks = atomic_load(&x->ticks);
    return xtq_progress(x) || waiting->ticks != before;
}

static void help_end(void *owner)
{
    struct xtq *x = owner;

    if (atomic_fetch_sub(&x->helpers, 1) == 1)
        for_each_server(x, server_help_end);
}

/* Other ranks may wait for progress of MPI in this process, for example for access to its windows. */
static void drive_mpi(void *owner)
{
    const struct xtq *x = owner;
    int found;

    if (x->in_mpi)
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, x->comm, &found, MPI_STATUS_IGNORE);
}

static void waits_open(struct xtq *x)
{
    x->waits = (struct waits){.owner = x,
                              .neighbours = &x->region.neighbours,
                              .doze = &region_header(&x->region, (unsigned)x->rank)->napping,
                              .spin_us = x->spin_us,
                              .yield_every = YIELD_EVERY,
                              .crowds = true,
                              .help_begin = help_begin,
                              .help = help,
                              .help_end = help_end,
                              .look = drive_mpi,
                              .first_us = FIRST_NAP_US,
                              .longest_us = LONGEST_NAP_US};
}

/* ---- open and close ---- */

static int options_check(struct xtq *x, const struct xtq_options *options)
{
    static const struct xtq_options none;

    options = options ? options : &none;
    x->queues = options->queues ? options->queues : 4;
    x->kernels = options->kernels ? options->kernels : 128;
    x->functions = options->functions ? options->functions : 128;
    x->lane_bytes = options->lane_bytes ? options->lane_bytes : (size_t)1 << 20;
    if (x->queues > MOST_QUEUES || x->kernels > MOST_ENTRIES || x->functions > MOST_ENTRIES ||
        x->lane_bytes < LEAST_LANE || x->lane_bytes > MOST_LANE || (x->lane_bytes & (x->lane_bytes - 1)))
        return -EINVAL;
    return 0;
}

static int tables_allocate(struct xtq *x)
{
    x->senders = calloc((size_t)x->size * x->queues, sizeof(*x->senders));
    x->function_slots = calloc(x->functions, sizeof(*x->function_slots));
    x->kernel_slots = calloc(x->kernels, sizeof(*x->kernel_slots));
    x->kernel_table = calloc(x->kernels, sizeof(*x->kernel_table));
    x->queue_slots = calloc(x->queues, sizeof(*x->queue_slots));
    if (!x->senders || !x->function_slots || !x->kernel_slots || !x->kernel_table || !x->queue_slots)
        return -ENOMEM;
    for (unsigned i = 0; i < x->kernels; i++)
        x->kernel_slots[i].entry = &x->kernel_table[i];
    return 0;
}

static void senders_open(struct xtq *x)
{
    for (unsigned target = 0; target < (unsigned)x->size; target++) {
        for (unsigned queue = 0; queue < x->queues; queue++) {
            struct sender *sender = put_sender(x, target, queue);

            pthread_mutex_init(&sender->lock, NULL);
            if (x->region.neighbours.memory[target]) {
                sender->ring = region_lane(&x->region, target, queue, (unsigned)x->rank);
            } else {
                sender->ring.size = x->lane_bytes;
                sender->ring.credit = region_mirror(&x->region, target, queue);
            }
        }
    }
}

/* Frees a context. half_received: MPI may still write to the region, which is then not freed. */
static void context_free(struct xtq *x, bool collective, bool half_received)
{
    host_queue_free(x->stopped);
    if (!half_received)
        region_close(&x->region);
    if (collective)
        PMPI_Comm_free(&x->comm);
    pthread_mutex_destroy(&x->registering);
    free(x->senders);
    free(x->function_slots);
    free(x->kernel_slots);
    free(x->kernel_table);
    free(x->queue_slots);
    free(x);
}

static int threads_open(struct xtq *x)
{
    int error;

    for (unsigned i = 0; i < x->queues; i++)
        atomic_store(&x->unserved[i], true);
    x->refuser = (struct server){.x = x, .number = REFUSER, .poll = refuse_unserved, .argument = x};
    error = server_open(&x->refuser, false);
    if (error)
        x->refuser.x = NULL;
    if (!error && !x->region.neighbours.all)
        error = nic_open(x);
    return error;
}

static void threads_stop(struct xtq *x)
{
    if (x->refuser.x)
        server_close(&x->refuser);
    if (x->nic)
        nic_stop(x);
}

int xtq_init(MPI_Comm comm, const struct xtq_options *options, struct xtq **out)
{
    struct xtq *x = calloc(1, sizeof(*x));
    static const long none[4];
    int error = !out ? -EINVAL : x ? options_check(x, options) : -ENOMEM;

    error =
        ranks_agree_on(comm, error, x ? (long[]){x->queues, x->kernels, x->functions, (long)x->lane_bytes} : none, 4);
    if (error) {
        free(x);
        return error;
    }
    if (PMPI_Comm_dup(comm, &x->comm)) {
        free(x);
        return -EIO;
    }
    pthread_mutex_init(&x->registering, NULL);
    x->spin_us = settings_number(SETTING_SPIN_US);
    PMPI_Comm_rank(x->comm, &x->rank);
    PMPI_Comm_size(x->comm, &x->size);
    timeline_join(x);
    error = region_open(&x->region, x->comm, x->queues, x->lane_bytes);
    if (error) {
        context_free(x, true, false);
        return error;
    }
    waits_open(x);
    error = ranks_agree(x->comm, tables_allocate(x));
    if (!error) {
        senders_open(x);
        error = ranks_agree(x->comm, threads_open(x));
    }
    if (error) {
        threads_stop(x);
        context_free(x, true, x->nic && nic_close(x, false));
        return error;
    }
    *out = x;
    return 0;
}

int xtq_agree(struct xtq *x, int error)
{
    return x ? ranks_agree(x->comm, error) : -EINVAL;
}

size_t xtq_largest_payload(const struct xtq *x, size_t argument_bytes)
{
    size_t before = RING_LINE + ring_lines(argument_bytes);

    return x && argument_bytes < x->lane_bytes && before < x->lane_bytes ? x->lane_bytes - before : 0;
}

int xtq_finalize(struct xtq *x)
{
    bool several_hosts, half_received;
    int error = xtq_barrier(x);

    if (!x || error == -EDEADLK)
        return error;
    several_hosts = !x->region.neighbours.all;
    if (x->nic)
        nic_end(x);
    for (unsigned i = 0; i < x->queues; i++)
        queue_stop(x, i);
    threads_stop(x);
    if (several_hosts && !error)
        error = barrier_meet(x);
    half_received = x->nic && nic_close(x, !error);
    for (unsigned i = 0; i < x->kernels; i++)
        xtq_unregister_kernel(x, i);
    for (unsigned i = 0; i < (unsigned)x->size * x->queues; i++)
        pthread_mutex_destroy(&x->senders[i].lock);
    context_free(x, error == 0, half_received);
    if (several_hosts && !error)
        leave_quietly(LEAVE_MS);
    return error;
}

bool xtq_alive(const struct xtq *x, int rank)
{
    return x && rank >= 0 && rank < x->size && !neighbours_lost(&x->region.neighbours, rank);
}

int xtq_rank(const struct xtq *x)
{
    return x ? x->rank : -EINVAL;
}

int xtq_size(const struct xtq *x)
{
    return x ? x->size : -EINVAL;
}

uint64_t xtq_refused(const struct xtq *x)
{
    uint64_t count = x ? atomic_load(&x->refused) : 0;

    for (unsigned i = 0; x && i < x->queues; i++) {
        const struct device_queue *device = atomic_load(&x->queue_slots[i].device);

        if (device)
            count += device_queue_refused(device);
    }
    return count;
}

void context_refuse(struct xtq *x, const struct ring *ring, int error)
{
    vocl_log(LOG_WARN, "xtq: rank %d refused a packet: %s", x->rank, strerror(-error));
    atomic_fetch_add(&x->refused, 1);
    ring_refuse(ring, error);
}
