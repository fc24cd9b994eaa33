/* The order in which a node's arbitration releases transfers is faster than first come first served, in a simulated
 * node. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/draw.h"
#include "topology/bus.h"

static unsigned below(unsigned limit)
{
    static uint64_t state = 7;

    return draw_below(&state, limit);
}

static struct topology *tree(void)
{
    struct topology *t;
    char why[256];

    assert(!topology_open("T2", &t, why, sizeof(why)));
    return t;
}

static double last_of(const struct topology *t, enum bus_order order, const struct topology_transfer *transfers,
                      unsigned count)
{
    double ends[TOPOLOGY_MOST_TRANSFERS], last = 0;

    assert(!bus_simulate(t, order, transfers, count, ends));
    for (unsigned i = 0; i < count; i++)
        last = ends[i] > last ? ends[i] : last;
    return last;
}

/* A 2D halo exchange of 64 MiB, with the neighbours in the order of their ordinals. */
static void halo(const struct topology *t)
{
    static const unsigned neighbours[8][4] = {{1, 4, 9}, {0, 2, 5, 9}, {1, 3, 6, 9}, {2, 7, 9},
                                              {0, 5, 9}, {1, 4, 6, 9}, {2, 5, 7, 9}, {3, 6, 9}};
    struct topology_transfer transfers[20];
    unsigned count = 0;
    double first, model;

    for (unsigned device = 0; device < 8; device++) {
        for (unsigned i = 0; neighbours[device][i] < 8; i++)
            transfers[count++] =
                (struct topology_transfer){.source = device, .target = neighbours[device][i], .bytes = 64 << 20};
    }
    assert(count == 20);
    first = last_of(t, BUS_FIRST_COME, transfers, count);
    model = last_of(t, BUS_MODEL, transfers, count);
    assert(model < first * 0.85);
}

/* With random transfers at random times, all complete, and faster on the whole. */
static void random_ones(const struct topology *t)
{
    double first = 0, model = 0;

    for (int round = 0; round < 200; round++) {
        struct topology_transfer transfers[40];
        unsigned count = 1 + below(40);

        for (unsigned i = 0; i < count; i++) {
            struct topology_transfer *transfer = &transfers[i];

            *transfer =
                (struct topology_transfer){.source = below(8), .bytes = 1 + below(round % 2 ? 300 << 20 : 1000)};
            transfer->target = (transfer->source + 1 + below(7)) % 8;
            if (!below(5))
                *(below(2) ? &transfer->source : &transfer->target) = TOPOLOGY_HOST;
            transfer->start = below(2) ? 0 : below(1000) / 1e5;
        }
        first += last_of(t, BUS_FIRST_COME, transfers, count);
        model += last_of(t, BUS_MODEL, transfers, count);
    }
    assert(model < first * 0.97);
}

static unsigned gone;

static void go(struct bus_transfer *transfer)
{
    (void)transfer;
    gone++;
}

/* A device sends one transfer at a time, the host to several devices. A transfer that is given up makes room for
 * another. */
static void rules(const struct topology *t)
{
    struct bus *bus = bus_new(t, BUS_MODEL);
    struct bus_transfer all[] = {{.source = 0, .target = 1, .bytes = 1e6, .go = go},
                                 {.source = 0, .target = 4, .bytes = 1e6, .go = go},
                                 {.source = TOPOLOGY_HOST, .target = 0, .bytes = 1e6, .go = go},
                                 {.source = TOPOLOGY_HOST, .target = 1, .bytes = 1e6, .go = go}};
    struct bus_transfer bad[] = {{.source = 8, .target = 1}, {.source = 0, .target = 9}, {.source = 3, .target = 3}};

    for (int i = 0; i < 3; i++)
        assert(bus_ask(bus, &bad[i]) == -EINVAL);
    for (int i = 0; i < 4; i++)
        assert(!bus_ask(bus, &all[i]));
    assert(!gone);
    assert(bus_decide(bus, 1) && gone == 3);
    assert(bus_decide(bus, 1.001) && gone == 3);
    bus_over(bus, all[0].moving ? &all[0] : &all[1]);
    assert(!bus_decide(bus, 1.002) && gone == 4);
    bus_free(bus);
    /* a transfer that does not end does not hold up the others forever */
    bus = bus_new(t, BUS_MODEL);
    assert(!bus_decide(bus, 1) && !bus_ask(bus, &all[0]) && !bus_ask(bus, &all[1]));
    gone = 0;
    assert(bus_decide(bus, 1) && gone == 1);
    assert(bus_decide(bus, 1.005) && gone == 1);
    assert(!bus_decide(bus, 2) && gone == 2);
    bus_free(bus);
}

int main(void)
{
    struct topology *t = tree();

    halo(t);
    random_ones(t);
    rules(t);
    free(t);
    return 0;
}
