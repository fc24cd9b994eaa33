/*
 * How the two ends of a connection to a daemon of the pool get to know each other: plugins, so that the library that
 * each needs is loaded where it is used only. The daemon's end speaks first, with a nonce. The other answers with a
 * proof of who it is, for that nonce; from it both have a key that nobody else knows, for all that follows (channel.h).
 */
#ifndef VOCL_POOL_AUTH_H
#define VOCL_POOL_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define AUTH_VERSION 3
#define AUTH_SYMBOL "vocl_auth_plugin"
#define AUTH_NONCE 32
#define AUTH_KEY 32
#define AUTH_MOST 4096 /* bytes of a proof */

struct auth_settings {
    const char *key_file; /* key: users and their keys */
    const char *user;     /* key: whose key a client uses; NULL: the user's who runs it */
    const char *node;     /* of a daemon, its own name; NULL: a client's */
    const char *other;    /* key: of a daemon that proves itself, to whom */
    const char *socket;   /* munge: of munged, or NULL for its own choice */
    uid_t daemon;         /* munge: only this user's daemons can read the proof */
};

struct auth_peer {
    uid_t uid; /* by key not known, -1 */
    gid_t gid;
    char name[64];  /* by MUNGE not known, "" */
    bool is_daemon; /* another daemon of the pool; by key "@" and its name, without a user's number or rights */
};

/* Both return 0, or negative errno and why. */
struct auth_plugin {
    unsigned version;
    /* A client's proof, at most AUTH_MOST bytes, and the key. */
    int (*prove)(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], uint8_t *proof, size_t *length,
                 uint8_t key[AUTH_KEY], char *why, size_t why_size);
    /* Whose it is. With a plugin that knows no more than keys a wrong one is found out by the first message only. */
    int (*check)(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], const uint8_t *proof,
                 size_t length, uint8_t key[AUTH_KEY], struct auth_peer *peer, char *why, size_t why_size);
};

/* name: "munge" or "key". NULL and why if there is none such. */
const struct auth_plugin *auth_open(const char *name, char *why, size_t why_size);

#endif
