/*
 * The provider by sockets, with TLS (transport/plugin/tls.h) or without (plain.h): a pair of members has several
 * connections, its streams.
 *
 *     provider.c   the provider itself; poll_set.c: which of many connections can be read
 *     streams.c    creates and frees the connections of a pair
 *     frames.c     frames and the bell, by one connection; aside.c: over long distances, frames by those for bulk data
 *     bulk.c       bulk data, by the others: give.c, take.c; cross_memory.c: copied from the other process's memory,
 *                  also by threads: copiers.c
 *     able.c       saves bytes on slow links: pace.c, how fast they are; dedup.c, what the other side has
 *     distance.c   round trips, and how many connections and bytes under way they need
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
    const struct tls_plugin *by; /* the functions that carry it: TLS, or a plain socket (plain.h) */
    bool blocked;                /* some bytes for it do not fit into its socket */
    unsigned peer;
    uint32_t round; /* of the poll set, in which it was last readable (poll_set.c) */
    bool dry;       /* everything was read, also what TLS had in its own memory */
};

/* Plain text that the connection has not taken yet. */
struct text {
    uint8_t *bytes;
    size_t at, end, capacity;
};

/* A connection for bulk data carries chunks: a header, and as many bytes as it says. An offer holds the first bytes of
 * an operation; later ones may arrive before it, by another connection. Offers also go by any connection, so those of a
 * bucket of tags have turns. */
enum chunk_kind { CHUNK_OFFER = 1, CHUNK_DATA, CHUNK_NOTHING, CHUNK_FRAME };
/* The content of a chunk: the bytes; the packed bytes (transport/plugin/pack.h); or the hash of the bytes in a slot of
 * this connection (dedup.h). */
enum chunk_how { CHUNK_PLAIN, CHUNK_PACKED, CHUNK_KNOWN };

struct chunk {
    uint32_t kind, id; /* id: the giver's number for the operation, not 0; or for a frame aside */
    uint32_t tag, how;
    uint64_t whole;  /* length of the operation */
    uint64_t offset; /* of the chunk's bytes in the operation */
    uint64_t length; /* how many bytes */
    /* slot: where the bytes are, or are to be kept, or 0; carried: bytes of content, if not plain. */
    uint32_t slot, carried;
    uint32_t turn, unused; /* turn: of an offer, among those of its bucket */
};

/* A chunk that another connection has to send, since the piece is in one of its slots. */
struct reference {
    struct reference *next;
    struct chunk chunk;
    struct bulk *bulk;
    uint8_t hash[DEDUP_HASH];
};

/* Bytes that arrived before the operation that takes them began. */
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
    size_t length, got; /* got: received bytes */
    uint8_t bytes[];
};

TAILQ_HEAD(asides, aside);

struct pipe {
    struct stream stream;
    bool said; /* something was sent, and nothing after it */
    /* sending */
    struct bulk *giving;
    struct aside *going_aside;
    uint8_t first[16384]; /* the header, and the bytes that fit into a TLS record with it */
    size_t first_at, first_end;
    const uint8_t *rest;
    size_t rest_length;
    struct reference *references, **references_last;
    uint8_t *piece, *packed; /* a copy of the chunk that is hashed; its packed bytes; or NULL */
    /* receiving */
    struct chunk chunk;
    size_t header_got, chunk_got, carried_got;
    uint8_t *carried;           /* content that is not plain, until it is complete */
    struct kept_bytes *keeping; /* where content goes for which no take has begun */
    struct aside *arriving;     /* where a frame's content goes */
    struct bulk *taking;
    uint8_t *into;
};

/* Announces that bulk data can be read in the giver's memory: a frame of cross_memory.c. */
#define CROSS_MEMORY_WITNESS 16

struct cross_memory_offer {
    uint32_t id, tag, turn, unused;
    uint64_t length;
    struct cross_memory_place place;
};

TAILQ_HEAD(offers, offer);

/* An operation that the other side offers, and that nobody takes yet. */
struct offer {
    TAILQ_ENTRY(offer) by_id, by_tag; /* by_tag: in the list `offered` or `early` */
    uint32_t id, tag;
    bool offered, early; /* early: before its turn; neither: only chunks after the first have arrived */
    uint32_t turn;
    uint64_t length, promised; /* promised: bytes of chunks that have begun */
    bool there;                /* it is to be read in the giver's memory, at place */
    struct cross_memory_place place;
    struct kept_bytes *kept;
};

/* Messages on the connection for frames: a word for the kind, one for the length, and so many bytes. */
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

/* Asks for the rest of an offer. With id 0, only reports how many of all received bytes have been taken. */
struct want {
    uint32_t id, unused;
    uint64_t taken, aside_taken; /* aside_taken: bytes of frames */
};

/* The place in the order of a frame that goes aside, or of a part of a large one. */
struct place {
    struct frame_header header; /* the frame's */
    uint32_t id, length;
};

/* Abilities of the taker, sent once: whether it unpacks, and how many bytes of pieces it keeps. */
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
    bool tunnelled; /* some connections go through the starter of the workers, since the members do not reach each other
                     */
    struct stream frames;
    struct stream beat; /* used by the heartbeat thread only */
    /* The socket on which the carrier of the connections reports that the program lives, or -1. */
    struct stored_fd voucher;
    /* messages: sent on the connection for frames; followed: the last one after which another was sent. */
    unsigned messages, followed;
    struct text urgent, ordinary; /* unsent text: urgent messages go between two ordinary ones */
    size_t message_left;          /* unsent bytes of the ordinary message that has begun */
    uint8_t in[FRAMES_IN];
    size_t in_at, in_end;
    bool frame_here; /* a frame has arrived and not been taken: the message at in_at, or `large`, or `here` */
    uint8_t *large;  /* memory of a large frame, or NULL */
    struct frame_header large_header;
    size_t large_length, large_got;
    /* frames aside */
    bool is_far;           /* the limit of bytes under way determines a connection's rate */
    uint32_t last_aside;   /* the number of the last one that was sent */
    size_t aside_unsent;   /* bytes that no connection has taken */
    uint64_t aside_window; /* bytes that the other side may have without having taken them */
    uint64_t aside_given, aside_given_taken;
    uint64_t aside_taken, aside_confirmed;
    struct asides asides;   /* for the next connection that has room, before bulk data */
    struct asides arriving; /* received, before their turn in the order */
    unsigned arriving_count;
    size_t aside_kept;
    bool waits_aside; /* the next frame in the order is the one of `place` */
    struct place place;
    struct aside *here; /* that frame, when it has arrived */
    const char *broken;
    long us;                   /* of a round trip */
    unsigned pipe_count, used; /* used: only the first so many get new chunks */
    bool uses_all;             /* fewer were tried, and carried less than rate_before */
    uint64_t rate_before;      /* the rate with all of them */
    bool pipes_blocked;        /* any of them is blocked */
    unsigned next_pipe;        /* the one that has the first turn */
    struct pipe *pipes;
    /* bulk data */
    uint32_t last_id;
    unsigned takes, gives;              /* operations under way */
    unsigned choices;                   /* calls of choose() (give.c) */
    struct bulks giving;                /* not completely begun */
    struct bulks takers[WAY_BUCKETS];   /* not offered yet, by tag; */
    struct bulks taking[WAY_BUCKETS];   /* offered, and not complete, by id */
    struct offers offers[WAY_BUCKETS];  /* by id; */
    struct offers offered[WAY_BUCKETS]; /* by tag, in the order of the offers; */
    struct offers early[WAY_BUCKETS];   /* before their turn */
    uint32_t turns_given[WAY_BUCKETS], turns_taken[WAY_BUCKETS];
    unsigned offer_count;
    uint64_t window;             /* bytes that may be with the other side without being asked for */
    uint64_t given, given_taken; /* bytes sent; bytes that the other side says it has taken */
    uint64_t taken, confirmed;   /* bytes taken; bytes that the other side knows of */
    uint64_t kept;               /* bytes received, and not claimed by a take yet */
    struct pace pace;
    struct able able, other; /* abilities of this side, and of the other */
    /* measures: the rate; looks: for pieces that the other side has; packing: it may pack. */
    bool measures, looks, packing;
    const struct pack_plugin *packs;
    struct packer *packer;
    struct dedup_index *known; /* pieces that the other side has */
    struct dedup_store *store; /* pieces that this side keeps */
    uint64_t carried;          /* bytes on the link for those of `given` */
    struct {                   /* cross_memory.c */
        bool within_host;      /* the other side is a process of the same user and host */
        bool able;             /* the other side may be able to copy from this process's memory */
        uint8_t *witness;
        struct bulks given, taking; /* given: not confirmed yet; taking: to be copied */
        uint64_t bytes;             /* given in this way */
    } cross_memory;
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
/* Returns streams with so many connections for bulk data, or NULL if memory is exhausted. pipes 0: only one connection,
 * which becomes the bell beside MPI. */
struct streams *streams_new(unsigned pipes);
/* Returns the connection of that index (transport/rendezvous/greeting.h). */
struct stream *streams_at(struct streams *streams, unsigned index);
/* Whether all connections exist. */
bool streams_is_whole(const struct streams *streams);
/* Frees the streams and closes their sockets. forget: they belong to the parent of this process, whose session goes
 * on. */
void streams_free(struct streams *streams, bool forget);
/* streams_settle_bell(): makes fd the bell; false: memory is exhausted. streams_take_bell(): frees everything but the
 * bell, and returns its descriptor. */
bool streams_settle_bell(struct streams *streams, int fd);
int streams_take_bell(struct streams *streams);
/* Takes sockets that were handed to both members, except for connections that exist already. False: memory is
 * exhausted. */
bool pair_settle(struct streams *streams, const int sockets[PAIR_SOCKETS]);
/* Returns streams of these sockets, which it takes in any case. NULL: memory is exhausted. */
struct streams *pair_way(const int sockets[PAIR_SOCKETS]);

/* ---- provider.c ---- */
extern const struct tls_plugin *tls_plugin; /* NULL until it is loaded */
/* Breaks the streams: the peer is lost when that is noticed. */
void streams_break(struct streams *streams, struct peer *peer, const char *why);
/* Divides the bytes that may be unsent among the connections in use. */
void streams_share(struct streams *streams);
/* Whether the connection can be used: its socket may have got another number. */
bool stream_ready(struct stream *stream);
/* As read and write of transport/plugin/tls.h, with the time in the timeline (base/timeline.h). */
ssize_t stream_read(struct stream *stream, void *bytes, size_t length);
ssize_t stream_write(struct stream *stream, const void *bytes, size_t length);
/* Wakes the sleeping thread, which does not know that something waits for a connection. */
void streams_wake(struct transport *t);

/* ---- frames.c ---- */
int tls_send(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
             size_t length);
bool tls_receive(struct transport *t, unsigned number, uint32_t wanted, struct arrived *frame);
void tls_taken(struct transport *t, unsigned number);
int tls_hear(struct transport *t, unsigned number);
/* Sends a record of the bell. */
void tls_ring(void *owner, unsigned peer, const struct bell_record *record);
/* Sends what the connection takes. */
void frames_push(struct transport *t, unsigned number);
/* Asks for the rest of an offer; with id 0, only reports how much has been taken. */
void streams_want(struct transport *t, unsigned peer, uint32_t id);
void frames_say_able(struct streams *streams);
void frames_free(struct streams *streams);

/* ---- aside.c ---- */
/* Whether a frame of this length should go aside. */
bool aside_is_due(struct streams *streams, size_t length);
/* Whether there is room for all of the frame. */
bool aside_has_room(const struct streams *streams, size_t length);
/* Whether the other side has room for another part of a frame. */
bool aside_has_window(const struct streams *streams, size_t length);
/* Sends a frame aside, by the first connection that has room; its number is the next after streams->last_aside. False:
 * memory is exhausted. */
bool aside_send(struct streams *streams, const void *bytes, size_t length);
/* The connection has taken the whole frame. */
void aside_sent(struct streams *streams, struct pipe *pipe);
/* A frame aside arrives, pipe->chunk. False: it is not allowed. */
bool aside_begins(struct streams *streams, struct pipe *pipe);
/* Looks whether the frame of streams->place has arrived, and sets streams->here. Returns NULL, or what is wrong. */
const char *aside_look(struct streams *streams);
/* Frees the frame streams->here. */
void aside_taken(struct transport *t, unsigned peer);
void aside_free_all(struct streams *streams);

/* ---- able.c ---- */
/* us: the round trip; keeps: this side keeps copies of pieces for the other. Whether the other side has to be sent its
 * abilities. */
bool able_open(struct streams *streams, long us, bool keeps);
/* Takes the other side's abilities, a struct able. Returns NULL, or what is wrong. */
const char *able_take(struct streams *streams, const uint8_t *bytes);
/* Returns the packing plugin, or NULL. */
const struct pack_plugin *able_packing(struct streams *streams);
/* Measures the link while it carries something. */
void able_look(struct streams *streams, unsigned peer);
void able_close(struct streams *streams);

/* ---- give.c ---- */
#define FIRST (64u << 10) /* bytes that go with an offer */
#define CHUNK (256u << 10)
/* Sends by a connection, in its turn: returns the number of things that happened. */
int tls_give(struct transport *t, unsigned peer, struct pipe *pipe);
/* Sends an empty chunk after the last one, if the connection takes it now: systems may hold a last message back. */
void tls_give_nothing(struct transport *t, unsigned peer, struct pipe *pipe);
void references_drop(struct pipe *pipe, const struct bulk *bulk);

/* ---- take.c ---- */
/* Receives from a connection, in its turn: whether something came. */
int tls_take(struct transport *t, unsigned peer, struct pipe *pipe);
/* Looks whether a take was offered already. It is the last take of its tag, and those before it have looked. */
void take_expect(struct transport *t, struct bulk *bulk);
/* The other side announces where it gives. False: that is not allowed. */
bool tls_bulk_offered(struct transport *t, unsigned peer, const struct cross_memory_offer *said);
/* A copy from the giver's memory is complete, or has failed, and its data come by the connections. */
void tls_bulk_took(struct transport *t, struct bulk *bulk, bool failed);
void offers_free(struct streams *streams);

/* ---- cross_memory.c ---- */
TAILQ_HEAD(copies, copy);
/* A piece of bulk data that is copied from the giver's memory. */
struct copy {
    TAILQ_ENTRY(copy) in;
    struct bulk *bulk;
    pid_t giver;
    struct cross_memory_place place;
    uint64_t offset;
    uint8_t *into;
    size_t length;
    bool failed;
};
/* Copies a piece, on any thread. False: the giver's memory cannot be read, or is not valid any more. */
bool cross_memory_copy(const struct copy *copy);
void cross_memory_open(struct streams *streams);
void cross_memory_close(struct streams *streams);
/* Marks an operation that may be copied from memory, and so completes soon. */
void cross_memory_expect(struct transport *t, struct bulk *bulk);
/* Whether the operation has been announced, and the other side will confirm it. */
bool cross_memory_give(struct transport *t, struct bulk *bulk);
/* The operation's memory is its owner's again. */
void cross_memory_drop(struct transport *t, const struct bulk *bulk);
/* Handles FRAME_THERE and FRAME_TOOK. False: the frame is not allowed. */
bool cross_memory_frame(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length);
/* Copies announced operations: returns the number of things that happened. */
int cross_memory_turn(struct transport *t, unsigned peer);

/* ---- copiers.c ---- */
/* Whether a thread will soon have time for a copy. */
bool copiers_are_free(struct transport *t);
/* Has a thread do it. False: memory is exhausted. */
bool copiers_give(struct transport *t, const struct copy *copy);
/* Returns one that is over; false: there is none. */
bool copiers_next(struct transport *t, struct copy *copy);
/* No thread touches the operation or its memory any more. */
void copiers_forget(struct transport *t, const struct bulk *bulk);
void copiers_close(struct transport *t);

/* ---- bulk.c ---- */
/* Moves an operation to the end of a list of the streams, or to none: NULL. */
void bulk_list(struct bulk *bulk, struct bulks *list);
/* Bytes that the streams of a pair keep: the least and most for bulk data, which the other side may count on; and for
 * frames aside. */
#define WINDOW_LEAST (16u << 20)
#define WINDOW_MOST (256u << 20)
#define ASIDE_MOST (64u << 20)
int tls_bulk_start(struct transport *t, struct bulk *bulk);
void tls_bulk_drop(struct transport *t, struct bulk *bulk);
/* Sends what was announced to be copied (cross_memory.c) by the connections. */
void tls_bulk_send(struct transport *t, struct bulk *bulk);
/* The other side asks for the rest of an offer. False: that is not allowed. */
bool tls_bulk_wanted(struct transport *t, unsigned peer, const struct want *want);
int tls_bulk_poll(struct transport *t, unsigned peer);
void tls_bulk_follow(struct transport *t, unsigned peer);

/* ---- poll_set.c ---- */
/* Makes a poll set of all connections; later ones are added. Returns 0 or a negative errno. */
int poll_set_open(struct transport *t);
void poll_set_close(struct transport *t);
/* Adds the connections of a peer of provider_tls; and removes them. */
void poll_set_meet(struct transport *t, unsigned number);
void poll_set_lose(struct transport *t, unsigned number);
/* Begins a round: asks which connections can be read, unless this poll does not read. */
void poll_set_look(struct transport *t);
/* Whether this connection has nothing to read, or is not to be read from. */
bool poll_set_are_quiet(const struct transport *t, const struct stream *stream);

#endif
