/*
 * Tries all orders of a halo exchange (section VIII). The factors depend only on the neighbour that each device is
 * sending to, for which there are at most 4^8 combinations; so they are computed once for each combination that occurs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topo/halo.h"

#define DEVICES 8
#define STATES (1u << 2 * DEVICES)

struct search {
    const struct topology *t;
    double tau;
    unsigned neighbours[DEVICES][3], counts[DEVICES];
    float (*factors)[DEVICES]; /* by state; the first is -1 if not computed yet */
    unsigned order[DEVICES];   /* of each device, the index of its permutation */
    float *times;
    unsigned long done;
    double fastest;
    unsigned best[DEVICES];
};

static const unsigned char permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* With two neighbours, the indices 0 and 1 stand for permutations 0 and 2, which swap them. */
static unsigned neighbour_at(const struct search *s, unsigned device, unsigned permutation, unsigned place)
{
    return permutations[s->counts[device] == 3 ? permutation : permutation * 2][place];
}

static unsigned orders_of(const struct search *s, unsigned device)
{
    return s->counts[device] == 3 ? 6 : 2;
}

/* state has two bits for each device: 0 if it has nothing left to send, otherwise 1 + the index of the neighbour. */
static const float *factors_at(struct search *s, unsigned state)
{
    struct topology_transfer transfers[DEVICES];
    unsigned devices[DEVICES], count = 0;
    double factors[DEVICES];
    float *known = s->factors[state];

    if (known[0] >= 0)
        return known;
    for (unsigned device = 0; device < DEVICES; device++) {
        unsigned what = state >> 2 * device & 3;

        known[device] = 0;
        if (!what)
            continue;
        devices[count] = device;
        transfers[count++] = (struct topology_transfer){.source = device, .target = s->neighbours[device][what - 1]};
    }
    topology_factors(s->t, s->tau, transfers, count, factors, NULL);
    for (unsigned i = 0; i < count; i++)
        known[devices[i]] = (float)factors[i];
    return known;
}

/* Returns when the last message has arrived. */
static double time_of(struct search *s)
{
    double left[DEVICES], now = 0;
    unsigned place[DEVICES] = {0}, state = 0;

    for (unsigned device = 0; device < DEVICES; device++) {
        left[device] = 1;
        state |= (neighbour_at(s, device, s->order[device], 0) + 1) << 2 * device;
    }
    while (state) {
        const float *factors = factors_at(s, state);
        double step = -1;

        for (unsigned device = 0; device < DEVICES; device++) {
            double needed;

            if (factors[device] <= 0)
                continue;
            needed = left[device] / (double)factors[device];
            step = step < 0 || needed < step ? needed : step;
        }
        now += step;
        for (unsigned device = 0; device < DEVICES; device++) {
            left[device] -= step * (double)factors[device];
            if (!(state >> 2 * device & 3) || left[device] > 1e-6)
                continue;
            left[device] = 1;
            state &= ~(3u << 2 * device);
            if (++place[device] < s->counts[device])
                state |= (neighbour_at(s, device, s->order[device], place[device]) + 1) << 2 * device;
        }
    }
    return now;
}

static void try_all(struct search *s, unsigned device)
{
    double time;

    if (device < DEVICES) {
        for (s->order[device] = 0; s->order[device] < orders_of(s, device); s->order[device]++)
            try_all(s, device + 1);
        return;
    }
    time = time_of(s);
    if (!s->done || time < s->fastest) {
        s->fastest = time;
        memcpy(s->best, s->order, sizeof(s->best));
    }
    s->times[s->done++] = (float)time;
}

static void add_neighbour(struct search *s, unsigned device, unsigned neighbour)
{
    s->neighbours[device][s->counts[device]++] = neighbour;
}

static void make_grid(struct search *s, unsigned dimensions)
{
    for (unsigned device = 0; device < DEVICES; device++) {
        if (dimensions == 3) {
            for (unsigned bit = 1; bit < DEVICES; bit <<= 1)
                add_neighbour(s, device, device ^ bit);
            continue;
        }
        if (device % 4 > 0)
            add_neighbour(s, device, device - 1);
        if (device % 4 < 3)
            add_neighbour(s, device, device + 1);
        add_neighbour(s, device, device ^ 4);
    }
}

static int by_time(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;

    return (a > b) - (a < b);
}

static void fill_result(const struct search *s, struct topology_halo *out)
{
    *out = (struct topology_halo){.orders = s->done,
                                  .fastest = (double)s->times[0],
                                  .median = (double)s->times[s->done / 2],
                                  .slowest = (double)s->times[s->done - 1]};
    for (unsigned device = 0; device < DEVICES; device++) {
        out->neighbour_count[device] = s->counts[device];
        for (unsigned place = 0; place < s->counts[device]; place++)
            out->neighbours[device][place] = s->neighbours[device][neighbour_at(s, device, s->best[device], place)];
    }
}

int topology_halo(const struct topology *t, double tau, unsigned dimensions, struct topology_halo *out)
{
    struct search s = {.t = t, .tau = tau};
    unsigned long orders = 1;
    int error = 0;

    if (t->device_count != DEVICES || (dimensions != 2 && dimensions != 3) || !(tau >= 0 && tau < 1))
        return -EINVAL;
    make_grid(&s, dimensions);
    for (unsigned device = 0; device < DEVICES; device++)
        orders *= orders_of(&s, device);
    s.times = malloc(orders * sizeof(*s.times));
    s.factors = malloc(STATES * sizeof(*s.factors));
    if (s.times && s.factors) {
        for (unsigned state = 0; state < STATES; state++)
            s.factors[state][0] = -1;
        try_all(&s, 0);
        qsort(s.times, s.done, sizeof(*s.times), by_time);
        fill_result(&s, out);
    } else {
        error = -ENOMEM;
    }
    free(s.times);
    free(s.factors);
    return error;
}
