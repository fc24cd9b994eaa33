/* The nodes that pool_nodes plays: as far as the real daemon sees they are daemons. */
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
    bool told; /* to who watches it: its present version */
};

/* Of the real daemon's: it came, or was made by a node that watches it. */
struct link {
    int fd;
    unsigned node;
    bool hears_all, watches;
    struct channel channel;
};

extern struct node nodes[MOST]; /* the first is the real one */
extern struct link links[CONNECTIONS];
extern unsigned node_count, link_count;
extern const struct auth_plugin *plugin;
extern char keys[64], real_address[32];
extern unsigned long long bytes_in, bytes_out, messages_in, messages_out, records; /* the daemon's */
extern atomic_bool over;
extern atomic_uint changes;
extern _Atomic long stir_us; /* between two changes at nodes, 0: there are none */

__attribute__((noreturn)) void fail(const char *what);
void listen_all(unsigned port);
/* One of those that watch the real daemon. */
void make_link(unsigned number);
/* The others, as a thread, until over. */
void *play(void *argument);

#endif
