/*
 * A thread that polls a queue while messages arrive, and otherwise sleeps on the queue's doorbell.
 *
 * An initiator publishes a message first, and then reads `asleep`. The server first sets `asleep`, and then checks the
 * bells once more. Threads of the application that wait ("helpers") poll the queues themselves: then initiators do not
 * wake the server, and the last helper to leave does what the server does before it sleeps. Helpers are counted once
 * for all queues, since queues may be registered and unregistered while they wait.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "xtq/internal.h"

static _Atomic uint32_t *asleep_of(const struct server *server)
{
    return region_asleep(&server->x->region, (unsigned)server->x->rank, server->number);
}

static bool is_helped(const struct server *server)
{
    return server->number != REFUSER && atomic_load(&server->x->helpers);
}

static _Thread_local struct server *inside;

bool server_inside(void)
{
    return inside != NULL;
}

/* A thread that finds another one polling asks it to poll once more, since that may have checked the bells already. */
int server_poll(struct server *server)
{
    int count = 0;

    for (int round = 0;; round++) {
        struct server *outer = inside;

        if (pthread_mutex_trylock(&server->serving)) {
            atomic_store(&server->again, true);
            if (pthread_mutex_trylock(&server->serving))
                return count;
        }
        atomic_store(&server->again, false);
        inside = server;
        count += atomic_load(&server->stop) ? 0 : server->poll(server->argument);
        inside = outer;
        pthread_mutex_unlock(&server->serving);
        if (!atomic_load(&server->again))
            break;
        if (round) { /* messages keep arriving: leave them to the server, or to a thread that does not sleep yet */
            region_ring(asleep_of(server));
            region_wake_napping(&server->x->region, (unsigned)server->x->rank);
            break;
        }
    }
    if (count && atomic_load(&server->parked) && !is_helped(server))
        server_settle(server);
    return count;
}

void server_settle(struct server *server)
{
    if (server->settle)
        server->settle(server->argument);
}

void server_drain(struct server *server)
{
    if (inside == server)
        return;
    pthread_mutex_lock(&server->serving);
    pthread_mutex_unlock(&server->serving);
}

void server_help_begin(struct server *server)
{
    uint32_t expected = ASLEEP;

    if (atomic_load(asleep_of(server)) == ASLEEP)
        atomic_compare_exchange_strong(asleep_of(server), &expected, HELPED);
}

void server_help_end(struct server *server)
{
    if (server->manual || atomic_load(&server->parked))
        server_settle(server);
    if (!atomic_load(&server->parked))
        return;
    atomic_store(asleep_of(server), ASLEEP);
    if (server_poll(server))
        region_ring(asleep_of(server));
}

/* Wakes the server: the last helper may have left without having seen it. */
void server_show(struct server *server)
{
    if (!server->manual)
        region_rouse(asleep_of(server));
}

/* Sleeps until woken. The time-out is for peers that do not wake the server. */
static void server_sleep(struct server *server)
{
    _Atomic uint32_t *asleep = asleep_of(server);
    uint32_t value = HELPED;

    atomic_store(&server->parked, true);
    atomic_store(asleep, value);
    if (!is_helped(server)) {
        value = ASLEEP;
        atomic_store(asleep, value);
        server_settle(server);
        if (server_poll(server)) {
            atomic_store(&server->parked, false);
            atomic_store(asleep, AWAKE);
            return;
        }
    } else { /* helpers handle the rest, and may have fallen asleep while this thread was polling */
        region_wake_napping(&server->x->region, (unsigned)server->x->rank);
    }
    if (!atomic_load(&server->stop))
        doze_sleep(asleep, value, MOST_SLEEP_US);
    atomic_store(&server->parked, false);
}

static void *server_run(void *argument)
{
    struct server *server = argument;
    struct polling polling = polling_begin();
    struct crowd crowd = {0, 0};

    while (!atomic_load(&server->stop)) {
        if (!is_helped(server)) {
            if (server_poll(server)) {
                polling = polling_begin();
                continue;
            }
            if (polling_on(&polling, YIELD_EVERY, server->x->spin_us, &crowd))
                continue;
        }
        server_sleep(server);
        polling = polling_begin();
    }
    return NULL;
}

int server_open(struct server *server, bool manual)
{
    pthread_mutex_init(&server->serving, NULL);
    server->manual = manual;
    return manual ? 0 : -thread_start(&server->thread, server_run, server);
}

void server_close(struct server *server)
{
    atomic_store(&server->stop, true);
    if (!server->manual) {
        region_rouse(asleep_of(server));
        pthread_join(server->thread, NULL);
    }
    server_drain(server);
}
