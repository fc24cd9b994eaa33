/*
 * Heartbeats: members of a session tell each other on the bells that they are alive; one that has said nothing for
 * VOCL_PEER_TIMEOUT is lost. A thread of its own sends them. It needs no lock of the owner's, and so sends them also
 * while the owner computes, compiles, or is outside of VOCL. Whether the peers are alive is judged by the owner, when
 * it polls (transport_poll()), and only over times in which it did.
 */
#ifndef VOCL_TRANSPORT_ALIVE_HEARTBEAT_H
#define VOCL_TRANSPORT_ALIVE_HEARTBEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stored_fd;
struct heartbeat;

/* The heartbeat's state for one peer. The memory is the owner's, and is not freed before the end. */
struct beat {
    struct beat *next;
    struct stored_fd *bell;
    atomic_bool on;
    atomic_uint said; /* changes with every other message to the peer */
    unsigned said_before;
    /* Not NULL, if the bell is no socket: receives heartbeats, counts them in carried, and sends one if `say`. */
    void (*carry)(struct beat *beat, bool say);
    void *carrier;
    atomic_uint carried;
    /* Another process reports that the peer lives, also while it is stopped; so silence is a loss. */
    bool vouched;
    /* The connection has ended, or has been without any answer for long. */
    atomic_bool gone;
    unsigned carried_before, silent; /* silent: for this many ticks */
    atomic_long quiet_ms;            /* until then the peer, which is stopped, need not be sent heartbeats */
    /* The owner's: */
    uint32_t heard;
    long heard_ms;
};

/* Starts the thread of a session, or returns NULL if nobody is to be lost by silence. for_program: this process serves
 * the program at the other end of the first bell, and ends with it even where the owner cannot: in MPI_Init, or in a
 * call of the driver's. */
struct heartbeat *heartbeat_start(bool for_program);
void heartbeat_stop(struct heartbeat *heartbeat);
void heartbeat_add(struct heartbeat *heartbeat, struct beat *beat, struct stored_fd *bell);
void heartbeat_remove(struct heartbeat *heartbeat, struct beat *beat);

static inline void heartbeat_said(struct beat *beat, uint32_t frames)
{
    atomic_store_explicit(&beat->said, frames, memory_order_relaxed);
}

/* Records that the owner has listened to all peers, at time now (clock_ms()). */
void heartbeat_listened(struct heartbeat *heartbeat, long now);

#endif
