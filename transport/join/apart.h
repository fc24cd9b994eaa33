/* Workers of a large session that connect with each other over TLS on demand: see apart.c. */
#ifndef VOCL_TRANSPORT_JOIN_APART_H
#define VOCL_TRANSPORT_JOIN_APART_H

#include "transport/core/link.h"

/* ---- a worker ---- */
/* Whether this worker's connections with that one, if they need any, are over TLS. */
bool apart_is(const struct transport *t, unsigned number);
/* apart_ask(): asks the other worker for connections, through the program, unless it was asked just now.
 * apart_gives_up(): whether it has answered many times, and there is still no connection. */
void apart_ask(struct transport *t, unsigned number);
bool apart_gives_up(const struct peer *peer);
/* Another worker asks this one for connections. Negative: the message is not allowed. */
int apart_wanted(struct transport *t, const struct member_news *news);
/* Takes a connection that came through the starter of this worker, and its descriptor. */
void apart_come(struct transport *t, int fd);
/* Makes progress; returns the number of things done. */
int apart_poll(struct transport *t);
/* Gives up connecting with that worker, or with all. */
void apart_forget(struct transport *t, unsigned number);
void apart_close(struct transport *t);

/* ---- the program ---- */
/* Passes a worker's request for connections on to the other worker. Negative: the message is not allowed. */
int apart_pass(struct transport *t, unsigned from, const struct member_news *news);

#endif
