/* Where OpenCL's devices are in a tree. */
#ifndef VOCL_TOPOLOGY_OPENCL_H
#define VOCL_TOPOLOGY_OPENCL_H

#include <CL/cl.h>

#include "topology/topology.h"

#define TOPOLOGY_ADDRESS 16 /* bytes of a PCI address as text */

/* A device's PCI address, as 0000:3b:00.0 (by cl_khr_pci_bus_info, or what AMD and NVIDIA have for it). False: it has
 * none, as those that are the host's own processors. */
bool topology_pci_address(cl_device_id device, char address[TOPOLOGY_ADDRESS]);
/* The number of the tree's device with that address (NULL: it has none); failing that, where the tree is of another
 * machine, the one of the same number as OpenCL's among the node's. -1: it is not in the tree. */
int topology_device_of(const struct topology *t, const char *address, unsigned number);

#endif
