/* Workers that are connected with each other when they have something to say: see later.c. */
#ifndef VOCL_TRANSPORT_JOIN_LATER_H
#define VOCL_TRANSPORT_JOIN_LATER_H

#include "transport/core/link.h"

/* ---- later.c ---- */
/* Whether there can be another worker of that number, in a session of many. */
bool later_may_be(const struct transport *t, unsigned number);

/* A worker: */
/* That one may be spoken to, or all of the session that it began with: nothing is done about it yet. */
void later_expect(struct transport *t, unsigned number);
void later_expect_all(struct transport *t);
/* There is something to say to it. */
void later_ask(struct transport *t, unsigned number);
/* They are connected by these streams, which are the peer's from now on: what has waited begins. */
void later_meet(struct transport *t, unsigned number, struct streams *streams);
/* What vocl-launcher hands over, and who meets whom: the number of things that happened. */
int later_poll(struct transport *t);
/* The program: that one is lost, and the others are to be told; and they are. */
void later_lost(struct transport *t, unsigned number);
void later_tell(struct transport *t);

/* ---- join.c: members that come and go ---- */
extern const struct membership join_membership;
/* What there is to do for somebody who comes: the number of things. */
int join_poll(struct transport *t);
/* What those had who have gone. Not while a peer is looked at. */
void join_tidy(struct transport *t);
/* All ends. */
void join_forget(struct transport *t);

#endif
