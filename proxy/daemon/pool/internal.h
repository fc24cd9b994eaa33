/* The other daemons of the pool: what peers.c, which has the connections to them, and gossip.c, which passes on their
 * state, share. */
#ifndef VOCL_PROXY_DAEMON_POOL_INTERNAL_H
#define VOCL_PROXY_DAEMON_POOL_INTERNAL_H

#include "proxy/daemon/pool/peers.h"

struct peer {
    struct peer *next;
    struct daemon *daemon;
    char name[64], address[128];
    char why[192];     /* why it is lost, or "" */
    unsigned position; /* in the pool file, counting this daemon */
    struct connection *connection;
    bool open;
    bool near, watched; /* near: this daemon is to watch it; watched: has asked to */
    json_t *unsent;     /* messages for when the connection is open, or NULL */
    json_t *releases;   /* the same, kept also when it is lost meanwhile */
    /* told: its last state, or NULL if it is lost; left: the state when it was lost, or NULL. */
    struct told_node *told, *left;
    struct told_node lost; /* stands for it in a view while it is lost */
    long long version;     /* of its known state: gossip.c */
    long long wanted_version;
    long wanted_ms; /* when that version was requested */
    long told_ms, lost_ms, heard_ms, looked_ms, used_ms, tried_ms;
    char *tree_text;       /* its PCIe tree, or NULL */
    struct topology *tree; /* the same, parsed; nodes with equal trees share one */
    struct timer timer;
};

/* ---- peers.c ---- */
struct peer *peer_find(const struct daemon *d, const char *name);
/* Sets its state, which is age_ms old. Takes no ownership. */
void peer_take_state(struct peer *peer, json_t *state, long age_ms);
void peer_take_tree(struct peer *peer, const char *text);
/* No daemon has a connection to it any more. */
void peer_lose(struct peer *peer, const char *why);
/* Records why it is lost, or cannot be reached. */
void peer_note_why(struct peer *peer, const char *why);
/* Has the waiting requests considered again soon. */
void peers_review(struct daemon *d);

/* ---- gossip.c ---- */
/* Whether the pool is so large that its daemons pass on each other's state. */
bool gossip_is_on(const struct daemon *d);
/* Chooses which peers this daemon watches. */
void gossip_choose(struct daemon *d);
/* Announces the known version of a node's state to the daemons that watch this one. */
void gossip_note(struct daemon *d, const char *name);
/* Handles a message of a daemon that is watched. Returns false if it is not a gossip message. */
bool gossip_hear(struct peer *peer, const json_t *message);
void gossip_close(struct daemon *d);

/* ---- watchers.c ---- */
/* Handles a daemon's other messages: to reserve and to release. Returns false for anything else. */
bool watchers_take(struct connection *c, json_t *message);
/* The daemon's connection is closed. */
void watcher_gone(struct connection *c);

#endif
