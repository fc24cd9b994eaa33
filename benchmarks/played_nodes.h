/* The nodes that pool_nodes simulates: to the real daemon they are daemons. */
#ifndef VOCL_BENCHMARKS_PLAYED_NODES_H
#define VOCL_BENCHMARKS_PLAYED_NODES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "pool/channel.h"
#include "pool/client.h"

enum { GPUS = 4, MOST = 1000, CONNECTIONS = 1100 };

struct node {
    char name[16], address[32];
    int listener;
    long long version;
    unsigned sessions[GPUS];
    bool told; /* the present version is known to the node's watchers */
};

/* A connection with the real daemon: accepted by a node, or made by a node that watches the daemon. */
struct link {
    int fd;
    unsigned node;
    bool hears_all, watches;
    struct channel channel;
};

extern struct node nodes[MOST]; /* the first is real */
extern struct link links[CONNECTIONS];
extern unsigned node_count, link_count;
extern const struct auth_plugin *plugin;
extern char keys[64], real_address[32];
extern unsigned long long bytes_in, bytes_out, messages_in, messages_out, records; /* as the daemon counts them */
extern atomic_bool over;
extern atomic_uint changes;
extern _Atomic long stir_us; /* time between two changes at nodes; 0: no changes */

__attribute__((noreturn)) void fail(const char *what);
void listen_all(unsigned port);
/* Connects a node that watches the real daemon. */
void make_link(unsigned number);
/* Runs the simulated nodes, as a thread, until over. */
void *play(void *argument);

#endif
