/* Finds the order of a set of transfers that takes the least time. See topology.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"

struct search {
    const struct topology *t;
    double tau, bandwidth;
    const struct topology_transfer *transfers;
    unsigned count, fixed, order[TOPOLOGY_MOST_TRANSFERS], best_order[TOPOLOGY_MOST_TRANSFERS];
    struct topology_times best;
    unsigned long tried;
    struct topology_transfer sorted[TOPOLOGY_MOST_TRANSFERS];
    double ends[TOPOLOGY_MOST_TRANSFERS];
};

static bool is_less(double a, double b)
{
    return a < b * (1 - 1e-9);
}

static bool is_better(const struct topology_times *a, const struct topology_times *b)
{
    return is_less(a->last, b->last) || (!is_less(b->last, a->last) && is_less(a->mean, b->mean));
}

/* Tries search->order. Returns whether it is the best so far. */
static bool try(struct search *s)
{
    struct topology_times times = {0};

    for (unsigned i = 0; i < s->count; i++)
        s->sorted[i] = s->transfers[s->order[i]];
    topology_predict(s->t, s->tau, s->bandwidth, s->sorted, s->count, s->ends, NULL, NULL);
    for (unsigned i = 0; i < s->count; i++) {
        times.last = s->ends[i] > times.last ? s->ends[i] : times.last;
        times.mean += s->ends[i] / s->count;
    }
    if (s->tried++ && !is_better(&times, &s->best))
        return false;
    s->best = times;
    memcpy(s->best_order, s->order, sizeof(s->order));
    return true;
}

static void exchange(unsigned *order, unsigned i, unsigned k)
{
    unsigned it = order[i];

    order[i] = order[k];
    order[k] = it;
}

/* Whether exchanging two places of the order is allowed and makes a difference. */
static bool may_exchange(const struct search *s, unsigned i, unsigned k)
{
    const struct topology_transfer *a = &s->transfers[s->order[i]], *b = &s->transfers[s->order[k]];

    return i >= s->fixed && k >= s->fixed && a->source == b->source && a->source != TOPOLOGY_HOST;
}

/* Counts the orders, up to somewhat more than limit. */
static double count_orders(const struct search *s, unsigned long limit)
{
    double orders = 1;

    for (unsigned i = 0; i < s->count && orders <= (double)limit; i++) {
        unsigned before = 1;

        for (unsigned k = 0; k < i; k++)
            before += may_exchange(s, i, k);
        orders *= before;
    }
    return orders;
}

/* Tries each transfer in the place of each later one of its source. */
static void try_all(struct search *s, unsigned place)
{
    if (place == s->count) {
        try(s);
        return;
    }
    for (unsigned k = place; k < s->count; k++) {
        if (k != place && !may_exchange(s, place, k))
            continue;
        exchange(s->order, place, k);
        try_all(s, place + 1);
        exchange(s->order, place, k);
    }
}

static bool improve(struct search *s, unsigned long tries)
{
    bool better = false;

    for (unsigned i = 0; i < s->count; i++) {
        for (unsigned k = i + 1; k < s->count; k++) {
            if (!may_exchange(s, i, k))
                continue;
            if (s->tried >= tries)
                return false;
            exchange(s->order, i, k);
            if (try(s))
                better = true;
            else
                exchange(s->order, i, k);
        }
    }
    return better;
}

int topology_order(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                   unsigned count, unsigned fixed, unsigned long tries, unsigned *order, struct topology_times *first,
                   struct topology_times *best)
{
    struct search *s;
    double ends[TOPOLOGY_MOST_TRANSFERS];
    int error = topology_predict(t, tau, bandwidth, transfers, count, ends, NULL, NULL);

    if (error)
        return error;
    s = malloc(sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct search){
        .t = t, .tau = tau, .bandwidth = bandwidth, .transfers = transfers, .count = count, .fixed = fixed};
    for (unsigned i = 0; i < count; i++)
        s->order[i] = i;
    try(s);
    if (first)
        *first = s->best;
    if (count_orders(s, tries) <= (double)tries) {
        try_all(s, 0);
    } else {
        while (improve(s, tries))
            ;
    }
    memcpy(order, s->best_order, count * sizeof(*order));
    if (best)
        *best = s->best;
    free(s);
    return 0;
}
