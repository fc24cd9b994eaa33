/* `vocl pool` and `vocl top`: a program of its own, vocl-pool, as it needs more libraries than `vocl run`. */
#ifndef VOCL_TOOLS_POOL_H
#define VOCL_TOOLS_POOL_H

#include <jansson.h>

#include "pool/client.h"
#include "tools/look.h"
#include "tools/units.h"

/* A number in a daemon's answer, or 0. */
double number_of(const json_t *object, const char *name);
/* A text in a daemon's answer, for display: see text_visible(). Valid until a few more have been fetched. */
const char *shown(const json_t *object, const char *name);

/* Returns any daemon's status of the pool, which the caller releases. Ends the program if no daemon answers. */
json_t *pool_status(const struct poolfile *pool);
/* The same, but returns NULL, with why, if no daemon answers. */
json_t *pool_try_status(const struct poolfile *pool, char *why, size_t why_size);
/* Whether the daemons cannot reach that node, and why. */
bool pool_is_lost(const json_t *node, char *why, size_t why_size);

/* pool_wait.c */
#define WAIT_MOST 32 /* conditions */
/* Polls the pool's status on one connection. */
struct pool_look {
    const struct poolfile *pool;
    struct client client;
    struct look look;
};
/* For so many milliseconds, or without a limit if negative. */
struct pool_look pool_look_for(const struct poolfile *pool, long milliseconds);
/* Returns the status, which the caller releases, or NULL when the time is up; why is set if the last poll got no
 * answer. */
json_t *pool_look_again(struct pool_look *look, char *why, size_t why_size);
void pool_look_end(struct pool_look *look);
/* Waits until the node has no sessions. Returns false, with why, when the time is up. */
bool pool_await_empty(const struct poolfile *pool, const char *node, long seconds, char *why, size_t why_size);
/* `vocl pool wait`: returns the exit status. user: counts only this user's sessions and requests, or NULL; seconds:
 * negative for no limit. */
int pool_wait(const struct poolfile *pool, char **words, const char *user, long seconds);

/* pool_reload.c: has these nodes' daemons, or all, read their files again. Returns the exit status. */
int pool_reload(const struct poolfile *pool, char **names);

/* pool_complete.c */
/* Prints the names that may follow that word on a command line. Returns the exit status. */
int pool_complete(const struct poolfile *pool, const char *what);

/* pool_events.c: prints what has happened, or with follows also what happens from now on. Returns the exit status. */
struct history_choices;
int pool_events(const struct poolfile *pool, const struct history_choices *choices, bool follows);

/* pool_move.c */
struct move_wish {
    const char *part, *address; /* part: a session's devices on one node; address: of that node's daemon */
    const char *to;             /* a node, or "": any other */
    int device;                 /* one of its devices, or -1: all */
    long wait;                  /* seconds to wait for the place */
    bool quiet;
    bool any; /* another kind of device will do if there is none of its own kind */
};
/* Returns 0, or a negative errno with why, if the session remains where it was. */
int pool_move(const struct poolfile *pool, const struct move_wish *wish, char *why, size_t why_size);
/* Moves the session whose name begins with id; from: only its devices on that node, or "" for all. Returns the exit
 * status. */
int pool_move_session(const struct poolfile *pool, const char *id, const char *from, struct move_wish wish);
/* Moves all sessions away from a node. Prints which ones stay and why, and returns how many. */
int pool_empty_node(const struct poolfile *pool, const char *name, struct move_wish wish);

/* Shows a daemon's report of how far it is. */
struct progress;
void pool_show_phase(struct progress *progress, const json_t *words);
/* Waits for the next message without a limit, as long as the daemon is alive. Returns 0 or a negative errno. */
int pool_await(struct client *client, json_t **message);

/* pool_suspend.c: suspends, showing how far that is unless quiet, or resumes the session whose name begins with id.
 * Returns the exit status. */
int pool_suspend(const struct poolfile *pool, const char *id, bool quiet);
int pool_resume(const struct poolfile *pool, const char *id);
/* after this time all daemons know of a change */
#define POOL_NEWS_MS 1000

/* pool_rebalance.c: reports, and perhaps carries out, the moves that the policy would make. Returns the exit status. */
int pool_rebalance(const struct poolfile *pool, bool carries_out, struct move_wish wish);

/* show.c: tables on stdout */
void show_nodes(const json_t *status);
void show_devices(const json_t *status);
void show_sessions(const json_t *status);
void show_queue(const json_t *status);
/* The progress of the session's move, or the result of its last one. */
const char *show_move(const json_t *session, char *text, size_t size);

/* history.c: the records that the daemons keep of past sessions */
struct history_choices {
    double since;
    const char *user, *jobs, *sum; /* sum: keys separated by commas; NULL: any, none */
    bool as_json, as_csv;
};
#define HISTORY_KEYS 6
/* Returns the exit status: 1 if a node did not answer. */
int history(const struct poolfile *pool, const struct history_choices *choices);
/* Parses a date, or a time until now, "7d" or "12h"; or, with ahead, from now on. Returns false if it is none of
 * these. */
bool history_when(const char *text, bool ahead, double *when);
/* history_sum.c */
bool history_is_key(const char *text, size_t length);
/* Returns a new list with the sums for each combination of the records' values of these keys. */
json_t *history_sums(const json_t *records, const char *list);
/* Returns when that session ended; and a time formatted by strftime(), in local time. */
double history_end(const json_t *record);
void history_day(double seconds, const char *format, char text[32]);
/* Whether a session's job is one of those, separated by commas, or a part of one. */
bool job_is_of(const char *session, const char *jobs);

/* top.c: runs until q is pressed. Returns the exit status. */
int top(const struct poolfile *pool);

#endif
