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
    struct session *runs; /* who may launch now, or NULL */
    struct timer slice;
    long since_us, busy_us; /* what of the slice is not charged yet; all slices */
    long load_from_us, load_busy_us;
    double load, least; /* lately, 0 to 1; virtual time of those that share it */
    bool recalled;
};

enum session_state { SESSION_RESERVED, SESSION_RUNNING, SESSION_ENDING };

struct usage {
    uint64_t launches, bytes_in, bytes_out, memory, device_ns;
};

struct session {
    struct session *next;
    struct daemon *daemon;
    char id[SESSION_ID];       /* this part of it; */
    char of[SESSION_ID];       /* the session: the name that its first parts have, too */
    char replaces[SESSION_ID]; /* it came in the place of that part, or "" */
    char within[SESSION_ID];   /* its devices are of that hold, or "" */
    char user[64], home[256], program[64], job[64], from[64];
    uid_t uid;
    gid_t gid;
    enum session_state state;
    unsigned devices[MOST_DEVICES], device_count;
    uint64_t memory;         /* of each device, 0: all there is */
    unsigned slot;           /* the least number that no other has now, for metrics */
    unsigned share;          /* weight */
    bool exclusive, started; /* started: there was a worker */
    bool held;               /* there will be none: it keeps the devices for others (hold.c) */
    double began;            /* wall clock, seconds */
    double joules_before;    /* energy_review() when it began; below 0: not known */
    pid_t pid, supervisor;   /* supervisor: the parent of the worker, which pid is */
    uint64_t start_time;     /* of the process, in clock ticks since the host's start */
    int pidfd;
    struct event *exited;
    struct timer timer;        /* reservation, time limit, killing */
    struct connection *client; /* it stands for the program */
    struct start *start;       /* of its worker, while that is under way (start.c), or NULL */
    struct relay *relay;       /* of its worker's PMI, or NULL */
    char why[128];             /* it ends */
    struct connection *mover;  /* waits for its move, or suspension, or NULL */
    bool ended;                /* its worker has, and why may still be said */
    bool leaving, suspended;   /* its worker ends by itself: it is told as ending; and is suspended from then on */
    json_t *move;              /* what is known of that, or NULL */
    long asked_ms, refused_ms; /* when it was asked to be suspended, and when it would not */
    long patience_ms;          /* so long it has to do nothing before that, by vocl-join's word, or 0 */
    /* silence.c */
    long ran_ms, active_ms; /* when its worker was seen not to be stopped, and something was done last */
    long worked_ms;         /* processor time by then */
    long measured_ms;       /* when measure.c looked what it costs */
    long alone_until_ms;    /* nobody stands for its program; 0: somebody does */
    int killed;
    /* time_slices.c */
    struct control *control;
    struct usage usage;          /* by the worker's word */
    uint64_t saved_ns;           /* of its device time, what is on record (state.c) */
    double cpu_seconds;          /* measured */
    double passed[MOST_DEVICES]; /* virtual time on each device */
    bool wants[MOST_DEVICES];
};

/* ---- probe.c ---- */
/* The devices of this node, asked for in a process of its own. 0, or negative errno and why. */
int probe_devices(struct daemon *d, char *why, size_t why_size);
/* A PCIe tree, free() it; NULL: it cannot be read. */
struct topology *tree_of_text(const char *text, const char *node);

/* ---- drain.c ---- */
void drain_open(struct daemon *d);
/* 0, or negative errno and why. */
int drain_add(struct daemon *d, const char *owner, const char *by, const char *reason, char *why, size_t why_size);
int drain_lift(struct daemon *d, const char *owner, char *why, size_t why_size);
bool is_draining(const struct daemon *d);

/* ---- reserve.c ---- */
/* What another daemon's connection asks for, or, NULL, this daemon. answered: what has come of it, which is
 * borrowed. False: it cannot be asked for; the connection hears that, too. */
bool session_reserve(struct daemon *d, struct connection *asker, json_t *wish,
                     void (*answered)(struct daemon *d, struct connection *asker, json_t *answer));
/* That connection is closed. */
void reservings_end(const struct connection *asker);
/* What was reserved, or is to be, and is not started is not needed any more. */
void session_release(struct daemon *d, const char *id);

/* ---- session.c ---- */
struct session *session_find(const struct daemon *d, const char *id);
/* For the one that asked: starts the worker. 0: who asked is told when it runs; or negative errno and why. */
int session_start(struct session *s, struct connection *c, const json_t *message, char *why, size_t why_size);
/* Whoever stood for its program before: from now on it is this connection. */
void session_attach(struct session *s, struct connection *c);
/* Ends it, with time for the worker to end by itself. */
void session_end(struct session *s, const char *why);

/* ---- hold.c ---- */
/* What was reserved is kept for sessions that name it, as long as c is there. False: it cannot be any more. */
bool hold_begin(struct session *s, struct connection *c);

/* ---- move.c ---- */
/* It is to go to another place; c hears how far it is. */
void move_ask(struct session *s, struct connection *c, const json_t *message);

/* ---- suspended.c ---- */
/* It is to be suspended; c hears when its place is free, or why not. NULL: nobody has to. */
void suspend_ask(struct session *s, struct connection *c);
/* What stands for a program says that it is suspended. */
void suspend_take(struct connection *c, const json_t *message);
/* It is to go on; c hears when it does. */
void resume_session(struct connection *c, const json_t *message);
/* It is not to go on any more. False: nothing of that name is suspended here that c may end. */
bool suspend_kill(struct connection *c, const char *id, const char *why);
/* Whether a session of that user is suspended, and has told this daemon. */
bool suspend_is_of(const struct daemon *d, const char *id, const struct auth_peer *peer);

/* ---- account.c ---- */
/* Up to so many seconds each: what totals.lasted counts. */
extern const double account_durations[DURATIONS];
/* What could not be written may be possible now. */
void account_review(struct daemon *d);

/* ---- energy.c ---- */
/* What the node's processors have taken since the daemon began to look, in J, as the kernel has it in intel-rapl; -1:
 * it has nothing, or nothing that may be read. To be called more often than counters go round: some minutes. */
double energy_review(struct daemon *d);

/* ---- history.c ---- */
/* An answer: the part of the account that the question asks for, of all users or one. */
json_t *history_part(const struct daemon *d, const json_t *question, const char *only);

/* ---- start.c ---- */
/* Workers are to begin with their drivers loaded, if the configuration wants that. */
void fork_server_open(struct daemon *d);
/* SIGKILL is for all that it has started, too. */
bool worker_contained(const struct session *s, int number);

/* ---- group.c ---- */
/* Whether workers can have control groups where the configuration wants them, and with a limit that needs this
 * controller. */
bool group_is_good(const struct config *config, char *why, size_t why_size);
bool group_has(const struct config *config, const char *controller, char *why, size_t why_size);

/* ---- state.c ---- */
int state_open(struct daemon *d, char *why, size_t why_size);
/* 0, or negative errno: then it must not be. */
int state_save(const struct session *s);
/* What sessions have used goes on record, every now and then. */
void state_review(struct daemon *d);
void state_adopt(struct daemon *d);
void state_path(const struct daemon *d, const char *name, char *path, size_t size);

/* ---- silence.c ---- */
/* To be called four times in VOCL_PEER_TIMEOUT, and every SILENCE_MOST_MS at least. */
void silence_review(struct daemon *d);

/* ---- time_slices.c ---- */
int share_listen(struct daemon *d, char *why, size_t why_size);

#endif
