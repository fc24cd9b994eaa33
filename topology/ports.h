/* Arbitration at the port of a switch: the congestion model's equations. See model.c, and section V of the paper. */
#ifndef VOCL_TOPOLOGY_PORTS_H
#define VOCL_TOPOLOGY_PORTS_H

#include "topology/topology.h"

#define LITTLE 1e-12 /* by how much a sum of factors may exceed 1 through rounding */

/* One switch or root complex on a communication's way. */
struct hop {
    unsigned node;
    unsigned from, to; /* its neighbours: the ports by which it is entered and left; from memory, the node itself */
    bool up;
    double factor; /* after this port */
    bool conflict; /* the port was arbitrated */
    bool shared;   /* several super communications use the port, in conflict or not, or memory's own do */
};

struct route {
    unsigned index; /* of the transfer */
    unsigned hop_count;
    struct hop hops[2 * TOPOLOGY_MOST_DEPTH];
    bool crosses_root;
    double factor, blocked; /* blocked: the least factor, further on, of routes that share an input port with it */
};

/* Communications that leave a switch by one port, grouped by the port they enter by: super communications. */
struct group {
    unsigned from;
    double sum;  /* of factors, the paper's R */
    double most; /* the most that it may have, the paper's R' */
    bool crosses_root;
};

struct member {
    struct route *route;
    struct hop *hop;
    unsigned group;
};

struct port {
    unsigned member_count, group_count;
    struct member members[TOPOLOGY_MOST_TRANSFERS];
    struct group groups[TOPOLOGY_MOST_TRANSFERS];
    double sum;
};

/* Collects the communications that leave a switch by its port to a neighbour. */
void port_collect(struct port *port, struct route *routes, unsigned count, unsigned node, unsigned to);
/* Equations 5 and 6, if more arrives than the port can carry. */
void port_arbitrate_upstream(struct port *port);
/* Equation 7. root: it is a port of the root complex, where communications that cross that lose tau. */
void port_arbitrate_downstream(struct port *port, double tau, bool root);

/* Equation 8: the factor to which other routes limit each route. */
void routes_find_blocked(struct route *routes, unsigned count);
bool route_is_blocked(const struct route *route);
/* Equation 9: returns the factor of a route that is not blocked. */
double route_raised(struct route *routes, unsigned count, const struct route *route, double tau, struct port *port);

#endif
