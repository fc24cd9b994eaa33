/*
 * The eager size. Data up to this size travel with their descriptor, and are copied twice; larger data travel
 * separately, directly between their places, but are announced first. The best size differs between networks
 * (section 4.5: between 4 and 32 KiB), so it is measured once, before the first put that it concerns. If the machine is
 * too busy for that, it is 8 KiB. If MPI announces long messages, and several messages that it does not announce are
 * faster, puts of up to 64 KiB are sent as several such messages (a "train").
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "devcom/nic.h"

#define FALLBACK 8192
#define LEAST 2048
#define CAR ((size_t)16384) /* size of the messages of a train */
#define ROUNDS 5
#define MOST_US 6000 /* for the measurement */

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

/* Measures the time to a rank and back with count messages of that many bytes. Returns the shortest of some rounds, of
 * which the last begins before until_us. */
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

/* Measures both ways at a size. False: there was no time. */
static bool compare(struct nic *nic, int rank, size_t bytes, long until_us, long *eager, long *bulk)
{
    *eager = shortest_ns(nic, rank, 1, bytes, false, until_us);
    *bulk = shortest_ns(nic, rank, 1, bytes, true, until_us);
    vocl_log(LOG_DEBUG, "devcom: %zu bytes take %ld ns with their descriptor and %ld by themselves", bytes, *eager,
             *bulk);
    return *eager >= 0 && *bulk >= 0;
}

/* Whether MOST_EAGER bytes arrive significantly sooner as several messages. */
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

    nic_probe(nic, rank, 1, 0, false, MOST_US); /* wakes the other rank */
    for (size_t bytes = 2 * LEAST; bytes <= MOST_EAGER; bytes *= 4) {
        if (!compare(nic, rank, bytes, until_us, &eager, &bulk))
            return found > FALLBACK ? found : FALLBACK;
        /* If MPI announces long messages itself, a separate descriptor costs less than the copies. If both ways take
         * the same time, one message less is better. */
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
    vocl_log(LOG_INFO, "devcom: rank %d: eager size %zu bytes%s", nic->d->rank, found,
             atomic_load(&nic->train_car) ? "; up to 64 KiB are split into such messages" : "");
}
