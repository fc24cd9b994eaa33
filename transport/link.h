/* What link.c and bulk.c share: the members of a session, and what is on its way to and from them. */
#ifndef VOCL_TRANSPORT_LINK_H
#define VOCL_TRANSPORT_LINK_H

#include "base/clock.h"
#include "base/settings.h"
#include "transport/internal.h"
#include "transport/lane.h"

#define FRAME_TAG 2 /* 1 is job.c's */
#define LARGE_TAG 3
#define POSTED 8 /* receives waiting for one peer's frames */
#define HEADER sizeof(struct frame_header)

enum frame_kind {
    FRAME_WHOLE = 1,
    FRAME_LARGE,
    FRAME_LANE,
    FRAME_LOCAL = 0x100 /* or'ed: from or for the local member */
};

struct frame_header {
    uint32_t kind, acked; /* acked: frames of the other direction taken so far */
};

struct inbox {
    struct plugin_request request;
    uint8_t bytes[TRANSPORT_MAX_FRAME + HEADER] __attribute__((aligned(16)));
};

struct outgoing;

struct bulk {
    struct bulk *next;
    unsigned peer;
    bool take, broken;
    unsigned pieces, started, finished;
    uint32_t mpi_tag;
    uint8_t *memory;
    size_t length;
    struct plugin_request requests[SETTINGS_MOST_PIPELINE];
    transport_done *done;
    void *argument;
};

struct peer {
    bool alive;
    struct bell bell;
    struct beat beat;
    pid_t process; /* on this host, or 0 */
    char host[64];
    struct inbox *inboxes;
    unsigned head;
    struct lane lane;
    bool inbox_full; /* the one at head has a frame, which waits for those before it */
    size_t inbox_length;
    uint64_t bytes_out, bytes_in;
    uint32_t sent, received, told; /* frames; told: of received, what the peer knows */
    bool said_sleep;               /* and the peer has not rung since */
    uint8_t *large;
    bool large_local;
    size_t large_length;
    struct plugin_request large_request;
};

struct transport {
    struct transport_callbacks callbacks;
    struct job job;
    bool client;
    struct loop *loop; /* the client's, or NULL */
    struct peer *peers;
    struct outgoing *outgoing, *spare;
    struct bulk *bulks, **bulk_last;
    struct kept wake, waker; /* the ends of a pipe */
    unsigned polls;
    unsigned pieces_at_once;
    long last_moved, active_ns, bulk_nap_us, doze_us, sleep_most_us, look_us;
    bool announced, ended, slept;
    bool incomplete; /* somebody was lost: nobody waits for all any more */
    long judged_ms;  /* when it was last seen who answers */
    char silence[64];
    const char *failed; /* with ended: why, or NULL if the process ends */
    struct pollfd *sleep_on;
    nfds_t sleep_count;
};

/* ---- link.c ---- */
/* Whether that is the number of the local member. */
bool link_is_local(const struct transport *t, unsigned peer);
void link_lose(struct transport *t, unsigned number, const char *why);
/* MPI cannot be used any more. */
void link_fail(struct transport *t);
/* Wake a peer that sleeps. */
void link_ring(struct peer *peer);
/* Take in what its bell says; the number of things. */
int link_hear(struct peer *peer);

/* ---- receive.c: frames in ---- */
/* Have MPI receive a frame of the peer. */
int receive_post(struct transport *t, unsigned peer, unsigned slot);
/* Take one frame of the peer, if there is one: 1, else 0. */
int receive_frame(struct transport *t, unsigned peer);

/* ---- bulk.c ---- */
/* What has moved; the number of things. */
int bulk_poll(struct transport *t);
void bulk_lose(struct transport *t, unsigned peer);
/* How long to sleep at most, in microseconds, while there is something under way. */
long bulk_nap(struct transport *t);

#endif
