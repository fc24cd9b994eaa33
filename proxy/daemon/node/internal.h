/* What the files of this room share. */
#ifndef VOCL_PROXY_DAEMON_NODE_INTERNAL_H
#define VOCL_PROXY_DAEMON_NODE_INTERNAL_H

#include "proxy/daemon/node/node.h"
#include "proxy/supervisor.h"

/* ---- measure.c ---- */
/* Its processor time until now; to be called while its process, or what is left of it, is there. */
void measure_session(struct session *s);
/* The same, if that is some time ago: it reads files. */
void measure_lately(struct session *s);
/* What its worker told, which cannot be more than there was. */
double measure_device_seconds(const struct session *s);

/* ---- expiry.c ---- */
/* A reservation of that user's came to nothing; after some of them he gets none for a while. */
void expiry_note(uid_t uid);
/* For how long he gets none here: 0 if he does. */
long expiry_seconds(uid_t uid);

/* ---- relay.c ---- */
/* The session's worker gets a way to the PMI that its client serves: *worker is its end. 0 or negative errno. */
int relay_open(struct session *s, int *worker);
/* What the client has to say there. */
void relay_take(struct session *s, const char *text);
void relay_close(struct session *s);

/* ---- drain.c ---- */
/* "slurm: job 7; root: new fan", or nothing, until the next call. */
const char *drain_describe(const struct daemon *d);

/* ---- reserve.c ---- */
/* What is reserved goes back if nobody comes. */
void session_expect(struct session *s);

/* ---- session.c ---- */
/* Its supervisor is there, and is watched. */
void session_keep(struct session *s);
/* Its worker runs, or, with errno, does not. */
void session_started(struct session *s, pid_t worker, int error);
/* As session_end(), without a word to anybody. */
void session_end_worker(struct session *s);
/* The worker's process is gone, or there was none. */
void session_gone(struct session *s, int status);
/* Which of its devices that is goes to *ordinal, which may be NULL. */
bool session_uses(const struct session *s, unsigned device, unsigned *ordinal);
/* The worker that runs already, after a restart. */
void session_watch(struct session *s);
struct session *session_new(struct daemon *d, const char *id);
void session_free(struct session *s);
/* After so many seconds, in the place of what was to be. */
void session_set_timer(struct session *s, void (*run)(void *session), double seconds);

/* ---- hold.c ---- */
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
/* That it moves, or is suspended; false, and why: not now. */
bool move_may_ask(const struct session *s, const char **why);
/* What stands for its program says of the move. over: that was all. */
void move_hear(struct session *s, const json_t *message, bool over);
/* Nothing more will be heard of it: why. */
void move_end(struct session *s, const char *why);

/* ---- suspended.c ---- */
/* A new array. */
struct told_session *suspended_describe(const struct daemon *d, unsigned *count);

/* ---- idle.c ---- */
/* Whether it may be suspended where others wait, or has just been asked to. */
bool idle_may_be_suspended(const struct session *s);
bool idle_asked(const struct session *s);
/* It has been suspended; vocl-join says what that costs it. */
void idle_went(const struct session *s);
void idle_hear(struct session *s, const json_t *message);
/* In milliseconds, for which it has to do nothing before it may be suspended. */
long idle_patience(const struct session *s);

/* ---- account.c ---- */
/* The session is over: a line of what it had and used. status: its worker's, or -1. */
void sessions_account(struct session *s, int status);

/* ---- start.c ---- */
/* The worker's process; environment: what the application's rank needs, "NAME=VALUE", NULL-terminated. Takes pmi over.
 * 0: session_started() says more; or negative errno and why. */
int worker_start(struct session *s, char *const *environment, int pmi, char *why, size_t why_size);
/* What has come of a start is looked at now; that may be the end of it. */
void worker_start_review(struct session *s);
/* The session is ending: it is not to start any more. session_started() is called, now or soon. */
void worker_start_cancel(struct session *s);

/* ---- group.c ---- */
/* Where a file of its control group is, or with "" the group. False: there are none. */
bool worker_group_path(const struct session *s, const char *file, char *path, size_t size);
/* With the configuration's limits. False: it has none. */
bool worker_group_make(const struct session *s);
/* False: it has no control group. */
bool worker_kill_group(const struct session *s);
/* The session is over, and with it its group. */
void worker_clean(struct session *s);

/* ---- state.c ---- */
void state_remove(const struct session *s);
/* Where its supervisor leaves its worker's exit status, for a daemon that cannot wait for it; and that, or -1. */
void state_status_path(const struct session *s, char *path, size_t size);
int state_status(const struct session *s);
/* A file there, whole or not at all. 0 or negative errno. */
int state_write(const struct daemon *d, const char *name, const json_t *content);

/* ---- silence.c ---- */
enum silence {
    SILENCE_NONE,    /* somebody stands for the program */
    SILENCE_LEFT,    /* it has ended, so the worker will */
    SILENCE_TIMEOUT, /* it has not answered for too long already */
    SILENCE_LOST     /* who stands for it may come back */
};
void silence_begins(struct session *s, enum silence kind);

/* ---- time_slices.c ---- */
void share_leave(struct session *s);
/* Who uses a device has changed. */
void share_review(struct daemon *d, unsigned device);
double device_load(struct device *device);

#endif
