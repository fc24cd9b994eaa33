/*
 * What goes by messages, to ranks of other hosts above all: a thread of each rank stands for its network adapter. It
 * waits for no message: a rank that is slow, or has stopped in the middle of one, is in no other's way. It keeps what
 * is sent until it has left, tells the others now and then that this rank is there, and finds out who is lost. What the
 * messages mean is their owner's, XTQ's (xtq/nic.c) or device communication's (devcom/nic.h). Compiled for each MPI.
 */
#ifndef VOCL_GROUND_ADAPTER_H
#define VOCL_GROUND_ADAPTER_H

#include <pthread.h>

#include "ground/neighbours.h"

#define MOST_RECEIVED 64 /* messages, before something else is done */

/* At the start of what is kept for a message until it has left. */
struct pending_send {
    struct pending_send *next;
    MPI_Request request;
    void (*left)(struct pending_send *pending_send); /* frees it, too */
};

struct adapter_kind {
    const char *name; /* of the library, for the log */
    long nap_us;      /* how long the thread sleeps at most */
    /* A message of so many bytes has been found: it is given to adapter_receive() or to adapter_drop(). */
    void (*take)(void *owner, int rank, int tag, MPI_Message *message, int length);
    /* What is being received of a lost rank, and may still come: whose memory that is keeps it until then. */
    void (*give_up)(void *owner, int rank, MPI_Request *request);
    /* So much, at most MOST_RECEIVED, has been received just now: tell the others what has been done. The number of
     * messages. */
    int (*tell)(void *owner, int received);
    /* Something has come or left, or a rank is lost. */
    void (*ring)(void *owner);
    /* NULL, or whether silence is no sign of a loss at present. */
    bool (*patient)(const void *owner);
};

/* What is being received of a rank. Nothing else is looked at of the same rank, as all of that comes later. */
struct adapter_peer {
    MPI_Request request, beat;
    bool active, matched;                           /* matched: MPI has begun it, so it cannot be cancelled */
    unsigned looks;                                 /* at it, until it is looked whether the rank is lost */
    void (*then)(void *owner, int rank, int error); /* NULL: it is dropped */
    void *dropped;
    _Atomic long heard_us;
};

struct adapter {
    const struct adapter_kind *kind;
    void *owner;
    struct neighbours *neighbours;
    MPI_Comm comm;
    pthread_t thread;
    _Atomic bool stop;
    _Atomic unsigned helpers; /* threads that wait, and do this one's work: */
    _Atomic unsigned helps;   /* how often; if that stands still they do not get to it */
    pthread_mutex_t serving;  /* of what is received: */
    struct adapter_peer *peers;
    _Atomic int under_way;   /* how many of these are active */
    bool given_up;           /* one of them, of a rank that is lost */
    pthread_mutex_t leaving; /* of what is sent */
    struct pending_send *pending_sends;
    long silence_us, tick_us, beat_us; /* silence_us 0: nobody is ever lost by that */
};

/* -ENOMEM; -ENOTSUP: MPI has no threads. adapter_close() after failure, too. */
int adapter_open(struct adapter *adapter, const struct adapter_kind *kind, void *owner, struct neighbours *neighbours);
/* comm: where it looks for messages, with any tags below 1000 and from 1001 on. A loss is no end of the job there. */
int adapter_start(struct adapter *adapter, MPI_Comm comm);
void adapter_stop(struct adapter *adapter);
/* Whether MPI may still write to where something was to be received. */
bool adapter_close(struct adapter *adapter);

/* A thread that waits does the adapter's work; nothing if another is at it. From begin to end the adapter's own thread
 * stays away, as both would only take turns on a processor. */
void adapter_help_begin(struct adapter *adapter);
void adapter_help(struct adapter *adapter);
void adapter_help_end(struct adapter *adapter);

/* Send; left() is called when that has left. -ECONNRESET: MPI refuses what was sound, so the rank is lost; nothing is
 * called then. */
int adapter_send(struct adapter *adapter, MPI_Comm comm, int rank, int tag, const void *at, int count,
                 MPI_Datatype type, struct pending_send *pending_send, void (*left)(struct pending_send *pending_send));
/* What is under way already. */
void adapter_keep(struct adapter *adapter, struct pending_send *pending_send,
                  void (*left)(struct pending_send *pending_send));
/* The number of messages that have left; whether all have. */
int adapter_poll(struct adapter *adapter);
bool adapter_all_left(struct adapter *adapter);

/* Under the lock of what is received: receive a message that has been found, or, NULL, the next in comm of this tag,
 * and go on with then(), at once or later. -ECONNRESET: given up. */
void adapter_receive(struct adapter *adapter, int rank, MPI_Message *found, MPI_Comm comm, int tag, void *at, int count,
                     MPI_Datatype type, void (*then)(void *owner, int rank, int error));
/* What does not fit what both sides know is received and forgotten. */
void adapter_drop(struct adapter *adapter, int rank, MPI_Message *found, int bytes);
/* Whatever has come: the number of messages. */
int adapter_receive_all(struct adapter *adapter);

#endif
