/*
 * What the files of transport/ share. What others may have of it: transport.h (a session), starter.h (for who starts
 * one), loader.h (the plugins).
 *
 *     leaving.c         the end of a whole MPI job
 *     transport.c       opened, looked at again and again, closed
 *     link.c            the members, frames with windows, losses (link.h)
 *     receive.c         frames that arrive
 *     sleep.c           sleeping
 *     ears.c            who of many has something to say
 *     bulk.c            bulk data
 *   Providers (provider.h), which carry it:
 *     over_mpi.c        by MPI; mpi.c is the plugin with MPI in it (plugin.h)
 *     distance.c        how far a member is, and how many connections that wants (distance.h)
 *     over_tls.c        by TLS (over_tls.h); tls.c is the plugin with OpenSSL (tls.h)
 *     over_tls_bulk.c   its bulk data, over_tls_give.c what gives them, and over_tls_take.c what takes them
 *     over_tls_reach.c  bulk data that are read where they are, on one host
 *     over_tls_frames.c its frames; over_tls_aside.c: frames that go by a connection for bulk data
 *     over_tls_able.c   what it does on slow links: pace.c, known.c; pack.c is the plugin with zstd
 *     over_lane.c       through memory of one host: lane.c (lane.h); lane_sleep.c: who sleeps
 *     loop.c            to the local member, in the same process
 *   Who is there:
 *     bell.c            the socket beside MPI, and what is said on it
 *     pulse.c           heartbeats (pulse.h); silence.c: who has none
 *     watch.c           the same while MPI_Init is in the way
 *     keeper.c          descriptors in a program that may close them (keeper.h)
 *   How a session is started (start.h):
 *     job.c             by which way, and what comes of it: struct job
 *     start_local.c     workers on this host
 *     start_hosts.c     on others, by ssh
 *     start_pool.c      in a pool
 *     start_mpmd.c      by mpiexec, together with the program
 *     start_openmpi.c   by Open MPI's mpiexec, for the program
 *     start_worker.c    the worker's side of all of them
 *     join.c            members that come and go while it runs; join_where.c: where they can come from, and to
 *     plain.c           connections of TLS's kind within a host, without TLS (plain.h)
 *     request.c         what users ask of the session while it runs
 *     launch.c          the helper that starts the rest; spawn.c starts that
 *     enter.c           MPI_Init, or what is in its place
 *     greeting.c        what members say first (greeting.h)
 *     meeting.c         how they meet (meeting.h): meeting_open.c the program's side, meeting_join.c a worker's
 *     way.c             the connections of a pair, as a whole
 *     later.c           many workers: of two of them, when they have something to say to each other; apart.c: those
 *                       that meet over TLS then (apart.h)
 *     guests.c          connections that are not yet somebody's (guests.h)
 *     network.c         which network the session has
 *     host.c            limits of this host
 *     loader.c          the plugins are loaded
 */
#ifndef VOCL_TRANSPORT_INTERNAL_H
#define VOCL_TRANSPORT_INTERNAL_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/socket.h"
#include "transport/keeper.h"
#include "transport/loader.h"
#include "transport/provider.h"
#include "transport/pulse.h"
#include "transport/starter.h"
#include "transport/tls.h"
#include "transport/transport.h"

/* ---- bell.c: the socket beside MPI. After the hello (starter.h) it carries doorbells, and the news that a process is
 * gone ---- */

enum bell_kind { BELL_SLEEP = 1, BELL_ACK, BELL_RING, BELL_RANK, BELL_BYE, BELL_LANE, BELL_BEAT, BELL_STOPPED };

struct bell_record {
    uint32_t kind, value;
};

struct bell {
    struct kept socket;
    /* or what carries it to the peer of that number */
    void (*carry)(void *carrier, unsigned number, const struct bell_record *record);
    void *carrier;
    unsigned number;
    bool peer_sleeps, lost, rung;
    uint32_t rung_for; /* frames that it had sent then */
    const char *why;   /* it is lost, if not because its peer is */
    bool bye;          /* it has said that it ends */
    bool lane;         /* the peer has taken the lane it was offered */
    bool stopped;      /* so says the peer's launcher */
    uint32_t acked;    /* frames that the peer has taken */
    uint32_t heard;    /* records */
    uint8_t partial[sizeof(struct bell_record)];
    size_t partial_length;
    uint32_t rank; /* BELL_RANK's */
};

void bell_send(struct bell *bell, enum bell_kind kind, uint32_t value);
/* One record that came. */
void bell_take(struct bell *bell, const struct bell_record *record);
/* Take in what the peer has said; never blocks. Returns the number of records. */
int bell_hear(struct bell *bell);
struct job;
/* A heartbeat to all members of a job, which have yet to be peers. */
void bells_beat(const struct job *job);
/* The next record but heartbeats, which have to come meanwhile; for each, the members of job, if there is one, get one
 * of this side. 0 or negative errno. */
int bell_await(int fd, struct bell_record *record, long until, const struct job *job);

/* ---- job.c: who is in the session ---- */

struct member {
    int fd;
    uint32_t rank;
    pid_t process; /* on this host, or 0 */
    char host[64];
    char endpoint[128];              /* known to the program, for the others */
    const struct provider *provider; /* of this pair, or NULL: the job's */
    struct tls_way *way; /* what it is reached by, until transport_open() has it; with MPI it has the bell alone: fd */
};

/* With which members that come later show that they belong to a session over MPI. */
struct guest_key {
    bool known;
    uint8_t secret[SECRET_BYTES];
    void (*ending)(void *); /* as job_open_client()'s */
    void *argument;
};

struct job {
    const struct provider *provider; /* of all pairs */
    const struct mpi_plugin *plugin; /* or NULL: without MPI */
    bool whole;                      /* an MPMD job, whose mpiexec wants to see all ranks finalize */
    int rank, size;
    uint32_t last_tag;
    unsigned pipes;  /* without MPI: connections for bulk data of each pair */
    bool later;      /* workers are connected with each other when they have something to say (later.c); */
    bool by_tls;     /* all of them over TLS (apart.c) */
    unsigned others; /* a worker: those below this number may be there */
    int lifeline;    /* to vocl-launcher or vocl-join, or -1 */
    char place[128]; /* a pool's: where a node of it is */
    /* by vocl-launcher: on this host, or by ssh; by a pool's daemons */
    enum { STARTED_OTHERWISE, STARTED_HERE, STARTED_THERE, STARTED_POOL } started;
    struct guest_key guests;
    struct kept calls;       /* a worker: where it is handed connections, or -1 */
    struct kept channel;     /* to the same, while the session runs (request.c), or -1 */
    struct kept pmi;         /* what MPI has of its starter, or -1 */
    struct kept placeholder; /* Open MPI's, of this process, or -1 */
    struct keeper *keeper;   /* of the client's descriptors, or NULL */
    bool apart;              /* and of MPI's, or there is none */
    struct pulse *pulse;
    struct kept first; /* a worker's bell, until it is the peer's */
    struct beat beat;  /* of that */
    unsigned member_count;
    struct member *members;
};

int job_open_client(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);
void job_close(struct job *job);

/* ---- request.c: the channel to who started the session's processes ---- */
/* Hands it over, where there is a lifeline. 0 or negative errno. */
int channel_open(struct job *job);
/* To sleep on, if there is one. */
bool channel_sleep_on(struct transport *t, struct pollfd *descriptor);
/* A message, with a descriptor, or -1, which stays the caller's. 0 or negative errno. */
int channel_tell(struct transport *t, const struct channel_message *message, int fd);
/* Now and then, and when it spoke: what came is taken. */
void channel_poll(struct transport *t, bool spoke);

/* ---- start_worker.c ---- */
int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);

/* ---- host.c ---- */
/* A start opens many files, and for each worker some more: a limit of the program's own that it may exceed is lifted.
 * 0, and what it was to be set again; or negative errno and why, if it is too low. */
int host_lift_limit(unsigned workers, struct rlimit *before, char *why, size_t why_size);
/* MPI said what failed, but not what of this machine is to blame. */
void host_explain(char *why, size_t why_size);

/* ---- network.c ---- */
/* What VOCL_NETWORK means here. by_hosts: there are other hosts; pool: what their pool says ("mpi", "tls"), or NULL:
 * who wants tls has it, and what is to be tls is not mpi. 0, or negative errno and why. */
int network_choose(bool by_hosts, const char *pool, bool *tls, char *why, size_t why_size);
/* Whether workers of this host are to be reached by pairs of sockets, without MPI. */
bool network_is_pairs(bool by_hosts, unsigned workers);
/* Whether that is to be TLS through what starts the workers alone. */
bool network_is_ssh(void);
/* Nothing is encrypted, and the members prove who they are. */
bool network_is_plain(void);
/* MPI over TCP listens: from now on only at the interface of this address, unless UCX is told something else. The line
 * for its environment, or NULL. */
const char *network_bind(const char *address, char *line, size_t size);

/* ---- watch.c ---- */
struct watch {
    int lifeline;
    long until;
    struct job *job;
    nfds_t count;
    struct pollfd *fds; /* the first is for watch_stop() */
    long *heard_ms;     /* of each member */
    long answered_ms;   /* when they were told last that this one is there */
    pthread_t thread;
    char why[128];
};

/* Until watch_stop(): end the job if one of its members is lost, or after so long. 0 or negative errno. */
int watch_start(struct watch *watch, struct job *job, long milliseconds);
/* And what it ended it for, if it did. */
void watch_stop(struct watch *watch, char *why, size_t why_size);

/* ---- spawn.c ---- */
/* Start program in a session of its own, not a child that the caller's wait() or SIGCHLD could see. descriptor becomes
 * its 3, its standard input and output are /dev/null. */
int spawn_apart(const char *program, char *const *arguments, char *const *environment, int descriptor);

#endif
