/* The bell: a stream socket between two members, beside what carries the rest. It carries doorbells, heartbeats, and
 * the news that a process is gone. */
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
    /* or what carries it to the peer of that number */
    void (*carry)(void *carrier, unsigned number, const struct bell_record *record);
    void *carrier;
    unsigned number;
    bool peer_sleeps, lost, rung;
    uint32_t rung_for; /* frames that it had sent then */
    const char *why;   /* it is lost, if not because its peer is */
    bool bye;          /* it has said that it ends */
    bool ring;         /* the peer has taken the ring it was offered */
    bool stopped;      /* so says the peer's launcher */
    uint32_t acked;    /* frames that the peer has taken */
    uint32_t heard;    /* records */
    uint8_t partial[sizeof(struct bell_record)];
    size_t partial_length;
};

void bell_send(struct bell *bell, enum bell_kind kind, uint32_t value);
/* One record that came. */
void bell_take(struct bell *bell, const struct bell_record *record);
/* Take in what the peer has said; never blocks. Returns the number of records. */
int bell_hear(struct bell *bell);
/* Say once on a bell that somebody is there, or that he is stopped. Not if the other has yet to read what he was told
 * before: what he must not miss is to find room. */
void bell_beat(int fd, bool stopped);

#endif
