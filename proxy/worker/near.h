/* Where a worker's devices are in the node's PCIe tree: its threads and memory go near them, and transfers that would
 * be in each other's way are put in order. */
#ifndef VOCL_PROXY_WORKER_NEAR_H
#define VOCL_PROXY_WORKER_NEAR_H

#include "executor/executor.h"

struct near;
struct topology;

/* NULL: no memory. */
struct near *near_new(void);
/* The tree as far as it is known, or NULL; and the number in it of the device of a place, or -1. */
const struct topology *near_tree(const struct near *near);
int near_device_at(const struct near *near, unsigned place);
/* Have the executor tell of devices and moves, with near as the host's near. */
void near_device(struct near *near, unsigned place, unsigned number, void *device);
bool near_devices_known(struct near *near);
bool near_moves(const struct near *near, unsigned source, unsigned target);
int near_move(struct near *near, struct executor_move *move);
void near_moved(struct near *near, struct executor_move *move);
/* Let go what may; whether something waits, and it is to be called again soon. */
bool near_decide(struct near *near);

#endif
