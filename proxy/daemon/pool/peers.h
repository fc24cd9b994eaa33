/* The other daemons of the pool. */
#ifndef VOCL_PROXY_DAEMON_POOL_PEERS_H
#define VOCL_PROXY_DAEMON_POOL_PEERS_H

#include "proxy/daemon/node/node.h"
#include "proxy/daemon/schedule/placement.h"

/* ---- peers.c ---- */
/* Those of the pool file; who is there already and still in it stays. */
void peers_open(struct daemon *d);
void peers_close(struct daemon *d);
/* What every node of the pool has told last, this one's included: a new array. */
json_t *peers_directory(struct daemon *d);
/* Adds who waits at the others, or waited at those that are lost. */
void peers_waiting(const struct daemon *d, json_t *list);
void peers_waited(const struct daemon *d, json_t *list);
/* A node's PCIe tree, or NULL. */
const struct topology *peer_tree(const struct daemon *d, const char *node);
/* The devices of a node as it told last, without their node's number: borrowed until it tells anew. NULL: it is no
 * peer's state. */
const struct placement_device *peer_devices(struct daemon *d, const json_t *node, unsigned *count);
/* What a node told last is wrong: it gets nothing until it tells again. */
bool peer_outdate(struct daemon *d, const char *node);
bool peer_send(struct daemon *d, const char *node, json_t *message);
/* What it was asked for is not needed any more: told now, or, as it may still read the question, when it is there
 * again. */
bool peer_release(struct daemon *d, const char *node, json_t *message);

/* What a node tells of its devices: a new array. */
struct placement_device *placement_devices_of(const json_t *node, const struct topology *tree, unsigned *count);
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
