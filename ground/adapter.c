/* See adapter.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "ground/adapter.h"
#include "ground/nap.h"

#define BEAT_TAG 1000
#define LOOKS 64          /* tests of a receive before the next rank has its turn */
#define LAST_LOOKS 64     /* polls at the end, since other ranks may go on sending */
#define HELPED_NAP_US 200 /* while waiting threads do the work; acknowledgements are delayed by this when they end */

/* ---- losses ---- */

static void lose(struct adapter *adapter, int rank, const char *why)
{
    if (!neighbours_lose(adapter->neighbours, rank))
        return;
    vocl_log(LOG_WARN, "%s: rank %d is lost, rank %d reports: %s", adapter->kind->name, rank, adapter->neighbours->rank,
             why);
    adapter->kind->ring(adapter->owner);
}

static bool silent(const struct adapter *adapter, int rank)
{
    return adapter->silence_us && clock_us() - atomic_load(&adapter->peers[rank].heard_us) >= adapter->silence_us &&
           !(adapter->kind->patient && adapter->kind->patient(adapter->owner));
}

static void beat_to(struct adapter *adapter, int rank, bool look)
{
    MPI_Request *beat = &adapter->peers[rank].beat;
    int free_again = 1;

    if (*beat != MPI_REQUEST_NULL && PMPI_Test(beat, &free_again, MPI_STATUS_IGNORE))
        lose(adapter, rank, "MPI cannot reach it");
    else if (free_again && PMPI_Isend(NULL, 0, MPI_BYTE, rank, BEAT_TAG, adapter->comm, beat))
        lose(adapter, rank, "MPI cannot reach it");
    else if (look && silent(adapter, rank))
        lose(adapter, rank, "it has been silent for too long");
}

/* Takes one message of a rank, or of any, with a tag, or any. False if there is none. */
static bool find_one(struct adapter *adapter, int rank, int tag)
{
    MPI_Message message;
    MPI_Status status;
    int length, found = 0;

    if (PMPI_Improbe(rank, tag, adapter->comm, &found, &message, &status) || !found)
        return false;
    PMPI_Get_count(&status, MPI_BYTE, &length);
    atomic_store(&adapter->peers[status.MPI_SOURCE].heard_us, clock_us());
    if (status.MPI_TAG == BEAT_TAG)
        PMPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    else
        adapter->kind->take(adapter->owner, status.MPI_SOURCE, status.MPI_TAG, &message, length);
    return true;
}

/* Sends and receives heartbeats if it is time. They have a tag of their own, so that they are received also during a
 * large message. Silence is not counted after a time in which this process itself did not run. */
static void beat(struct adapter *adapter)
{
    const struct neighbours *n = adapter->neighbours;
    long now = clock_us(), last = adapter->beat_us;

    if (now - last < adapter->tick_us)
        return;
    adapter->beat_us = now;
    while (find_one(adapter, MPI_ANY_SOURCE, BEAT_TAG))
        ;
    for (int rank = 0; rank < n->size; rank++) {
        if (!n->memory[rank] && !neighbours_lost(n, rank))
            beat_to(adapter, rank, !last || now - last <= adapter->silence_us / 2);
    }
}

/* ---- sending ---- */

void adapter_keep(struct adapter *adapter, struct pending_send *pending_send,
                  void (*left)(struct pending_send *pending_send))
{
    pending_send->left = left;
    pthread_mutex_lock(&adapter->leaving);
    pending_send->next = adapter->pending_sends;
    adapter->pending_sends = pending_send;
    pthread_mutex_unlock(&adapter->leaving);
}

int adapter_send(struct adapter *adapter, MPI_Comm comm, int rank, int tag, const void *at, int count,
                 MPI_Datatype type, struct pending_send *pending_send, void (*left)(struct pending_send *pending_send))
{
    if (PMPI_Isend(at, count, type, rank, tag, comm, &pending_send->request)) {
        if (!adapter->neighbours->memory[rank])
            lose(adapter, rank, "MPI cannot reach it");
        return -ECONNRESET;
    }
    adapter_keep(adapter, pending_send, left);
    return 0;
}

int adapter_poll(struct adapter *adapter)
{
    int count = 0;

    pthread_mutex_lock(&adapter->leaving);
    for (struct pending_send **at = &adapter->pending_sends; *at;) {
        struct pending_send *pending_send = *at;
        int done = 0;

        PMPI_Test(&pending_send->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            at = &pending_send->next;
            continue;
        }
        *at = pending_send->next;
        count++;
        pending_send->left(pending_send);
    }
    pthread_mutex_unlock(&adapter->leaving);
    return count;
}

bool adapter_all_left(struct adapter *adapter)
{
    bool all;

    pthread_mutex_lock(&adapter->leaving);
    all = !adapter->pending_sends;
    pthread_mutex_unlock(&adapter->leaving);
    return all;
}

/* ---- receiving ---- */

static void receive_end(struct adapter *adapter, int rank, int error)
{
    struct adapter_peer *peer = &adapter->peers[rank];

    peer->active = false;
    atomic_fetch_sub(&adapter->under_way, 1);
    if (peer->then)
        peer->then(adapter->owner, rank, error);
    else
        free(peer->dropped);
}

/* Gives up a receive. The memory of a message to be dropped is not freed, since MPI may still write to it. */
static void give_up(struct adapter *adapter, int rank)
{
    struct adapter_peer *peer = &adapter->peers[rank];

    adapter->given_up = true;
    if (!peer->matched)
        PMPI_Cancel(&peer->request);
    if (peer->then)
        adapter->kind->give_up(adapter->owner, rank, &peer->request);
    else
        PMPI_Request_free(&peer->request);
    peer->dropped = NULL;
    receive_end(adapter, rank, -ECONNRESET);
}

/* Tests a receive, several times, since a message that has begun to arrive is soon complete. Whether it is over. */
static bool look(struct adapter *adapter, int rank)
{
    struct adapter_peer *peer = &adapter->peers[rank];
    int done = 0, error = 0;

    for (int i = 0; i < LOOKS && !done && !error; i++)
        error = PMPI_Test(&peer->request, &done, MPI_STATUS_IGNORE) ? -EIO : 0;
    if (done || error)
        receive_end(adapter, rank, error);
    else if (++peer->looks % LOOKS == 0 && neighbours_lost(adapter->neighbours, rank))
        give_up(adapter, rank);
    else
        return false;
    return true;
}

void adapter_receive(struct adapter *adapter, int rank, MPI_Message *found, MPI_Comm comm, int tag, void *at, int count,
                     MPI_Datatype type, void (*then)(void *owner, int rank, int error))
{
    struct adapter_peer *peer = &adapter->peers[rank];

    peer->then = then;
    peer->looks = 0;
    peer->matched = found;
    peer->active = true;
    atomic_fetch_add(&adapter->under_way, 1);
    if (found ? PMPI_Imrecv(at, count, type, found, &peer->request)
              : PMPI_Irecv(at, count, type, rank, tag, comm, &peer->request))
        receive_end(adapter, rank, -EIO);
    else
        look(adapter, rank);
}

void adapter_drop(struct adapter *adapter, int rank, MPI_Message *found, int bytes)
{
    void *nowhere = malloc((size_t)bytes + 1);

    if (!nowhere)
        return;
    adapter->peers[rank].dropped = nowhere;
    adapter_receive(adapter, rank, found, MPI_COMM_NULL, 0, nowhere, bytes, MPI_BYTE, NULL);
}

/* While a receive from one rank is in progress, the other ranks are polled one by one. */
int adapter_receive_all(struct adapter *adapter)
{
    const int size = adapter->neighbours->size;
    int count = 0;

    for (int rank = 0; rank < size && atomic_load(&adapter->under_way); rank++)
        count += adapter->peers[rank].active && look(adapter, rank);
    while (count < MOST_RECEIVED && !atomic_load(&adapter->under_way) && find_one(adapter, MPI_ANY_SOURCE, MPI_ANY_TAG))
        count++;
    for (int rank = 0; rank < size && atomic_load(&adapter->under_way); rank++) {
        for (int i = 0; i < MOST_RECEIVED && !adapter->peers[rank].active && find_one(adapter, rank, MPI_ANY_TAG); i++)
            count++;
    }
    return count;
}

/* ---- the thread, and the threads that help it ---- */

/* Does the work once. Returns the number of messages; negative: another thread is doing it. */
static int serve(struct adapter *adapter)
{
    int count;

    if (pthread_mutex_trylock(&adapter->serving))
        return -EBUSY;
    count = adapter_receive_all(adapter);
    count += adapter->kind->tell(adapter->owner, count);
    pthread_mutex_unlock(&adapter->serving);
    count += adapter_poll(adapter);
    if (count)
        adapter->kind->ring(adapter->owner);
    return count;
}

/* Yields if another thread is doing the work: it may spin for a long message, perhaps on this processor. */
void adapter_help(struct adapter *adapter)
{
    atomic_fetch_add_explicit(&adapter->helps, 1, memory_order_relaxed);
    if (serve(adapter) < 0)
        sched_yield();
}

void adapter_help_begin(struct adapter *adapter)
{
    atomic_fetch_add(&adapter->helpers, 1);
}

void adapter_help_end(struct adapter *adapter)
{
    atomic_fetch_sub(&adapter->helpers, 1);
}

static void *adapter_run(void *argument)
{
    struct adapter *adapter = argument;
    struct nap nap = nap_begin(adapter->kind->nap_us);
    unsigned seen = 0;

    while (!atomic_load(&adapter->stop)) {
        unsigned helps = atomic_load_explicit(&adapter->helps, memory_order_relaxed);

        beat(adapter);
        if (atomic_load(&adapter->helpers) && helps != seen) {
            seen = helps;
            nanosleep(&(struct timespec){.tv_nsec = HELPED_NAP_US * 1000}, NULL);
        } else if (serve(adapter) > 0) {
            nap = nap_begin(adapter->kind->nap_us);
        } else if (atomic_load(&adapter->under_way)) {
            sched_yield();
        } else {
            nap_take(&nap);
        }
    }
    for (int i = 0; i < LAST_LOOKS && serve(adapter) > 0;
         i++) /* otherwise ranks that wait for an answer would take this rank for lost */
        ;
    return NULL;
}

/* ---- open and close ---- */

int adapter_open(struct adapter *adapter, const struct adapter_kind *kind, void *owner, struct neighbours *neighbours)
{
    int level;

    *adapter = (struct adapter){.kind = kind,
                                .owner = owner,
                                .neighbours = neighbours,
                                .silence_us = settings_peer_ms() * 1000,
                                .tick_us = settings_tick_ms() * 1000};
    pthread_mutex_init(&adapter->serving, NULL);
    pthread_mutex_init(&adapter->leaving, NULL);
    PMPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        vocl_log(LOG_ERROR, "%s: MPI_THREAD_MULTIPLE is required for messages between ranks", kind->name);
        return -ENOTSUP;
    }
    adapter->peers = calloc((size_t)neighbours->size, sizeof(*adapter->peers));
    if (!adapter->peers)
        return -ENOMEM;
    for (int rank = 0; rank < neighbours->size; rank++) {
        adapter->peers[rank].request = adapter->peers[rank].beat = MPI_REQUEST_NULL;
        atomic_store(&adapter->peers[rank].heard_us, clock_us());
    }
    return 0;
}

int adapter_start(struct adapter *adapter, MPI_Comm comm)
{
    adapter->comm = comm;
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return -thread_start(&adapter->thread, adapter_run, adapter);
}

void adapter_stop(struct adapter *adapter)
{
    atomic_store(&adapter->stop, true);
    pthread_join(adapter->thread, NULL);
}

bool adapter_close(struct adapter *adapter)
{
    const bool half_received = adapter->given_up || atomic_load(&adapter->under_way);

    for (int rank = 0; adapter->peers && rank < adapter->neighbours->size; rank++) {
        if (adapter->peers[rank].beat != MPI_REQUEST_NULL)
            PMPI_Request_free(&adapter->peers[rank].beat);
    }
    free(adapter->peers);
    pthread_mutex_destroy(&adapter->serving);
    pthread_mutex_destroy(&adapter->leaving);
    return half_received;
}
