/*
 * Pending connections: they are not complete yet, or their peer is not known yet. Each has a few seconds and one of a
 * limited number of slots, so none delays the others.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_PENDING_H
#define VOCL_TRANSPORT_RENDEZVOUS_PENDING_H

#include "transport/launch/launch.h"
#include "transport/rendezvous/greeting.h"
#include "transport/stream/stream.h"

#define MOST_PENDING 128 /* pending connections at a time */
#define PENDING_EACH 4   /* in addition for each member that may connect at the same time as all others */
#define SHAKE_MS 5000    /* the time that each has */

struct pending {
    int fd;
    struct tls *tls;
    const struct tls_plugin *by;
    enum { PENDING_NONE, PENDING_CONNECTING, PENDING_SHAKING, PENDING_SAYS } state;
    bool came;            /* the peer connected; else this side did */
    bool tunnelled;       /* it goes through the starter of the workers */
    unsigned peer, index; /* index: of the connection, see BEAT */
    /* Not 0: only this worker may be the peer, since the starter has made the connection. */
    unsigned expected;
    unsigned place; /* its index in struct rendezvous's `ready` */
    long until;
    size_t got;
    union {
        struct greeting greeting;
        struct consent consent;
    } said;
    char *extra; /* the bytes that follow a greeting, and a zero, or NULL */
};

struct rendezvous {
    struct job *job;
    struct start *start;         /* the application's, or NULL */
    const struct tls_plugin *by; /* what carries the connections */
    /* Shown on connections without TLS that other processes could make; or "". */
    char token[2 * TOKEN_BYTES + 1];
    bool bells; /* each pair has only the connection for frames, which becomes the bell beside MPI */
    unsigned rank, size, pipes;
    unsigned base;      /* the session's size before any member came later */
    bool later, by_tls; /* workers connect on demand; and over TLS */
    bool is_handed;     /* the owner calls pending_come() for connections through the tunnel */
    bool by_tunnel;     /* other members are known to be reached through the tunnel */
    unsigned newcomer;  /* the member that comes later, and connects to all others; 0: all connect with each other */
    int listeners[2], tunnel; /* descriptors, or -1 */
    struct streams **streams; /* by number; NULL until the numbers are given */
    struct location *locations;
    long *next_try, *began; /* began: when this side began to wait for each, if later than for the others */
    unsigned pending_count;
    struct pending *pending;
    struct pollfd *ready; /* for pending connections and RENDEZVOUS_OTHERS more */
    char *why;
    size_t why_size;
};

/* ---- pending.c ---- */
/* Connects to a peer, for its connection `index`, unless that is under way. tunnelled: through the starter of the
 * workers, even if a direct connection is being made. */
void pending_go(struct rendezvous *m, unsigned peer, unsigned index, bool tunnelled);
/* Opens a connection to a peer through the starter of this worker. Returns a descriptor or a negative errno. */
int pending_call(const struct rendezvous *m, unsigned peer);
/* Takes a connection with a worker that its starter has made, and the descriptor. Returns 0 or a negative errno. */
int pending_expect(struct rendezvous *m, int fd, unsigned rank);
/* Takes a connection that another member has made through the starter of the workers, and the descriptor. */
void pending_come(struct rendezvous *m, int fd);
/* Ends the pending connections with a peer. */
void pending_forget(struct rendezvous *m, unsigned peer);
/* Passes a connection, which is complete, to the peer's streams. */
void pending_settle(struct pending *pending, struct streams *streams);
void pending_end(struct pending *pending);
/* Sends a few bytes, for which there is always room. */
bool pending_write(struct pending *pending, const void *bytes, size_t length);
bool stream_say(struct stream *stream, const void *bytes, size_t length);
/* Makes progress until then, or less. Returns a negative errno if the session cannot start any more. */
int rendezvous_turn(struct rendezvous *m, long until);

/* ---- rendezvous.c ---- */
#define RENDEZVOUS_OTHERS 4 /* descriptors to poll, besides those of pending connections */
/* more: connections that members may make at once, besides those of strangers. Returns NULL if memory is exhausted. */
struct rendezvous *rendezvous_new(struct job *job, unsigned more, char *why, size_t why_size);
/* Allocates the arrays that have an element for each member. */
int rendezvous_have_size(struct rendezvous *m);
/* Whether the peer is to connect, and this side to consent. */
bool rendezvous_is_above(const struct rendezvous *m, unsigned peer);
/* Starts connections that are due. Whether all are complete. */
bool rendezvous_step(struct rendezvous *m, long began);
/* Returns when all connections are complete, or the rest cannot be made. */
int rendezvous_meet(struct rendezvous *m, long until);
void rendezvous_end(struct rendezvous *m);
/* Also frees the streams that have not been taken from it. NULL: does nothing. */
void rendezvous_drop(struct rendezvous *m);

/* ---- program.c ---- */
/* A worker, or a placeholder, has sent its greeting. Negative: it belongs to this session and is not acceptable; no
 * other will come in its place. */
int rendezvous_greeted(struct rendezvous *m, struct pending *pending);
/* How many bytes follow its greeting, if it may send any; or a negative errno, as before. */
int rendezvous_extra(struct rendezvous *m, struct pending *pending);
/* An expected worker will not come. Returns a negative errno. */
int rendezvous_missing(struct rendezvous *m, unsigned rank);

#endif
