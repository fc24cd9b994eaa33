/*
 * Providers: what carries the bytes of a pair of members. Each is one file, or one and those named after it, that fills
 * one struct: transport/mpi/over_mpi.c, transport/shm/ring.c, over_tls*.c, and loop.c for the local member, which is in
 * the same process. link.c, receive.c and bulk.c make frames with windows, bulk data and losses of whatever a pair has.
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

/* One that has arrived: the bytes are private to this process. */
struct arrived {
    struct frame_header header;
    const uint8_t *bytes;
    size_t length;
};

#define PROVIDER_MOST_DESCRIPTORS (SETTINGS_MOST_STREAMS + 1) /* to sleep on, for one member */

/* What a provider cannot do is NULL. None of it blocks. */
struct provider {
    const char *name;
    size_t most_frame; /* longer ones go another way */
    unsigned window;   /* frames that may be on their way to a peer */
    size_t most_bulk;  /* longer bulk data go in pieces of so much, few at a time; 0: there is no such length */
    size_t
        most_eager; /* pieces of so much need no answer: what is no more than four of them goes in such; 0: none do */
    bool polled;    /* it moves only when it is looked at; else there are descriptors to sleep on */
    bool bells;     /* it carries the bell, too; else there is a socket for that */
    bool is_absent; /* there is nothing between the two yet: neither has to answer the other */
    /* By what the peer's `way` has already. 0 or negative errno. NULL: it is open when the peer is there. */
    int (*open)(struct transport *t, unsigned peer);
    /* The frame of that number, from 0: copied. 0, or negative errno: -EXDEV, it has to go another way. */
    int (*send)(struct transport *t, unsigned peer, uint32_t number, struct frame_header header, const void *bytes,
                size_t length);
    /* The frame of that number, if it is the next that is here: it stays until taken() is called. */
    bool (*receive)(struct transport *t, unsigned peer, uint32_t number, struct arrived *frame);
    void (*taken)(struct transport *t, unsigned peer);
    /* A frame of the provider's own (link.h). False: it may not be. */
    bool (*own_frame)(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length);
    /* With bells: take in what has come; the number of things. */
    int (*hear)(struct transport *t, unsigned peer);
    /* Bulk data: to begin with it, which ends with bulk->complete or bulk->broken, and bulk_over(); and, if it is
     * polled, to see how far it is, which says only the former: the number of things that happened. */
    int (*bulk_start)(struct transport *t, struct bulk *bulk);
    int (*bulk_move)(struct transport *t, struct bulk *bulk);
    /* Its memory is the owner's again: the peer is lost. */
    void (*bulk_drop)(struct transport *t, struct bulk *bulk);
    /* From time to time, or NULL: what was said last is followed by something, or nobody would find out that it is lost
     * on the way, as both sides wait then. */
    void (*follow)(struct transport *t, unsigned peer);
    /* The number of things that moved; what it sleeps on; whether it wants to be looked at soon. */
    int (*poll)(struct transport *t, unsigned peer);
    /* Before that: nothing else is to be done, so what waited for this may be. */
    void (*idle)(struct transport *t, unsigned peer);
    unsigned (*sleep_on)(struct transport *t, unsigned peer, struct pollfd *descriptors);
    bool (*restless)(const struct transport *t, unsigned peer);
    /* Something may be over there that nobody tells of; or NULL: nothing is. */
    bool (*unseen)(const struct transport *t, unsigned peer);
    /* The peer is lost: nothing more is sent or received. */
    void (*lose)(struct transport *t, unsigned peer);
    /* And nothing is left of it; forget: in the child of a fork, where it is the parent's. */
    void (*close)(struct transport *t, unsigned peer, bool forget);
};

extern const struct provider provider_mpi, provider_shm, provider_tls, provider_loop;

#endif
