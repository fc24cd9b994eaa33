/*
 * Providers: a provider carries the bytes of a pair of members. Each fills one struct: transport/mpi/over_mpi.c,
 * transport/core/over_shm.c, transport/stream/provider.c, and transport/core/loop.c for the local member, which is in
 * the same process. link.c, receive.c and bulk.c make frames with windows, bulk data and losses of what the provider of
 * a pair offers.
 */
#ifndef VOCL_TRANSPORT_CORE_PROVIDER_H
#define VOCL_TRANSPORT_CORE_PROVIDER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"

struct transport;
struct bulk;

struct frame_header {
    uint32_t kind, acked; /* acked: frames of the other direction taken so far */
};

/* A frame that has arrived: the bytes are private to this process. */
struct arrived {
    struct frame_header header;
    const uint8_t *bytes;
    size_t length;
};

#define PROVIDER_MOST_DESCRIPTORS (SETTINGS_MOST_STREAMS + 1) /* to sleep on, for one member */

/* Functions that a provider does not support are NULL. None of them blocks. */
struct provider {
    const char *name;
    size_t most_frame; /* longer frames need another provider */
    unsigned window;   /* frames that may be on their way to a peer */
    /* Longer bulk data go in pieces of this size, few at a time; 0: there is no limit. */
    size_t most_bulk;
    /* Pieces of this size need no answer: bulk data of at most four such pieces go in them; 0: no bulk data do. */
    size_t most_eager;
    bool polled;    /* it makes progress only when polled; else it has descriptors to sleep on */
    bool bells;     /* it carries the bell, too; else a socket does */
    bool is_absent; /* the two are not connected yet: neither has to answer the other */
    /* Opens a peer, with what its `way` has already. Returns 0 or a negative errno. NULL: nothing has to be opened. */
    int (*open)(struct transport *t, unsigned peer);
    /* Sends a copy of the frame of that number, from 0. Returns 0 or a negative errno: -EXDEV, another provider has
     * to. */
    int (*send)(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
                size_t length);
    /* Whether the frame of that number is the next that has arrived: it stays valid until taken() is called. */
    bool (*receive)(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame);
    void (*taken)(struct transport *t, unsigned peer);
    /* Handles a frame of the provider's own (link.h). False: the frame is not allowed. */
    bool (*own_frame)(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length);
    /* With bells: receives what has come; returns the number of things. */
    int (*hear)(struct transport *t, unsigned peer);
    /* Bulk data. bulk_start() begins an operation, which ends with bulk->complete or bulk->broken set, and a call of
     * bulk_over(). If polled, bulk_move() makes progress and only sets these; returns the number of things done. */
    int (*bulk_start)(struct transport *t, struct bulk *bulk);
    int (*bulk_move)(struct transport *t, struct bulk *bulk);
    /* The peer is lost, so the operation's memory is its owner's again. */
    void (*bulk_drop)(struct transport *t, struct bulk *bulk);
    /* Called from time to time, or NULL: sends something after the last message. If that was lost on the way, nobody
     * would notice otherwise, as both sides would wait. */
    void (*follow)(struct transport *t, unsigned peer);
    /* poll() makes progress and returns the number of things that happened. sleep_on() lists the descriptors to sleep
     * on. restless(): whether it should be polled soon. */
    int (*poll)(struct transport *t, unsigned peer);
    /* Called before a sleep: nothing else is to be done, so work that was put off may be. */
    void (*idle)(struct transport *t, unsigned peer);
    unsigned (*sleep_on)(struct transport *t, unsigned peer, struct pollfd *descriptors);
    bool (*restless)(const struct transport *t, unsigned peer);
    /* Whether something may complete without a notification; NULL: nothing can. */
    bool (*unseen)(const struct transport *t, unsigned peer);
    /* The peer is lost: sends and receives nothing more. */
    void (*lose)(struct transport *t, unsigned peer);
    /* Frees everything; forget: in the child of a fork, where it belongs to the parent. */
    void (*close)(struct transport *t, unsigned peer, bool forget);
};

extern const struct provider provider_mpi, provider_shm, provider_tls, provider_loop;

#endif
