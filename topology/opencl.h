/* Finds OpenCL's devices in a tree. */
#ifndef VOCL_TOPOLOGY_OPENCL_H
#define VOCL_TOPOLOGY_OPENCL_H

#include <CL/cl.h>

#include "topology/topology.h"

#define TOPOLOGY_ADDRESS 16 /* bytes of a PCI address as text */

/* A device's PCI address, such as 0000:3b:00.0 (from cl_khr_pci_bus_info, or AMD's and NVIDIA's queries). Returns
 * false if the device has none, such as the host's own processors. */
bool topology_pci_address(cl_device_id device, char address[TOPOLOGY_ADDRESS]);
/* Returns the number of the tree's device with that address (NULL: it has none). Otherwise, if the tree is of
 * another machine, returns the OpenCL number on the node if the tree has such a device, or else -1. */
int topology_device_of(const struct topology *t, const char *address, unsigned number);

#endif
