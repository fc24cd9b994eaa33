/* Starts the transfers of a node in the model's order. See bus.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "topology/bus.h"

#define CONSIDERED 24 /* transfers whose order is decided together */
#define PASSES 3
#define PATIENCE 0.01      /* seconds that others of its source wait for a transfer at least */
#define PATIENCE_FACTOR 20 /* they wait in addition so many times as long as it takes alone */
#define LEAST_LEFT 0.05    /* fraction left of a transfer that should have ended and has not */

struct bus {
    const struct topology *t;
    enum bus_order order;
    TAILQ_HEAD(, bus_transfer) transfers; /* under way or waiting; in the order in which they came */
    double now, seen;                     /* seen: time of the last decision */
    bool changed, waits;
};

struct choice {
    struct bus_transfer *of[CONSIDERED];
    struct topology_transfer transfers[CONSIDERED];
    unsigned count, moving;
};

struct bus *bus_new(const struct topology *t, enum bus_order order)
{
    struct bus *bus = calloc(1, sizeof(*bus));

    if (!bus)
        return NULL;
    bus->t = t;
    bus->order = order;
    TAILQ_INIT(&bus->transfers);
    return bus;
}

void bus_free(struct bus *bus)
{
    free(bus);
}

int bus_ask(struct bus *bus, struct bus_transfer *transfer)
{
    const unsigned most = bus->t->device_count;

    if ((transfer->source >= most && transfer->source != TOPOLOGY_HOST) ||
        (transfer->target >= most && transfer->target != TOPOLOGY_HOST) || transfer->source == transfer->target)
        return -EINVAL;
    transfer->left = transfer->bytes;
    transfer->moving = false;
    TAILQ_INSERT_TAIL(&bus->transfers, transfer, in);
    bus->changed = true;
    return 0;
}

void bus_over(struct bus *bus, struct bus_transfer *transfer)
{
    TAILQ_REMOVE(&bus->transfers, transfer, in);
    bus->changed = true;
}

static void add(struct choice *choice, struct bus_transfer *transfer)
{
    choice->of[choice->count] = transfer;
    choice->transfers[choice->count++] =
        (struct topology_transfer){.source = transfer->source, .target = transfer->target, .bytes = transfer->left};
}

static void add_those(const struct bus *bus, struct choice *choice, bool moving)
{
    struct bus_transfer *at;

    TAILQ_FOREACH (at, &bus->transfers, in) {
        if (choice->count == CONSIDERED)
            return;
        if (at->moving == moving)
            add(choice, at);
    }
}

/* Transfers under way come first, then those that wait. */
static void choose(const struct bus *bus, struct choice *choice)
{
    choice->count = 0;
    add_those(bus, choice, true);
    choice->moving = choice->count;
    add_those(bus, choice, false);
}

/* Estimates what the transfers under way have left. */
static void estimate(struct bus *bus, double now)
{
    double factors[CONSIDERED];
    struct choice choice;

    choose(bus, &choice);
    if (choice.moving && !topology_factors(bus->t, bus->t->tau, choice.transfers, choice.moving, factors, NULL)) {
        for (unsigned i = 0; i < choice.moving; i++) {
            struct bus_transfer *transfer = choice.of[i];
            const double least = transfer->bytes * LEAST_LEFT;

            transfer->left -= factors[i] * bus->t->bandwidth * (now - bus->now);
            transfer->left = transfer->left < least ? least : transfer->left;
        }
    }
    bus->now = now;
}

static bool is_busy(const struct bus *bus, unsigned source)
{
    const struct bus_transfer *at;

    if (source == TOPOLOGY_HOST)
        return false;
    TAILQ_FOREACH (at, &bus->transfers, in) {
        if (at->moving && at->source == source && at->until > bus->now)
            return true;
    }
    return false;
}

/* Whether a transfer should have ended by now, and should not have at the last decision: it may be waiting, for
 * reasons unknown here, for another one that waits here. */
static bool is_late(const struct bus *bus, double now)
{
    const struct bus_transfer *at;

    TAILQ_FOREACH (at, &bus->transfers, in) {
        if (at->moving && at->until > bus->now && at->until <= now)
            return true;
    }
    return false;
}

static bool any_waits(const struct bus *bus)
{
    const struct bus_transfer *at;

    TAILQ_FOREACH (at, &bus->transfers, in) {
        if (!at->moving)
            return true;
    }
    return false;
}

/* Returns the total bandwidth, in units of a link's, of the transfers under way and those picked. */
static double flow(const struct bus *bus, const struct choice *choice, const bool *picked)
{
    struct topology_transfer transfers[CONSIDERED] = {{0}};
    double factors[CONSIDERED], sum = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < choice->count; i++) {
        if (picked[i])
            transfers[count++] = choice->transfers[i];
    }
    if (topology_factors(bus->t, bus->t->tau, transfers, count, factors, NULL))
        return 0;
    for (unsigned i = 0; i < count; i++)
        sum += factors[i];
    return sum;
}

/* In the place of `first`, picks among the transfers that wait at its source the one with the highest total; earlier
 * ones if equal. */
static bool pick_better(const struct bus *bus, const struct choice *choice, unsigned first, bool *picked)
{
    double most = flow(bus, choice, picked);
    unsigned best = first;

    for (unsigned i = choice->moving; i < choice->count; i++) {
        double sum;

        if (i == first || choice->transfers[i].source != choice->transfers[first].source ||
            choice->transfers[i].target == choice->transfers[first].target)
            continue;
        picked[best] = false;
        picked[i] = true;
        sum = flow(bus, choice, picked);
        if (sum > most + 1e-9) {
            most = sum;
            best = i;
        } else {
            picked[i] = false;
            picked[best] = true;
        }
    }
    return best != first;
}

/* Picks for each idle source its first waiting transfer; then, source by source, better ones, as long as there are
 * any. */
static void pick(const struct bus *bus, const struct choice *choice, bool *picked)
{
    bool better = bus->order == BUS_MODEL;

    for (unsigned i = 0; i < choice->count; i++) {
        const unsigned source = choice->transfers[i].source;
        bool taken = i >= choice->moving && is_busy(bus, source);

        for (unsigned k = choice->moving; k < i && source != TOPOLOGY_HOST; k++)
            taken |= picked[k] && choice->transfers[k].source == source;
        picked[i] = !taken;
    }
    for (unsigned pass = 0; better && pass < PASSES; pass++) {
        better = false;
        for (unsigned i = choice->moving; i < choice->count; i++) {
            if (picked[i] && choice->transfers[i].source != TOPOLOGY_HOST)
                better |= pick_better(bus, choice, i, picked);
        }
    }
}

bool bus_decide(struct bus *bus, double now)
{
    bool picked[CONSIDERED];
    struct choice choice;

    if (!bus->changed && !is_late(bus, now))
        return bus->waits;
    estimate(bus, now);
    choose(bus, &choice);
    pick(bus, &choice, picked);
    bus->changed = false;
    for (unsigned i = choice.moving; i < choice.count; i++) {
        struct bus_transfer *transfer = choice.of[i];

        if (!picked[i])
            continue;
        transfer->moving = true;
        transfer->until = now + PATIENCE + transfer->bytes * PATIENCE_FACTOR / bus->t->bandwidth;
        transfer->go(transfer);
    }
    bus->waits = any_waits(bus);
    return bus->waits;
}
