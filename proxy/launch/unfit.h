/*
 * Devices that a place was granted with and the program cannot have instead of its own, as they are not like those: a
 * list that goes with the next request, so that the pool has others for it. It is an object, { node: [device...] }.
 */
#ifndef VOCL_PROXY_LAUNCH_UNFIT_H
#define VOCL_PROXY_LAUNCH_UNFIT_H

#include <jansson.h>
#include <stdbool.h>

/* *list (or NULL) with one more of these devices of a node: that one, from 1 in their order, or all (0). False: no more
 * is known of them than before, and to ask again would be for nothing. */
bool unfit_add(json_t **list, const char *node, const json_t *devices, unsigned device);

#endif
