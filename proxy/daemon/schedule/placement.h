/* Which devices of a pool a session gets. */
#ifndef VOCL_PROXY_DAEMON_PLACEMENT_H
#define VOCL_PROXY_DAEMON_PLACEMENT_H

#include "proxy/daemon/conf.h"
#include "topology/topology.h"

struct placement_device {
    unsigned node, index;
    const char *name, *type;
    uint64_t memory, whole;      /* bytes that a session may have of it now, or were it the only one */
    unsigned sessions, most;     /* that use it, that may */
    double load;                 /* of the device, lately: 0 to 1 */
    unsigned node_sessions;      /* of its node */
    bool taken;                  /* a session has it for itself */
    bool usable;                 /* the node is there and takes sessions */
    const struct topology *tree; /* the node's PCIe tree, or NULL */
    int leaf;                    /* its device in it, or -1 */
};

struct placement_wish {
    unsigned count;
    char name[128], type[16]; /* pattern as of fnmatch(3); cpu, gpu, accelerator; "": any */
    uint64_t memory;          /* at least; 0: any */
    bool exclusive;           /* devices that nobody else uses */
};

/* What a device lacks for a wish, the least first. */
enum placement_lack {
    PLACEMENT_GOOD,
    PLACEMENT_TAKEN, /* others have it */
    PLACEMENT_FULL,  /* others have too much of its memory */
    PLACEMENT_SMALL, /* it never has so much memory for a session */
    PLACEMENT_OTHER  /* it is of another name or type */
};
enum placement_lack placement_lacks(const struct placement_device *device, const struct placement_wish *wish);

/*
 * The places in devices[] of wish->count of them, by the policy: pack fills nodes that are in use already and takes as
 * few as can be; spread takes those that are used least, one after the other; least-loaded the devices with the fewest
 * sessions and the least load; order the first that are free. Of devices that are equals otherwise, by all policies but
 * order, those are taken which share the links to the host's memory least with devices that are in use or chosen, as
 * the congestion model has it; then those that are nearest to a network interface. False if they are not to be had now;
 * *ever: whether they could be, were nobody else there.
 */
bool placement_choose(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                      enum policy policy, unsigned *chosen, bool *ever);

#endif
