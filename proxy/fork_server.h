/*
 * The fork server, vocl-proxy --fork-server. Most of a worker's start-up time is for loading and relocating drivers and
 * MPI. The fork server does this once, and workers are copies of it. It is started by a pool's daemon, or by
 * vocl-launcher if there are many workers, and takes requests for copies on a socket, its descriptor CHILD_FD.
 *
 *     fork_server.c          requests to the server
 *     worker/fork_server.c   the server, and its copies
 */
#ifndef VOCL_PROXY_FORK_SERVER_H
#define VOCL_PROXY_FORK_SERVER_H

#include <stdint.h>

#include "proxy/supervisor.h"

#define FORK_SERVER "--fork-server"             /* longer than a worker's argument, which overwrites it */
#define FORK_SERVER_PAIRS "--fork-server-pairs" /* the libraries of the networks are not needed */
#define FORK_SERVER_USELESS 3                   /* its exit status if the drivers cannot be copied */
#define FORK_FIRST 3                            /* first of the descriptors that a worker is given */

/* A request begins with one of these bytes and a socket for the copy alone. On that socket the copy receives the rest:
 * this struct, the descriptors, the plan of a supervisor, and the environment, each variable with its terminating 0. It
 * answers with its PID. */
#define FORK_SUPERVISOR "s"
#define FORK_WORKER "w"
struct fork_request {
    uint32_t descriptors, variables, length;
};

/* Requests a copy. With a plan: a supervisor, as a child of this process; its descriptors are problem, and pmi if there
 * is one. Without: a worker, which waits until the returned socket is closed and the server has ended. It is then a
 * child of this process, which has to be a subreaper. Returns the socket on which the PID arrives, or a negative errno.
 * The request to the server is small, so this process does not block if the server does not read. */
int fork_server_ask(int server, const struct supervisor_plan *plan, char *const *environment, const int *descriptors,
                    unsigned count);

#endif
