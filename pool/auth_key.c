/*
 * By keys in a file, lines of a user's name and 64 hexadecimal digits: the daemons' file has everybody's, a user's has
 * his own; daemons know each other by the key of "@daemon". Both ends mix the daemon's nonce and the client's into the
 * connection's key, so that neither a recorded conversation nor a false daemon gets anywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool/auth.h"

#define DAEMON "@daemon"

static int open_file(const char *path, FILE **file, char *why, size_t why_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (fd < 0 || fstat(fd, &status)) {
        int error = errno;

        snprintf(why, why_size, "%s: %s", path, strerror(error));
        if (fd >= 0)
            close(fd);
        return -error;
    }
    if (!S_ISREG(status.st_mode) || status.st_mode & (S_IRWXG | S_IRWXO) ||
        (status.st_uid != geteuid() && status.st_uid != 0)) {
        snprintf(why, why_size, "%s: must be readable by its owner only", path);
        close(fd);
        return -EACCES;
    }
    *file = fdopen(fd, "r");
    return *file ? 0 : -ENOMEM;
}

static int find_key(const char *path, const char *user, uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    char line[512], name[64], digits[2 * AUTH_KEY + 2];
    FILE *file = NULL;
    int error = open_file(path, &file, why, why_size);

    if (error)
        return error;
    error = -EACCES;
    snprintf(why, why_size, "%s has no key of %s", path, user);
    while (error && fgets(line, sizeof(line), file)) {
        size_t length;

        if (sscanf(line, " %63s %65s", name, digits) != 2 || *name == '#' || strcmp(name, user))
            continue;
        if (sodium_hex2bin(key, AUTH_KEY, digits, strlen(digits), NULL, &length, NULL) || length != AUTH_KEY)
            snprintf(why, why_size, "%s: the key of %s is not 64 hexadecimal digits", path, user);
        else
            error = 0;
    }
    sodium_memzero(line, sizeof(line));
    sodium_memzero(digits, sizeof(digits));
    fclose(file);
    return error;
}

/* The connection's key: of the user's, the nonces, and the name. */
static void mix(const uint8_t secret[AUTH_KEY], const uint8_t *nonce, const uint8_t *own, const char *name,
                uint8_t key[AUTH_KEY])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, secret, AUTH_KEY);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)"vocl pool", 9);
    crypto_auth_hmacsha256_update(&state, nonce, AUTH_NONCE);
    crypto_auth_hmacsha256_update(&state, own, AUTH_NONCE);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)name, strlen(name));
    crypto_auth_hmacsha256_final(&state, key);
    sodium_memzero(&state, sizeof(state));
}

/* The proof: the client's nonce, and the name. */
static int prove(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], uint8_t *proof, size_t *length,
                 uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    struct passwd *user = settings->user ? NULL : getpwuid(geteuid());
    const char *name = settings->user ? settings->user : user ? user->pw_name : "";
    uint8_t secret[AUTH_KEY];
    int error;

    if (sodium_init() < 0)
        return -ENOMEM;
    error = find_key(settings->key_file, name, secret, why, why_size);
    if (error)
        return error;
    randombytes_buf(proof, AUTH_NONCE);
    *length = AUTH_NONCE + strlen(name);
    memcpy(proof + AUTH_NONCE, name, strlen(name));
    mix(secret, nonce, proof, name, key);
    sodium_memzero(secret, sizeof(secret));
    return 0;
}

static int check(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], const uint8_t *proof,
                 size_t length, uint8_t key[AUTH_KEY], struct auth_peer *peer, char *why, size_t why_size)
{
    uint8_t secret[AUTH_KEY];
    struct passwd *user;
    int error;

    if (sodium_init() < 0)
        return -ENOMEM;
    if (length <= AUTH_NONCE || length - AUTH_NONCE >= sizeof(peer->name) ||
        memchr(proof + AUTH_NONCE, '\0', length - AUTH_NONCE)) {
        snprintf(why, why_size, "the proof has no name");
        return -EBADMSG;
    }
    memcpy(peer->name, proof + AUTH_NONCE, length - AUTH_NONCE);
    peer->name[length - AUTH_NONCE] = '\0';
    peer->is_daemon = !strcmp(peer->name, DAEMON);
    user = peer->is_daemon ? getpwuid(geteuid()) : getpwnam(peer->name);
    if (!user) {
        snprintf(why, why_size, "there is no such user here");
        return -EACCES;
    }
    peer->uid = user->pw_uid;
    peer->gid = user->pw_gid;
    error = find_key(settings->key_file, peer->name, secret, why, why_size);
    if (error)
        return error;
    mix(secret, nonce, proof, peer->name, key);
    sodium_memzero(secret, sizeof(secret));
    return 0;
}

__attribute__((visibility("default"))) const struct auth_plugin vocl_auth_plugin = {AUTH_VERSION, prove, check};
