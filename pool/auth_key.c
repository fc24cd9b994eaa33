/*
 * Authentication by keys in a file. A line has a user's name and 64 hexadecimal digits. The daemons' file has the keys
 * of all users, a user's file has that user's own key. Further lines have "@" with a node's name, and its public key;
 * in a node's own file, its own line also has its secret key. Two daemons derive a common secret from the secret key of
 * one and the public key of the other (X25519), which no third party knows. Both ends mix the daemon's and the client's
 * nonce into the connection's key, so neither a recorded conversation nor a false daemon succeeds.
 *
 * A user's key also makes keys for single holds, which need no line in any file: a client that calls itself USER/JOB
 * proves that it has the one for the hold of that job.
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

_Static_assert(AUTH_KEY == crypto_box_BEFORENMBYTES && AUTH_KEY == crypto_box_PUBLICKEYBYTES &&
                   AUTH_KEY == crypto_box_SECRETKEYBYTES,
               "keys of nodes are as long as those of users");

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

static bool read_key(const char *digits, uint8_t key[AUTH_KEY])
{
    size_t length;

    return !sodium_hex2bin(key, AUTH_KEY, digits, strlen(digits), NULL, &length, NULL) && length == AUTH_KEY;
}

/* secret NULL: finds a user's key, or a node's public key; otherwise both keys in a node's own line. */
static int find_key(const char *path, const char *name, uint8_t key[AUTH_KEY], uint8_t *secret, char *why,
                    size_t why_size)
{
    char line[512], found[66], digits[2 * AUTH_KEY + 2], more[2 * AUTH_KEY + 2];
    FILE *file = NULL;
    int error = open_file(path, &file, why, why_size);

    if (error)
        return error;
    error = -EACCES;
    snprintf(why, why_size, "%s has no key of %s", path, name);
    while (error && fgets(line, sizeof(line), file)) {
        const int words = sscanf(line, " %65s %65s %65s", found, digits, more);

        if (words < 2 || *found == '#' || strcmp(found, name))
            continue;
        if (!read_key(digits, key) || (secret && words == 3 && !read_key(more, secret)))
            snprintf(why, why_size, "%s: a key of %s is not 64 hexadecimal digits", path, name);
        else if (secret && words < 3)
            snprintf(why, why_size, "%s: the key of %s has no secret part, which its own file needs", path, name);
        else
            error = 0;
    }
    sodium_memzero(line, sizeof(line));
    sodium_memzero(digits, sizeof(digits));
    sodium_memzero(more, sizeof(more));
    fclose(file);
    return error;
}

/* Finds the secret that this daemon shares with another, "@name". */
static int find_shared(const struct auth_settings *settings, const char *other, uint8_t shared[AUTH_KEY], char *why,
                       size_t why_size)
{
    uint8_t public[AUTH_KEY], secret[AUTH_KEY], theirs[AUTH_KEY];
    char own[66];
    int error;

    snprintf(own, sizeof(own), "@%.63s", settings->node);
    error = find_key(settings->key_file, own, public, secret, why, why_size);
    if (!error)
        error = find_key(settings->key_file, other, theirs, NULL, why, why_size);
    if (!error && crypto_box_beforenm(shared, theirs, secret)) {
        snprintf(why, why_size, "%s: the key of %s is none", settings->key_file, other);
        error = -EACCES;
    }
    sodium_memzero(secret, sizeof(secret));
    return error;
}

/* Makes the key of a hold from its user's key. */
static void derive_key(uint8_t key[AUTH_KEY], const char *job)
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key, AUTH_KEY);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)"vocl hold", 9);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)job, strlen(job));
    crypto_auth_hmacsha256_final(&state, key);
    sodium_memzero(&state, sizeof(state));
}

/* Finds the key of a client: a user, or USER/JOB, a hold. */
static int find_client(const char *path, const char *name, uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    const char *job = strchr(name, '/');
    char user[64];
    int error;

    snprintf(user, sizeof(user), "%.*s", job ? (int)(job - name) : 63, name);
    error = find_key(path, user, key, NULL, why, why_size);
    if (!error && job)
        derive_key(key, job + 1);
    return error;
}

/* Takes the key that a client was given. */
static int take_key(const char *digits, uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    if (read_key(digits, key))
        return 0;
    snprintf(why, why_size, "VOCL_POOL_KEY is not 64 hexadecimal digits");
    return -EINVAL;
}

/* Derives the connection's key from the secret, the nonces, and the name. */
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

/* The proof consists of the client's nonce and the name. */
static int prove(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], uint8_t *proof, size_t *length,
                 uint8_t key[AUTH_KEY], char *why, size_t why_size)
{
    struct passwd *user = settings->user || settings->node ? NULL : getpwuid(geteuid());
    const char *name = settings->user ? settings->user : user ? user->pw_name : "";
    char own[66], other[66];
    uint8_t secret[AUTH_KEY];
    int error;

    if (sodium_init() < 0)
        return -ENOMEM;
    if (settings->node) {
        snprintf(own, sizeof(own), "@%.63s", settings->node);
        snprintf(other, sizeof(other), "@%.63s", settings->other);
        name = own;
        error = find_shared(settings, other, secret, why, why_size);
    } else if (settings->key) {
        error = take_key(settings->key, secret, why, why_size);
    } else {
        error = find_client(settings->key_file, name, secret, why, why_size);
    }
    if (error)
        return error;
    if (strlen(name) >= sizeof(((struct auth_peer *)0)->name)) {
        snprintf(why, why_size, "the user's name is too long");
        return -EINVAL;
    }
    randombytes_buf(proof, AUTH_NONCE);
    *length = AUTH_NONCE + strlen(name);
    memcpy(proof + AUTH_NONCE, name, strlen(name));
    mix(secret, nonce, proof, name, key);
    sodium_memzero(secret, sizeof(secret));
    return 0;
}

/* A client that calls itself USER/JOB is this user, with the rights of that hold alone. */
static void split(struct auth_peer *peer)
{
    char *job = peer->is_daemon ? NULL : strchr(peer->name, '/');

    *peer->hold = '\0';
    if (!job)
        return;
    *job++ = '\0';
    snprintf(peer->hold, sizeof(peer->hold), "@%.*s", AUTH_JOB, job);
}

static int check(const struct auth_settings *settings, const uint8_t nonce[AUTH_NONCE], const uint8_t *proof,
                 size_t length, uint8_t key[AUTH_KEY], struct auth_peer *peer, char *why, size_t why_size)
{
    uint8_t secret[AUTH_KEY];
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
    peer->is_daemon = *peer->name == '@';
    peer->uid = (uid_t)-1;
    peer->gid = (gid_t)-1;
    if (!peer->is_daemon && strchr(peer->name, '/') && !auth_is_job(strchr(peer->name, '/') + 1)) {
        snprintf(why, why_size, "a hold with a key is for a job of 1 to %d letters, digits, dots and hyphens",
                 AUTH_JOB);
        return -EBADMSG;
    }
    error = peer->is_daemon ? find_shared(settings, peer->name, secret, why, why_size)
                            : find_client(settings->key_file, peer->name, secret, why, why_size);
    if (error)
        return error;
    mix(secret, nonce, proof, peer->name, key);
    sodium_memzero(secret, sizeof(secret));
    split(peer);
    return 0;
}

static int derive(const struct auth_settings *settings, const char *job, char hex[2 * AUTH_KEY + 1], char *why,
                  size_t why_size)
{
    uint8_t key[AUTH_KEY];
    int error;

    if (sodium_init() < 0)
        return -ENOMEM;
    error = find_key(settings->key_file, settings->user, key, NULL, why, why_size);
    if (error)
        return error;
    derive_key(key, job);
    sodium_bin2hex(hex, 2 * AUTH_KEY + 1, key, sizeof(key));
    sodium_memzero(key, sizeof(key));
    return 0;
}

__attribute__((visibility("default"))) const struct auth_plugin vocl_auth_plugin = {AUTH_VERSION, prove, check, derive};
