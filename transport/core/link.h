/* Shared by the files of transport/core/: the members of a session, and what is on its way to and from them. */
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

#define BULK_SLEEPS 10000000 /* us: long, since the arrival of bulk data wakes the sleeper */
#define HEADER sizeof(struct frame_header)

enum frame_kind {
    FRAME_WHOLE = 1,
    FRAME_LARGE,
    FRAME_OFFER,
    FRAME_MEMBER, /* struct member_news */
    FRAME_THERE, /* of one provider (transport/stream/cross_memory.c): bulk data may be read from the sender's memory */
    FRAME_TOOK,  /* the answer to that: they were read, or could not be */
    FRAME_LOCAL = 0x100 /* or'ed: from or for the local member */
};

/* Memory of another process. */
struct cross_memory_place {
    uint64_t address, witness;
    uint8_t nonce[16]; /* the bytes that are at witness */
};

TAILQ_HEAD(bulks, bulk);

struct bulk { /* a bulk operation, or a piece of one */
    TAILQ_ENTRY(bulk) all, over;
    unsigned peer;
    bool take, complete, broken, last; /* last: the last piece of its operation */
    bool polled, is_over;              /* polled: progress only when polled; is_over: bulk_over() has been called */
    bool near;                         /* completes soon: transport/stream/cross_memory.c */
    uint32_t tag;                      /* with a bit set for the local member's */
    uint8_t *memory;
    size_t length;
    transport_done *done;
    void *argument;
    uint64_t began; /* ns, or 0: not recorded in the timeline */
    union {         /* private to the provider */
        struct plugin_request mpi;
        struct {
            struct bulks *in; /* the list of struct streams that it is in, or NULL */
            TAILQ_ENTRY(bulk) entry;
            uint32_t id; /* chosen by the giver; 0: a take without an offer so far */
            bool offered, wanted;
            bool failed;                     /* take: the giver's memory cannot be read */
            unsigned chunks, turns;          /* chunks, or pieces to copy: under way; turns: begun so far */
            size_t begun;                    /* bytes in chunks or pieces that have begun */
            uint32_t turn;                   /* give: its turn among the offers of its bucket */
            size_t promised, arrived;        /* take: bytes of chunks that have begun; bytes received */
            struct cross_memory_place place; /* the giver's memory, to read from */
        } tls;
    };
};

struct peer {
    bool alive;
    struct bell bell;
    struct beat beat;
    pid_t process;               /* on this host, or 0 */
    unsigned long process_began; /* with the PID, it names that process for good */
    char host[64];
    char place[128];   /* of a member that came later: its host as it was asked for, or "" */
    bool is_elsewhere; /* its host is not the program's: it joined, or is to be connected, over TLS */
    const struct provider *provider;
    void *way; /* the provider's own */
    struct shm_ring ring;
    uint64_t bytes_out, bytes_in;
    uint32_t sent, received, confirmed; /* frames; confirmed: received frames that the peer knows of */
    bool said_sleep;                    /* the peer knows that this side sleeps, and has not rung since */
    bool wanted;    /* transport/join/later.c: there is something to send, so connections are wanted */
    long asked_ms;  /* transport/join/later.c: when the starter was asked for them; 0: not yet */
    bool answered;  /* transport/join/apart.c: it has answered since it was last asked for connections */
    unsigned tries; /* transport/join/apart.c: how many times it had answered before */
    unsigned told;  /* the number of entries of t->gone that it was sent */
};

struct join;
struct apart;

/* Messages between the program and its workers about a member that comes or goes, each in a frame:
 * transport/join/join.c, transport/join/later.c, transport/join/apart.c. */
enum {
    MEMBER_COMES = 1,         /* program to worker: a newcomer joins, over TLS */
    MEMBER_COMES_PLAIN,       /* the same, by sockets that the starter hands over */
    MEMBER_HERE,              /* the worker's answer: it is ready; endpoint: where it listens, or "" */
    MEMBER_MET,               /* worker to program: it is connected with the newcomer */
    MEMBER_FAILED,            /* the newcomer does not become a member */
    MEMBER_COMES_LATER,       /* program to worker: a newcomer that is connected on demand, over TLS */
    MEMBER_COMES_LATER_PLAIN, /* the same, by sockets that the starter hands over */
    MEMBER_GONE,              /* program to worker: that member is lost */
    MEMBER_ELSEWHERE,         /* an existing member is not on the program's host */
    MEMBER_WANTED             /* the sender has something to send to the member of that number */
};

struct member_news {
    uint32_t what, number;
    char host[64], endpoint[128];
};

/* The link does not keep track of members that join or leave the session: it calls these functions
 * (transport/join/join.c). */
struct membership {
    /* A peer sends news of a member. Negative: the news is not allowed. */
    int (*news)(struct transport *t, unsigned number, const struct member_news *news);
    /* The starter sends a message, perhaps with a descriptor, which this function takes. */
    void (*starter)(struct transport *t, const struct starter_message *message, int fd);
    /* A peer is lost. */
    void (*lost)(struct transport *t, unsigned number);
};

struct transport {
    struct transport_callbacks callbacks;
    const struct membership *membership;
    struct job job;
    bool client;
    struct peer *peers;  /* the job's, then the client's local member, then those that came later */
    unsigned width;      /* numbers in use so far */
    struct join *join;   /* of a member that is just joining, or NULL */
    bool *leaving;       /* by number, of members that came later: the process has yet to end */
    struct apart *apart; /* in a worker: its connections over TLS under way; NULL: none */
    unsigned wanted;     /* in a worker: how many peers it waits to be connected with */
    unsigned *gone;      /* in the program: lost members, in order */
    unsigned gone_count;
    bool untold;               /* some peer has yet to be sent some of `gone` */
    int poll_set;              /* epoll descriptor of all streams (transport/stream/poll_set.c), or -1 */
    bool looks, came;          /* looks: this poll reads from connections; came: one of them had something */
    uint32_t round;            /* how many polls have asked the poll set so far */
    struct epoll_event *heard; /* room for the events of the poll set */
    struct bulks bulks, over;  /* all operations; and the complete ones, whose done() is yet to be called */
    unsigned polled_bulks, near_bulks;
    struct copiers *copiers;      /* of a worker (transport/stream/copiers.c), or NULL */
    struct stored_fd wake, waker; /* the ends of a pipe */
    unsigned polls;
    unsigned pieces_at_once;
    long last_moved, active_ns, bulk_nap_us, doze_us, sleep_most_us, look_us;
    bool announced, woke; /* woke: from sleeping on descriptors, which have not all been polled since */
    bool lies;            /* the rings say that this side sleeps */
    bool listens;         /* this poll also hears peers from which nothing is expected */
    atomic_bool ended;    /* also set by MPI, on any thread */
    transport_request *on_request;
    void *request_context;
    struct pollfd *starter; /* the starter's entry of sleep_on, or NULL */
    long starter_ms;        /* when the starter was polled last */
    bool incomplete;        /* a member was lost: MPI_Finalize would wait for it */
    long judged_ms;         /* when it was last checked that all peers answer */
    char silence[64];
    const char *failed; /* with ended: the reason, or NULL if the process ends */
    struct pollfd *sleep_on;
    nfds_t sleep_count;
};

/* ---- link.c ---- */
/* link_local(): the number of the local member, even if there is none. link_has_local(): whether there is one, in this
 * process. */
unsigned link_local(const struct transport *t);
bool link_has_local(const struct transport *t);
/* Whether frames can be sent to a peer and received from it: not if its job has ended. */
bool link_is_usable(const struct transport *t, unsigned peer);
/* How many members may come later, at most. */
static inline unsigned link_most_added(const struct transport *t)
{
    return SESSION_MOST_ADDED((unsigned)t->job.size - 1);
}
/* How many numbers of members there are, at most. */
static inline size_t link_capacity(const struct transport *t)
{
    return SESSION_MOST_NUMBERS((size_t)t->job.size - 1);
}
/* Fills a member's slot, so that frames can be sent to it. Returns 0 or a negative errno. */
int link_open_peer(struct transport *t, struct member *member);
void link_offer_ring(struct transport *t, unsigned number);
/* Sends one of the transport's own frames. Returns 0 or a negative errno: -EAGAIN, there is no room for it now. */
int link_say(struct transport *t, unsigned number, enum frame_kind kind, const void *bytes, size_t length);
int link_tell(struct transport *t, unsigned number, const struct member_news *news);
/* Stores a descriptor of the session, which the program may close (transport/alive/fd_store.h). */
void link_keep(struct transport *t, struct stored_fd *stored, int fd);
void link_lose(struct transport *t, unsigned number, const char *why);
/* Gives up a peer because this side, or the peer, would wait for ever: the peer is lost at the next poll. Returns
 * -ECONNRESET. */
int link_give_up(struct peer *peer, const char *why);
/* MPI has failed: the session ends. */
void link_fail(struct transport *t);
/* Wakes a peer that sleeps, after something was sent to it. */
void link_ring(struct peer *peer);
/* Reads in the ring how many frames the peer has taken. */
void link_look(struct peer *peer);
/* Tells the peer that a frame has been taken. */
void link_took(struct peer *peer);
/* Receives from a peer's bell; returns the number of records. */
int link_hear(struct transport *t, unsigned number);

/* ---- silence.c ---- */
/* Loses every peer that has not answered for long. Under the owner's lock, when all bells have been heard. */
void silence_judge(struct transport *t);

/* ---- sleep.c ---- */
#define FIRST_DOZE_US 100
#define LONGEST_DOZE_US 10000000
/* Takes back the announcement in the rings that this side sleeps. */
void sleep_over(struct transport *t);
/* Whether a peer has rung since this side announced its sleep. */
bool sleep_was_rung(const struct transport *t);

/* ---- loop.c: the local member, for the application's side ---- */
int loop_attach(struct transport *t, const struct transport_local *local);
/* Passes a frame to the local member, from the application (0) or a worker. */
int loop_frame(struct transport *t, unsigned from, const void *bytes, size_t length);
void loop_meet(struct transport *t, unsigned peer);
void loop_lose(struct transport *t, unsigned peer);
/* The local member sends to the application: a frame, and its half of a bulk operation. */
int loop_send(struct transport *t, const void *bytes, size_t length);
int loop_bulk(struct transport *t, bool take, uint32_t tag, void *memory, size_t length, transport_done *done,
              void *argument);

/* ---- requests.c: the socket to the starter of the session's processes ---- */
/* Opens the socket and sends one end to the starter, if there is a control socket. Returns 0 or a negative errno. */
int starter_open(struct job *job);
/* The descriptor to sleep on, if there is one. */
bool starter_sleep_on(struct transport *t, struct pollfd *descriptor);
/* Sends a message, with a descriptor or -1, which stays the caller's. Returns 0 or a negative errno. */
int starter_tell(struct transport *t, const struct starter_message *message, int fd);
/* Receives messages, from time to time, and when the starter spoke. */
void starter_poll(struct transport *t, bool spoke);

/* ---- receive.c: frames in ---- */
/* Takes one frame of the peer, if one has arrived: returns 1, else 0. */
int receive_frame(struct transport *t, unsigned peer);

/* ---- bulk.c ---- */
/* Finishes bulk operations; returns the number of things that happened. */
int bulk_poll(struct transport *t);
/* Called by the provider: the operation is complete, or broken. */
void bulk_over(struct transport *t, struct bulk *bulk);
void bulk_lose(struct transport *t, unsigned peer);
/* The longest sleep, in microseconds, while bulk operations are under way. */
long bulk_nap(struct transport *t);

#endif
