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
    unsigned node_count, spare_count; /* the spares come after the nodes */
    struct node *nodes;
    struct node **members; /* by the peer's number: its node */
    unsigned member_count;
    void (*lost)(struct node *node); /* called by session_lose() */
    const struct front_end *front;
    void *view; /* the front end's */
    struct under_way under_way;
    long spin_ns;
    struct crowd crowd; /* the leader's */
};

/* ---- session.c ---- */
/* Initializes the lock, the conditions and what is under way, which has to be zero: nothing is. */
void session_begin(struct session *session);
/* Starts the session's own thread. Returns 0 or a negative errno value. */
int session_drive(struct session *session);
/* Called when the process ends, under the lock, with stop set: waits a while until no other thread uses the transport.
 * The calling thread itself may be using it: this may be a signal handler. */
void session_await_leader(struct session *session);

/* ---- members.c ---- */
/* Returns the number of the program's nodes and the spares. */
unsigned members_nodes(const struct session *session);
/* Returns the peer's node, or NULL if it has none now. */
struct node *members_node(const struct session *session, unsigned peer);
/* Assigns nodes to the members. The last workers are spares; the local member, which comes after them, is not. False:
 * no memory. */
bool members_find(struct session *session, bool has_local);

#endif
