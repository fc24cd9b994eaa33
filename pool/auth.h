/*
 * Authentication between the two ends of a connection to a daemon of the pool. The methods are plugins, so that the
 * library that each needs is loaded only where it is used. The daemon's end speaks first and sends a nonce. The other
 * end answers with a proof of its identity for that nonce. From the proof both derive a key that nobody else knows, for
 * all messages that follow (channel.h).
 */
#ifndef VOCL_POOL_AUTH_H
#define VOCL_POOL_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define AUTH_VERSION 4
#define AUTH_SYMBOL "vocl_auth_plugin"
#define AUTH_NONCE 32
#define AUTH_KEY 32
#define AUTH_MOST 4096 /* bytes of a proof */
#define AUTH_JOB 31    /* letters of the job whose hold a key is for */

struct auth_settings {
    const char *key_file; /* key: file with the users and their keys */
    /* key: the user whose key a client uses; NULL: the user who runs it. USER/JOB: the key is that of a hold. */
    const char *user;
    const char *key;    /* key: the client's key itself, 64 hexadecimal digits, in place of the file; or NULL */
    const char *node;   /* a daemon's own name; NULL: this is a client */
    const char *other;  /* key: the name of the daemon to which this daemon proves itself */
    const char *socket; /* munge: munged's socket; NULL: the library's default */
    uid_t daemon;       /* munge: only daemons of this user can read the proof */
};

struct auth_peer {
    uid_t uid; /* -1 with method key, which does not know it */
    gid_t gid;
    char name[64]; /* "" with method munge, which does not know it */
    /* "@JOB": the client has only the key of that user's hold for this job, and may use nothing but its devices; or
     * "" */
    char hold[AUTH_JOB + 2];
    /* Another daemon of the pool. With method key its name begins with "@", and it has no UID and no user's rights. */
    bool is_daemon;
};

/* Both functions return 0, or a negative errno with the reason in why. */
struct auth_plugin {
    unsigned version;
    /* Makes a client's proof, of at most AUTH_MOST bytes, and the key. */
    int (*prove)(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], uint8_t *proof, size_t *length,
                 uint8_t key[AUTH_KEY], char *why, size_t why_size);
    /* Says whose proof it is. A method that knows only keys detects a wrong key only when the first message arrives. */
    int (*check)(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], const uint8_t *proof,
                 size_t length, uint8_t key[AUTH_KEY], struct auth_peer *peer, char *why, size_t why_size);
    /* Makes the key of the hold that settings->user has, or will have, for this job: it gives no other right. NULL: the
     * method has no such keys. */
    int (*derive)(const struct auth_settings *settings, const char *job, char hex[2 * AUTH_KEY + 1], char *why,
                  size_t why_size);
};

/* Whether a hold for this job can have a key: 1 to AUTH_JOB letters, digits, dots and hyphens. */
static inline bool auth_is_job(const char *job)
{
    const size_t length = strspn(job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");

    return length && length <= AUTH_JOB && !job[length];
}

/* Loads the plugin with this name, "munge" or "key". Returns NULL, with the reason in why, if that fails. */
const struct auth_plugin *auth_open(const char *name, char *why, size_t why_size);

#endif
