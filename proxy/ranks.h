/* The ranks of a session that vocl-launcher starts: on this host, or on others by ssh. It serves them PMI. */
#ifndef VOCL_PROXY_RANKS_H
#define VOCL_PROXY_RANKS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proxy/pmi.h"

struct ranks {
    unsigned size; /* rank 0 is the program */
    int *pmi;      /* where each speaks PMI, or -1 */
    pid_t *pids;
    unsigned running;
    struct pmi *server;
    struct stages *stages; /* of those that ssh starts, or NULL */
};

/* All functions: 0, or negative errno and why. */

/* Workers here: their bells and rank 0's PMI go to the program, through lifeline. output becomes their standard output
 * and error. */
int ranks_here(struct ranks *ranks, const char *program, unsigned workers, int lifeline, int output, char *why,
               size_t why_size);
/* A worker on each of the hosts, which have commas between them. */
int ranks_there(struct ranks *ranks, const char *program, const char *hosts, int lifeline, int output, char *why,
                size_t why_size);
/* fds[size]: what to poll; and what it found. An error ends PMI for all: those that are still starting fail. */
void ranks_poll(const struct ranks *ranks, struct pollfd *fds);
int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size);
/* Nobody is served PMI any more; who is still starting fails. */
void ranks_close(struct ranks *ranks);
/* A child has ended: its rank, or 0 if it is none. */
unsigned ranks_reaped(struct ranks *ranks, pid_t pid);

#endif
