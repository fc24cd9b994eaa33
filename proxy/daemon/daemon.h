/*
 * The daemon of a pool's node, in one thread around libevent: it never waits for anybody. This header is what all of
 * its rooms share. A room uses those before it; what is called the other way round is handed over (struct scheduler,
 * struct connection_owner).
 *
 *   daemon.c      the program: options, signals, and what it does from time to time
 *   dispatch.c    what the messages of clients ask for
 *   conf.c        its configuration (conf.h); check.c says whether it could be followed here
 *   log.c         what is told to the journal; notify.c to systemd
 *
 *   net/
 *     timer.h       what is done later
 *     message.h     the members of messages
 *     connection.h  connection.c, messages to and from others; proof.c, who is at the other end; stranger.c, who has
 *                   not shown it yet
 *     question.h    question.c, what others have to be asked for, who may not answer; user.c, who a user is, and what
 *                   he may
 *     child.h       processes for that and other work
 *   node/
 *     told.h        describe.c, what is told of this node; told.c, as JSON, also of others
 *     node.h        probe.c, its devices; drain.c, why it takes no new sessions; reserve.c, devices are reserved for
 *                   a session; expiry.c, who reserved and did not come; session.c, sessions: started, running, ended;
 *                   silence.c, who does not answer any more; state.c, what a daemon leaves for the one that is
 *                   started after it; start.c, the worker's process, and the fork server from which it comes
 *                   (between them and the daemon is what proxy/supervisor.c says); group.c, its control group;
 *                   relay.c, a way for its MPI to what serves it PMI, at the program's host; time_slices.c, the
 *                   workers' control connections: what they use, and whose time slice it is of a device that they
 *                   share; measure.c, what a session costs the host; energy.c, what the node's processors take;
 *                   account.c writes it down, history.c reads that; hold.c, devices that are held for the sessions
 *                   of somebody, one after the other; move.c, sessions that go to another place; suspended.c, those
 *                   that are suspended; idle.c, those that do nothing and may be suspended
 *   pool/
 *     peers.h       peers.c, the other daemons, and what they have; watchers.c, those that this one tells; gossip.c,
 *                   what daemons of a large pool tell of each other; exchange.c, daemons that mpiexec started find
 *                   each other
 *   schedule/
 *     schedule.h    broker.c, requests for devices, anywhere in the pool; choose.c, what one can have now;
 *                   placement.c, which devices it gets (placement.h); refusal.c, why it has nothing, by node;
 *                   going_on.c, requests for sessions that there are: they move, or have been suspended; queue.c, who
 * waits, in one order; oversubscribe.c, sessions are suspended where others wait web/ web.h         http.c, the
 * dashboard; metrics.c, figures for monitoring
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
    unsigned configured; /* how often it was read again */
    const struct auth_plugin *plugin;
    struct poolfile pool;
    char address[128]; /* others reach it there */
    /* net/ */
    LIST_HEAD(, connection) connections; /* the newest first */
    unsigned strangers_most;
    struct evconnlistener *listener;
    /* node/ */
    struct device *devices;
    unsigned device_count;
    char *tree;                  /* the node's PCIe tree as text, or NULL */
    struct topology *known_tree; /* the same */
    struct session *sessions;
    struct suspension *suspended;
    long suspend_us_of_mib; /* how long sessions of this node took to be suspended, or 0 */
    struct event *control_listener;
    json_t *drains;      /* drain.c */
    json_t *unaccounted; /* lines for account.c that could not be written */
    struct {
        double joules;
        uint64_t last[16]; /* of each package, in uJ */
        bool known[16];
    } energy;
    char trouble[128]; /* sessions cannot be recorded: why, or "" */
    long looked_ms;    /* silence.c */
    /* pool/ */
    unsigned watchers;
    struct peer *peers;
    void *by_name;         /* peers, as of tsearch(3) */
    unsigned own_position; /* in the pool file */
    struct timer review;
    long review_us; /* how long the last took */
    struct gossip *gossip;
    /* schedule/ */
    const struct scheduler *scheduler;
    struct request *requests, **requests_last;
    struct timer looks_again; /* oversubscribe.c */
    /* web/ */
    struct http *http;

    bool detached;               /* its log is a file in its state directory */
    struct timer publish, looks; /* state is to be told to watchers; for silence.c */
    struct {
        uint64_t connections, refused, sessions, failed, launches, bytes_in, bytes_out;
        double device_seconds;
        uint64_t lasted[DURATIONS + 1]; /* sessions by how long they were, and all their seconds */
        double lasted_seconds;
    } totals;
};

/* Who gets what, for the rooms before that one. */
struct scheduler {
    /* Who waits at this daemon: a new array. */
    struct told_wait *(*queue)(const struct daemon *d, unsigned *count);
    /* Somebody's devices have changed: whoever waits may have a turn. */
    void (*review)(struct daemon *d);
    /* What a node said to the reservation of a part; NULL: it is lost. */
    void (*answer)(struct daemon *d, const char *node, const json_t *answer);
};

/* ---- daemon.c ---- */
/* Something of this node has changed. */
void daemon_changed(struct daemon *d);
double wall_seconds(void);

/* ---- log.c ---- */
/* One line on stderr for the journal: key=value pairs after the text. Of warnings and errors of one kind, which is the
 * format, there are few in some seconds; the rest is counted. */
__attribute__((format(printf, 2, 3))) void daemon_log(const char *level, const char *format, ...);
/* Tells what was counted. To be called every few seconds. */
void daemon_log_review(void);

#endif
