/* What the files of this folder share. */
#ifndef VOCL_PROXY_DAEMON_NODE_INTERNAL_H
#define VOCL_PROXY_DAEMON_NODE_INTERNAL_H

#include "proxy/daemon/node/node.h"
#include "proxy/supervisor.h"

/* ---- measure.c ---- */
/* Measures the session's processor time so far. Call it while its process, or its zombie, still exists. */
void measure_session(struct session *s);
/* The same, unless that was done a short time ago: it reads files. */
void measure_lately(struct session *s);
/* Returns what its worker has reported, but not more than is possible. */
double measure_device_seconds(const struct session *s);

/* ---- expiry.c ---- */
/* A reservation of this user has expired. After several of them the user gets none for a while. */
void expiry_note(uid_t uid);
/* Returns how many seconds the user still gets none here, or 0. */
long expiry_seconds(uid_t uid);

/* ---- relay.c ---- */
/* Connects the session's worker with the PMI that its client serves: *worker is the worker's end. Returns 0 or a
 * negative errno. */
int relay_open(struct session *s, int *worker);
/* Passes on the client's PMI messages. */
void relay_take(struct session *s, const char *text);
void relay_close(struct session *s);

/* ---- drain.c ---- */
/* Returns "slurm: job 7; root: new fan", or "", valid until the next call. */
const char *drain_describe(const struct daemon *d);

/* ---- reserve.c ---- */
/* Releases the reservation if nobody starts it in time. */
void session_expect(struct session *s);

/* ---- session.c ---- */
/* Its supervisor runs: watches it. */
void session_keep(struct session *s);
/* Its worker runs, or, with an errno, does not. */
void session_started(struct session *s, pid_t worker, int error);
/* As session_end(), without a message to anybody. */
void session_end_worker(struct session *s);
/* The worker's process has ended, or there was none. */
void session_gone(struct session *s, int status);
/* Whether the session uses this device. *ordinal, which may be NULL: the device's ordinal in the session. */
bool session_uses(const struct session *s, unsigned device, unsigned *ordinal);
/* Watches a worker that runs, also after a restart of the daemon. */
void session_watch(struct session *s);
struct session *session_new(struct daemon *d, const char *id);
void session_free(struct session *s);
/* Calls run() after this many seconds; replaces the timer's earlier setting. */
void session_set_timer(struct session *s, void (*run)(void *session), double seconds);

/* ---- hold.c ---- */
/* The client that held the devices has gone: the hold ends, or waits for another client. */
void hold_leave(struct session *s);
/* The hold is over. */
void hold_end(struct session *s);
/* Returns the hold that the session has its devices from; NULL: none, or it is over. */
struct session *hold_of(const struct session *s);
/* Returns how many sessions use a device; *memory: how much of its memory they have; *taken: one of them has the device
 * exclusively. A hold counts in place of all sessions within it. */
unsigned hold_users(const struct daemon *d, unsigned device, uint64_t *memory, bool *taken);
/* Returns why a new session cannot have its devices of the hold that it names, or NULL. *never: it will never get
 * them. */
const char *hold_refuse(struct session *s, uint64_t memory, bool *never);

/* ---- move.c ---- */
/* Whether the session may be asked to move or to suspend now. If not, *why says why. */
bool move_may_ask(const struct session *s, const char **why);
/* Handles vocl-join's message about a move. over: it is the last one. */
void move_hear(struct session *s, const json_t *message, bool over);
/* Passes on how far a suspension is to the client that waits for it. */
void move_show(struct session *s, const json_t *message);
/* The move is over, or nothing more will be heard of it: answers the client that asked for it. */
void move_end(struct session *s, const char *why);

/* ---- suspended.c ---- */
/* Returns a new array. */
struct told_session *suspended_describe(const struct daemon *d, unsigned *count);

/* ---- idle.c ---- */
/* Whether the session may be suspended for others that wait, and whether it has just been asked to. */
bool idle_may_be_suspended(const struct session *s);
bool idle_asked(const struct session *s);
/* idle_went(): the session has been suspended. idle_hear(): vocl-join reports what that costs the session. */
void idle_went(const struct session *s);
void idle_hear(struct session *s, const json_t *message);
/* Returns for how many milliseconds the session has to be idle before it may be suspended. */
long idle_patience(const struct session *s);

/* ---- account.c ---- */
/* The session is over: adds a line with what it had and used, and then removes it from the state directory. status: its
 * worker's, or -1. */
void sessions_account(struct session *s, int status);
/* Whether the account has a line for the session of that name in the state directory. */
bool account_has(const struct daemon *d, const char *id);

/* ---- start.c ---- */
/* Starts the worker's process. environment: the variables for this worker, "NAME=VALUE", NULL-terminated. Takes
 * ownership of pmi. Returns 0, and session_started() is called later; or a negative errno with the reason in why. */
int worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size);
/* Handles what has arrived from a start that is under way, which may complete it. */
void worker_start_review(struct session *s);
/* Its supervisor has ended: completes a start that is under way. */
void worker_start_over(struct session *s);
/* The session is ending: stops its start. session_started() is called, now or soon. */
void worker_start_cancel(struct session *s);

/* ---- group.c ---- */
/* Makes the path of a file of its control group, or with "" of the group. Returns false if there are no groups. */
bool worker_group_path(const struct session *s, const char *file, char *path, size_t size);
/* Makes its group, with the configuration's limits. Returns false if it has none. */
bool worker_group_make(const struct session *s);
/* Returns false if it has no control group. */
bool worker_kill_group(const struct session *s);
/* The session is over: removes its group. */
void worker_clean(struct session *s);

/* ---- state.c ---- */
/* Removes the session with this id from the state directory. */
void state_remove(const struct daemon *d, const char *id);
/* state_status_path(): the file in which its supervisor leaves its worker's exit status, for a daemon that is not its
 * parent. state_status(): that status, or -1. */
void state_status_path(const struct daemon *d, const char *id, char *path, size_t size);
int state_status(const struct session *s);
/* Writes a file in the state directory, whole or not at all. Returns 0 or a negative errno. */
int state_write(const struct daemon *d, const char *name, const json_t *content);

/* ---- silence.c ---- */
enum silence {
    SILENCE_NONE,    /* a client represents the program */
    SILENCE_LEFT,    /* the program has ended, so the worker will end */
    SILENCE_TIMEOUT, /* the client has already been silent for too long */
    SILENCE_LOST     /* the client may connect again */
};
void silence_begins(struct session *s, enum silence kind);

/* ---- time_slices.c ---- */
void share_leave(struct session *s);
/* The users of a device have changed. */
void share_review(struct daemon *d, unsigned device);
double device_load(struct device *device);

#endif
