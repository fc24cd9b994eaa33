/* The other daemons of the pool. */
#ifndef VOCL_PROXY_DAEMON_POOL_PEERS_H
#define VOCL_PROXY_DAEMON_POOL_PEERS_H

#include "proxy/daemon/node/node.h"

/* ---- peers.c ---- */
/* Makes the list of peers from the pool file; peers that are still in it keep their connection and state. */
void peers_open(struct daemon *d);
void peers_close(struct daemon *d);
/* Returns a new array with the last state of every node of the pool, this one included. */
json_t *peers_directory(struct daemon *d);
/* The same, as structs: borrowed, and valid until control returns to the event loop. Returns NULL if memory is
 * exhausted. */
struct pool_view {
    struct told_node *own;
    unsigned count;
    const struct told_node *nodes[];
};
struct pool_view *peers_view(struct daemon *d);
void view_free(struct pool_view *view);
/* Lists the requests that wait at the other daemons, and, with lost, those that waited at lost ones. Returns how many;
 * list has room for them, or is NULL. */
unsigned peers_waits(const struct daemon *d, bool lost, struct told_wait *list);
/* Returns a node's PCIe tree, or NULL. */
const struct topology *peer_tree(const struct daemon *d, const char *node);
/* The node's last state is wrong: it gets no sessions until it sends a new one. */
bool peer_outdate(struct daemon *d, const char *node);
bool peer_send(struct daemon *d, const char *node, json_t *message);
/* A reservation at the node is no longer needed. Sent at once, or when the node is back, because it may still read the
 * request. */
bool peer_release(struct daemon *d, const char *node, json_t *message);

/* Returns how many seconds ago the node sent its state, by this host's clock: the node's may differ. */
double peer_seconds(const struct daemon *d, const char *node);
/* Whether another user has a session of that name. */
bool peers_have_anothers(struct daemon *d, const char *id, const char *user);

/* ---- gossip.c ---- */
/* Another daemon of a large pool watches this one (all), or only sends requests. */
void gossip_watched(struct connection *c, bool all);
/* Others have a wrong state of this node: sends it again. */
void gossip_repeat(struct daemon *d);
/* This node's state may have changed, or is to be announced again. */
void gossip_tick(struct daemon *d);

/* ---- watchers.c ---- */
/* From now on the connection's daemon is sent this node's state. */
void watchers_add(struct connection *c);
void watchers_tell(struct daemon *d);

/* ---- exchange.c ---- */
/* Under mpiexec: the daemons exchange their addresses; the first, and each that cannot read the pool file, write it. */
int exchange_endpoints(struct daemon *d, char *why, size_t why_size);

#endif
