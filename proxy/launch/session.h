/*
 * A session of a pool. vocl-join has one: its nodes, each with the daemon that has a part of the session, and functions
 * to add nodes.
 */
#ifndef VOCL_PROXY_LAUNCH_SESSION_H
#define VOCL_PROXY_LAUNCH_SESSION_H

#include "base/settings.h"
#include "pool/inquiry.h"
#include "proxy/launch/requests.h"

#define SESSION_FIRST SETTINGS_MOST_COUNT                      /* nodes that a session can start with */
#define SESSION_MOST (SESSION_MOST_NUMBERS(SESSION_FIRST) - 1) /* all but the program */
#define REACH_MS 4000 /* to reach a daemon; messages of the other nodes wait meanwhile */
#define AGAIN_MS 1000 /* between attempts to reach a daemon, and between messages to a program that waits */

/* A part that the pool has granted. */
struct place {
    char part[64]; /* the daemon's name for the part */
    char name[64], address[128];
    json_t *wish, *devices; /* the request for such a place, and its devices; or NULL */
};

struct attended {
    struct inquiry inquiry; /* to its daemon, about that part */
    struct place place;
    unsigned member; /* its worker's number, or 0 */
    bool over, told; /* over: no part of the session is there any more; told: the reason was reported */
    bool leaving;    /* the worker is to end */
    bool suspended;  /* it ends because the session is suspended */
    char why[128];   /* the reason for its end */
    bool now;        /* it ends at once, without time to end by itself */
    json_t *unfit;   /* the devices that did not fit before, as in the request, or NULL */
};

struct pool_session {
    char id[64]; /* the pool's name for the session */
    struct poolfile pool;
    struct attended nodes[SESSION_MOST];
    unsigned count;
};

extern struct pool_session session;

/* Fills place with what the pool says of a granted node. Frees what was in place. */
void place_read(struct place *place, const json_t *node);
/* The same for a message that grants a single place. Returns false if it does not. */
bool place_read_only(struct place *place, const json_t *message);
void place_free(struct place *place);
/* Adds devices of a place to *list (an object { node: [device...] }, or NULL): they cannot replace other devices,
 * because they are not like those. device: which one, from 1 in their order, or 0: all. The next request contains the
 * list, so that the pool grants other devices. Returns false if nothing was added, so another request would be in
 * vain. */
bool place_unfit(json_t **list, const struct place *place, unsigned device);

/* Connects to the daemon of the node's place and asks it first, for instance to start a worker; question is what it is
 * asked whenever it was lost afterwards. A daemon that is restarted just then remembers the reservation, so it is asked
 * again, for CLIENT_MS at most; if it refuses first then, it has done so already, and is asked the question. Takes
 * ownership of both. Returns 0 or a negative errno with the reason in why. */
int session_begin(struct attended *node, json_t *first, json_t *question, char *why, size_t why_size);
/* Has a worker with this number started at the place. Returns NULL, with the reason in why, if that fails. keep: an
 * entry that is still needed, or NULL. */
struct attended *session_add(const struct place *place, unsigned number, const char *endpoint,
                             const struct attended *keep, char *why, size_t why_size);
/* Returns the node of that worker, or NULL. */
struct attended *session_find(unsigned number);
/* Has a node's worker ended: at once (now), or if it does not end by itself soon. If its daemon is not connected, this
 * is sent when it is again. why NULL: the message is sent again. */
void session_leave(struct attended *node, bool now, const char *why);
/* Sends a message to the node's daemon. Takes ownership of message. */
void session_tell(struct attended *node, json_t *message);

/* ---- join.c ---- */
/* Makes the message that starts a worker with this number for a session that already runs. */
json_t *start_newcomer(const char *part, const char *endpoint, unsigned number);
/* Updates the description of the session after its nodes have changed. */
void describe(void);

/* ---- attend.c ---- */
/* attend_open(): called before the first request to the node's daemon. attend_question(): what is asked when the daemon
 * was lost. */
void attend_open(struct attended *node);
json_t *attend_question(const struct attended *node);
/* Sends heartbeats to the connected daemons. Call it before anything that takes long. */
void attend_beat(void);

#endif
