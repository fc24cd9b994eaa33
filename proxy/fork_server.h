/*
 * The fork server, vocl-proxy --fork-server: what a worker's start costs most, loading drivers and MPI and relocating
 * them, is done there once, and workers are copies of it. Who has started it, a pool's daemon or vocl-launcher where
 * there are many workers, asks it on a socket, its descriptor CHILD_FD, for each of them.
 *
 *     fork_server.c          the questions
 *     worker/fork_server.c   the server, and its copies
 */
#ifndef VOCL_PROXY_FORK_SERVER_H
#define VOCL_PROXY_FORK_SERVER_H

#include <stdint.h>

#include "proxy/supervisor.h"

#define FORK_SERVER "--fork-server"             /* longer than the word of a worker, whose place it takes */
#define FORK_SERVER_PAIRS "--fork-server-pairs" /* what carries sessions is not needed */
#define FORK_SERVER_USELESS 3                   /* its exit status where drivers cannot be copied */
#define FORK_FIRST 3                            /* a worker's first descriptor of those that it is given */

/* First one of these bytes, with a socket of the copy's own, on which it hears the rest: this, the descriptors, for a
 * supervisor its plan, and the environment, each variable with its 0. It answers with its PID. */
#define FORK_SUPERVISOR "s"
#define FORK_WORKER "w"
struct fork_request {
    uint32_t descriptors, variables, length;
};

/* A copy is to be a supervisor, the child of this process, with these descriptors: problem, and pmi if there is one.
 * Or, without plan, a worker, which waits until the other end of its socket is closed, and the server has ended and so
 * its child is this process': it is to be a subreaper. Where its PID comes, or negative errno. What is asked of a
 * server that does not listen is small, so that this process does not wait for it. */
int fork_server_ask(int server, const struct supervisor_plan *plan, char *const *environment, const int *descriptors,
                    unsigned count);

#endif
