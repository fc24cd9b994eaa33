/*
 * What the programs beside a session say to its members, and hear from them: those that start processes of it, and
 * those that stand for one (proxy/launch, proxy/daemon). The members' own side of it is in internal.h and
 * transport/start/start.h.
 */
#ifndef VOCL_TRANSPORT_STARTER_H
#define VOCL_TRANSPORT_STARTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/socket.h"

/* The variables that a worker is started with. */
#define SESSION_BELL "VOCL_SESSION_BELL"   /* its bell's descriptor */
#define SESSION_PEERS "VOCL_SESSION_PEERS" /* those that it has with the other workers: "RANK:DESCRIPTOR,..." */
#define SESSION_ENDPOINT "VOCL_SESSION_ENDPOINT"
#define SESSION_LOCAL "VOCL_SESSION_LOCAL"
#define SESSION_BEAT "VOCL_SESSION_BEAT" /* without MPI: that of the connection for heartbeats, */
#define SESSION_BULK "VOCL_SESSION_BULK" /* and for bulk data; those for frames are the bell's */
#define SESSION_TOKEN "VOCL_SESSION_TOKEN"
#define SESSION_SECRET "VOCL_SESSION_SECRET" /* over TLS, instead of the token */
#define SESSION_GUESTS "VOCL_SESSION_GUESTS" /* over MPI: the secret of those who come later */
#define SESSION_HOST "VOCL_SESSION_HOST"     /* what the program calls the worker's host, or its address, */
#define SESSION_TUNNEL "VOCL_SESSION_TUNNEL" /* and who carries connections through what started the worker */

#define SESSION_CALLS "VOCL_SESSION_CALLS" /* the same for those who are started before, on the program's host */
#define SESSION_JOINS "VOCL_SESSION_JOINS" /* the number of a worker that comes later */
#define SESSION_PLAIN "VOCL_SESSION_PLAIN" /* its connections are handed over within a host, and need no TLS */

/* The place where a program that listens nowhere is said to be. */
#define TUNNEL_ENDPOINT "ssh"

/* A worker gives who carries its connections one of them, for this member. What comes back is others' connections, and
 * from time to time a word without one: so long there is a program at the other end, though it may be stopped.
 *
 * In a session by pairs a call without a connection asks for some: both workers are then given theirs (PAIR_SOCKETS),
 * in a call with the other's number, or the one that asked none, as the other is gone. */
struct tunnel_call {
    uint32_t to;
};

#define PAIR_SOCKETS 3   /* of two members that are handed them: for frames, heartbeats and bulk data */
#define WORKERS_LATER 16 /* so many have nothing between them until they have something to say to each other */

/* What the program and who starts its processes say to each other while the session runs: on a socket of packets, of
 * which the program hands over one end by the control socket, with this byte. A message may have a descriptor. */
#define CONTROL_STARTER 'c'

enum starter_kind {
    /* to the program */
    STARTER_REQUEST = 1, /* what a user asks (base/requests.h), and what to answer on */
    STARTER_STARTED,     /* the worker of this number; its process, if it is on this host, else 0 */
    STARTER_ENDED,       /* it is gone, or could not be started: why */
    /* from the program */
    STARTER_START, /* one with this number: "HOST<tab>ENDPOINT", and in a pool "#NUMBER" for the host, wherever it has a
                      place for what that worker had; the descriptor is where the program is handed
                      connections (struct tunnel_call) from now on */
    STARTER_END,   /* it is to end: "now", or "" when it has had a moment to do so by itself */
    STARTER_STATE, /* what the session is doing, as users are told, or "" */
    STARTER_WAITS, /* to the program: the worker of this number comes when there is a place for it */
    STARTER_UNFIT  /* from the program, in a pool: it was started for "#NUMBER" and is not like what was there:
                      "DEVICE #NUMBER", by its device of that number, from 1 (0: by all). Who is started there next has
                      another */
};

/* So many numbers there are, after those of the first workers and the local member's, for workers that come later: all
 * come anew when a suspended session goes on, and some may not have left yet. */
#define SESSION_MOST_ADDED(workers) (16 + (workers))

struct starter_message {
    uint32_t kind, number;
    char text[1024];
};

#endif
