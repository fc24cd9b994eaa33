/* The session itself, and which node each member of its job is: what session.c, members.c and start.c share. */
#ifndef VOCL_CLIENT_CORE_MEMBERS_H
#define VOCL_CLIENT_CORE_MEMBERS_H

#include "base/crowd.h"
#include "client/core/session.h"

struct session {
    struct transport *transport;
    struct mutex lock;
    pthread_cond_t news, aside;
    bool leading, own_thread_leads, stop;
    pthread_t leader; /* while leading */
    unsigned waiters;
    pthread_t thread;
    unsigned node_count, spare_count; /* the spares come behind the nodes */
    struct node *nodes;
    struct node **members; /* the node that each peer is, by its number */
    unsigned member_count;
    void (*lost)(struct node *node); /* session_lose() */
    const struct front_end *front;
    void *view; /* the front end's */
    struct under_way under_way;
    long spin_ns;
    struct crowd crowd; /* the leader's */
};

/* ---- session.c ---- */
/* Its lock, and what is under way, which is all zero: nothing is. */
void session_begin(struct session *session);
/* Its own thread; 0, or a negative errno value. */
int session_drive(struct session *session);
/* The process ends: nobody uses the transport any more; but for this thread itself, which may be in a handler of a
 * signal. Under the lock, with stop. */
void session_await_leader(struct session *session);

/* ---- members.c ---- */
/* Those of the program, and the spares. */
unsigned members_nodes(const struct session *session);
/* NULL: it is none now. */
struct node *members_node(const struct session *session, unsigned peer);
/* The last workers are spare; the local member, which is behind them, is not. False: no memory. */
bool members_find(struct session *session, bool has_local);

#endif
