/*
 * What starts a session's processes, and stands between them and the program. Here: the ranks of a session that
 * vocl-launcher starts, on this host or on others by ssh. It serves them PMI.
 *
 *     launcher.c     vocl-launcher: the parent of a session that is not a pool's
 *     ranks.c        its workers on this host, and all ranks' PMI
 *     pair_broker.c  connections of each two of them that have something to say to each other
 *     plan.c         how its workers here begin; where they are many, as copies of one process
 *     hosts.c        its workers on other hosts
 *     remote.c       vocl-proxy --remote: what starts a worker there (remote.h)
 *     tunnel.c       members' connections through ssh: both ends (tunnel.h)
 *     pmi.c          PMI, as far as MPICH needs it (pmi.h)
 *     join.c         vocl-join: the program's way into a pool
 *     session.c      the session's nodes, and how others come to be among them (session.h)
 *     attend.c       what it does while the session runs (attend.h),
 *     moves.c        when it moves (moves.h),
 *     suspend.c      or is suspended (suspend.h), and costs.c what that costs (costs.h),
 *     replacement.c  and when a worker is to come in the place of one that is gone (replacement.h)
 *     hold.c         what it keeps for `vocl run --hold` (hold.h)
 *     requests.c     what users ask of the session (requests.h)
 *     heartbeat_proxy.c  heartbeats for a program that is stopped (heartbeat_proxy.h)
 *     placeholder.c  vocl-placeholder: in rank 0's place for Open MPI's mpiexec
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
    unsigned most; /* numbers, with those that come later */
    int *pmi;      /* where each speaks PMI, or -1 */
    int *members;  /* where each worker of this host calls others, and is handed connections; or -1 */
    pid_t *pids;
    long *ends_ms; /* when it is to be killed, or 0 */
    unsigned running;
    struct pmi *server;
    struct pair_broker *broker; /* of a session by pairs: who has connections with whom; or NULL */
    struct stages *stages;      /* of those that ssh starts; NULL if there has been none yet */
    int calls;                  /* where the program is handed connections that come through ssh, or -1 */
};

/* All functions: 0, or negative errno and why. */

/* Whether each two workers here have a bell from the start. */
bool ranks_have_bells(bool pairs);
/* Workers here: their bells and rank 0's PMI go to the program, through its control socket, or by pairs all its
 * connections with them. output becomes their standard output and error. */
int ranks_here(struct ranks *ranks, const char *program, unsigned workers, bool pairs, int control, int output,
               char *why, size_t why_size);
/* A worker on each of the hosts, which have commas between them. */
int ranks_there(struct ranks *ranks, const char *program, const char *hosts, int control, int output, char *why,
                size_t why_size);
/* How many descriptors there are to poll at most; those, and how many they are; and what was found. An error ends PMI
 * for all: those that are still starting fail. */
unsigned ranks_width(const struct ranks *ranks);
unsigned ranks_poll(struct ranks *ranks, struct pollfd *fds);
int ranks_hear(struct ranks *ranks, const struct pollfd *fds, char *why, size_t why_size);
/* Nobody is served PMI any more; who is still starting fails. */
void ranks_close(struct ranks *ranks);
/* Another worker, of this number, which is handed over to the program where calls is the other end of. place:
 * "HOST<tab>ENDPOINT". *process: on this host, or 0. */
int ranks_add(struct ranks *ranks, unsigned rank, const char *place, const char *program, int calls, int output,
              pid_t *process, char *why, size_t why_size);
/* It is to end: at once, or if it does not by itself. */
void ranks_end(struct ranks *ranks, unsigned rank, bool now);
/* Those whose time has come are killed; how long until the next, in milliseconds, or -1. */
int ranks_kill(struct ranks *ranks);
/* A child has ended: its rank, or 0 if it is none. */
unsigned ranks_reaped(struct ranks *ranks, pid_t pid);

/* ---- ranks.c, for hosts.c ---- */
int ranks_open(struct ranks *ranks, unsigned workers);
int ranks_pair(int ends[2]);
/* A connection to this member, who may be the program; it stays the caller's. False: he is not there. */
bool ranks_hand(struct ranks *ranks, unsigned to, int fd);

/* ---- pair_broker.c ---- */
struct pair_broker *pair_broker_new(unsigned members);
/* This worker wants connections with that one: both are handed them, unless they have been; or it is told that the
 * other is gone. */
void pair_broker_ask(struct ranks *ranks, unsigned from, unsigned to);
/* Those who could not be handed any yet; how long until the next try, in milliseconds, or -1. */
void pair_broker_turn(struct ranks *ranks);
int pair_broker_nap(const struct ranks *ranks);
/* Its process has ended: another may come with its number. */
void pair_broker_forget(struct ranks *ranks, unsigned rank);
void pair_broker_free(struct pair_broker *broker);

/* ---- hosts.c ---- */
/* Another worker by ssh, that goes to this endpoint. */
int host_add(struct ranks *ranks, unsigned rank, const char *host, const char *endpoint, const char *program,
             int output);
/* Whether ssh has started it. */
bool host_has(const struct ranks *ranks, unsigned rank);
/* A connection to it, which stays the caller's. False: there can be none. */
bool host_call(struct ranks *ranks, unsigned rank, int fd);
/* What starts it ends, and so does the worker. */
void host_end(struct ranks *ranks, unsigned rank);
/* And nothing is left of it. */
void host_forget(struct ranks *ranks, unsigned rank);
/* Whether there is something to tell this rank's starter; and some of it. */
bool host_tells(const struct ranks *ranks, unsigned rank);
void host_tell(struct ranks *ranks, unsigned rank);
/* What it said: the number of bytes that are no PMI, or negative errno. */
ssize_t host_hear(struct ranks *ranks, unsigned rank, const char *bytes, size_t length);
/* As ranks_width(), ranks_poll() and ranks_hear(), of what goes through ssh. */
unsigned hosts_width(const struct ranks *ranks);
unsigned hosts_poll(struct ranks *ranks, struct pollfd *fds);
void hosts_turn(struct ranks *ranks, const struct pollfd *fds);
/* How long to wait at most, in milliseconds, or -1. */
int hosts_nap(const struct ranks *ranks);
/* The program is gone: what it said last goes out. */
void hosts_finish(struct ranks *ranks);
void hosts_close(struct ranks *ranks);

#endif
