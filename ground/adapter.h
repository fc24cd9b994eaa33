/*
 * The network adapter: a thread of each rank that sends and receives messages, mostly to and from ranks of other hosts.
 * It waits for no single message, so that a rank that is slow, or has stopped in the middle of a message, delays no
 * other. It keeps the memory of messages until they have been sent, sends heartbeats, and detects lost ranks. The
 * meaning of the messages is up to the owner: XTQ (xtq/nic.c) or devcom (devcom/nic.h). Compiled for each MPI.
 */
#ifndef VOCL_GROUND_ADAPTER_H
#define VOCL_GROUND_ADAPTER_H

#include <pthread.h>

#include "ground/neighbours.h"

#define MOST_RECEIVED 64 /* messages that are received before other work is done */

/* At the beginning of an object that is kept until a message has been sent. */
struct pending_send {
    struct pending_send *next;
    MPI_Request request;
    void (*left)(struct pending_send *pending_send); /* called then; frees the object, too */
};

/* The owner's part of the adapter. */
struct adapter_kind {
    const char *name; /* of the library, for the log */
    long nap_us;      /* the thread's longest sleep */
    /* Called for a message that has been found, of length bytes. Passes it to adapter_receive() or adapter_drop(). */
    void (*take)(void *owner, int rank, int tag, MPI_Message *message, int length);
    /* Called for a receive from a lost rank, to which MPI may still write: the owner keeps the memory until then. */
    void (*give_up)(void *owner, int rank, MPI_Request *request);
    /* Called after receiving that many messages, at most MOST_RECEIVED: tells other ranks what has completed. Returns
     * the number of messages sent. */
    int (*tell)(void *owner, int received);
    /* Called when messages have been received or sent, or a rank is lost. */
    void (*ring)(void *owner);
    /* NULL, or returns whether silence is no sign of a loss at present. */
    bool (*patient)(const void *owner);
};

/* The receive from a rank that is in progress. No other message of the rank is taken meanwhile, since all others follow
 * it. */
struct adapter_peer {
    MPI_Request request, beat;
    bool active, matched; /* matched: MPI has matched it, so it cannot be cancelled */
    unsigned looks;       /* tests so far; now and then it is checked whether the rank is lost */
    void (*then)(void *owner, int rank, int error); /* NULL: the message is dropped */
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
    _Atomic unsigned helpers; /* threads that wait, and do the adapter thread's work meanwhile: */
    _Atomic unsigned helps;   /* how often they did; if this does not grow, they do not get to it */
    pthread_mutex_t serving;  /* protects receives: */
    struct adapter_peer *peers;
    _Atomic int under_way;   /* number of peers that are active */
    bool given_up;           /* a receive from a lost rank was given up */
    pthread_mutex_t leaving; /* protects sends: */
    struct pending_send *pending_sends;
    long silence_us, tick_us, beat_us; /* silence_us 0: silence is never a loss */
};

/* Opens an adapter. Returns 0; -ENOMEM; -ENOTSUP: MPI lacks MPI_THREAD_MULTIPLE. adapter_close() must be called after
 * failure, too. */
int adapter_open(struct adapter *adapter, const struct adapter_kind *kind, void *owner, struct neighbours *neighbours);
/* Starts the thread. comm: where it receives messages, of any tag but 1000. Errors of comm are returned, so that a loss
 * does not end the job. */
int adapter_start(struct adapter *adapter, MPI_Comm comm);
void adapter_stop(struct adapter *adapter);
/* Frees an adapter. Returns whether MPI may still write to memory of a receive. */
bool adapter_close(struct adapter *adapter);

/* A waiting thread does the adapter's work by adapter_help(), unless another thread is doing it. From begin to end the
 * adapter's own thread does not, as both would only take turns on a processor. */
void adapter_help_begin(struct adapter *adapter);
void adapter_help(struct adapter *adapter);
void adapter_help_end(struct adapter *adapter);

/* Sends a message; calls left() when it has been sent. Returns 0; -ECONNRESET: MPI refused the message, so the rank is
 * lost; left() is not called then. */
int adapter_send(struct adapter *adapter, MPI_Comm comm, int rank, int tag, const void *at, int count,
                 MPI_Datatype type, struct pending_send *pending_send, void (*left)(struct pending_send *pending_send));
/* Keeps the object of a request that has been started already. */
void adapter_keep(struct adapter *adapter, struct pending_send *pending_send,
                  void (*left)(struct pending_send *pending_send));
/* Completes messages that have been sent, and returns their number; whether all have been sent. */
int adapter_poll(struct adapter *adapter);
bool adapter_all_left(struct adapter *adapter);

/* Called under the lock of receives. Receives a message that has been found, or, if found is NULL, the next one in comm
 * with this tag. Calls then(), at once or later; with -ECONNRESET if the receive was given up. */
void adapter_receive(struct adapter *adapter, int rank, MPI_Message *found, MPI_Comm comm, int tag, void *at, int count,
                     MPI_Datatype type, void (*then)(void *owner, int rank, int error));
/* Receives and discards a message that is invalid. */
void adapter_drop(struct adapter *adapter, int rank, MPI_Message *found, int bytes);
/* Receives the messages that have arrived. Returns their number. */
int adapter_receive_all(struct adapter *adapter);

#endif
