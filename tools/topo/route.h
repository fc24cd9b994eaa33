/*
 * SIMULATION, for planning: packets that find their route over a ring of nodes, or a torus of rings, by comparing
 * addresses as PEACH2 does: T. Hanawa et al., "Tightly Coupled Accelerators Architecture for Minimizing Communication
 * Latency among Accelerators" (2013), section III-E. Data are really moved, from one node's memory to another's; the
 * times are a model's.
 *
 * Ports: N is the host's, E and W make the ring, S leads to the other ring (III-D). U, back from there, is needed for
 * more than two rings, and is not PEACH2's.
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
#define ROUTE_REGIONS 4                    /* of a node: two GPUs, the host, and the chip itself */

enum route_port { ROUTE_N, ROUTE_E, ROUTE_W, ROUTE_S, ROUTE_U };
#define ROUTE_PORTS (ROUTE_U + 1)

/* The control registers of a port: the bounds of (address & mask). The half of a ring that passes the end of the
 * addresses needs two pairs. */
struct route_registers {
    uint64_t mask;
    struct {
        uint64_t lower, upper;
    } bounds[2];
    unsigned count; /* of bounds; 0: nothing leaves by this port */
};

struct route_net {
    unsigned positions, rings; /* positions in a ring; number of rings */
    unsigned nodes;
    uint64_t slot;     /* bytes of addresses for each node */
    unsigned channels; /* virtual channels of a link: if there are 2, packets change to the second where a ring
                        * closes */
    struct route_registers registers[ROUTE_MOST_NODES][ROUTE_PORTS];
};

/* Sets the registers for shortest routes, along the ring first; of two equal directions E and S. Returns -EINVAL if
 * there are no positions or rings, more than ROUTE_MOST_NODES nodes, or channels is not 1 or 2. */
int route_net_make(struct route_net *net, unsigned positions, unsigned rings, unsigned channels);
/* Returns the address at which a node's region begins. */
uint64_t route_address(const struct route_net *net, unsigned node, unsigned region);
/* Returns the first port whose registers include an address, or -1. */
int route_port(const struct route_net *net, unsigned node, uint64_t address);
/* Returns the node at a port, which for N is the node itself, or -1. */
int route_neighbour(const struct route_net *net, unsigned node, unsigned port);
/* Returns the channel by which a packet leaves, if it came by the given channel of a port (N: from the host). */
unsigned route_channel(const struct route_net *net, unsigned node, unsigned came, unsigned channel, unsigned port);
/* Returns the number of links between nodes on the route to an address, or -ELOOP if the route does not end there. */
int route_hops(const struct route_net *net, unsigned from, uint64_t address);
/* Whether packets may wait for each other in a circle of channels (Dally and Seitz). cycle: gets the links of one
 * circle, as node * ROUTE_PORTS + port, at most most of them. Returns their number, 0 if there is no circle, or
 * -ENOMEM. */
int route_cycle(const struct route_net *net, unsigned *cycle, unsigned most);

/* ---- route_run.c ---- */

struct route_message {
    unsigned source;
    uint64_t from, to; /* from: bytes into the source's memory; to: an address */
    size_t bytes;
    double start; /* seconds */
    /* results: */
    double end;
    int hops;
};

struct route_model {
    double latency; /* seconds for each crossing of a link: from the departure of a packet's last byte to its arrival */
    double bandwidth; /* bytes a second */
    size_t payload;   /* of a packet, bytes */
    size_t overhead;  /* bytes, of headers and framing */
    unsigned buffers; /* packets for which a channel has room at the end of a link */
};
/* The paper's parameters (IV-A): 256 and 24 bytes, 4 GB/s; and for each of the three links that its loopback
 * crosses, N, E and N, a third of its 782 ns, less the packet's own time. */
extern const struct route_model route_peach2;

/* The traffic of a link: those that leave a node by its ports, and the host's link into it. */
struct route_load {
    uint64_t packets, bytes; /* of payload */
    double busy;             /* seconds */
    unsigned waiting;        /* the most channels that had a packet for it at one time */
};
#define ROUTE_IN ROUTE_PORTS /* index of the host's link into the node, among the loads */

/*
 * Simulates messages, whose data are copied from memories[source] to the memory of the node that owns the address (at
 * its offset in the node's slot; each memory has memory_bytes). Each node sends one message after the other. loads:
 * nodes x (ROUTE_PORTS + 1). Returns -EINVAL for invalid addresses or sizes; -ENOMEM; -EDEADLK if all packets wait for
 * others.
 */
int route_run(const struct route_net *net, const struct route_model *model, struct route_message *messages,
              unsigned count, uint8_t *const *memories, size_t memory_bytes, struct route_load *loads);

#endif
