/* Descendants of processes, found in /proc. */
#ifndef VOCL_BASE_CHILDREN_H
#define VOCL_BASE_CHILDREN_H

#include <sys/types.h>

/* Ends all descendants of this process, which is the subreaper of those that it starts: they get a moment to end by
 * themselves, and are then killed and reaped. */
void children_end(void);
/* Sends a signal to the children of a process, and to `depth` more generations of descendants. Orphans become children
 * of the subreaper: call this again until none are left. */
void children_kill(pid_t parent, int number, unsigned depth);

#endif
