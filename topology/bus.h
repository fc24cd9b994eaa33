/*
 * The transfers of one node: who may move its data now. A device sends to one other at a time anyway (section V-A), so
 * what waits is let go one after the other, in the order that the congestion model says takes the least time, rather
 * than first come first served. What goes is not stopped. One thread.
 */
#ifndef VOCL_TOPOLOGY_BUS_H
#define VOCL_TOPOLOGY_BUS_H

#include <sys/queue.h>

#include "topology/topology.h"

enum bus_order { BUS_FIRST_COME, BUS_MODEL };

struct bus_transfer {
    unsigned source, target; /* devices of the tree, or TOPOLOGY_HOST */
    double bytes;
    void (*go)(struct bus_transfer *transfer); /* it may begin; from bus_decide() */
    /* the bus' own */
    TAILQ_ENTRY(bus_transfer) in;
    double left, until; /* until: it should be over by then, and else is not waited for any more */
    bool moving;
};

struct bus;

/* t stays the caller's. NULL: no memory. */
struct bus *bus_new(const struct topology *t, enum bus_order order);
/* Nothing may be under way. */
void bus_free(struct bus *bus);
/* A transfer is ready. Its memory is the bus' until bus_over(). -EINVAL: there are no such devices. */
int bus_ask(struct bus *bus, struct bus_transfer *transfer);
/* It is over, or will not be. */
void bus_over(struct bus *bus, struct bus_transfer *transfer);
/* Let go what may, at this time in seconds; what is asked for together is better ordered together. To be called again
 * and again while something waits: whether it does. */
bool bus_decide(struct bus *bus, double now);

/*
 * simulate.c: how long transfers take, asked for at their starts, on a node whose links do what the model says; ends:
 * when each is over, in seconds. -ENOMEM, -EINVAL as bus_ask(), or topology_factors().
 */
int bus_simulate(const struct topology *t, enum bus_order order, const struct topology_transfer *transfers,
                 unsigned count, double *ends);

#endif
