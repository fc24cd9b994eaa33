/*
 * Messages between a daemon of the pool and its clients or other daemons. A connection begins unencrypted: the daemon's
 * greeting, the other end's proof (auth.h), and the daemon's reply. Records follow: a length, and a JSON object in a
 * sealed box (libsodium's secretbox). Only the two ends can open or make a box, and a record that is dropped, repeated
 * or reordered is detected.
 *
 *     channel.c    records
 *     auth.c       the methods of authentication, as plugins: auth_key.c and auth_munge.c (auth.h)
 *     poolfile.c   the pool file, which says where the daemons are (poolfile.h)
 *     client.c     a connection to a daemon (client.h)
 *     inquiry.c    a request to a daemon that is repeated when the connection is lost (inquiry.h)
 *     race.c       a connection to the daemon that answers first (race.h)
 */
#ifndef VOCL_POOL_CHANNEL_H
#define VOCL_POOL_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/auth.h"

#define CHANNEL_MAGIC "VOCLPOOL"
/* Of everything that daemons and clients send: both ends of a connection need the same, and say so otherwise. Members
 * of messages may be added without a new version, since both ends ignore what they do not know. */
#define CHANNEL_VERSION 1
#define CHANNEL_MOST (1u << 20) /* bytes of a record */

struct channel_greeting {
    char magic[8];
    uint32_t version;
    uint8_t nonce[AUTH_NONCE];
    char method[16]; /* of authentication: "munge" or "key" */
};

struct channel_proof {
    char magic[8];
    uint32_t version, length; /* length: bytes that follow */
};

struct channel_reply {
    uint32_t accepted;
    char why[124];
};

struct channel {
    uint8_t key[AUTH_KEY];
    uint64_t sent, received;
    bool is_daemon; /* this end is the daemon's */
};

/* Initializes libsodium. Returns 0 or a negative errno. */
int channel_prepare(void);
void channel_greet(struct channel_greeting *greeting, const char *method);
/* Returns the record of a message, in memory to be freed with free(), or NULL. */
uint8_t *channel_seal(struct channel *channel, const json_t *message, size_t *length);
/* Returns the length of a record that begins with these 4 bytes, or a negative errno if they are invalid. */
long channel_length(const uint8_t head[4]);
/* Returns the message in a record, without its first 4 bytes, or NULL: the record is forged or contains no JSON
 * object. */
json_t *channel_open(struct channel *channel, const uint8_t *box, size_t length);
/* Returns the text of a message's member, or "". */
const char *text_of(const json_t *message, const char *name);

#endif
