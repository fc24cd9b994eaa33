/* Which sessions members can come to, from where, and where they go to meet the others (join.c). */
#ifndef VOCL_TRANSPORT_JOIN_WHERE_H
#define VOCL_TRANSPORT_JOIN_WHERE_H

#include "transport/core/link.h"

/* The program: whether somebody can come from that host, and what carries him is there. 0, or negative errno and why.
 */
int where_may_come(struct transport *t, const char *host, char *why, size_t why_size);
/* Whether that is the program's own host in a session that began on it alone: who comes there has socket pairs. */
bool where_is_here(const struct transport *t, const char *host);
/* What carries newcomers between hosts is loaded, in a session over MPI when the first one comes. */
int where_prepare(const struct transport *t, char *why, size_t why_size);
/* The program listens for one of that host, or else what starts him carries his connections. */
void where_to_come(const struct transport *t, const char *host, struct endpoint *own);
/* A worker does, at the address by which it reaches the program, or, on the program's host, the newcomer, who is to be
 * come to at endpoint; own->fd < 0: not. */
void where_to_come_beside(struct transport *t, const char *endpoint, struct endpoint *own);

#endif
