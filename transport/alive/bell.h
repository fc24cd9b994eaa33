/* The bell: a stream socket between two members, beside the provider that carries the rest. It carries wake-ups and
 * heartbeats, and its end reports the end of a process. */
#ifndef VOCL_TRANSPORT_ALIVE_BELL_H
#define VOCL_TRANSPORT_ALIVE_BELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/alive/fd_store.h"

enum bell_kind { BELL_SLEEP = 1, BELL_ACK, BELL_RING, BELL_RANK, BELL_BYE, BELL_ACCEPTED, BELL_BEAT, BELL_STOPPED };

struct bell_record {
    uint32_t kind, value;
};

struct bell {
    struct stored_fd socket;
    /* Not NULL: sends a record to the peer of that number, in place of the socket. */
    void (*carry)(void *carrier, unsigned number, const struct bell_record *record);
    void *carrier;
    unsigned number;
    bool peer_sleeps, lost, rung;
    uint32_t rung_for; /* frames that the peer had sent when it rang */
    const char *why;   /* why it is lost, if not because its peer has ended */
    bool bye;          /* the peer has said that it ends */
    bool ring;         /* the peer has accepted the shared-memory ring that it was offered */
    bool stopped;      /* the peer's launcher says that it is stopped */
    uint32_t acked;    /* frames that the peer has taken */
    uint32_t heard;    /* records received */
    uint8_t partial[sizeof(struct bell_record)];
    size_t partial_length;
};

void bell_send(struct bell *bell, enum bell_kind kind, uint32_t value);
/* Handles one received record. */
void bell_take(struct bell *bell, const struct bell_record *record);
/* Receives what the peer has said; never blocks. Returns the number of records. */
int bell_hear(struct bell *bell);
/* Sends one heartbeat, or the message that this process's program is stopped. Sends nothing while the peer has much
 * left to read: messages that it must not miss need the room. */
void bell_beat(int fd, bool stopped);

#endif
