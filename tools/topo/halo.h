/* Orders of a halo exchange, for `vocl topo halo`: section VIII of the paper (topology/topology.h). */
#ifndef VOCL_TOOLS_TOPO_HALO_H
#define VOCL_TOOLS_TOPO_HALO_H

#include "topology/topology.h"

/* For each device the order of its neighbours that takes the least time, and how that compares. */
struct topology_halo {
    unsigned long orders;
    double fastest, median, slowest;               /* in units of one transfer alone */
    unsigned neighbours[8][3], neighbour_count[8]; /* of the fastest order, in that order */
};
/* Tries all orders of a halo exchange among the 8 devices of a tree, as a grid of 2 x 4 (dimensions 2) or 2 x 2 x 2
 * (3), with messages of one size. Returns -EINVAL if there are not 8 devices, or for other dimensions; -ENOMEM. */
int topology_halo(const struct topology *t, double tau, unsigned dimensions, struct topology_halo *out);

#endif
