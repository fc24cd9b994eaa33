/*
 * The daemon of a pool's node, in one thread around libevent: it never waits for anybody. What its files share.
 *
 *     daemon.c      the program: options, signals, what is told to watchers
 *     conf.c        its configuration (conf.h); check.c says whether it could be followed here
 *     probe.c       which devices the node has
 *     log.c         what is told to the journal; notify.c to systemd
 *     connection.c  messages to and from others
 *     proof.c       who is at the other end
 *     stranger.c    who has not shown it yet
 *     question.c    what others have to be asked for, who may not answer; child.c processes for that and other work
 *     user.c        who a user is, and what he may
 *     message.c     what a message asks for, and who may
 *     reserve.c     devices are reserved for a session
 *     node.c        the sessions on this node: started, running, ended; describe.c tells of them
 *     hold.c        devices that are held for the sessions of somebody, one after the other
 *     measure.c     what a session costs the host; account.c writes it down, history.c reads that
 *     energy.c      what the node's processors take
 *     lapse.c       who reserved and did not come
 *     start.c       the worker's process, and the fork server from which it comes; between them and the daemon is what
 *                   proxy/supervisor.c says
 *     group.c       the worker's control group
 *     relay.c       a way for its MPI to what serves it PMI, at the program's host
 *     drain.c       why the node takes no new sessions
 *     silence.c     who does not answer any more
 *     state.c       what a daemon leaves for the one that is started after it
 *     share.c       the workers' control connections: what they use, and whose turn it is on a device that they share
 *     peers.c       the other daemons: what they have (peers.h)
 *     news.c        what daemons of a large pool tell of each other
 *     broker.c      requests for devices, anywhere in the pool
 *     choose.c      what a request can have now (request.h); placement.c which devices it gets (placement.h)
 *     refusal.c     why it has nothing, by node
 *     going_on.c    requests for sessions that there are: they move, or have rested
 *     move.c        sessions that go to another place
 *     rest.c        sessions that rest; oversubscribe.c when they have to
 *     queue.c       who waits, in one order
 *     exchange.c    daemons that mpiexec started find each other
 *     http.c        the dashboard; metrics.c figures for monitoring
 */
#ifndef VOCL_PROXY_DAEMON_DAEMON_H
#define VOCL_PROXY_DAEMON_DAEMON_H

#include <event2/event.h>
#include <jansson.h>
#include <sys/queue.h>

#include "pool/channel.h"
#include "pool/poolfile.h"
#include "proxy/daemon/conf.h"
#include "proxy/daemon/placement.h"
#include "proxy/supervisor.h"

#define SESSION_ID 33
#define MOST_DEVICES 64 /* of a node */
#define MOST_WISHED 256 /* of a request */
#define DURATIONS 8

struct device {
    unsigned index;
    char name[128], type[16];
    uint64_t memory;
    unsigned units;
    int leaf; /* its number in the node's PCIe tree, or -1 */
    /* share.c */
    struct session *turn; /* who may launch now, or NULL */
    struct event *slice;
    long since_us, busy_us; /* what of the turn is not charged yet; all turns */
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
    uint64_t memory;          /* of each device, 0: all there is */
    unsigned slot;            /* the least number that no other has now, for metrics */
    unsigned share;           /* weight */
    bool exclusive, started;  /* started: there was a worker */
    bool held;                /* there will be none: it keeps the devices for others (hold.c) */
    double began;             /* wall clock, seconds */
    double joules_before;     /* energy_review() when it began; below 0: not known */
    pid_t pid, keeper;        /* keeper: the parent of the worker, which pid is */
    unsigned long start_time; /* of the process, in clock ticks since the host's start */
    int pidfd;
    struct event *exited, *timer; /* timer: reservation, time limit, killing */
    struct connection *client;    /* it stands for the program */
    struct start *start;          /* of its worker, while that is under way (start.c), or NULL */
    struct relay *relay;          /* of its worker's PMI, or NULL */
    char why[128];                /* it ends */
    struct connection *mover;     /* waits for its move, or rest, or NULL */
    bool ended;                   /* its worker has, and why may still be said */
    bool leaving, rests;          /* its worker ends by itself: it is told as ending; and rests from then on */
    json_t *move;                 /* what is known of that, or NULL */
    long asked_ms, restless_ms;   /* when it was asked to rest, and when it would not */
    long patience_ms;             /* so long it has to do nothing before that, by vocl-join's word, or 0 */
    /* silence.c */
    long ran_ms, active_ms; /* when its worker was seen not to be stopped, and something was done last */
    long worked_ms;         /* processor time by then */
    long measured_ms;       /* when measure.c looked what it costs */
    long alone_until_ms;    /* nobody stands for its program; 0: somebody does */
    int killed;
    /* share.c */
    struct control *control;
    struct usage usage;          /* by the worker's word */
    uint64_t saved_ns;           /* of its device time, what is on record (state.c) */
    double cpu_seconds;          /* measured */
    double passed[MOST_DEVICES]; /* virtual time on each device */
    bool wants[MOST_DEVICES];
};

/* Who a user is to this node: the first members are asked for. */
struct user {
    char name[64]; /* or "" */
    uid_t uid;
    gid_t gid;
    bool by_name; /* UID and GID are not known */
    /* and what is found */
    bool known, allowed, admin; /* allowed: to use the node */
    char here[64], home[256];
};

struct daemon {
    struct event_base *base;
    struct config *config;
    unsigned configured; /* how often it was read again */
    const struct auth_plugin *plugin;
    struct poolfile pool;
    char address[128]; /* others reach it there */
    struct device devices[MOST_DEVICES];
    unsigned device_count;
    char *tree;                  /* the node's PCIe tree as text, or NULL */
    struct topology *known_tree; /* the same */
    struct session *sessions;
    LIST_HEAD(, connection) connections; /* the newest first */
    unsigned strangers_most, watchers;
    bool looks_again;    /* oversubscribe.c */
    long rest_us_of_mib; /* how long sessions of this node took to go to rest, or 0 */
    struct peer *peers;
    struct hsearch_data *by_name; /* peers, or NULL */
    unsigned own_place;           /* in the pool file */
    struct event *review;
    long review_us; /* how long the last took */
    struct news *news;
    struct request *requests, **requests_last;
    struct rest *rests;
    struct evconnlistener *listener;
    struct event *control_listener;
    json_t *drains;      /* drain.c */
    json_t *unaccounted; /* lines for account.c that could not be written */
    struct {
        double joules;
        uint64_t last[16]; /* of each package, in uJ */
        bool known[16];
    } energy;
    bool detached;         /* its log is a file in its state directory */
    char trouble[128];     /* sessions cannot be recorded: why, or "" */
    long looked_ms;        /* silence.c */
    struct event *publish; /* state is to be told to watchers soon */
    struct {
        uint64_t connections, refused, sessions, failed, launches, bytes_in, bytes_out;
        double device_seconds;
        uint64_t lasted[DURATIONS + 1]; /* metrics.c: sessions by how long they were, and all their seconds */
        double lasted_seconds;
    } totals;
    struct http *http;
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

/* ---- connection.c ---- */
struct connection;
struct connection_owner {
    void (*message)(struct connection *c, json_t *message); /* borrowed */
    void (*closed)(struct connection *c);                   /* its memory goes afterwards */
    void (*opened)(struct connection *c);                   /* outgoing: it may be used now; or NULL */
};

int connection_listen(struct daemon *d, char *why, size_t why_size);
/* To another daemon. NULL if it cannot be tried. */
struct connection *connection_open(struct daemon *d, const char *node, const char *address,
                                   const struct connection_owner *owner, void *argument);
/* Takes message over. */
void connection_send(struct connection *c, json_t *message);
/* After what is to be sent was sent. As with connection_send() to who does not read, c and what it belongs to stay
 * until the event loop has them again: only then its owner is told, and it is destroyed. */
void connection_close(struct connection *c);
const struct auth_peer *connection_peer(const struct connection *c);
/* The same, as it was found out lately. */
const struct user *connection_user(const struct connection *c);
const char *connection_remote(const struct connection *c);
struct daemon *connection_daemon(const struct connection *c);
const struct connection_owner *connection_owner(const struct connection *c);
void *connection_argument(const struct connection *c);
/* Of an outgoing one that is closed: why, or "" if that is not known. */
const char *connection_why(const struct connection *c);
/* An accepted connection belongs to something from now on: it may be silent, and closed() is told when it ends. */
void connection_own(struct connection *c, const struct connection_owner *owner, void *argument);
/* Whether it has said that it is there, and then nothing for longer than it may. */
bool connection_is_silent(const struct connection *c);
/* Those that are silent are lost. was_away: it is this daemon that did not listen. */
void connections_judge(struct daemon *d, long now, bool was_away);
void connection_fail(struct connection *c, const char *error);
/* Every open one of that owner. */
void connections_each(struct daemon *d, const struct connection_owner *owner, void (*visit)(struct connection *c));
void connections_close(struct daemon *d);

/* ---- choose.c ---- */
/* What a node tells of its devices: a new array. */
struct placement_device *placement_devices_of(const json_t *node, const struct topology *tree, unsigned *count);

/* ---- news.c ---- */
/* Another daemon of a large pool watches this one, or only has something to say. */
void news_watched(struct connection *c, bool all);
/* Others have a wrong idea of this node: it tells again. */
void news_repeat(struct daemon *d);

/* ---- message.c ---- */
void message_take(struct connection *c, json_t *message);
/* A member of a message; fallback where there is none or it is of another kind. */
const char *message_text(const json_t *message, const char *name, const char *fallback);
/* Whether that can be the name of a session, or of a part of one: it becomes those of files, too. */
bool message_is_id(const char *text);
long long message_number(const json_t *message, const char *name, long long fallback);
/* As json_pack(); that it fails, as it does with a text that is no UTF-8, is logged: text_print() and text_visible()
 * make none of that kind. */
json_t *message_pack(const char *format, ...);
/* A new list of numbers. */
json_t *message_list(const unsigned *numbers, unsigned count);
void watchers_tell(struct daemon *d);
/* What a daemon says to another, beside news: to reserve and to give back. False: something else. */
bool message_of_daemon(struct connection *c, json_t *message);

/* ---- describe.c ---- */
json_t *node_describe(const struct daemon *d);

/* ---- child.c ---- */
struct child {
    pid_t pid;
    int fd, pidfd;
    struct event *exited;
    void (*over)(struct child *child, int status);
};
/* A process that runs that, with its end of a socket (SOCK_SEQPACKET) as CHILD_FD and nothing else of the daemon's. It
 * is watched until it has ended, which over(), that may be NULL, is told; then it is freed. NULL: there is none. */
struct child *child_fork(struct daemon *d, void (*run)(const void *argument), const void *argument,
                         void (*over)(struct child *child, int status));
void child_kill(struct child *child);

/* ---- question.c ---- */
enum question_kind { QUESTION_PROOF, QUESTION_HOST, QUESTION_USER };
struct question;
/* Calls find() in another process, with a copy of the bytes, and then answered() here with what has become of them, or
 * with NULL: there is no answer in time. It does so from the event loop. Who asks with the same bytes shares the
 * answer. NULL: nobody can be asked. */
struct question *question_ask(struct daemon *d, enum question_kind kind,
                              void (*find)(const struct daemon *d, void *bytes), const void *bytes, size_t size,
                              void (*answered)(void *argument, void *bytes), void *argument);
/* Nobody wants the answer any more. May be NULL. */
void question_drop(struct question *q);
/* There is another configuration. */
void questions_renew(void);

/* ---- user.c ---- */
/* As question_ask(): answered() has a struct user, or NULL. What is between the members has to be 0, too. */
struct question *user_ask(struct daemon *d, const struct user *user, void (*answered)(void *argument, void *user),
                          void *argument);
/* Whether the user of that name has that UID here, too, and may have devices. */
bool user_may_have_devices(const struct daemon *d, const struct user *user, char *why, size_t why_size);

/* ---- reserve.c ---- */
/* What another daemon's connection asks for, or, NULL, this one's broker: they hear of it. False: it cannot be asked
 * for. */
bool session_reserve(struct daemon *d, struct connection *broker, json_t *wish);
/* That connection is closed. */
void reservings_end(const struct connection *broker);
/* What was reserved, or is to be, and is not started is not needed any more. */
void session_release(struct daemon *d, const char *id);
/* What is reserved goes back if nobody comes. */
void session_expect(struct session *s);

/* ---- node.c ---- */
struct session *session_find(const struct daemon *d, const char *id);
/* For the one that asked: starts the worker. 0: who asked is told when it runs; or negative errno and why. */
int session_start(struct session *s, struct connection *c, const json_t *message, char *why, size_t why_size);
/* Its keeper is there, and is watched. */
void session_keep(struct session *s);
/* Its worker runs, or, with errno, does not. */
void session_started(struct session *s, pid_t worker, int error);
/* Whether it is a session's. */
bool session_stands_for(const struct connection *c);
/* Whoever stood for its program before: from now on it is this connection. */
void session_attach(struct session *s, struct connection *c);
/* Ends it, with time for the worker to end by itself. */
void session_end(struct session *s, const char *why);
/* The same without a word to anybody. */
void session_end_worker(struct session *s);
/* The worker's process is gone, or there was none. */
void session_gone(struct session *s, int status);
bool session_uses(const struct session *s, unsigned device, unsigned *ordinal);
/* The worker that runs already, after a restart. */
void session_watch(struct session *s);
struct session *session_new(struct daemon *d, const char *id);
void session_free(struct session *s);
/* After so many seconds, in the place of what was to be. */
void session_set_timer(struct session *s, void (*run)(evutil_socket_t, short, void *), double seconds);

/* ---- hold.c ---- */
/* What was reserved is kept for sessions that name it, as long as c is there. False: it cannot be any more. */
bool hold_begin(struct session *s, struct connection *c);
/* Who held it has gone. */
void hold_end(struct session *s);
/* Of which a session has its devices: NULL if of none that is still there. */
struct session *hold_of(const struct session *s);
/* How many use a device, and what they have of its memory; a hold counts for all that are within it. taken: one of them
 * has it for itself. */
unsigned hold_users(const struct daemon *d, unsigned device, uint64_t *memory, bool *taken);
/* Why a new session cannot have its devices of the hold that it names; NULL: it has them. *never: it will not. */
const char *hold_refuse(struct session *s, uint64_t memory, bool *never);

/* ---- move.c ---- */
/* That it moves, or is put to rest; false, and why: not now. */
bool move_may_ask(const struct session *s, const char **why);
/* It is to go to another place; c hears how far it is. */
void move_ask(struct session *s, struct connection *c, const json_t *message);
/* What stands for its program says of the move. over: that was all. */
void move_hear(struct session *s, const json_t *message, bool over);
/* Nothing more will be heard of it: why. */
void move_end(struct session *s, const char *why);

/* ---- rest.c ---- */
/* It is to be put to rest; c hears when its place is free, or why not. NULL: nobody has to. */
void rest_ask(struct session *s, struct connection *c);
/* What stands for a program says that it rests. */
void rest_take(struct connection *c, const json_t *message);
/* It is to go on; c hears when it does. */
void rest_wake(struct connection *c, const json_t *message);
/* It is not to go on any more. False: nothing of that name rests here that c may end. */
bool rest_kill(struct connection *c, const char *id, const char *why);
/* Whether somebody else has a session of that name. */
bool rest_is_anothers(struct daemon *d, const char *id, const char *user);
/* Whether a session of that user rests, and has told this daemon. */
bool rest_is_of(const struct daemon *d, const char *id, const struct auth_peer *peer);
/* A new array. */
json_t *rests_describe(const struct daemon *d);

/* ---- oversubscribe.c ---- */
/* Where others wait one that does nothing is put to rest. */
void oversubscribe_review(struct daemon *d);
/* Whether that may be this one, or it has just been asked. */
bool oversubscribe_may(const struct session *s);
bool oversubscribe_asks(const struct session *s);
/* It has gone to rest; vocl-join says what that costs it. */
void oversubscribe_went(const struct session *s);
void oversubscribe_hear(struct session *s, const json_t *message);
/* In milliseconds, for which it has to do nothing before it may be put to rest. */
long oversubscribe_patience(const struct session *s);

/* ---- account.c ---- */
/* The session is over: a line of what it had and used. status: its worker's, or -1. */
void sessions_account(struct session *s, int status);
/* What could not be written may be possible now. */
void account_review(struct daemon *d);

/* ---- energy.c ---- */
/* What the node's processors have taken since the daemon began to look, in J, as the kernel has it in intel-rapl; -1:
 * it has nothing, or nothing that may be read. To be called more often than counters go round: some minutes. */
double energy_review(struct daemon *d);

/* ---- history.c ---- */
/* An answer: the part of the account that the question asks for, of all users or one. */
json_t *history_part(const struct daemon *d, const json_t *question, const char *only);

/* ---- measure.c ---- */
/* Its processor time until now; to be called while its process, or what is left of it, is there. */
void measure_session(struct session *s);
/* The same, if that is some time ago: it reads files. */
void measure_lately(struct session *s);
/* What its worker told, which cannot be more than there was. */
double measure_device_seconds(const struct session *s);

/* ---- lapse.c ---- */
/* A reservation of that user's came to nothing; after some of them he gets none for a while. */
void lapse_note(uid_t uid);
/* For how long he gets none here: 0 if he does. */
long lapse_seconds(uid_t uid);

/* ---- start.c ---- */
/* The worker's process; environment: what the application's rank needs, "NAME=VALUE", NULL-terminated. Takes pmi over.
 * 0: session_started() says more; or negative errno and why. */
int worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size);
/* What has come of a start is looked at now; that may be the end of it. */
void worker_start_review(struct session *s);
/* The session is ending: it is not to start any more. session_started() is called, now or soon. */
void worker_start_cancel(struct session *s);
/* Workers are to begin with their drivers loaded, if the configuration wants that. */
void fork_server_open(struct daemon *d);
/* SIGKILL is for all that it has started, too. */
bool worker_contained(const struct session *s, int number);

/* ---- group.c ---- */
/* Whether workers can have control groups where the configuration wants them, and with a limit that needs this
 * controller. */
bool group_is_good(const struct config *config, char *why, size_t why_size);
bool group_has(const struct config *config, const char *controller, char *why, size_t why_size);
/* Where a file of its control group is, or with "" the group. False: there are none. */
bool worker_group_path(const struct session *s, const char *file, char *path, size_t size);
/* With the configuration's limits. False: it has none. */
bool worker_group_make(const struct session *s);
/* False: it has no control group. */
bool worker_kill_group(const struct session *s);
/* The session is over, and with it its group. */
void worker_clean(struct session *s);

/* ---- state.c ---- */
int state_open(struct daemon *d, char *why, size_t why_size);
/* 0, or negative errno: then it must not be. */
int state_save(const struct session *s);
/* What sessions have used goes on record, every now and then. */
void state_review(struct daemon *d);
void state_remove(const struct session *s);
/* Where its keeper leaves its worker's exit status, for a daemon that cannot wait for it; and that, or -1. */
void state_status_path(const struct session *s, char *path, size_t size);
int state_status(const struct session *s);
void state_adopt(struct daemon *d);
void state_path(const struct daemon *d, const char *name, char *path, size_t size);
/* A file there, whole or not at all. 0 or negative errno. */
int state_write(const struct daemon *d, const char *name, const json_t *content);

/* ---- drain.c ---- */
void drain_open(struct daemon *d);
/* 0, or negative errno and why. */
int drain_add(struct daemon *d, const char *owner, const char *by, const char *reason, char *why, size_t why_size);
int drain_lift(struct daemon *d, const char *owner, char *why, size_t why_size);
bool is_draining(const struct daemon *d);
/* "slurm: job 7; root: new fan", or nothing. */
void drain_describe(const struct daemon *d, char *text, size_t size);

/* ---- silence.c ---- */
void silence_watch(struct daemon *d);
enum silence {
    SILENCE_NONE,    /* somebody stands for the program */
    SILENCE_LEFT,    /* it has ended, so the worker will */
    SILENCE_TIMEOUT, /* it has not answered for too long already */
    SILENCE_LOST     /* who stands for it may come back */
};
void silence_begins(struct session *s, enum silence kind);

/* ---- share.c ---- */
int share_listen(struct daemon *d, char *why, size_t why_size);
void share_leave(struct session *s);
/* Who uses a device has changed. */
void share_review(struct daemon *d, unsigned device);
double device_load(struct device *device);

/* ---- peers.c ---- */
/* Those of the pool file; who is there already and still in it stays. */
void peers_open(struct daemon *d);
void peers_close(struct daemon *d);
/* What every node of the pool has told last, this one's included: a new array. */
json_t *peers_directory(struct daemon *d);
/* Adds who waits at the others, or waited at those that are lost. */
void peers_waiting(const struct daemon *d, json_t *list);
void peers_waited(const struct daemon *d, json_t *list);
/* A node's PCIe tree, or NULL. */
const struct topology *peer_tree(const struct daemon *d, const char *node);
/* Free() it. NULL: it cannot be read. */
struct topology *tree_of_text(const char *text, const char *node);
/* The devices of a node as it told last, without their node's number: borrowed until it tells anew. NULL: it is no
 * peer's state. */
const struct placement_device *peer_devices(struct daemon *d, const json_t *node, unsigned *count);
/* What a node told last is wrong: it gets nothing until it tells again. */
bool peer_outdate(struct daemon *d, const char *node);
bool peer_send(struct daemon *d, const char *node, json_t *message);
/* What it was asked for is not needed any more: told now, or, as it may still read the question, when it is there
 * again. */
bool peer_release(struct daemon *d, const char *node, json_t *message);

/* ---- broker.c ---- */
void broker_request(struct connection *c, const json_t *message);
/* Somebody's devices have changed: whoever waits may have a turn. */
void broker_review(struct daemon *d);
/* What a node said to the reservation of a part. */
void broker_answer(struct daemon *d, const char *node, const json_t *answer);
/* Who waits at this daemon: a new array. */
json_t *broker_queue(const struct daemon *d);

/* ---- queue.c ---- */
/* Who waits in the pool, the longest first: a new array. */
json_t *queue_of_pool(const struct daemon *d);
/* Gives those who have waited longer what they could have of these devices, whose nodes have these names. False: one of
 * them is not to be passed. */
bool queue_serve_older(const struct daemon *d, const char *ticket, long age_ms, const char *const *names,
                       struct placement_device *devices, unsigned count);
unsigned queue_position(const struct daemon *d, const char *ticket);
/* How long he has waited already at a daemon that is lost, in ms. */
long queue_age(const struct daemon *d, const char *ticket, const char *user);

/* ---- probe.c ---- */
/* The devices of this node, asked for in a process of its own. 0, or negative errno and why. */
int probe_devices(struct daemon *d, char *why, size_t why_size);

/* ---- http.c ---- */
int http_open(struct daemon *d, char *why, size_t why_size);
void http_close(struct daemon *d);

/* ---- metrics.c ---- */
/* For Prometheus; the caller's. Of this node: the others tell of theirs; or of all as this daemon knows them. */
char *metrics_text(struct daemon *d, bool whole_pool);
/* A session of that many seconds is over. */
void metrics_note(struct daemon *d, double seconds);

/* ---- notify.c ---- */
/* To be called before anything else is started. */
void notify_open(void);
/* Lines of NAME=VALUE for systemd, if it wants to hear of this daemon. */
__attribute__((format(printf, 1, 2))) void notify_say(const char *format, ...);
/* READY=1 has to come after it. */
void notify_reloading(void);

/* ---- check.c ---- */
/* Says whether the configuration is good, and could be followed here. The exit status. */
int check_config(const char *path);
/* Logs what the daemon serves without, which somebody may not know. */
void check_serving(const struct config *config, const struct poolfile *pool);

/* ---- relay.c ---- */
/* The session's worker gets a way to the PMI that its client serves: *worker is its end. 0 or negative errno. */
int relay_open(struct session *s, int *worker);
/* What the client has to say there. */
void relay_take(struct session *s, const char *text);
void relay_close(struct session *s);

/* ---- exchange.c ---- */
/* Under mpiexec: every rank learns where all are, and the first writes the pool file. */
int exchange_endpoints(struct daemon *d, char *why, size_t why_size);

#endif
