/* Two workers of a session of many that meet over TLS, when they have something to say to each other: see apart.c. */
#ifndef VOCL_TRANSPORT_JOIN_APART_H
#define VOCL_TRANSPORT_JOIN_APART_H

#include "transport/core/link.h"

/* ---- a worker ---- */
/* Whether it is to meet that one so, if it does. */
bool apart_is(const struct transport *t, unsigned number);
/* Have the other know, unless it was told just now; and whether it has heard that again and again, for nothing. */
void apart_ask(struct transport *t, unsigned number);
bool apart_gives_up(const struct peer *peer);
/* Another has something to say to this one. Negative: it cannot be. */
int apart_wanted(struct transport *t, const struct member_news *news);
/* A connection of somebody who came through what has started this worker; the descriptor is this function's. */
void apart_come(struct transport *t, int fd);
/* What there is to do: the number of things. */
int apart_poll(struct transport *t);
/* It is not to be met any more; and nobody is. */
void apart_forget(struct transport *t, unsigned number);
void apart_close(struct transport *t);

/* ---- the program ---- */
/* A worker has something to say to another, who is told so. Negative: it cannot be. */
int apart_pass(struct transport *t, unsigned from, const struct member_news *news);

#endif
