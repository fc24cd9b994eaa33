/*
 * Connections of a meeting that are not yet somebody's, and whose they become. A guest has a moment and one of a few
 * places, and delays nobody.
 */
#ifndef VOCL_TRANSPORT_GUESTS_H
#define VOCL_TRANSPORT_GUESTS_H

#include "transport/greeting.h"
#include "transport/over_tls.h"
#include "transport/start.h"

#define GUESTS 128    /* connections that are not yet somebody's, */
#define GUESTS_EACH 4 /* and for each member who may come at the same time as all others, who has few */
#define SHAKE_MS 5000 /* that one of them has */

struct guest {
    int fd;
    struct tls *tls;
    const struct tls_plugin *by;
    enum { GUEST_NONE, GUEST_CONNECTING, GUEST_SHAKING, GUEST_SAYS } state;
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

struct meeting {
    struct job *job;
    struct start *start;         /* the application's, or NULL */
    const struct tls_plugin *by; /* what carries its connections */
    char
        token[2 * TOKEN_BYTES + 1]; /* that they show, if they are not TLS's and somebody else could make them; or "" */
    bool bells;                     /* of each pair there is the one for frames, which becomes the bell beside MPI */
    unsigned rank, size, pipes;
    unsigned base;            /* the session's size before anybody came later */
    bool later, by_tls;       /* others are not to be gone to; but over TLS */
    bool is_handed;           /* who calls through the tunnel: guest_come() */
    bool by_tunnel;           /* it is known for the way to others */
    unsigned newcomer;        /* who comes later, and goes to all others; 0: all meet */
    int listeners[2], tunnel; /* or -1 */
    struct tls_way **ways;    /* by number; NULL before the numbers are given */
    struct location *locations;
    long *next_try, *began; /* began: when this side began to wait for him, if later than for the others */
    unsigned guest_count;
    struct guest *guests;
    struct pollfd *ready; /* for them, and what else there is to wait for */
    char *why;
    size_t why_size;
};

/* ---- guests.c ---- */
/* Go to another, for this connection with it, unless this side is on its way there; tunnelled: through what started the
 * workers, also if a connection of another kind has not been made yet. */
void guest_go(struct meeting *m, unsigned peer, unsigned index, bool tunnelled);
/* A connection to another through what started this worker: a descriptor or negative errno. */
int guest_call(const struct meeting *m, unsigned peer);
/* Whom its starter connected with this side: the descriptor is the guest's. 0 or negative errno. */
int guest_expect(struct meeting *m, int fd, unsigned rank);
/* Somebody has called through it: the descriptor is the guest's. */
void guest_come(struct meeting *m, int fd);
/* Whoever is to be this peer, and is not yet, is none. */
void guests_forget(struct meeting *m, unsigned peer);
/* The connection is somebody's now. */
void guest_settle(struct guest *guest, struct tls_way *way);
void guest_end(struct guest *guest);
/* A few bytes, for which there is always room. */
bool guest_write(struct guest *guest, const void *bytes, size_t length);
bool stream_say(struct stream *stream, const void *bytes, size_t length);
/* What happens until then, or a little of it. Negative errno: it cannot become anything. */
int meeting_turn(struct meeting *m, long until);

/* ---- meeting.c ---- */
#define MEETING_OTHERS 4 /* descriptors besides guests' */
/* more: guests who may come at once, beside strangers. NULL: no memory. */
struct meeting *meeting_new(struct job *job, unsigned more, char *why, size_t why_size);
/* All that there is one of for each member. */
int meeting_have_size(struct meeting *m);
/* Whether the other is to go, and this side to consent. */
bool meeting_is_above(const struct meeting *m, unsigned peer);
/* A look at who is to be gone to. Whether all have their connections. */
bool meeting_step(struct meeting *m, long began);
/* Until all have their connections, or it is clear that some have not. */
int meeting_meet(struct meeting *m, long until);
void meeting_end(struct meeting *m);
/* And the ways that nobody has taken from it. NULL: nothing. */
void meeting_drop(struct meeting *m);

/* ---- meeting_open.c ---- */
/* A worker, or a placeholder, has said who it is. Negative: one of this session that does not fit; nobody will come in
 * its place. */
int meeting_greeted(struct meeting *m, struct guest *guest);
/* It says more than its greeting, which it may: how many bytes; or negative errno, as before. */
int meeting_extra(struct meeting *m, struct guest *guest);
/* One that is expected does not come any more. Negative errno. */
int meeting_missing(struct meeting *m, unsigned rank);

/* ---- join.c ---- */
/* One whom the application expects in the running session has said who it is, and has its way now. */
int meeting_newcomer(struct meeting *m, struct guest *guest);

#endif
