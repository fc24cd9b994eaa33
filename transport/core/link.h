/* What link.c and bulk.c share: the members of a session, and what is on its way to and from them. */
#ifndef VOCL_TRANSPORT_CORE_LINK_H
#define VOCL_TRANSPORT_CORE_LINK_H

#include <poll.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/settings.h"
#include "transport/core/job.h"
#include "transport/core/provider.h"
#include "transport/plugin/mpi_plugin.h"
#include "transport/shm/ring.h"
#include "transport/starter.h"
#include "transport/transport.h"

#define BULK_SLEEPS 10000000 /* us: what it waits for wakes */
#define HEADER sizeof(struct frame_header)

enum frame_kind {
    FRAME_WHOLE = 1,
    FRAME_LARGE,
    FRAME_OFFER,
    FRAME_MEMBER,       /* struct member_news */
    FRAME_THERE,        /* a provider's own (transport/stream/reach.c): bulk data that can be read where they are, */
    FRAME_TOOK,         /* and have been */
    FRAME_LOCAL = 0x100 /* or'ed: from or for the local member */
};

/* In another process. */
struct reach_place {
    uint64_t address, witness;
    uint8_t nonce[16]; /* what is at witness */
};

TAILQ_HEAD(bulks, bulk);

struct bulk { /* or a piece of it */
    TAILQ_ENTRY(bulk) all, over;
    unsigned peer;
    bool take, complete, broken, last; /* last: nothing of it is to come */
    bool polled, is_over;              /* it moves only when it is looked at; bulk_over() has been called */
    bool near;                         /* it is soon over: transport/stream/reach.c */
    uint32_t tag;                      /* with a mark for the local member's */
    uint8_t *memory;
    size_t length;
    transport_done *done;
    void *argument;
    uint64_t began; /* when, if that is to be written down */
    union {         /* the provider's */
        struct plugin_request mpi;
        struct {
            struct bulks *in; /* of the way's lists, or NULL */
            TAILQ_ENTRY(bulk) entry;
            uint32_t id; /* of the giver's; 0: a take that nobody has offered anything yet */
            bool offered, wanted;
            unsigned chunks, turns;   /* under way; that it has had */
            size_t begun;             /* given: bytes that are in chunks; */
            uint32_t turn;            /* and its turn, among those of its bucket */
            size_t promised, arrived; /* taken: bytes of chunks that have begun, and of them here */
            struct reach_place place; /* where to read it */
        } tls;
    };
};

struct peer {
    bool alive;
    struct bell bell;
    struct beat beat;
    pid_t process; /* on this host, or 0 */
    char host[64];
    char place[128];   /* of one that came later: as who asked for it called its host, or "" */
    bool is_elsewhere; /* that is another one than the program's: it came, or is to be met, over TLS */
    const struct provider *provider;
    void *way; /* the provider's own */
    struct shm_ring ring;
    uint64_t bytes_out, bytes_in;
    uint32_t sent, received, confirmed; /* frames; confirmed: of received, what the peer knows */
    bool said_sleep;                    /* and the peer has not rung since */
    bool wanted;                        /* transport/join/later.c: there is something to say, */
    long asked_ms;                      /* and who connects was asked then; 0: not yet */
    bool answered;                      /* transport/join/apart.c: it has said since where it is; */
    unsigned tries;                     /* and how often it had */
    unsigned told;                      /* of t->gone, how many */
};

struct join;
struct apart;

/* What the program and its workers tell each other of somebody who comes, in a frame: transport/join/join.c,
 * transport/join/later.c, transport/join/apart.c. */
enum {
    MEMBER_COMES = 1,
    MEMBER_COMES_PLAIN,
    MEMBER_HERE,
    MEMBER_MET,
    MEMBER_FAILED,
    MEMBER_COMES_LATER,       /* nothing has to be done until there is something to say, */
    MEMBER_COMES_LATER_PLAIN, /* and then by who has started both */
    MEMBER_GONE,
    MEMBER_ELSEWHERE, /* one that is there is not on the program's host */
    MEMBER_WANTED     /* there is something to say to that one; this one, who says so, is there */
};

struct member_news {
    uint32_t what, number;
    char host[64], endpoint[128];
};

/* What the session's members are, and who comes and goes, is not the link's to know: it tells (transport/join/join.c).
 */
struct membership {
    /* A peer says something of a member. Negative: it may not. */
    int (*news)(struct transport *t, unsigned number, const struct member_news *news);
    /* So does who starts processes, perhaps with a descriptor, which is this function's. */
    void (*starter)(struct transport *t, const struct starter_message *message, int fd);
    /* A peer is lost. */
    void (*lost)(struct transport *t, unsigned number);
};

struct transport {
    struct transport_callbacks callbacks;
    const struct membership *membership;
    struct job job;
    bool client;
    struct peer *peers;  /* the job's, after them the client's local member, and then those that came later */
    unsigned width;      /* numbers that there have been so far */
    struct join *join;   /* of somebody who comes, or NULL */
    bool *leaving;       /* of those that came later: its process has yet to end */
    struct apart *apart; /* a worker: those of them that it meets over TLS; NULL: nobody */
    unsigned wanted;     /* peers that a worker waits to be connected with, */
    unsigned *gone;      /* and the program: those who are lost, in order, */
    unsigned gone_count;
    bool untold;               /* of which somebody has yet to be told */
    int poll_set;              /* by which is known who has something to say (transport/stream/poll_set.c), or -1 */
    bool looks, came;          /* connections are read from this time; one had something */
    uint32_t round;            /* how often that was, */
    struct epoll_event *heard; /* and room for what it answers */
    struct bulks bulks, over;  /* all; and those that are over, and whose owners have yet to be told */
    unsigned polled_bulks, near_bulks;
    struct stored_fd wake, waker; /* the ends of a pipe */
    unsigned polls;
    unsigned pieces_at_once;
    long last_moved, active_ns, bulk_nap_us, doze_us, sleep_most_us, look_us;
    bool announced, woke; /* woke: from sleeping on descriptors, not all of which have been looked at */
    bool lies;            /* so do the rings say */
    bool listens;         /* this time at whatever nothing is expected from, too */
    atomic_bool ended;    /* also when MPI says so, to whichever thread */
    transport_request *on_request;
    void *request_context;
    struct pollfd *starter; /* of those that it sleeps on, or NULL */
    long starter_ms;        /* when it was last looked at */
    bool incomplete;        /* somebody was lost: nobody waits for all any more */
    long judged_ms;         /* when it was last seen who answers */
    char silence[64];
    const char *failed; /* with ended: why, or NULL if the process ends */
    struct pollfd *sleep_on;
    nfds_t sleep_count;
};

/* ---- link.c ---- */
/* The number of the local member, whether there is one or not; and whether there is, and it is served here. */
unsigned link_local(const struct transport *t);
bool link_has_local(const struct transport *t);
/* Whether there is something to be sent to and had from a peer: not from those of a job that has ended. */
bool link_is_usable(const struct transport *t, unsigned peer);
/* How many numbers there can be; and of those who come later. */
static inline unsigned link_most_added(const struct transport *t)
{
    return SESSION_MOST_ADDED((unsigned)t->job.size - 1);
}
static inline size_t link_capacity(const struct transport *t)
{
    return (size_t)t->job.size + 1 + link_most_added(t);
}
/* A member's slot is filled, and he can be spoken to. 0 or negative errno. */
int link_open_peer(struct transport *t, struct member *member);
void link_offer_ring(struct transport *t, unsigned number);
/* One of the transport's own frames; 0 or negative errno: -EAGAIN, there is no room for it now. */
int link_say(struct transport *t, unsigned number, enum frame_kind kind, const void *bytes, size_t length);
int link_tell(struct transport *t, unsigned number, const struct member_news *news);
/* A descriptor of the session: the program may close it (transport/alive/fd_store.h). */
void link_keep(struct transport *t, struct stored_fd *stored, int fd);
void link_lose(struct transport *t, unsigned number, const char *why);
/* What the peer, or this side, would wait for in vain for ever: it is lost at the next poll. -ECONNRESET. */
int link_give_up(struct peer *peer, const char *why);
/* What carries cannot be used any more. */
void link_fail(struct transport *t);
/* Wake a peer that sleeps, after it has been sent something. */
void link_ring(struct peer *peer);
/* What the peer says in the ring that it has taken is what is known. */
void link_look(struct peer *peer);
/* It is told that a frame has been taken. */
void link_took(struct peer *peer);
/* Take in what its bell says; the number of things. */
int link_hear(struct transport *t, unsigned number);

/* ---- silence.c ---- */
/* Under the owner's lock, when all bells have been listened to: whoever did not answer is lost. */
void silence_judge(struct transport *t);

/* ---- sleep.c ---- */
#define FIRST_DOZE_US 100
#define LONGEST_DOZE_US 10000000
/* Whoever was told that this side sleeps need not ring any more. */
void sleep_over(struct transport *t);

/* ---- loop.c: the local member, for the application's side ---- */
int loop_attach(struct transport *t, const struct transport_local *local);
/* To it, from the application (0) or a worker. */
int loop_frame(struct transport *t, unsigned from, const void *bytes, size_t length);
void loop_meet(struct transport *t, unsigned peer);
void loop_lose(struct transport *t, unsigned peer);
/* From it to the application: a frame, and one half of a bulk operation. */
int loop_send(struct transport *t, const void *bytes, size_t length);
int loop_bulk(struct transport *t, bool take, uint32_t tag, void *memory, size_t length, transport_done *done,
              void *argument);

/* ---- requests.c: the socket to who started the session's processes ---- */
/* Hands it over, where there is a control socket. 0 or negative errno. */
int starter_open(struct job *job);
/* To sleep on, if there is one. */
bool starter_sleep_on(struct transport *t, struct pollfd *descriptor);
/* A message, with a descriptor, or -1, which stays the caller's. 0 or negative errno. */
int starter_tell(struct transport *t, const struct starter_message *message, int fd);
/* Now and then, and when it spoke: what came is taken. */
void starter_poll(struct transport *t, bool spoke);

/* ---- receive.c: frames in ---- */
/* Take one frame of the peer, if there is one: 1, else 0. */
int receive_frame(struct transport *t, unsigned peer);

/* ---- bulk.c ---- */
/* What has moved; the number of things. */
int bulk_poll(struct transport *t);
/* The provider's: it is complete, or broken. */
void bulk_over(struct transport *t, struct bulk *bulk);
void bulk_lose(struct transport *t, unsigned peer);
/* How long to sleep at most, in microseconds, while there is something under way. */
long bulk_nap(struct transport *t);

#endif
