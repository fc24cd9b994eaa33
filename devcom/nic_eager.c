/*
 * Up to how many bytes data travel with their descriptor, which is copied twice, and above by themselves, straight from
 * and to where they are, but announced first. Where that changes differs among networks (section 4.5: between 4 and 32
 * KiB), so it is measured once, when the first put is in question. A machine that is too busy for that in time gets 8
 * KiB. Where MPI announces what is long, and several messages that it does not announce are quicker, puts of up to 64
 * KiB go as a train of such.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "devcom/nic.h"

#define FALLBACK 8192
#define LEAST 2048
#define CAR ((size_t)16384) /* of a train */
#define ROUNDS 5
#define MOST_US 6000 /* of measuring */

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

size_t nic_train_car(const struct nic *nic, size_t bytes)
{
    size_t car = atomic_load(&nic->train_car);

    return bytes > car && bytes <= MOST_EAGER ? car : 0;
}

/* The time to a rank and back with so many messages of so many bytes; the shortest of some, until it is time to end. */
static long shortest_ns(struct nic *nic, int rank, unsigned count, size_t bytes, bool bulk, long until_us)
{
    long shortest = -1;

    for (int i = 0; i < ROUNDS && clock_us() < until_us; i++) {
        long since = clock_ns(), took;

        if (nic_probe(nic, rank, count, bytes, bulk, MOST_US))
            break;
        took = clock_ns() - since;
        shortest = shortest < 0 || took < shortest ? took : shortest;
    }
    return shortest;
}

/* How they compare at so many bytes; false: there was no time for that. */
static bool compare(struct nic *nic, int rank, size_t bytes, long until_us, long *eager, long *bulk)
{
    *eager = shortest_ns(nic, rank, 1, bytes, false, until_us);
    *bulk = shortest_ns(nic, rank, 1, bytes, true, until_us);
    vocl_log(LOG_DEBUG, "devcom: %zu bytes take %ld ns with their descriptor and %ld by themselves", bytes, *eager,
             *bulk);
    return *eager >= 0 && *bulk >= 0;
}

/* Whether MOST_EAGER bytes are there sooner as several messages, by more than chance. */
static bool train_is_faster(struct nic *nic, int rank, long else_ns, long until_us)
{
    long train = shortest_ns(nic, rank, (unsigned)(MOST_EAGER / CAR), CAR, false, until_us);

    vocl_log(LOG_DEBUG, "devcom: %zu bytes take %ld ns as messages of %zu", MOST_EAGER, train, CAR);
    return train >= 0 && train < else_ns - else_ns / 16;
}

static size_t measure(struct nic *nic, int rank)
{
    long until_us = clock_us() + MOST_US, eager = 0, bulk = 0;
    size_t found = LEAST;
    bool whole = true;

    nic_probe(nic, rank, 1, 0, false, MOST_US); /* wakes the other */
    for (size_t bytes = 2 * LEAST; bytes <= MOST_EAGER; bytes *= 4) {
        if (!compare(nic, rank, bytes, until_us, &eager, &bulk))
            return found > FALLBACK ? found : FALLBACK;
        /* MPI announces long messages itself: then a descriptor in front costs less than the copies. What is as long
         * either way is one message less. */
        whole = whole && eager - eager / 8 <= bulk;
        found = whole ? bytes : found;
    }
    if (!train_is_faster(nic, rank, eager < bulk ? eager : bulk, until_us))
        return found;
    atomic_store(&nic->train_car, CAR);
    return CAR;
}

void nic_eager_find(struct nic *nic, int rank, size_t bytes)
{
    size_t found;

    if (bytes <= LEAST || bytes > MOST_EAGER || atomic_load(&nic->eager_bytes) ||
        atomic_exchange(&nic->eager_measured, true))
        return;
    found = measure(nic, rank);
    atomic_store(&nic->eager_bytes, found);
    vocl_log(LOG_INFO, "devcom: rank %d sends data of up to %zu bytes with their descriptors%s", nic->d->rank, found,
             atomic_load(&nic->train_car) ? ", and up to 64 KiB as a train of them" : "");
}
