/* Transfers of a node, let go in the model's order. See bus.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "topology/bus.h"

#define CONSIDERED 24 /* transfers, of which the order is decided at a time */
#define PASSES 3
#define PATIENCE 0.01      /* seconds, and so many times what it takes alone, */
#define PATIENCE_FACTOR 20 /* a transfer is waited for by others of its source */
#define LEAST_LEFT 0.05    /* of a transfer that should be over by now, and is not */

struct bus {
    const struct topology *t;
    enum bus_order order;
    TAILQ_HEAD(, bus_transfer) transfers; /* that go, or wait; in the order they came */
    double now, seen;                     /* seen: when it was decided last */
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

/* Those that go first, then those that wait. */
static void choose(const struct bus *bus, struct choice *choice)
{
    choice->count = 0;
    add_those(bus, choice, true);
    choice->moving = choice->count;
    add_those(bus, choice, false);
}

/* What those that go should have left by now. */
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

/* Whether one that goes should be over by now, and was not to be when it was decided last: it may be waiting for
 * another that waits here, in a way that is not known here. */
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

/* The bandwidth, in links' worth, that those have together which go and those that are picked. */
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

/* Of what waits at the source of `first`, picked now, the one with which all together get most; earlier ones if alike.
 */
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

/* Of each idle source the first that waits; then, one source after the other, a better one, as long as there is. */
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
