/*
 * The transfers of one node: which one may move its data now. A device sends to one other at a time anyway (section
 * V-A), so waiting transfers are started one after the other, in the order that takes the least time by the congestion
 * model, rather than first come, first served. A transfer that has started is not stopped. For one thread.
 */
#ifndef VOCL_TOPOLOGY_BUS_H
#define VOCL_TOPOLOGY_BUS_H

#include <sys/queue.h>

#include "topology/topology.h"

enum bus_order { BUS_FIRST_COME, BUS_MODEL };

struct bus_transfer {
    unsigned source, target; /* devices of the tree, or TOPOLOGY_HOST */
    double bytes;
    void (*go)(struct bus_transfer *transfer); /* it may begin; called from bus_decide() */
    /* for the bus' own use */
    TAILQ_ENTRY(bus_transfer) in;
    double left, until; /* until: it should have ended by then; after that nothing waits for it */
    bool moving;
};

struct bus;

/* t remains the caller's. Returns NULL if memory is exhausted. */
struct bus *bus_new(const struct topology *t, enum bus_order order);
/* No transfer may be under way. */
void bus_free(struct bus *bus);
/* A transfer is ready. Its struct belongs to the bus until bus_over(). Returns -EINVAL if there are no such devices. */
int bus_ask(struct bus *bus, struct bus_transfer *transfer);
/* The transfer has ended, or will not take place. */
void bus_over(struct bus *bus, struct bus_transfer *transfer);
/* Starts the transfers that may begin at the time now (seconds); transfers that are ready together are ordered
 * better if they are announced together. Returns whether any wait; call it again while they do. */
bool bus_decide(struct bus *bus, double now);

/*
 * simulate.c: how long transfers take on a node whose links behave as the model says, if each is announced at its
 * start. ends: the end of each, in seconds. Returns -ENOMEM, -EINVAL as bus_ask(), or the error of topology_factors().
 */
int bus_simulate(const struct topology *t, enum bus_order order, const struct topology_transfer *transfers,
                 unsigned count, double *ends);

#endif
