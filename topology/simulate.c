/* Runs the bus on a node that only exists in the model. See bus.h. */
#include <errno.h>
#include <stdlib.h>

#include "topology/bus.h"

enum state { COMING, ASKED, GOING, OVER };

struct simulated {
    struct bus_transfer transfer;
    enum state state;
    double left;
};

struct node {
    const struct topology *t;
    struct bus *bus;
    struct simulated *all;
    unsigned count;
    double now;
};

static void go(struct bus_transfer *transfer)
{
    ((struct simulated *)transfer)->state = GOING;
}

static int ask_all(struct node *node, const struct topology_transfer *transfers)
{
    for (unsigned i = 0; i < node->count; i++) {
        struct simulated *one = &node->all[i];

        if (one->state != COMING || transfers[i].start > node->now)
            continue;
        one->state = ASKED;
        one->left = transfers[i].bytes;
        one->transfer = (struct bus_transfer){
            .source = transfers[i].source, .target = transfers[i].target, .bytes = transfers[i].bytes, .go = go};
        if (bus_ask(node->bus, &one->transfer))
            return -EINVAL;
    }
    bus_decide(node->bus, node->now);
    return 0;
}

static int find_factors(const struct node *node, double *factors)
{
    struct topology_transfer going[TOPOLOGY_MOST_TRANSFERS];
    double found[TOPOLOGY_MOST_TRANSFERS];
    unsigned number[TOPOLOGY_MOST_TRANSFERS], count = 0;
    int error;

    for (unsigned i = 0; i < node->count; i++) {
        const struct bus_transfer *transfer = &node->all[i].transfer;

        factors[i] = 0;
        if (node->all[i].state != GOING)
            continue;
        number[count] = i;
        going[count++] = (struct topology_transfer){.source = transfer->source, .target = transfer->target};
    }
    error = topology_factors(node->t, node->t->tau, going, count, found, NULL);
    for (unsigned i = 0; i < count && !error; i++)
        factors[number[i]] = found[i];
    return error;
}

/* Advances to the next end or start. Returns false if there is none. */
static bool step(struct node *node, const struct topology_transfer *transfers, const double *factors, double *ends)
{
    double passing = -1;

    for (unsigned i = 0; i < node->count; i++) {
        double at = -1;

        if (node->all[i].state == COMING)
            at = transfers[i].start - node->now;
        else if (factors[i] > 0)
            at = node->all[i].left / (factors[i] * node->t->bandwidth);
        if (at >= 0 && (passing < 0 || at < passing))
            passing = at;
    }
    if (passing < 0)
        return false;
    node->now += passing;
    for (unsigned i = 0; i < node->count; i++) {
        struct simulated *one = &node->all[i];

        one->left -= factors[i] * node->t->bandwidth * passing;
        if (one->state != GOING || one->left > one->transfer.bytes * 1e-9)
            continue;
        one->state = OVER;
        ends[i] = node->now;
        bus_over(node->bus, &one->transfer);
    }
    return true;
}

int bus_simulate(const struct topology *t, enum bus_order order, const struct topology_transfer *transfers,
                 unsigned count, double *ends)
{
    double factors[TOPOLOGY_MOST_TRANSFERS];
    struct node node = {.t = t, .count = count};
    int error = 0;

    if (count > TOPOLOGY_MOST_TRANSFERS)
        return -EINVAL;
    node.bus = bus_new(t, order);
    node.all = calloc(count + 1, sizeof(*node.all));
    if (!node.bus || !node.all)
        error = -ENOMEM;
    do {
        error = error ? error : ask_all(&node, transfers);
        error = error ? error : find_factors(&node, factors);
    } while (!error && step(&node, transfers, factors, ends));
    bus_free(node.bus);
    free(node.all);
    return error;
}
