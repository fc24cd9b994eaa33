/*
 * A session of a pool, of which vocl-join has one: its nodes, each with the daemon that has a part of it, and how
 * others come to be among them.
 */
#ifndef VOCL_PROXY_LAUNCH_SESSION_H
#define VOCL_PROXY_LAUNCH_SESSION_H

#include "pool/inquiry.h"
#include "proxy/launch/requests.h"

#define SESSION_FIRST 256 /* nodes that a session begins with */
#define SESSION_MOST (SESSION_FIRST + SESSION_MOST_ADDED(SESSION_FIRST) + 1)
#define REACH_MS 4000 /* a daemon: those of the other nodes wait meanwhile */
#define AGAIN_MS 1000 /* between tries to reach a daemon, and between words to a program that waits */

/* What the pool has granted. */
struct place {
    char part[64]; /* the daemon's name for what it has of the session */
    char name[64], address[128];
    json_t *wish, *devices; /* how such a place is asked for, and what it is; or NULL */
};

struct attended {
    struct inquiry inquiry; /* of its daemon, about that part */
    struct place place;
    unsigned member; /* its worker's number */
    bool over, told; /* there is no session any more; and why was said */
    bool leaving;    /* that is as it is to be: */
    bool suspended;  /* as the session is suspended; */
    char why[128];   /* this for, and */
    bool now;        /* without a moment for the worker to end by itself */
    json_t *unfit;   /* what did not fit before, as the request said, or NULL */
};

struct pool_session {
    char id[64]; /* the pool's name for it */
    struct poolfile pool;
    struct attended nodes[SESSION_MOST];
    unsigned count;
};

extern struct pool_session session;

/* Takes a part of it over: what the pool says of a node that it has granted. */
void place_read(struct place *place, const json_t *node);
/* Of a message that grants one place: false if it is not one. */
bool place_read_only(struct place *place, const json_t *message);
void place_free(struct place *place);
/* *list (an object, { node: [device...] }, or NULL) with one more of the devices of a place that cannot be had instead
 * of others, as they are not like those: that one, from 1 in their order, or all (0). It goes with the next request, so
 * that the pool has others for it. False: no more is known of them than before, and to ask again would be for nothing.
 */
bool place_unfit(json_t **list, const struct place *place, unsigned device);

/* A worker of that number has been started there; NULL and why. keep: an entry that is still needed, or NULL. */
struct attended *session_add(const struct place *place, unsigned number, const char *endpoint,
                             const struct attended *keep, char *why, size_t why_size);
/* The node of that worker, or NULL. */
struct attended *session_find(unsigned number);
/* A node's worker is to end, at once or, if it does not by itself, in a moment; now, or when its daemon is there again.
 * why: NULL: that is said again. */
void session_leave(struct attended *node, bool now, const char *why);
/* To the node's daemon. Takes the message over. */
void session_tell(struct attended *node, json_t *message);

/* ---- join.c ---- */
/* The message that starts a worker of that number there. */
json_t *start_newcomer(const char *part, const char *endpoint, unsigned number);
/* The nodes are others now. */
void describe(void);

/* ---- attend.c ---- */
/* Before its daemon is asked anything; and what it is asked when it was lost. */
void attend_open(struct attended *node);
json_t *attend_question(const struct attended *node);
/* Those that are connected hear that this process is there: before anything that takes a while. */
void attend_beat(void);

#endif
