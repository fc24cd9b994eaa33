/*
 * Heartbeats: members of a session tell each other on the bells that they are there, and one that has said nothing for
 * VOCL_PEER_TIMEOUT is lost. A thread of its own says it, needs no lock of the owner's, and so says it also while the
 * owner computes, compiles, or is outside of VOCL: who is alive answers. Whether others are is judged by the owner,
 * when it listens (transport_poll()), and only over times in which it did.
 */
#ifndef VOCL_TRANSPORT_ALIVE_HEARTBEAT_H
#define VOCL_TRANSPORT_ALIVE_HEARTBEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stored_fd;
struct heartbeat;

/* What of it belongs to one peer; the memory is the owner's, and stays. */
struct beat {
    struct beat *next;
    struct stored_fd *bell;
    atomic_bool on;
    atomic_uint said; /* changes with whatever else the peer is told */
    unsigned said_before;
    /* Where the bell is no socket: take in what came, and say it. How often it came is counted in carried. */
    void (*carry)(struct beat *beat, bool say);
    void *carrier;
    atomic_uint carried;
    bool vouched;     /* what else comes there says that it lives, also while it is stopped: who is silent is lost */
    atomic_bool gone; /* what carried it has ended, or has been without any answer for long */
    unsigned carried_before, silent; /* silent: since so many ticks */
    atomic_long quiet_ms;            /* until then the peer, which is stopped, need not be told */
    /* the owner's: */
    uint32_t heard;
    long heard_ms;
};

/* One for a session, or NULL, where nobody is to be lost so. for_program: this process is for the program at the other
 * end of the first bell, and ends with it also where the owner cannot: in MPI_Init, or in a call of the driver's. */
struct heartbeat *heartbeat_start(bool for_program);
void heartbeat_stop(struct heartbeat *heartbeat);
void heartbeat_add(struct heartbeat *heartbeat, struct beat *beat, struct stored_fd *bell);
void heartbeat_remove(struct heartbeat *heartbeat, struct beat *beat);

static inline void heartbeat_said(struct beat *beat, uint32_t frames)
{
    atomic_store_explicit(&beat->said, frames, memory_order_relaxed);
}

/* The owner has listened to all (clock_ms()). */
void heartbeat_listened(struct heartbeat *heartbeat, long now);

#endif
