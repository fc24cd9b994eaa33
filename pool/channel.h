/*
 * Messages between a daemon of the pool and those who talk to it. First, in the clear: the daemon's greeting, the
 * other's proof (auth.h), the daemon's reply. Then records: a length, and a JSON object in a sealed box (libsodium's
 * secretbox) that only the two can open or make, of which none can be left out, repeated or put elsewhere.
 *
 *     channel.c    records
 *     auth.c       ways to prove who one is, as plugins: auth_key.c and auth_munge.c (auth.h)
 *     poolfile.c   where the daemons are (poolfile.h)
 *     client.c     a connection to a daemon (client.h)
 *     inquiry.c    one that is made again when it is lost (inquiry.h)
 *     race.c       to whichever answers first (race.h)
 */
#ifndef VOCL_POOL_CHANNEL_H
#define VOCL_POOL_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/auth.h"

#define CHANNEL_MAGIC "VOCLPOOL"
#define CHANNEL_VERSION 1
#define CHANNEL_MOST (1u << 20) /* bytes of a record */

struct channel_greeting {
    char magic[8];
    uint32_t version;
    uint8_t nonce[AUTH_NONCE];
    char method[16]; /* of authentication: munge or key */
};

struct channel_proof {
    char magic[8];
    uint32_t version, length; /* bytes that follow */
};

struct channel_reply {
    uint32_t accepted;
    char why[124];
};

struct channel {
    uint8_t key[AUTH_KEY];
    uint64_t sent, received;
    bool is_daemon; /* this end */
};

/* 0 or negative errno: whether libsodium is there. */
int channel_prepare(void);
void channel_greet(struct channel_greeting *greeting, const char *method);
/* The record of a message, in malloced memory; NULL if there is none. */
uint8_t *channel_seal(struct channel *channel, const json_t *message, size_t *length);
/* The length of a record that begins so (4 bytes), or negative errno: it is none. */
long channel_length(const uint8_t head[4]);
/* The message in a record, without its 4 bytes, or NULL: a forgery, or no JSON object. */
json_t *channel_open(struct channel *channel, const uint8_t *box, size_t length);
/* A member of a message that is text, or "". */
const char *text_of(const json_t *message, const char *name);

#endif
