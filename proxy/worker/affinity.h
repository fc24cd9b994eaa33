/* Where a worker's devices are in the node's PCIe tree: its threads and memory go near them, and transfers that would
 * be in each other's way are put in order. */
#ifndef VOCL_PROXY_WORKER_AFFINITY_H
#define VOCL_PROXY_WORKER_AFFINITY_H

#include "executor/executor.h"

struct affinity;
struct topology;

/* NULL: no memory. */
struct affinity *affinity_new(void);
/* The tree as far as it is known, or NULL; and the number in it of the device of an ordinal, or -1. */
const struct topology *affinity_tree(const struct affinity *affinity);
int affinity_device_at(const struct affinity *affinity, unsigned ordinal);
/* Have the executor tell of devices and moves, with this as the host's owner. */
void affinity_device(struct affinity *affinity, unsigned ordinal, unsigned number, void *device);
bool affinity_devices_known(struct affinity *affinity);
bool affinity_moves(const struct affinity *affinity, unsigned source, unsigned target);
int affinity_move(struct affinity *affinity, struct arbitration *move);
void affinity_moved(struct affinity *affinity, struct arbitration *move);
/* Let go what may; whether something waits, and it is to be called again soon. */
bool affinity_decide(struct affinity *affinity);

#endif
