/* The other daemons of the pool. */
#ifndef VOCL_PROXY_DAEMON_POOL_PEERS_H
#define VOCL_PROXY_DAEMON_POOL_PEERS_H

#include "proxy/daemon/node/node.h"

/* ---- peers.c ---- */
/* Those of the pool file; who is there already and still in it stays. */
void peers_open(struct daemon *d);
void peers_close(struct daemon *d);
/* What every node of the pool has told last, this one's included: a new array. */
json_t *peers_directory(struct daemon *d);
/* The same for who works with it: borrowed, and good until the event loop has it again. NULL: no memory. */
struct pool_view {
    struct told_node *own;
    unsigned count;
    const struct told_node *nodes[];
};
struct pool_view *peers_view(struct daemon *d);
void view_free(struct pool_view *view);
/* Who waits at the others, or, with lost, waited at those that are lost. How many, which list has room for, or NULL. */
unsigned peers_waits(const struct daemon *d, bool lost, struct told_wait *list);
/* A node's PCIe tree, or NULL. */
const struct topology *peer_tree(const struct daemon *d, const char *node);
/* What a node told last is wrong: it gets nothing until it tells again. */
bool peer_outdate(struct daemon *d, const char *node);
bool peer_send(struct daemon *d, const char *node, json_t *message);
/* What it was asked for is not needed any more: told now, or, as it may still read the question, when it is there
 * again. */
bool peer_release(struct daemon *d, const char *node, json_t *message);

/* Since a node has told what it has, by this host's clock: theirs may be another. */
double peer_seconds(const struct daemon *d, const char *node);
/* Whether somebody else has a session of that name. */
bool peers_have_anothers(struct daemon *d, const char *id, const char *user);

/* ---- gossip.c ---- */
/* Another daemon of a large pool watches this one, or only has something to say. */
void gossip_watched(struct connection *c, bool all);
/* Others have a wrong idea of this node: it tells again. */
void gossip_repeat(struct daemon *d);
/* What is known of this node has changed, or it is time to say that all is as it was. */
void gossip_tick(struct daemon *d);

/* ---- watchers.c ---- */
/* Another daemon hears of this node from now on. */
void watchers_add(struct connection *c);
void watchers_tell(struct daemon *d);

/* ---- exchange.c ---- */
/* Under mpiexec: every rank learns where all are, and the first writes the pool file. */
int exchange_endpoints(struct daemon *d, char *why, size_t why_size);

#endif
