/*
 * The provider by sockets, with TLS (transport/plugin/tls.h) or without (plain.h): a pair of members has several
 * connections, its streams.
 *
 *     provider.c   the provider itself; poll_set.c: which of many connections can be read
 *     streams.c    the connections of a pair are made and freed
 *     frames.c     frames and the bell, by one connection; aside.c: far away, frames by those for bulk data
 *     bulk.c       bulk data, by the others: give.c, take.c; reach.c: read from the other process's memory
 *     able.c       what saves bytes on slow links: pace.c, how fast they are; dedup.c, what the other side has
 *     distance.c   round trips, and how many connections and bytes under way they want
 *     plain.c      connections without TLS
 */
#ifndef VOCL_TRANSPORT_STREAM_STREAM_H
#define VOCL_TRANSPORT_STREAM_STREAM_H

#include "transport/core/link.h"
#include "transport/plugin/pack.h"
#include "transport/plugin/tls.h"
#include "transport/stream/dedup.h"
#include "transport/stream/pace.h"

#define BEAT 255 /* the index of the connection for heartbeats; 0 is the one for frames, others are for bulk data */

/* A connection. */
struct stream {
    struct stored_fd socket;
    struct tls *tls;
    const struct tls_plugin *by; /* what carries it: TLS, or a socket as it is (plain.h) */
    bool blocked;                /* it has not taken all that there is for it */
    unsigned peer;
    uint32_t round; /* in which something was there to be read (poll_set.c) */
    bool dry;       /* what there was has been read: nothing is left of it in TLS's own memory */
};

/* Plain text that a connection has not taken yet. */
struct text {
    uint8_t *bytes;
    size_t at, end, capacity;
};

/* A connection for bulk data. What goes through is chunks: a header, and as many bytes as it says. An offer has the
 * first bytes; others may come before it, by another connection. Offers go by any, too, so those of a bucket of tags
 * have turns. */
enum chunk_kind { CHUNK_OFFER = 1, CHUNK_DATA, CHUNK_NOTHING, CHUNK_FRAME };
/* What follows: the bytes; packed (transport/plugin/pack.h); or the hash of those in a slot of this connection
 * (dedup.h). */
enum chunk_how { CHUNK_PLAIN, CHUNK_PACKED, CHUNK_KNOWN };

struct chunk {
    uint32_t kind, id; /* the giver's number for what is given, not 0; or for a frame aside */
    uint32_t tag, how;
    uint64_t whole;         /* of all that is given */
    uint64_t offset;        /* in it, of the bytes that this is for, */
    uint64_t length;        /* and how many */
    uint32_t slot, carried; /* slot: where they are, or are to be kept, or 0; carried: what follows, if not plain */
    uint32_t turn, unused;  /* turn: of an offer, among those of its bucket */
};

/* What another connection has to say, as it knows what is in the slot. */
struct reference {
    struct reference *next;
    struct chunk chunk;
    struct bulk *bulk;
    uint8_t hash[DEDUP_HASH];
};

/* Bytes that came before anybody took them. */
struct kept_bytes {
    struct kept_bytes *next;
    uint64_t offset;
    size_t length, got;
    uint8_t bytes[];
};

/* A frame that goes by a connection for bulk data. */
struct aside {
    TAILQ_ENTRY(aside) in;
    uint32_t id;
    size_t length, got; /* got: of what comes */
    uint8_t bytes[];
};

TAILQ_HEAD(asides, aside);

struct pipe {
    struct stream stream;
    bool said; /* something, and nothing that follows it */
    /* out */
    struct bulk *giving;
    struct aside *going_aside;
    uint8_t first[16384]; /* the header, and what fits into a record with it */
    size_t first_at, first_end;
    const uint8_t *rest;
    size_t rest_length;
    struct reference *references, **references_last;
    uint8_t *piece, *packed; /* a chunk as it was when it was hashed; and packed; or NULL */
    /* in */
    struct chunk chunk;
    size_t header_got, chunk_got, carried_got;
    uint8_t *carried;           /* what is not plain, until it is whole */
    struct kept_bytes *keeping; /* what comes, if nobody takes it yet, */
    struct aside *arriving;     /* or if it is a frame */
    struct bulk *taking;
    uint8_t *into;
};

/* Where what is given is, if it can be read there: frames of reach.c. */
#define REACH_WITNESS 16

struct reach_offer {
    uint32_t id, tag, turn, unused;
    uint64_t length;
    struct reach_place place;
};

TAILQ_HEAD(offers, offer);

/* Given by the other side, and not taken yet. */
struct offer {
    TAILQ_ENTRY(offer) by_id, by_tag; /* by_tag: if it is offered, or early */
    uint32_t id, tag;
    bool offered, early; /* early: before its turn; neither: only bytes of it came so far */
    uint32_t turn;
    uint64_t length, promised; /* promised: bytes of chunks that have begun */
    bool there;                /* they are to be read where they are: */
    struct reach_place place;
    struct kept_bytes *kept;
};

/* Messages of the connection for frames: a word of what it is, one of the length, and so many bytes. */
enum message_kind {
    MESSAGE_BELL = 1,
    MESSAGE_FRAME,
    MESSAGE_LARGE,
    MESSAGE_PART,
    MESSAGE_WANT,
    MESSAGE_ABLE,
    MESSAGE_PLACE
};

struct message {
    uint32_t kind, length;
};

/* Go on with what is given: all of it. Or, with id 0, only so much has been taken of all that came. */
struct want {
    uint32_t id, unused;
    uint64_t taken, aside_taken; /* aside_taken: of frames */
};

/* Of a frame that goes aside, or a part of a large one. */
struct place {
    struct frame_header header; /* of a frame */
    uint32_t id, length;
};

/* What who takes can do, said once: it unpacks, and keeps so many bytes of pieces. */
struct able {
    uint32_t unpacks, unused;
    uint64_t room;
};

#define WAY_BUCKETS 128
#define MOST_PIPES (PROVIDER_MOST_DESCRIPTORS - 1)
#define MOST_PART (64u << 10)
#define MOST_MESSAGE (TRANSPORT_MAX_FRAME + HEADER)
#define FRAMES_IN (2 * (MOST_MESSAGE + sizeof(struct message)))

struct streams {
    bool tunnelled; /* some of it goes through what started the workers, as they do not reach each other */
    struct stream frames;
    struct stream beat;           /* used by the heartbeat thread alone */
    struct stored_fd voucher;     /* where who carries it all says that there is a program, or -1 */
    unsigned messages, followed;  /* said on the connection for frames; up to where something has followed */
    struct text urgent, ordinary; /* to be sent: urgent between two messages of the others */
    size_t message_left;          /* of the ordinary one that has begun */
    uint8_t in[FRAMES_IN];
    size_t in_at, in_end;
    bool frame_here; /* the message at in_at is a frame that has not been taken, */
    uint8_t *large;  /* or this, or what is `here` */
    struct frame_header large_header;
    size_t large_length, large_got;
    /* frames aside */
    bool is_far;           /* what a connection may have under way bounds what it carries */
    uint32_t last_aside;   /* its number */
    size_t aside_unsent;   /* bytes that no connection has taken */
    uint64_t aside_window; /* bytes that may be with the other side, */
    uint64_t aside_given, aside_given_taken;
    uint64_t aside_taken, aside_confirmed;
    struct asides asides;   /* which the next connection that has room takes, before bulk data */
    struct asides arriving; /* whose place has not come */
    unsigned arriving_count;
    size_t aside_kept;
    bool waits_aside; /* what comes next is this one: */
    struct place place;
    struct aside *here; /* it has come */
    const char *broken;
    long us;                   /* of a round trip */
    unsigned pipe_count, used; /* used: so many, the first, get something new to carry */
    bool uses_all;             /* fewer were tried, and carried less; */
    uint64_t rate_before;      /* than so much */
    bool pipes_blocked;        /* any of them */
    unsigned next_pipe;        /* whose turn it is first */
    struct pipe *pipes;
    /* bulk data */
    uint32_t last_id;
    unsigned takes, gives;              /* under way */
    unsigned choices;                   /* of what goes next */
    struct bulks giving;                /* of which something has yet to begin */
    struct bulks takers[WAY_BUCKETS];   /* what nobody has offered yet, by tag; */
    struct bulks taking[WAY_BUCKETS];   /* and what somebody has, by id, until it is complete */
    struct offers offers[WAY_BUCKETS];  /* by id; */
    struct offers offered[WAY_BUCKETS]; /* and by tag, in the order of their offering; */
    struct offers early[WAY_BUCKETS];   /* or those whose turn has not come */
    uint32_t turns_given[WAY_BUCKETS], turns_taken[WAY_BUCKETS];
    unsigned offer_count;
    uint64_t window;             /* bytes that may be with the other side before they are asked for */
    uint64_t given, given_taken; /* bytes sent, and those of them that the other side says it has taken */
    uint64_t taken, confirmed;   /* and of the other side's */
    uint64_t kept;               /* bytes that nobody takes yet */
    struct pace pace;
    struct able able, other;       /* this side, and the other one */
    bool measures, looks, packing; /* how fast it is; for what the other side has; it may pack */
    const struct pack_plugin *packs;
    struct packer *packer;
    struct dedup_index *known; /* there */
    struct dedup_store *store; /* here */
    uint64_t carried;          /* of the bytes given, those that went through */
    struct {                   /* reach.c */
        bool within_host;      /* the other side is a process of this user, too */
        bool able;             /* the other side may be able to read what is given where it is */
        uint8_t *witness;
        struct bulks given, taking; /* of which the other side has yet to say so; and what is to be read */
        uint64_t bytes;             /* given so */
    } reach;
};

static inline struct streams *streams_of(const struct transport *t, unsigned peer)
{
    return t->peers[peer].way;
}

static inline unsigned bucket(uint32_t number)
{
    return number % WAY_BUCKETS;
}

/* ---- streams.c ---- */
/* pipes 0: it is for one connection, which becomes the bell beside MPI. NULL: no memory. */
struct streams *streams_new(unsigned pipes);
/* The connection of that index (transport/rendezvous/greeting.h); and whether all are there. */
struct stream *streams_at(struct streams *streams, unsigned index);
bool streams_is_whole(const struct streams *streams);
/* Frees it and closes its sockets. forget: they are the parent's, whose session goes on. */
void streams_free(struct streams *streams, bool forget);
/* The socket becomes the bell. False: no memory. And: all is freed but the bell, whose descriptor is returned. */
bool streams_settle_bell(struct streams *streams, int fd);
int streams_take_bell(struct streams *streams);
/* Takes sockets that both members were handed, except those that it has already. False: no memory. */
bool pair_settle(struct streams *streams, const int sockets[PAIR_SOCKETS]);
/* Streams of these sockets, which it takes in any case. NULL: no memory. */
struct streams *pair_way(const int sockets[PAIR_SOCKETS]);

/* ---- provider.c ---- */
extern const struct tls_plugin *tls_plugin; /* when it is loaded */
/* The streams are broken; the peer is lost when that is noticed. */
void streams_break(struct streams *streams, struct peer *peer, const char *why);
/* Those that are used share what they may take before it is sent. */
void streams_share(struct streams *streams);
/* Whether the connection can be used: its socket may have another number. */
bool stream_ready(struct stream *stream);
/* As transport/plugin/tls.h's: how long it took is written down (base/timeline.h). */
ssize_t stream_read(struct stream *stream, void *bytes, size_t length);
ssize_t stream_write(struct stream *stream, const void *bytes, size_t length);
/* What waits for the connections wakes who sleeps, for he does not know of it. */
void streams_wake(struct transport *t);

/* ---- frames.c ---- */
int tls_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
             size_t length);
bool tls_receive(struct transport *t, unsigned number, uint32_t wanted, struct arrived *frame);
void tls_taken(struct transport *t, unsigned number);
int tls_hear(struct transport *t, unsigned number);
/* The bell's. */
void tls_ring(void *owner, unsigned peer, const struct bell_record *record);
/* What is there to be sent, as far as the connection takes it. */
void frames_push(struct transport *t, unsigned number);
/* Ask for what was offered; with id 0, only tell what has been taken. */
void streams_want(struct transport *t, unsigned peer, uint32_t id);
void frames_say_able(struct streams *streams);
void frames_free(struct streams *streams);

/* ---- aside.c ---- */
/* Whether a frame of so many bytes is to go aside, or wait until there is room for that, all of it. */
bool aside_is_due(struct streams *streams, size_t length);
bool aside_has_room(const struct streams *streams, size_t length);
/* Whether the other side has room for a part of one that has begun. */
bool aside_has_window(const struct streams *streams, size_t length);
/* It does, by the first connection that has room for it; its number is the next after streams->last_aside. False: no
 * memory. */
bool aside_send(struct streams *streams, const void *bytes, size_t length);
/* The one of the connection is all with it. */
void aside_sent(struct streams *streams, struct pipe *pipe);
/* One comes, pipe->chunk. False: it may not. */
bool aside_begins(struct streams *streams, struct pipe *pipe);
/* Whether the one is here, streams->here, that is waited for, streams->place: NULL, or what is wrong. */
const char *aside_look(struct streams *streams);
/* What was here is done with. */
void aside_taken(struct transport *t, unsigned peer);
void aside_free_all(struct streams *streams);

/* ---- able.c ---- */
/* us: of a round trip; keeps: copies of what comes, for the other side. True: the other side is to be told. */
bool able_open(struct streams *streams, long us, bool keeps);
/* The other side can do this, a struct able: NULL, or what is wrong. */
const char *able_take(struct streams *streams, const uint8_t *bytes);
/* The packing plugin, if there is one. */
const struct pack_plugin *able_packing(struct streams *streams);
/* How fast the link is, while it carries something. */
void able_look(struct streams *streams, unsigned peer);
void able_close(struct streams *streams);

/* ---- give.c ---- */
#define FIRST (64u << 10) /* bytes that go with an offer */
#define CHUNK (256u << 10)
/* A connection's turn: the number of things that happened. */
int tls_give(struct transport *t, unsigned peer, struct pipe *pipe);
/* What it has said is followed by something, if it takes that now: what a system holds back until then comes. */
void tls_give_nothing(struct transport *t, unsigned peer, struct pipe *pipe);
void references_drop(struct pipe *pipe, const struct bulk *bulk);

/* ---- take.c ---- */
/* A connection's turn: whether something came. */
int tls_take(struct transport *t, unsigned peer, struct pipe *pipe);
/* A take looks whether it was offered: it is the last of its tag, and those before it have looked. */
void take_expect(struct transport *t, struct bulk *bulk);
/* The other side says where what it gives is. False: it may not. */
bool tls_bulk_offered(struct transport *t, unsigned peer, const struct reach_offer *said);
/* What was to be taken there has been, or comes by the connections. */
void tls_bulk_took(struct transport *t, struct bulk *bulk, bool failed);
void offers_free(struct streams *streams);

/* ---- reach.c ---- */
void reach_open(struct streams *streams);
void reach_close(struct streams *streams);
/* It may go so, and then soon. */
void reach_expect(struct transport *t, struct bulk *bulk);
/* Whether the other side has been told where it is, and will say that it has it. */
bool reach_give(struct transport *t, struct bulk *bulk);
/* Its memory is the owner's again. */
void reach_drop(struct streams *streams, const struct bulk *bulk);
/* What is said of it: FRAME_THERE and FRAME_TOOK. False: it may not. */
bool reach_frame(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length);
/* What was offered so is taken: the number of things that happened. */
int reach_turn(struct transport *t, unsigned peer);

/* ---- bulk.c ---- */
/* Moves it to the end of that list of the streams', or to none: NULL. */
void bulk_list(struct bulk *bulk, struct bulks *list);
/* The most that the streams of a pair keep, and what the other side may count on; and of frames aside. */
#define WINDOW_LEAST (16u << 20)
#define WINDOW_MOST (256u << 20)
#define ASIDE_MOST (64u << 20)
int tls_bulk_start(struct transport *t, struct bulk *bulk);
void tls_bulk_drop(struct transport *t, struct bulk *bulk);
/* What was given where it is (reach.c) goes by the connections. */
void tls_bulk_send(struct transport *t, struct bulk *bulk);
/* The other side wants what was offered. False: it may not. */
bool tls_bulk_wanted(struct transport *t, unsigned peer, const struct want *want);
int tls_bulk_poll(struct transport *t, unsigned peer);
void tls_bulk_follow(struct transport *t, unsigned peer);

/* ---- poll_set.c ---- */
/* All that there are, and those that come, are heard. 0 or negative errno. */
int poll_set_open(struct transport *t);
void poll_set_close(struct transport *t);
/* A peer of provider_tls comes, or is lost. */
void poll_set_meet(struct transport *t, unsigned number);
void poll_set_lose(struct transport *t, unsigned number);
/* A new round: who has something to say in it, or nobody, if it is not one to look; and whether this one has not, or is
 * not to be read from. */
void poll_set_look(struct transport *t);
bool poll_set_are_quiet(const struct transport *t, const struct stream *stream);

#endif
