/* Workers that are connected with each other on demand: see later.c. */
#ifndef VOCL_TRANSPORT_JOIN_LATER_H
#define VOCL_TRANSPORT_JOIN_LATER_H

#include "transport/core/link.h"

/* ---- later.c ---- */
/* Whether there can be another worker of that number, in a session whose workers connect on demand. */
bool later_may_be(const struct transport *t, unsigned number);

/* In a worker: */
/* Makes that worker a peer, or all workers that the session began with; they are not connected yet. */
void later_expect(struct transport *t, unsigned number);
void later_expect_all(struct transport *t);
/* Asks for connections with that worker. */
void later_ask(struct transport *t, unsigned number);
/* Connects a peer by these streams, which it owns from now on: waiting operations begin. */
void later_meet(struct transport *t, unsigned number, struct streams *streams);
/* Takes what vocl-launcher hands over, and makes connections; returns the number of things that happened. */
int later_poll(struct transport *t);
/* In the program. later_lost(): records a lost worker. later_tell(): reports the lost workers to the others. */
void later_lost(struct transport *t, unsigned number);
void later_tell(struct transport *t);

/* ---- join.c: members that come and go ---- */
extern const struct membership join_membership;
/* Makes progress with a member that is joining; returns the number of things done. */
int join_poll(struct transport *t);
/* Frees the slots of lost members. Not while a peer is in use. */
void join_tidy(struct transport *t);
/* Ends a join that is under way, at the session's end. */
void join_forget(struct transport *t);

#endif
