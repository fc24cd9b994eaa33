/* The choice of devices of a pool for a session. */
#ifndef VOCL_PROXY_DAEMON_PLACEMENT_H
#define VOCL_PROXY_DAEMON_PLACEMENT_H

#include "proxy/daemon/conf.h"
#include "topology/topology.h"

struct placement_device {
    unsigned node, index;
    const char *name, *type;
    uint64_t memory, whole;      /* bytes that a session may have of it: now; with no other session */
    unsigned sessions, most;     /* that use it; that may */
    double load;                 /* of the device, recently: 0 to 1 */
    unsigned node_sessions;      /* of its node */
    bool taken;                  /* a session has it exclusively */
    bool usable;                 /* the node is reachable and takes sessions */
    const struct topology *tree; /* the node's PCIe tree, or NULL */
    int leaf;                    /* the device's number in it, or -1 */
};

struct placement_wish {
    unsigned count;
    char name[128], type[16]; /* name: a pattern for fnmatch(3); type: cpu, gpu, accelerator; "": any */
    uint64_t memory;          /* at least, of each; 0: any */
    bool exclusive;           /* wants devices that no other session uses */
};

/* What a device lacks for a wish, in ascending order. */
enum placement_lack {
    PLACEMENT_GOOD,
    PLACEMENT_TAKEN, /* other sessions use it */
    PLACEMENT_FULL,  /* other sessions use too much of its memory */
    PLACEMENT_SMALL, /* a session can never have that much of its memory */
    PLACEMENT_OTHER  /* its name or type is another */
};
enum placement_lack placement_lacks(const struct placement_device *device, const struct placement_wish *wish);

/*
 * Chooses wish->count of devices[] by the policy; *chosen are their indices. pack fills nodes that are already in use,
 * and takes as few as possible; spread takes the least used, one by one; least-loaded takes the devices with the fewest
 * sessions and the lowest load; order takes the first that are free. Among otherwise equal devices, all policies except
 * order prefer those that share the links to the host's memory least with devices in use or already chosen, by the
 * congestion model, and then those nearest to a network interface. Returns false if there are not enough now; *ever:
 * whether there would be without other sessions.
 */
bool placement_choose(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                      enum policy policy, unsigned *chosen, bool *ever);

#endif
