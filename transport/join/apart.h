/* In a session of many, two workers that connect over TLS on demand: see apart.c. */
#ifndef VOCL_TRANSPORT_JOIN_APART_H
#define VOCL_TRANSPORT_JOIN_APART_H

#include "transport/core/link.h"

/* ---- a worker ---- */
/* Whether this worker connects with that one over TLS, if at all. */
bool apart_is(const struct transport *t, unsigned number);
/* Asks the other worker for connections through the program, unless it was asked just now; and whether it has answered
 * many times without a connection. */
void apart_ask(struct transport *t, unsigned number);
bool apart_gives_up(const struct peer *peer);
/* Another worker has something to send to this one. Negative: that cannot be. */
int apart_wanted(struct transport *t, const struct member_news *news);
/* Takes a connection that came through the starter of this worker, and its descriptor. */
void apart_come(struct transport *t, int fd);
/* Makes progress; returns the number of things done. */
int apart_poll(struct transport *t);
/* Gives up connecting with that worker; and with all. */
void apart_forget(struct transport *t, unsigned number);
void apart_close(struct transport *t);

/* ---- the program ---- */
/* Passes a worker's question to the other worker. Negative: that cannot be. */
int apart_pass(struct transport *t, unsigned from, const struct member_news *news);

#endif
