/* This node: its devices, and the sessions on them. */
#ifndef VOCL_PROXY_DAEMON_NODE_NODE_H
#define VOCL_PROXY_DAEMON_NODE_NODE_H

#include "proxy/daemon/net/connection.h"
#include "proxy/daemon/node/told.h"
#include "topology/topology.h"

#define SILENCE_MOST_MS 1000

struct device {
    unsigned index;
    char name[128], type[16];
    uint64_t memory;
    unsigned units;
    int leaf; /* its number in the node's PCIe tree, or -1 */
    /* time_slices.c */
    struct session *runs; /* the session that may launch now, or NULL */
    struct timer slice;
    /* since_us: start of the time that is not charged yet; busy_us: the device's whole busy time. */
    long since_us, busy_us;
    long load_from_us, load_busy_us;
    /* load: recently, 0 to 1; least: virtual time of the sessions that share the device. */
    double load, least;
    bool recalled;
};

enum session_state { SESSION_RESERVED, SESSION_RUNNING, SESSION_ENDING };

struct usage {
    uint64_t launches, bytes_in, bytes_out, memory, device_ns;
};

struct session {
    struct session *next;
    struct daemon *daemon;
    char id[SESSION_ID];       /* this part of the session */
    char of[SESSION_ID];       /* the session's name, which is also that of its first parts */
    char replaces[SESSION_ID]; /* the part that this one replaces in a move, or "" */
    char within[SESSION_ID];   /* the hold that its devices are of, by name or as "@JOB"; or "" */
    char account[64];          /* the name of its user's limit at the broker, or "" */
    char user[64], home[256], program[64], job[64], from[64];
    uid_t uid;
    gid_t gid;
    enum session_state state;
    unsigned devices[MOST_DEVICES], device_count;
    uint64_t memory;         /* of each device; 0: all of it */
    unsigned slot;           /* the lowest number that was free, for metrics */
    unsigned share;          /* its weight */
    bool exclusive, started; /* started: it has a worker */
    bool held;               /* it has no worker, and keeps its devices for others (hold.c) */
    /* keep_seconds: how long it is held without a client; left_ms: since when it has none */
    unsigned keep_seconds;
    long left_ms;
    double began;          /* wall-clock time, seconds */
    double expires;        /* the same: its client has to come until then; 0: it has come */
    double joules_before;  /* energy_review() at its start; below 0: not known */
    pid_t pid, supervisor; /* pid: its worker; supervisor: the worker's parent */
    uint64_t start_time;   /* of the worker, in clock ticks since the host's boot */
    int pidfd;
    struct event *exited;
    struct timer timer;        /* for the reservation, the time limit, and killing */
    struct connection *client; /* represents the program */
    struct start *start;       /* the start of its worker, while it is under way (start.c), or NULL */
    struct relay *relay;       /* of its worker's PMI, or NULL */
    char why[128];             /* the reason of its end */
    struct connection *mover;  /* waits for its move or suspension, or NULL */
    bool ended;                /* its worker has ended, and the client may still send the reason */
    /* leaving: its worker is to end by itself, and the session is listed as ending; suspended: because it is
     * suspended. */
    bool leaving, suspended;
    json_t *move;              /* what is known of its move, or NULL */
    long asked_ms, refused_ms; /* when it was asked to suspend, and when it refused */
    /* How long it has to be idle before it may be suspended, as vocl-join says; or 0. */
    long patience_ms;
    /* silence.c */
    /* When its worker was last seen running, not stopped; when it last did something. */
    long ran_ms, active_ms;
    long worked_ms;      /* the worker's processor time then */
    long measured_ms;    /* when measure.c last measured it */
    long alone_until_ms; /* until when its program may be without a client; 0: it has one */
    int killed;
    /* time_slices.c */
    struct control *control;
    struct usage usage;          /* as the worker reports */
    uint64_t saved_ns;           /* how much of its device time is recorded (state.c) */
    double cpu_seconds;          /* measured by this daemon */
    double passed[MOST_DEVICES]; /* virtual time on each device */
    bool wants[MOST_DEVICES];
};

/* ---- probe.c ---- */
/* Finds the devices of this node, in a process of its own. Returns 0, or a negative errno with the reason in why. */
int probe_devices(struct daemon *d, char *why, size_t why_size);
/* Parses a PCIe tree; release it with free(). Returns NULL if it is invalid. */
struct topology *tree_of_text(const char *text, const char *node);

/* ---- drain.c ---- */
void drain_open(struct daemon *d);
/* Return 0, or a negative errno with the reason in why. from, until: times, in seconds since 1970, between which the
 * drain holds; 0: from now on, until it is lifted. */
int drain_add(struct daemon *d, const char *owner, const char *by, const char *reason, double from, double until,
              char *why, size_t why_size);
int drain_lift(struct daemon *d, const char *owner, char *why, size_t why_size);
bool is_draining(const struct daemon *d);
/* Removes the drains whose time is over. Call it every few seconds. */
void drain_review(struct daemon *d);

/* ---- reserve.c ---- */
/* Reserves devices for another daemon's connection, or, if asker is NULL, for this daemon. answered() is called with
 * the result, which is borrowed. Returns false if the request cannot be considered; the connection then gets the
 * reason. */
bool session_reserve(struct daemon *d, struct connection *asker, json_t *wish,
                     void (*answered)(struct daemon *d, struct connection *asker, json_t *answer));
/* The connection is closed. */
void reservings_end(const struct connection *asker);
/* A reservation, or a request for one, is no longer needed; does nothing if it was started. */
void session_release(struct daemon *d, const char *id);

/* ---- session.c ---- */
struct session *session_find(const struct daemon *d, const char *id);
/* Starts the worker, for the client that has reserved. Returns 0, and the client gets a message when the worker runs;
 * or a negative errno with the reason in why. */
int session_start(struct session *s, struct connection *c, const json_t *message, char *why, size_t why_size);
/* From now on this connection represents the session's program, in place of any other. */
void session_attach(struct session *s, struct connection *c);
/* Ends the session; the worker has time to end by itself. */
void session_end(struct session *s, const char *why);

/* ---- hold.c ---- */
/* Keeps the reserved devices for sessions that name the hold, as long as c exists and so many seconds longer. c may
 * also take over a hold from another client of its user. Returns false if that is no longer possible. */
bool hold_begin(struct session *s, struct connection *c, long long keep_seconds);

/* ---- move.c ---- */
/* Asks the session to move; c gets messages about the progress. */
void move_ask(struct session *s, struct connection *c, const json_t *message);

/* ---- suspended.c ---- */
/* Asks the session to suspend. c, which may be NULL, gets a message when its place is free, or with
 * the reason why it is not suspended. */
void suspend_ask(struct session *s, struct connection *c);
/* A program's vocl-join reports that its session is suspended. */
void suspend_take(struct connection *c, const json_t *message);
/* Asks a suspended session to resume; c gets a message when it does. */
void resume_session(struct connection *c, const json_t *message);
/* Tells a suspended session not to resume any more. Returns false if no session of that name is suspended here that c
 * may end. */
bool suspend_kill(struct connection *c, const char *id, const char *why);
/* Whether the session is suspended, belongs to this user, and has reported to this daemon. */
bool suspend_is_of(const struct daemon *d, const char *id, const struct auth_peer *peer);

/* ---- events.c ---- */
/* Records an event, such as "node-lost", for clients that ask or follow. node: the node that it is about; NULL: this
 * one. Takes ownership of details, an object; NULL: memory is exhausted. Only administrators see the "why" of another
 * user's event, which has a "user". */
void event_note(struct daemon *d, const char *kind, const char *node, json_t *details);
/* The same about a session here; details: an object with more, or NULL. */
void event_note_session(const struct session *s, const char *kind, json_t *details);
/* Answers a client's question for the events after a number, or has it wait for the next. */
void events_ask(struct connection *c, const json_t *question);
void events_close(struct daemon *d);

/* ---- account.c ---- */
/* Upper bounds, in seconds, of the classes that totals.lasted counts. */
extern const double account_durations[DURATIONS];
/* Tries again to write lines that could not be written. */
void account_review(struct daemon *d);

/* ---- energy.c ---- */
/* Returns the energy that the node's processors have used since the daemon's first call, in J, from the kernel's
 * intel-rapl; -1: there is none, or it cannot be read. Has to be called more often than the counters wrap around: every
 * few minutes. */
double energy_review(struct daemon *d);

/* ---- history.c ---- */
/* Returns an answer: the part of the account that the question asks for, of all users (only NULL) or one. */
json_t *history_part(const struct daemon *d, const json_t *question, const char *only);

/* ---- start.c ---- */
/* Starts the fork server, if the configuration wants workers to have their drivers loaded. */
void fork_server_open(struct daemon *d);
/* Sends a signal to the worker; SIGKILL kills all that it has started, too. */
bool worker_contained(const struct session *s, int number);

/* ---- group.c ---- */
/* group_is_good(): whether workers can have control groups where the configuration wants them. group_has(): whether
 * these can have a limit of this controller. */
bool group_is_good(const struct config *config, char *why, size_t why_size);
bool group_has(const struct config *config, const char *controller, char *why, size_t why_size);

/* ---- state.c ---- */
int state_open(struct daemon *d, char *why, size_t why_size);
/* Returns 0, or a negative errno: then the session must not exist. */
int state_save(const struct session *s);
/* Records from time to time what sessions have used. */
void state_review(struct daemon *d);
void state_adopt(struct daemon *d);
void state_path(const struct daemon *d, const char *name, char *path, size_t size);

/* ---- silence.c ---- */
/* Has to be called four times in VOCL_PEER_TIMEOUT, and at least every SILENCE_MOST_MS. */
void silence_review(struct daemon *d);

/* ---- time_slices.c ---- */
int share_listen(struct daemon *d, char *why, size_t why_size);

#endif
