/*
 * The programs that start a session's processes, and stand between them and the program. This header: the ranks of a
 * session that vocl-launcher starts, on this host or on others by ssh, and to which it serves PMI.
 *
 *     launcher.c     vocl-launcher: the parent of a session that is not a pool's
 *     ranks.c        its workers on this host, and PMI for all ranks
 *     pair_broker.c  connections for each two workers that need to communicate
 *     plan.c         how its workers on this host start; many start as copies of one process
 *     hosts.c        its workers on other hosts
 *     remote.c       vocl-proxy --remote: starts a worker there (remote.h)
 *     tunnel.c       both ends of members' connections through ssh (tunnel.h)
 *     pmi.c          PMI, as far as MPICH needs it (pmi.h)
 *     join.c         vocl-join: gets a program devices of a pool
 *     session.c      the session's nodes, and how nodes are added (session.h)
 *     attend.c       what vocl-join does while the session runs (attend.h),
 *     moves.c        when it moves (moves.h),
 *     suspend.c      when it is suspended (suspend.h), and costs.c what that costs (costs.h),
 *     replacement.c  and when a worker is to replace one that has gone (replacement.h)
 *     hold.c         devices kept for `vocl run --hold` (hold.h)
 *     requests.c     users' requests to the session (requests.h)
 *     heartbeat_proxy.c  heartbeats for a program that is stopped (heartbeat_proxy.h)
 *     placeholder.c  vocl-placeholder: runs as rank 0 under Open MPI's mpiexec
 */
#ifndef VOCL_PROXY_LAUNCH_RANKS_H
#define VOCL_PROXY_LAUNCH_RANKS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proxy/launch/pmi.h"

struct ranks {
    unsigned size; /* rank 0 is the program */
    unsigned most; /* length of the arrays: the first ranks, and those added later */
    int *pmi;      /* PMI socket of each rank, or -1 */
    /* For each worker of this host, the socket on which it calls others and receives connections; or -1 */
    int *members;
    pid_t *pids;
    long *ends_ms; /* when to kill it, or 0 */
    unsigned running;
    struct pmi *server;
    struct pair_broker *broker; /* of a session by pairs: which workers have connections with each other; or NULL */
    struct stages *stages;      /* of workers started by ssh; NULL if there has been none yet */
    int calls;                  /* socket on which the program receives connections that come through ssh, or -1 */
};

/* Functions that return int return 0, or a negative errno with the reason in why, unless they say otherwise. */

/* Whether each two workers here share a bell from the start. */
bool ranks_have_bells(bool pairs);
/* Starts workers here. The program receives, through its control socket, their bells and rank 0's PMI, or by pairs
 * all its connections with them. Their standard output and error go to `output`. */
int ranks_here(struct ranks *ranks, const char *program, unsigned workers, bool pairs, int control, int output,
               char *why, size_t why_size);
/* Starts a worker on each of the hosts, which are separated by commas. */
int ranks_there(struct ranks *ranks, const char *program, const char *hosts, int control, int output, char *why,
                size_t why_size);
/* ranks_width(): how many descriptors to poll at most. ranks_poll(): fills fds, and returns how many. ranks_hear():
 * handles what poll() found. An error ends PMI for all, and ranks that are still starting fail. */
unsigned ranks_width(const struct ranks *ranks);
unsigned ranks_poll(struct ranks *ranks, struct pollfd *fds);
int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size);
/* Stops serving PMI, and frees everything; workers that are still starting fail. */
void ranks_close(struct ranks *ranks);
/* Starts another worker, with this rank. The program receives its connections at the other end of calls. place:
 * "HOST<tab>ENDPOINT". *process: its PID if it is on this host, otherwise 0. */
int ranks_add(struct ranks *ranks, unsigned rank, const char *place, const char *program, int calls, int output,
              pid_t *process, char *why, size_t why_size);
/* Ends the worker: at once (now), or if it has not ended by itself in some seconds. */
void ranks_end(struct ranks *ranks, unsigned rank, bool now);
/* Kills the workers whose time has come. Returns the milliseconds until the next, or -1. */
int ranks_kill(struct ranks *ranks);
/* A child has ended. Returns its rank, or 0 if it is no rank. */
unsigned ranks_reaped(struct ranks *ranks, pid_t pid);

/* ---- ranks.c, for hosts.c ---- */
int ranks_open(struct ranks *ranks, unsigned workers);
int ranks_pair(int ends[2]);
/* Hands a connection to this member, which may be the program (0); the caller still owns fd. Returns false if the
 * member cannot be reached. */
bool ranks_hand(struct ranks *ranks, unsigned to, int fd);

/* ---- pair_broker.c ---- */
struct pair_broker *pair_broker_new(unsigned members);
/* A worker requests connections with another. Both receive them, unless they already have; if the other has gone, the
 * first gets a message. */
void pair_broker_ask(struct ranks *ranks, unsigned from, unsigned to);
/* pair_broker_turn(): serves requests that could not be served yet. pair_broker_nap(): the milliseconds until the next
 * attempt, or -1. */
void pair_broker_turn(struct ranks *ranks);
int pair_broker_nap(const struct ranks *ranks);
/* The worker's process has ended; another may start with its rank. */
void pair_broker_forget(struct ranks *ranks, unsigned rank);
void pair_broker_free(struct pair_broker *broker);

/* ---- hosts.c ---- */
/* Starts another worker by ssh, which connects to this endpoint. */
int host_add(struct ranks *ranks, unsigned rank, const char *host, const char *endpoint, const char *program,
             int output);
/* Whether the rank was started by ssh. */
bool host_has(const struct ranks *ranks, unsigned rank);
/* Hands it a connection; the caller still owns fd. Returns false if that is not possible. */
bool host_call(struct ranks *ranks, unsigned rank, int fd);
/* Ends the process that starts it, and with it the worker. */
void host_end(struct ranks *ranks, unsigned rank);
/* Frees what is kept for it. */
void host_forget(struct ranks *ranks, unsigned rank);
/* host_tells(): whether there is more to send to this rank's starter. host_tell(): sends some of it. */
bool host_tells(const struct ranks *ranks, unsigned rank);
void host_tell(struct ranks *ranks, unsigned rank);
/* Takes what the starter sent. Returns how many of the bytes are not PMI, or a negative errno. */
ssize_t host_hear(struct ranks *ranks, unsigned rank, const char *bytes, size_t length);
/* As ranks_width(), ranks_poll() and ranks_hear(), for the connections through ssh. */
unsigned hosts_width(const struct ranks *ranks);
unsigned hosts_poll(struct ranks *ranks, struct pollfd *fds);
void hosts_turn(struct ranks *ranks, const struct pollfd *fds);
/* Returns how many milliseconds to wait at most, or -1. */
int hosts_nap(const struct ranks *ranks);
/* The program has gone: sends its last data. */
void hosts_finish(struct ranks *ranks);
void hosts_close(struct ranks *ranks);

#endif
