/*
 * Up to how many bytes data travel with their descriptor, which is copied twice, and above by themselves, straight from
 * and to where they are, but announced first. Where that changes differs among networks (section 4.5: between 4 and 32
 * KiB), so it is measured once, when the first put is in question. A
 * machine that is too busy for that in time gets 8 KiB.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "devcom/nic.h"

#define FALLBACK 8192
#define LEAST 2048
#define ROUNDS 3
#define MOST_US 4000 /* of measuring */

void nic_eager_open(struct nic *nic, size_t given)
{
    size_t set = settings_bytes(SETTING_DEVCOM_EAGER);

    set = given ? given : set;
    atomic_store(&nic->eager_bytes, set < MOST_EAGER ? set : MOST_EAGER);
}

size_t nic_eager_bytes(const struct nic *nic)
{
    size_t now = atomic_load(&nic->eager_bytes);

    return now ? now : FALLBACK;
}

/* The time to a rank and back with so many bytes; the shortest of some, until it is time to end. */
static long shortest_ns(struct nic *nic, int rank, size_t bytes, bool bulk, long until_us)
{
    long shortest = -1;

    for (int i = 0; i < ROUNDS && clock_us() < until_us; i++) {
        long since = clock_ns(), took;

        if (nic_probe(nic, rank, bytes, bulk, MOST_US))
            break;
        took = clock_ns() - since;
        shortest = shortest < 0 || took < shortest ? took : shortest;
    }
    return shortest;
}

static size_t measure(struct nic *nic, int rank)
{
    long until_us = clock_us() + MOST_US;
    size_t found = LEAST;

    nic_probe(nic, rank, 0, false, MOST_US); /* wakes the other */
    for (size_t bytes = 2 * LEAST; bytes <= MOST_EAGER; bytes *= 4) {
        long eager = shortest_ns(nic, rank, bytes, false, until_us),
             bulk = shortest_ns(nic, rank, bytes, true, until_us);

        vocl_log(LOG_DEBUG, "devcom: %zu bytes take %ld ns with their descriptor and %ld by themselves", bytes, eager,
                 bulk);
        if (eager < 0 || bulk < 0)
            return found > FALLBACK ? found : FALLBACK;
        if (eager >
            bulk) /* MPI announces long messages itself: then a descriptor in front costs less than the copies */
            break;
        found = bytes;
    }
    return found;
}

void nic_eager_find(struct nic *nic, int rank, size_t bytes)
{
    size_t found;

    if (bytes <= LEAST || bytes > MOST_EAGER || atomic_load(&nic->eager_bytes) ||
        atomic_exchange(&nic->eager_measured, true))
        return;
    found = measure(nic, rank);
    atomic_store(&nic->eager_bytes, found);
    vocl_log(LOG_INFO, "devcom: rank %d sends data of up to %zu bytes with their descriptors", nic->d->rank, found);
}
