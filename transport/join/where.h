/* Which sessions members can join, from which hosts, and where they connect with the others (join.c). */
#ifndef VOCL_TRANSPORT_JOIN_WHERE_H
#define VOCL_TRANSPORT_JOIN_WHERE_H

#include "transport/core/link.h"

/* The program: whether a member can join from that host, and what carries its connections is loaded. Returns 0, or a
 * negative errno and why. */
int where_may_come(struct transport *t, const char *host, char *why, size_t why_size);
/* Whether that is the program's own host in a session that began on it alone: newcomers there get socket pairs. */
bool where_is_here(const struct transport *t, const char *host);
/* Loads TLS, which carries newcomers' connections between hosts; in a session over MPI when the first one joins. */
int where_prepare(const struct transport *t, char *why, size_t why_size);
/* The program listens for a newcomer of that host, or else the newcomer's starter carries its connections. */
void where_to_come(const struct transport *t, const char *host, struct endpoint *own);
/* A worker listens, at the address by which it reaches the program; or, on the program's host, at the one by which it
 * reaches the newcomer, whose address is endpoint. own->fd < 0: it does not. */
void where_to_come_beside(struct transport *t, const char *endpoint, struct endpoint *own);

#endif
