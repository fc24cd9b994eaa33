/*
 * SIMULATION, for planning: packets that find their way over a ring of nodes, or a torus of rings, by comparing
 * addresses as PEACH2 does: T. Hanawa et al., "Tightly Coupled Accelerators Architecture for Minimizing Communication
 * Latency among Accelerators" (2013), section III-E. Data are really moved, from one node's memory to another's; the
 * time is a model's.
 *
 * Ports: N is the host's, E and W make the ring, S leads to the other ring (III-D). U, back from there, is needed where
 * there are more than two rings, and is not PEACH2's.
 *
 * Functions that return int return 0 or a negative errno.
 */
#ifndef VOCL_TOPOLOGY_ROUTE_H
#define VOCL_TOPOLOGY_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_MOST_NODES 256
#define ROUTE_MOST_CHANNELS 2
#define ROUTE_WINDOW ((uint64_t)512 << 30) /* bytes, for all nodes */
#define ROUTE_REGIONS 4                    /* of a node: two GPUs, the host, and the chip's own */

enum route_port { ROUTE_N, ROUTE_E, ROUTE_W, ROUTE_S, ROUTE_U };
#define ROUTE_PORTS (ROUTE_U + 1)

/* The control registers of a port: what (address & mask) has to lie in. A half of a ring that goes round the end of the
 * addresses needs two. */
struct route_registers {
    uint64_t mask;
    struct {
        uint64_t lower, upper;
    } bounds[2];
    unsigned count; /* of bounds; 0: nothing leaves here */
};

struct route_net {
    unsigned positions, rings; /* of a ring; how many */
    unsigned nodes;
    uint64_t slot;     /* bytes of a node's addresses */
    unsigned channels; /* virtual channels of a link: with 2, packets change to the second where a ring begins again */
    struct route_registers registers[ROUTE_MOST_NODES][ROUTE_PORTS];
};

/* Registers for shortest ways, along the ring first; of two that are as short E and S. -EINVAL: no positions or rings,
 * or more than ROUTE_MOST_NODES; channels that are not 1 or 2. */
int route_net_make(struct route_net *net, unsigned positions, unsigned rings, unsigned channels);
/* Where a node's region begins. */
uint64_t route_address(const struct route_net *net, unsigned node, unsigned region);
/* The first port whose registers an address is in; -1: none. */
int route_port(const struct route_net *net, unsigned node, uint64_t address);
/* The node behind a port; itself behind N. -1: nobody. */
int route_neighbour(const struct route_net *net, unsigned node, unsigned port);
/* The channel that a packet leaves by if it has come by that of a port (N: from the host). */
unsigned route_channel(const struct route_net *net, unsigned node, unsigned came, unsigned channel, unsigned port);
/* Links between nodes on the way to an address. -ELOOP: it does not get there. */
int route_hops(const struct route_net *net, unsigned from, uint64_t address);
/* Whether packets may wait for each other in a circle: channels on each other's ways (Dally and Seitz). cycle: the
 * links of one, as node * ROUTE_PORTS + port, at most most of them. Their number; 0: there is no circle. -ENOMEM. */
int route_cycle(const struct route_net *net, unsigned *cycle, unsigned most);

/* ---- route_run.c ---- */

struct route_message {
    unsigned source;
    uint64_t from, to; /* from: bytes into the source's memory; to: an address */
    size_t bytes;
    double start; /* seconds */
    /* what comes out: */
    double end;
    int hops;
};

struct route_model {
    double latency; /* seconds, of each crossing of a link: from the last byte's leaving to the packet's being there */
    double bandwidth; /* bytes a second */
    size_t payload;   /* of a packet, bytes */
    size_t overhead;  /* bytes, of headers and framing */
    unsigned buffers; /* packets that a channel has room for at the end of a link */
};
/* What the paper has (IV-A): 256 and 24 bytes, 4 GB/s; and a third of its 782 ns for each of the three links that its
 * loopback crosses, N, E and N, less the packet's own time. */
extern const struct route_model route_peach2;

/* What a link has carried: of each port as it leaves a node, and of the host's way into it. */
struct route_load {
    uint64_t packets, bytes; /* of payload */
    double busy;             /* seconds */
    unsigned waiting;        /* how many channels had a packet for it at a time, at most */
};
#define ROUTE_IN ROUTE_PORTS /* the host's link into the node, among the loads */

/*
 * Run messages, whose data go from memories[source] to the memory of the node that owns the address (at its offset in
 * the node's slot; each has memory_bytes). Each node sends one after the other. loads: nodes x (ROUTE_PORTS + 1).
 * -EINVAL: places that are not there; -ENOMEM; -EDEADLK: all packets wait for others.
 */
int route_run(const struct route_net *net, const struct route_model *model, struct route_message *messages,
              unsigned count, uint8_t *const *memories, size_t memory_bytes, struct route_load *loads);

#endif
