/* How a worker on this host is to begin: with which descriptors, and what its environment says of them and of it. */
#ifndef VOCL_PROXY_LAUNCH_PLAN_H
#define VOCL_PROXY_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PLANS_MANY 4 /* workers: fewer are sooner there if each loads drivers for itself */

struct plan {
    char **environment; /* what it has besides this process' */
    int *descriptors;
    unsigned variables, count;
    char *peers;
    bool failed, whole; /* there was no memory; what is this process' has been added */
};

/* "NAME=value", or "NAME": without that. */
__attribute__((format(printf, 2, 3))) void plan_variable(struct plan *plan, const char *format, ...);
/* A descriptor, which is the plan's then, that the variable of that name says. */
void plan_descriptor(struct plan *plan, const char *name, int fd);
/* Another one between it and that worker. */
void plan_peer(struct plan *plan, unsigned other, int fd);
/* A process that executes the program, whose words go to output; it ends with this one. Its PID, or negative errno. */
pid_t plan_start(struct plan *plan, const char *program, int output);
/* So many begin as copies of one process; pairs: without MPI. *pids: of each; -ENOTSUP: their drivers cannot be copied.
 * It waits for them no longer than for the program at the other end of its control socket. */
int plans_start(struct plan *plans, unsigned count, bool pairs, const char *program, int control, int output,
                pid_t *pids);
void plan_free(struct plan *plan);

#endif
