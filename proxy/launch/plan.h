/* How a worker on this host is started: its descriptors, and its environment, which also names the descriptors. */
#ifndef VOCL_PROXY_LAUNCH_PLAN_H
#define VOCL_PROXY_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PLANS_MANY 4 /* workers; fewer start sooner if each loads the drivers itself */

struct plan {
    char **environment; /* in addition to this process' */
    int *descriptors;
    unsigned variables, count;
    char *peers;
    bool failed, whole; /* failed: no memory; whole: this process' environment has been added */
};

/* Adds "NAME=value", or removes NAME if there is no "=". */
__attribute__((format(printf, 2, 3))) void plan_variable(struct plan *plan, const char *format, ...);
/* Adds a descriptor, of which the plan takes ownership, and a variable of this name with its number. */
void plan_descriptor(struct plan *plan, const char *name, int fd);
/* Adds a connection to the worker `other`; takes ownership of fd. */
void plan_peer(struct plan *plan, unsigned other, int fd);
/* Executes the program, with its output to `output`; it is killed when this process ends. Returns its PID, or a
 * negative errno. */
pid_t plan_start(struct plan *plan, const char *program, int output);
/* Starts this many workers as copies of one process; pairs: without MPI. *pids: PID of each. Returns -ENOTSUP if their
 * drivers cannot be copied. Stops waiting for them if the program at the other end of `control` ends. */
int plans_start(struct plan *plans, unsigned count, bool pairs, const char *program, int control, int output,
                pid_t *pids);
void plan_free(struct plan *plan);

#endif
