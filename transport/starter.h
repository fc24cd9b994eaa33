/*
 * The interface between a session's members and the programs beside it: those that start its processes, and those that
 * act for one of them (proxy/launch, proxy/daemon). The members' own side is in transport/core/requests.c and
 * transport/start/start.h.
 */
#ifndef VOCL_TRANSPORT_STARTER_H
#define VOCL_TRANSPORT_STARTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/socket.h"

/* The environment variables that a worker is started with. */
#define SESSION_BELL "VOCL_SESSION_BELL"   /* descriptor of its bell; without MPI of its connection for frames */
#define SESSION_PEERS "VOCL_SESSION_PEERS" /* those of its connections with other workers: "RANK:DESCRIPTOR,..." */
#define SESSION_ENDPOINT "VOCL_SESSION_ENDPOINT"
#define SESSION_LOCAL "VOCL_SESSION_LOCAL"
#define SESSION_BEAT "VOCL_SESSION_BEAT" /* without MPI: the descriptor of its connection for heartbeats */
#define SESSION_BULK "VOCL_SESSION_BULK" /* without MPI: the descriptor of its connection for bulk data */
#define SESSION_TOKEN "VOCL_SESSION_TOKEN"
#define SESSION_SECRET "VOCL_SESSION_SECRET" /* over TLS, instead of the token */
#define SESSION_GUESTS "VOCL_SESSION_GUESTS" /* over MPI: the secret that members which come later show */
#define SESSION_HOST "VOCL_SESSION_HOST"     /* the name by which the program knows the worker's host, or its address */
#define SESSION_TUNNEL "VOCL_SESSION_TUNNEL" /* a socket to the process that carries its connections (tunnel_call) */
/* SESSION_TUNNEL's counterpart for workers that are started with the session, on the program's host. */
#define SESSION_CALLS "VOCL_SESSION_CALLS"

#define SESSION_JOINS "VOCL_SESSION_JOINS" /* the number of a worker that comes later */
#define SESSION_PLAIN "VOCL_SESSION_PLAIN" /* its connections are handed over within a host, and need no TLS */

/* Stands for the address of a program that does not listen. */
#define TUNNEL_ENDPOINT "ssh"

/* A message between a worker and the process that carries its connections. The worker sends one end of a connection,
 * which is meant for member `to`. It receives connections of others, and from time to time one byte without
 * a connection: as long as these come, the program at the other end exists, though it may be stopped.
 *
 * In a session by socket pairs (transport/launch/network.h) a call without a connection asks for connections with `to`.
 * Both workers then receive their ends (PAIR_SOCKETS), in a call with the other's number. If `to` is gone, the worker
 * that asked receives a call without sockets. */
struct tunnel_call {
    uint32_t to;
};

/* Connections of two members that are handed to both: for frames, heartbeats and bulk data. */
#define PAIR_SOCKETS 3
/* From this many workers on, two of them are connected only when they have something to send to each other. */
#define WORKERS_LATER 16

/* Messages between the program and its starter, which has started its processes, while the session runs. They travel on
 * a SOCK_SEQPACKET socket; the program sends one end of it through the control socket, with the byte CONTROL_STARTER. A
 * message may carry a descriptor. */
#define CONTROL_STARTER 'c'

enum starter_kind {
    /* to the program */
    STARTER_REQUEST = 1, /* a user's request (base/requests.h); the descriptor is for the answer */
    STARTER_STARTED,     /* the worker of this number has started; text: its PID, if it is on this host, else 0 */
    STARTER_ENDED,       /* the worker is gone, or could not be started; text: the reason */
    /* from the program */
    /* Start a worker with this number; text: "HOST<tab>ENDPOINT". In a pool HOST may be "#NUMBER": any host with a
     * place for the devices that worker NUMBER had. Through the descriptor the program receives connections (struct
     * tunnel_call) from now on. */
    STARTER_START,
    STARTER_END,   /* end the worker: "now", or "" after it has had a moment to end by itself */
    STARTER_STATE, /* the session's state as it is shown to users, or "" */
    STARTER_WAITS, /* to the program: the worker of this number comes when there is a place for it */
    /* From the program, in a pool: this worker was started for "#NUMBER", but its devices are not like those before.
     * text: "DEVICE #NUMBER"; DEVICE counts from 1 and is the one that differs, 0: all do. The next worker for that
     * place gets other devices. */
    STARTER_UNFIT
};

/* The number of ranks, after those of the first workers and the local member, for workers that come later. All workers
 * are replaced when a suspended session resumes, and some of the old ones may not have left yet. */
#define SESSION_MOST_ADDED(workers) (16 + (workers))
/* The number of all of a session's members: the program, the first workers, the local member and those added. */
#define SESSION_MOST_NUMBERS(workers) (1 + (workers) + 1 + SESSION_MOST_ADDED(workers))

struct starter_message {
    uint32_t kind, number;
    char text[1024];
};

#endif
