/* The place of a worker's devices in the node's PCIe tree. The worker's threads and memory are bound near its devices,
 * and transfers that would compete for links are ordered. */
#ifndef VOCL_PROXY_WORKER_AFFINITY_H
#define VOCL_PROXY_WORKER_AFFINITY_H

#include "executor/executor.h"

struct affinity;
struct topology;

/* Returns NULL if memory is exhausted. */
struct affinity *affinity_new(void);
/* The tree, or NULL if it is not known; and the number in it of the device with this ordinal, or -1. */
const struct topology *affinity_tree(const struct affinity *affinity);
int affinity_device_at(const struct affinity *affinity, unsigned ordinal);
/* Called by the executor for its devices and data movements (struct executor_host). */
void affinity_device(struct affinity *affinity, unsigned ordinal, unsigned number, void *device);
bool affinity_devices_known(struct affinity *affinity);
bool affinity_moves(const struct affinity *affinity, unsigned source, unsigned target);
int affinity_move(struct affinity *affinity, struct arbitration *move);
void affinity_moved(struct affinity *affinity, struct arbitration *move);
/* Lets transfers begin that may. Returns whether some still wait, so that it has to be called again soon. */
bool affinity_decide(struct affinity *affinity);

#endif
