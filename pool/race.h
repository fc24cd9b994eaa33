/* Which of several daemons answers first: unreachable ones cost those that are there no time. */
#ifndef VOCL_POOL_RACE_H
#define VOCL_POOL_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/poolfile.h"

/* A connection on which something has been said already, of the first of these nodes that says something within the
 * time, those in front preferred a little; left_out: not these. Its place among them in *winner. Or negative errno and
 * why, of the last one that failed. */
int race_connect(const struct poolfile_node *nodes, unsigned count, const bool *left_out, long milliseconds,
                 unsigned *winner, char *why, size_t why_size);

#endif
