/*
 * The daemon of a pool's node, in one thread around libevent: it never blocks. All of its folders share this header.
 * Each folder uses those above it in this list; calls in the other direction go through structs of functions (struct
 * scheduler, struct connection_owner).
 *
 *   daemon.c      the program: options, signals, periodic work
 *   dispatch.c    the requests of clients
 *   conf.c        the configuration (conf.h); check.c checks whether it can be followed on this host
 *   log.c         messages to the journal; notify.c, messages to systemd
 *   announce.c    the process that announces this daemon in the local network
 *
 *   net/
 *     timer.h       timers
 *     message.h     members of messages
 *     connection.h  connection.c, messages to and from others; proof.c, authentication of the other end;
 *                   stranger.c, connections that are not authenticated yet
 *     question.h    question.c, look-ups in services that may not answer; user.c, a user's data and rights
 *     child.h       the daemon's own child processes
 *   node/
 *     told.h        describe.c, the state of this node; told.c, the same as JSON, also of other nodes
 *     node.h        probe.c, the node's devices; drain.c, why it takes no new sessions; reserve.c, reservations
 *                   of devices; expiry.c, users whose reservations expired; session.c, sessions, from their start
 *                   to their end; silence.c, clients and workers that do not answer; state.c, what a daemon
 *                   leaves for its successor; start.c, the worker's process, and the fork server it comes from
 *                   (between them and the daemon is the supervisor, proxy/supervisor.c); group.c, control groups;
 *                   relay.c, connects a worker's MPI with the PMI server at the program's host; time_slices.c,
 *                   the workers' control connections, for their usage and for time slices on shared devices;
 *                   measure.c, what a session costs the host; energy.c, the energy of the node's processors;
 *                   account.c, writes the account of sessions, history.c reads it; hold.c, devices held for a
 *                   user's sessions; move.c, sessions that move; suspended.c, suspended sessions; idle.c, idle
 *                   sessions that may be suspended; events.c, what has happened here recently
 *   pool/
 *     peers.h       peers.c, the other daemons and their state; watchers.c, the daemons that this one informs;
 *                   gossip.c, what the daemons of a large pool pass on of each other; exchange.c, how daemons
 *                   that mpiexec started find each other
 *   schedule/
 *     schedule.h    broker.c, requests for devices anywhere in the pool; choose.c, what a request can have now;
 *                   placement.c, which devices it gets (placement.h); refusal.c, why it gets nothing, by node;
 *                   going_on.c, requests for existing sessions, which move or resume; queue.c, the order of
 *                   waiting requests; oversubscribe.c, suspends sessions while others wait
 *   web/
 *     web.h         http.c, the dashboard; metrics.c, figures for monitoring; discovery.c, where all nodes' figures are
 */
#ifndef VOCL_PROXY_DAEMON_DAEMON_H
#define VOCL_PROXY_DAEMON_DAEMON_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pool/poolfile.h"
#include "proxy/daemon/conf.h"
#include "proxy/daemon/net/timer.h"

#define SESSION_ID 33
#define MOST_DEVICES 64 /* of a node */
#define DURATIONS 8

struct daemon {
    struct event_base *base;
    struct config *config;
    unsigned configured; /* how often the configuration was read again */
    const struct auth_plugin *plugin;
    struct poolfile pool;
    char address[128]; /* at which others reach this daemon */
    /* net/ */
    LIST_HEAD(, connection) connections; /* the newest first */
    unsigned strangers_most;
    struct evconnlistener *listener;
    /* node/ */
    struct device *devices;
    unsigned device_count;
    char *tree;                  /* the node's PCIe tree as text, or NULL */
    struct topology *known_tree; /* the same, parsed */
    struct session *sessions;
    struct suspension *suspended;
    long suspend_us_of_mib; /* microseconds that recent suspensions on this node took for each MiB, or 0 */
    struct event *control_listener;
    json_t *drains; /* drain.c */
    struct events *events;
    json_t *unaccounted; /* lines that account.c could not write yet */
    struct {
        double joules;
        uint64_t last[16]; /* of each package, in uJ */
        bool known[16];
    } energy;
    char trouble[128]; /* why sessions cannot be recorded, or "" */
    long looked_ms;    /* silence.c */
    /* pool/ */
    unsigned watchers;
    struct peer *peers;
    void *by_name;         /* the peers, for tsearch(3) */
    unsigned own_position; /* in the pool file */
    struct timer review;
    long review_us; /* duration of the last review */
    struct gossip *gossip;
    /* schedule/ */
    const struct scheduler *scheduler;
    struct request *requests, **requests_last;
    struct timer looks_again; /* oversubscribe.c */
    /* web/ */
    struct http *http;

    bool detached;               /* the log is a file in the state directory */
    struct timer publish, looks; /* publish: the state has to be sent to watchers; looks: for silence.c */
    struct {
        uint64_t connections, refused, sessions, failed, launches, bytes_in, bytes_out;
        double device_seconds;
        /* How many sessions have ended, by duration, and the sum of their durations. */
        uint64_t lasted[DURATIONS + 1];
        double lasted_seconds;
    } totals;
};

/* Functions of the scheduler, for the folders above it. */
struct scheduler {
    /* Returns a new array of the requests that wait at this daemon. */
    struct told_wait *(*queue)(const struct daemon *d, unsigned *count);
    /* Devices have become free or changed: considers the waiting requests again. */
    void (*review)(struct daemon *d);
    /* Handles a node's answer to the reservation of a part; NULL: the node is lost. */
    void (*answer)(struct daemon *d, const char *node, const json_t *answer);
};

/* ---- daemon.c ---- */
/* Called when something of this node has changed. */
void daemon_changed(struct daemon *d);
double wall_seconds(void);

/* ---- log.c ---- */
/* Writes one line to stderr, for the journal: key=value pairs follow the text. Limits how many warnings and errors of
 * one kind (the same format) are written in some seconds; the rest is counted. */
__attribute__((format(printf, 2, 3))) void daemon_log(const char *level, const char *format, ...);
/* Writes how many were left out. Call it every few seconds. */
void daemon_log_review(void);

#endif
