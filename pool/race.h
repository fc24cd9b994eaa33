/* Connects to the first of several daemons that answers, so that unreachable daemons cost little time. */
#ifndef VOCL_POOL_RACE_H
#define VOCL_POOL_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/poolfile.h"

/* Returns a connection on which a message has already arrived, from the first of these nodes that sends one within the
 * time. Nodes earlier in the list have a small head start; those marked in left_out are skipped. *winner is the node's
 * index. On failure returns a negative errno, with the reason of the last node that failed in why. */
int race_connect(const struct poolfile_node *nodes, unsigned count, const bool *left_out, long milliseconds,
                 unsigned *winner, char *why, size_t why_size);

#endif
