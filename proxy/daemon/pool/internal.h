/* The other daemons of the pool: what peers.c, who has connections to them, and gossip.c, who passes on what is told of
 * them, share. */
#ifndef VOCL_PROXY_DAEMON_POOL_INTERNAL_H
#define VOCL_PROXY_DAEMON_POOL_INTERNAL_H

#include "proxy/daemon/pool/peers.h"

struct peer {
    struct peer *next;
    struct daemon *daemon;
    char name[64], address[128];
    char why[192];     /* it is lost, or "" */
    unsigned position; /* in the pool file, this daemon's own included */
    struct connection *connection;
    bool open;
    bool near, watched;            /* this daemon is to watch it; has said so */
    json_t *unsent;                /* what it is to be sent when the connection is open, or NULL */
    json_t *releases;              /* likewise, also when it is lost meanwhile */
    struct told_node *told, *left; /* what it told last, or NULL: it is lost; what it had told then, or NULL */
    struct told_node lost;         /* in its place in a view */
    long long version;             /* of what is known of it: gossip.c */
    long long wanted_version;
    long wanted_ms; /* that one was asked for then */
    long told_ms, lost_ms, heard_ms, looked_ms, used_ms, tried_ms;
    char *tree_text;       /* its PCIe tree, or NULL */
    struct topology *tree; /* the same; nodes with equal trees have one together */
    struct timer timer;
};

/* ---- peers.c ---- */
struct peer *peer_find(const struct daemon *d, const char *name);
/* Its state is that from now on, of age_ms ago. Takes over nothing. */
void peer_take_state(struct peer *peer, json_t *state, long age_ms);
void peer_take_tree(struct peer *peer, const char *text);
/* Nobody has a connection to it any more. */
void peer_lose(struct peer *peer);
/* Why it is not there, or would not be. */
void peer_note_why(struct peer *peer, const char *why);
/* Requests that wait are looked at soon. */
void peers_review(struct daemon *d);

/* ---- gossip.c ---- */
/* Whether the pool is so large that its daemons pass on to each other what they know. */
bool gossip_is_on(const struct daemon *d);
/* Which of them this daemon watches. */
void gossip_choose(struct daemon *d);
/* Those who watch this daemon are to know what it knows now of a node. */
void gossip_note(struct daemon *d, const char *name);
/* A message of one that is watched. False: it is none of the kind. */
bool gossip_hear(struct peer *peer, const json_t *message);
void gossip_close(struct daemon *d);

/* ---- watchers.c ---- */
/* What a daemon says to another, beside gossip: to reserve and to give back. False: something else. */
bool watchers_take(struct connection *c, json_t *message);
/* That daemon has gone. */
void watcher_gone(struct connection *c);

#endif
