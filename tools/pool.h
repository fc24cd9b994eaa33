/* `vocl pool` and `vocl top`: a program of its own, vocl-pool, for it needs more libraries than `vocl run`. */
#ifndef VOCL_TOOLS_POOL_H
#define VOCL_TOOLS_POOL_H

#include <jansson.h>

#include "pool/client.h"
#include "tools/look.h"

/* A member of what a daemon told, or 0. */
double number_of(const json_t *object, const char *name);
/* The same for people to see, see text_visible(); good until some more were shown. */
const char *shown(const json_t *object, const char *name);

/* What any daemon of the pool tells of it; the caller's. Fails if none answers. */
json_t *pool_status(const struct poolfile *pool);
/* NULL, and why. */
json_t *pool_try_status(const struct poolfile *pool, char *why, size_t why_size);
/* Whether the daemons do not reach that node, and why. */
bool pool_is_lost(const json_t *node, char *why, size_t why_size);

/* pool_wait.c */
#define WAIT_MOST 32 /* conditions */
/* The pool's status, again and again, on one connection. */
struct pool_look {
    const struct poolfile *pool;
    struct client client;
    struct look look;
};
/* For so many milliseconds, or without a limit if that is negative. */
struct pool_look pool_look_for(const struct poolfile *pool, long milliseconds);
/* The caller's. NULL: the time is up; and why, if no daemon has answered at last. */
json_t *pool_look_again(struct pool_look *look, char *why, size_t why_size);
void pool_look_end(struct pool_look *look);
/* Until the node has no sessions. False, and why: the time is up. */
bool pool_await_empty(const struct poolfile *pool, const char *node, long seconds, char *why, size_t why_size);
/* `vocl pool wait`: the exit status. user: whose sessions and requests count, or NULL; seconds: negative without a
 * limit. */
int pool_wait(const struct poolfile *pool, char **words, const char *user, long seconds);

/* pool_complete.c */
/* Prints the names that may stand behind that word; the exit status. */
int pool_complete(const struct poolfile *pool, const char *what);

/* pool_move.c */
struct move_wish {
    const char *part, *address; /* of a session, and its node's daemon's */
    const char *to;             /* a node, or "": any other */
    int device;                 /* one of its devices, or -1 */
    long wait;                  /* for the place, in seconds */
    bool quiet;
    bool any; /* if there is none of its kind, another kind of device will do */
};
/* 0, or negative errno and why: it is where it was. */
int pool_move(const struct poolfile *pool, const struct move_wish *wish, char *why, size_t why_size);
/* The session whose name so begins; from: what it has on that node, or "". The exit status. */
int pool_move_session(const struct poolfile *pool, const char *id, const char *from, struct move_wish wish);
/* All that the node has: how many stay; says which, and why. */
int pool_empty_node(const struct poolfile *pool, const char *name, struct move_wish wish);

/* The next message, however long it takes; the daemon has to be there meanwhile. 0 or negative errno. */
int pool_await(struct client *client, json_t **message);

/* pool_suspend.c: the session whose name so begins is suspended, or goes on; the exit status. */
int pool_suspend(const struct poolfile *pool, const char *id);
int pool_resume(const struct poolfile *pool, const char *id);
/* What has just changed is known to all daemons by then. */
#define POOL_NEWS_MS 1000

/* pool_rebalance.c: what the policy would have elsewhere; the exit status. */
int pool_rebalance(const struct poolfile *pool, bool carries_out, struct move_wish wish);

/* show.c: tables on stdout */
void show_nodes(const json_t *status);
void show_devices(const json_t *status);
void show_sessions(const json_t *status);
void show_queue(const json_t *status);
/* "1.5 GiB" */
const char *show_bytes(double bytes, char text[16]);
/* How far the session's move is, or what the last one was. */
const char *show_move(const json_t *session, char *text, size_t size);
/* "1:02:03" */
const char *show_time(double seconds, char text[24]);

/* history.c: what the daemons have an account of */
struct history_choices {
    double since;
    const char *user, *jobs, *sum; /* sum: keys with commas between them; NULL: any, none */
    bool as_json, as_csv;
};
#define HISTORY_KEYS 6
/* The exit status: 1 if a node did not tell. */
int history(const struct poolfile *pool, const struct history_choices *choices);
/* "7d", "12h" or a date; false: it is none. */
bool history_since(const char *text, double *since);
/* history_sum.c */
bool history_is_key(const char *text, size_t length);
/* A new list: for each combination of what the records have of these keys. */
json_t *history_sums(const json_t *records, const char *list);
/* When that session ended; and a time as strftime() writes it here. */
double history_end(const json_t *record);
void history_day(double seconds, const char *format, char text[32]);
/* Whether a session's job is one of those, with commas between them, or a part of one. */
bool job_is_of(const char *session, const char *jobs);

/* top.c: until q is pressed. The exit status. */
int top(const struct poolfile *pool);

#endif
