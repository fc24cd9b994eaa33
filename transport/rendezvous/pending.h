/*
 * Pending connections: it is not known yet whose they are, or they are not made yet. Each has a few seconds and one of
 * a limited number of slots, so none delays the others.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_PENDING_H
#define VOCL_TRANSPORT_RENDEZVOUS_PENDING_H

#include "transport/launch/launch.h"
#include "transport/rendezvous/greeting.h"
#include "transport/stream/stream.h"

#define MOST_PENDING 128 /* connections that are not yet somebody's, */
#define PENDING_EACH 4   /* and for each member who may come at the same time as all others, who has few */
#define SHAKE_MS 5000    /* that one of them has */

struct pending {
    int fd;
    struct tls *tls;
    const struct tls_plugin *by;
    enum { PENDING_NONE, PENDING_CONNECTING, PENDING_SHAKING, PENDING_SAYS } state;
    bool came;            /* to this side; else this side went there */
    bool tunnelled;       /* through what started the workers */
    unsigned peer, index; /* of the connection: see BEAT */
    unsigned expected;    /* nobody but this worker, as who started it has made the connection; 0: it may be anybody */
    unsigned place;       /* among those that are waited for */
    long until;
    size_t got;
    union {
        struct greeting greeting;
        struct consent consent;
    } said;
    char *extra; /* that follows a greeting, with a zero at its end, or NULL */
};

struct rendezvous {
    struct job *job;
    struct start *start;         /* the application's, or NULL */
    const struct tls_plugin *by; /* what carries its connections */
    char
        token[2 * TOKEN_BYTES + 1]; /* that they show, if they are not TLS's and somebody else could make them; or "" */
    bool bells;                     /* of each pair there is the one for frames, which becomes the bell beside MPI */
    unsigned rank, size, pipes;
    unsigned base;            /* the session's size before anybody came later */
    bool later, by_tls;       /* others are not to be gone to; but over TLS */
    bool is_handed;           /* who calls through the tunnel: pending_come() */
    bool by_tunnel;           /* others are known to be reached so */
    unsigned newcomer;        /* who comes later, and goes to all others; 0: all meet */
    int listeners[2], tunnel; /* or -1 */
    struct streams **streams; /* by number; NULL before the numbers are given */
    struct location *locations;
    long *next_try, *began; /* began: when this side began to wait for him, if later than for the others */
    unsigned pending_count;
    struct pending *pending;
    struct pollfd *ready; /* for them, and what else there is to wait for */
    char *why;
    size_t why_size;
};

/* ---- pending.c ---- */
/* Go to another, for this connection with it, unless this side is on its way there; tunnelled: through what started the
 * workers, also if a connection of another kind has not been made yet. */
void pending_go(struct rendezvous *m, unsigned peer, unsigned index, bool tunnelled);
/* A connection to another through what started this worker: a descriptor or negative errno. */
int pending_call(const struct rendezvous *m, unsigned peer);
/* A worker whose connection its starter has made: takes the descriptor. 0 or negative errno. */
int pending_expect(struct rendezvous *m, int fd, unsigned rank);
/* Another member has connected through what started the workers: takes the descriptor. */
void pending_come(struct rendezvous *m, int fd);
/* Whoever is to be this peer, and is not yet, is none. */
void pending_forget(struct rendezvous *m, unsigned peer);
/* The connection is somebody's now. */
void pending_settle(struct pending *pending, struct streams *streams);
void pending_end(struct pending *pending);
/* A few bytes, for which there is always room. */
bool pending_write(struct pending *pending, const void *bytes, size_t length);
bool stream_say(struct stream *stream, const void *bytes, size_t length);
/* What happens until then, or a little of it. Negative errno: it cannot become anything. */
int rendezvous_turn(struct rendezvous *m, long until);

/* ---- rendezvous.c ---- */
#define RENDEZVOUS_OTHERS 4 /* descriptors besides those of pending connections */
/* more: connections that members may make at once, beside those of strangers. NULL: no memory. */
struct rendezvous *rendezvous_new(struct job *job, unsigned more, char *why, size_t why_size);
/* All that there is one of for each member. */
int rendezvous_have_size(struct rendezvous *m);
/* Whether the other is to go, and this side to consent. */
bool rendezvous_is_above(const struct rendezvous *m, unsigned peer);
/* A look at who is to be gone to. Whether all have their connections. */
bool rendezvous_step(struct rendezvous *m, long began);
/* Until all have their connections, or it is clear that some have not. */
int rendezvous_meet(struct rendezvous *m, long until);
void rendezvous_end(struct rendezvous *m);
/* Also frees the connections that have not been taken from it. NULL: nothing is done. */
void rendezvous_drop(struct rendezvous *m);

/* ---- program.c ---- */
/* A worker, or a placeholder, has said who it is. Negative: one of this session that does not fit; nobody will come in
 * its place. */
int rendezvous_greeted(struct rendezvous *m, struct pending *pending);
/* It says more than its greeting, which it may: how many bytes; or negative errno, as before. */
int rendezvous_extra(struct rendezvous *m, struct pending *pending);
/* One that is expected does not come any more. Negative errno. */
int rendezvous_missing(struct rendezvous *m, unsigned rank);

#endif
