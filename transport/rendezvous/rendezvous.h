/*
 * How the members of a session find each other. A worker comes to the program, or has been given a connection with it,
 * says who it is (greeting.h) and gets its number; then each pair makes its connections, to whichever of the two can be
 * reached. Over TLS only who has the session's secret can make them (transport/plugin/tls.h); within a host, and with
 * MPI, they are sockets as they are (transport/stream/plain.h), which who starts the processes has made, or for which a
 * token is shown. A stranger who connects delays nobody: he has a moment and one of a few places.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_RENDEZVOUS_H
#define VOCL_TRANSPORT_RENDEZVOUS_RENDEZVOUS_H

#include "transport/launch/launch.h"
#include "transport/plugin/tls.h"

/* Load what is needed for it, before anything is started. ending(argument): the process ends. 0 or negative errno and
 * why. */
int rendezvous_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size);
/* The program: the workers come to where it listens, or have the connections of start->born, until what starts them has
 * something to say. start->job->members is there for them. 0 or negative errno and why. */
int rendezvous_open(struct start *start);

/* With what a worker comes. */
struct introduction {
    const char *endpoint;            /* of the program, or NULL */
    const uint8_t *secret;           /* TLS's, or NULL */
    char token[2 * TOKEN_BYTES + 1]; /* or what it shows in its place, or "" */
    int born[PAIR_SOCKETS];          /* connections that it was started with, or -1 */
    bool bells;                      /* of each pair there is the bell alone */
    long until;
    void (*ending)(void *); /* as rendezvous_prepare()'s */
    void *argument;
};

/* Ends with job->members; with bells a thread answers the program from when it has taken this worker in. */
int rendezvous_join(struct job *job, const struct introduction *introduction, char *why, size_t why_size);

#endif
