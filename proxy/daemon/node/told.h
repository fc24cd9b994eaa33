/* The state of a node, as sent to others: made of this node's sessions in describe.c, printed as JSON for the other
 * daemons and read from their JSON in told.c. */
#ifndef VOCL_PROXY_DAEMON_NODE_TOLD_H
#define VOCL_PROXY_DAEMON_NODE_TOLD_H

#include "proxy/daemon/daemon.h"

struct told_device {
    unsigned index, units, most, sessions; /* most: sessions that may use it; sessions: that do */
    int leaf;                              /* in the node's PCIe tree, or -1 */
    const char *name, *type, *mode;
    uint64_t memory, limit, free; /* all of it; what one session may have; what it may have now */
    bool taken;                   /* a session has it exclusively */
    double load, busy;
};

struct told_session {
    const char *id, *part, *replaces, *within; /* the session; this part of it; the others as in struct session */
    const char *user, *program, *job, *from, *state, *account;
    unsigned devices[MOST_DEVICES], device_count;
    unsigned share, slot;
    double began, device_seconds, cpu_seconds, idle, patience;
    double until; /* when its time limit ends it, or 0 */
    uint64_t launches, bytes_in, bytes_out, memory, limit;
    bool exclusive, may_be_suspended, asked;
    json_t *move; /* what is known of its move, or NULL */
};

/* A waiting request. */
struct told_wait {
    const char *user, *why, *broker, *ticket, *name, *type, *policy;
    unsigned count;
    double waited; /* seconds */
    double ahead;  /* seconds that it counts as having waited longer, for its user's priority and share */
    uint64_t memory;
    bool exclusive, limited; /* limited: its user already has as much as allowed */
    json_t *barred, *unfit;
};

struct told_node {
    const char *name, *address, *state, *why, *policy, *version; /* version: of its VOCL */
    const char *http; /* where its web server listens; NULL or "": it has none, or that is not known */
    double time;
    json_t *drains;
    struct told_device *devices;
    struct told_session *sessions, *suspended;
    struct told_wait *queue;
    unsigned device_count, session_count, suspended_count, queue_count;
    json_t *json; /* to which the texts belong; NULL: they are this node's own */
};

/* ---- describe.c ---- */
/* Describes this node; free the result before anything else is done. Returns NULL if memory is exhausted. */
struct told_node *node_describe(const struct daemon *d);

/* ---- told.c ---- */
/* Whether nobody can be reached there: it is lost, or speaks another version. */
bool told_is_away(const struct told_node *node);
bool told_uses(const struct told_session *session, unsigned device);
json_t *told_print(const struct told_node *node);
/* Returns as text what others need to know at once, without what changes all the time. */
char *told_matters(const struct told_node *node);
json_t *told_print_waits(const struct told_wait *waits, unsigned count);
/* Returns NULL if memory is exhausted. */
struct told_node *told_read(json_t *json);
void told_free(struct told_node *node);
/* Returns this node's state as JSON. */
json_t *node_print(const struct daemon *d);

#endif
