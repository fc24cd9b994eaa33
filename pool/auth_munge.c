/* Authentication by MUNGE: munged vouches for the user, and the key travels inside the credential, which only the
 * daemon's user can open. */
#include <errno.h>
#include <munge.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pool/auth.h"

static int failed(munge_ctx_t context, munge_err_t error, char *why, size_t why_size)
{
    const char *text = munge_ctx_strerror(context);
    const bool invalid = error == EMUNGE_CRED_INVALID; /* as a rule, a host has the key of its package still */

    snprintf(why, why_size, "munge: %s%s", text ? text : munge_strerror(error),
             invalid ? ": is the MUNGE key (/etc/munge/munge.key) the same on both hosts?" : "");
    return -EACCES;
}

/* Explains that a credential is too old, or from the future: says whose clock is wrong, and by how much. */
static int clocks_differ(munge_ctx_t context, munge_err_t error, const char *node, char *why, size_t why_size)
{
    time_t made = 0, seen = 0;
    long ahead;

    if (munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &made) != EMUNGE_SUCCESS ||
        munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &seen) != EMUNGE_SUCCESS || !made || !seen)
        return failed(context, error, why, why_size);
    ahead = (long)(seen - made);
    snprintf(why, why_size, "munge: %s: the clock of %s is %ld seconds %s", munge_strerror(error), node,
             ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead");
    return -EACCES;
}

static munge_ctx_t context_new(const struct auth_settings *settings)
{
    munge_ctx_t context = munge_ctx_create();

    if (context && settings->socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, settings->socket);
    return context;
}

static int prove(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], uint8_t *proof, size_t *length,
                 uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    munge_ctx_t context = context_new(settings);
    uint8_t payload[AUTH_NONCE + AUTH_KEY];
    char *credential = NULL;
    munge_err_t error;
    int result = 0;

    if (!context || sodium_init() < 0)
        return -ENOMEM;
    randombytes_buf(key, AUTH_KEY);
    memcpy(payload, nonce, AUTH_NONCE);
    memcpy(payload + AUTH_NONCE, key, AUTH_KEY);
    munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, settings->daemon);
    error = munge_encode(&credential, context, payload, sizeof(payload));
    sodium_memzero(payload, sizeof(payload));
    if (error != EMUNGE_SUCCESS)
        result = failed(context, error, why, why_size);
    else if (strlen(credential) > AUTH_MOST)
        result = -EMSGSIZE;
    if (!result) {
        *length = strlen(credential);
        memcpy(proof, credential, *length);
    }
    free(credential);
    munge_ctx_destroy(context);
    return result;
}

/* Whether only this daemon's user could read the key in the credential that was decoded. */
static bool is_secret(munge_ctx_t context)
{
    int cipher = MUNGE_CIPHER_NONE;
    uid_t reader = MUNGE_UID_ANY;

    return munge_ctx_get(context, MUNGE_OPT_CIPHER_TYPE, &cipher) == EMUNGE_SUCCESS && cipher != MUNGE_CIPHER_NONE &&
           munge_ctx_get(context, MUNGE_OPT_UID_RESTRICTION, &reader) == EMUNGE_SUCCESS && reader == geteuid();
}

static int check(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], const uint8_t *proof,
                 size_t length, uint8_t key[AUTH_KEY], struct auth_peer *peer, char *why, size_t why_size)
{
    munge_ctx_t context = context_new(settings);
    char credential[AUTH_MOST + 1];
    void *payload = NULL;
    munge_err_t error;
    int size = 0, result = 0;

    if (!context || length > AUTH_MOST)
        return -ENOMEM;
    memcpy(credential, proof, length);
    credential[length] = '\0';
    error = munge_decode(credential, context, &payload, &size, &peer->uid, &peer->gid);
    if (settings->node && (error == EMUNGE_CRED_EXPIRED || error == EMUNGE_CRED_REWOUND)) {
        result = clocks_differ(context, error, settings->node, why, why_size);
    } else if (error != EMUNGE_SUCCESS) {
        result = failed(context, error, why, why_size);
    } else if (size != AUTH_NONCE + AUTH_KEY || sodium_memcmp(payload, nonce, AUTH_NONCE)) {
        snprintf(why, why_size, "munge: the credential is not for this connection");
        result = -EACCES;
    } else if (!is_secret(context)) {
        snprintf(why, why_size, "munge: the credential is for all to read");
        result = -EACCES;
    } else {
        memcpy(key, (uint8_t *)payload + AUTH_NONCE, AUTH_KEY);
    }
    if (payload && size > 0)
        sodium_memzero(payload, (size_t)size);
    free(payload);
    munge_ctx_destroy(context);
    if (result)
        return result;
    *peer->name = '\0';
    peer->is_daemon = peer->uid == geteuid();
    return 0;
}

__attribute__((visibility("default"))) const struct auth_plugin vocl_auth_plugin = {AUTH_VERSION, prove, check, NULL};
