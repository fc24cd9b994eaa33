/*
 * How the members of a session find each other. A worker connects to the program, or inherits a connection with it,
 * identifies itself (greeting.h) and gets its number; then each pair makes its connections, to whichever of the two can
 * be reached. Over TLS only members that have the session's secret can make them (transport/plugin/tls.h). Within a
 * host, and with MPI, they are sockets without encryption (transport/stream/plain.h), which the starter of the
 * processes has made, or for which a token is shown. A stranger that connects delays nobody: it has a few seconds and
 * one of a limited number of slots.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_RENDEZVOUS_H
#define VOCL_TRANSPORT_RENDEZVOUS_RENDEZVOUS_H

#include "transport/launch/launch.h"
#include "transport/plugin/tls.h"

/* Loads TLS, before any process is started. ending(argument) is called when the process ends. Returns 0 or a negative
 * errno and why. */
int rendezvous_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size);
/* The program: waits until all workers have connected to its listening sockets, or through start->born, and have met,
 * unless the starter reports a failure. The caller has allocated start->job->members. Returns 0 or a negative errno and
 * why. */
int rendezvous_open(struct start *start);

/* How a worker introduces itself. */
struct introduction {
    const char *endpoint;            /* of the program, or NULL */
    const uint8_t *secret;           /* for TLS, or NULL */
    char token[2 * TOKEN_BYTES + 1]; /* shown instead, or "" */
    int born[PAIR_SOCKETS];          /* connections that it inherited, or -1 */
    bool bells;                      /* each pair has only the bell */
    char library[48];                /* the MPI that it enters afterwards, or "" */
    long until;
    void (*ending)(void *); /* as for rendezvous_prepare() */
    void *argument;
};

/* Fills in job->members. With bells, a thread sends the program heartbeats from the time at which it has accepted this
 * worker. */
int rendezvous_join(struct job *job, const struct introduction *introduction, char *why, size_t why_size);

#endif
