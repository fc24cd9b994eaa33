/* Processes below others, as /proc has them. */
#ifndef VOCL_BASE_CHILDREN_H
#define VOCL_BASE_CHILDREN_H

#include <sys/types.h>

/* All below this one, when it is the subreaper of those that it starts: they get a moment to end by themselves, and are
 * then killed and reaped. */
void children_end(void);
/* A signal for the children of a process, and for so many generations of theirs. Whose parents are gone by then are the
 * children of the subreaper: to be called again, until none are left. */
void children_kill(pid_t parent, int number, unsigned depth);

#endif
