/*
 * credential DAEMON SOCKET HOW: connects to a daemon at HOST:PORT with a credential of the munged at SOCKET, and prints
 * "accepted", or why not. HOW:
 *
 *     good       as VOCL's own clients make it
 *     replayed   a good one, on this connection and then on another, while the connection with its nonce stays open
 *     other      made for the nonce of another connection
 *     payload    a payload of another kind, for another program
 *     long       with the right beginning, and more
 *     expired    valid for one second, two seconds ago
 *     theirs     readable for another user than the daemon's
 *     open       readable for everybody: an eavesdropper could get the key
 *     plain      not encrypted
 *     noise      no credential at all
 */
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/socket.h"
#include "pool/channel.h"

#define PATIENCE_MS 10000

static int come(const char *daemon, struct channel_greeting *greeting)
{
    char endpoint[160];
    int fd;

    snprintf(endpoint, sizeof(endpoint), "tcp:%s", daemon);
    fd = endpoint_connect(endpoint);
    if (fd < 0 || socket_read_all(fd, greeting, sizeof(*greeting), PATIENCE_MS)) {
        printf("no daemon\n");
        exit(2);
    }
    return fd;
}

static void show(int fd, const char *credential)
{
    struct channel_proof proof = {CHANNEL_MAGIC, CHANNEL_VERSION, (uint32_t)strlen(credential)};
    struct channel_reply reply = {0, "hung up"};

    if (!socket_write_all(fd, &proof, sizeof(proof)) && !socket_write_all(fd, credential, proof.length))
        socket_read_all(fd, &reply, sizeof(reply), PATIENCE_MS);
    printf("%.*s\n", (int)sizeof(reply.why), reply.accepted ? "accepted" : reply.why);
    fflush(stdout);
}

static char *make(const char *socket, const char *how, const uint8_t *nonce)
{
    uint8_t payload[2 * AUTH_NONCE + AUTH_KEY] = {0};
    size_t size = AUTH_NONCE + AUTH_KEY;
    munge_ctx_t context = munge_ctx_create();
    char *credential = NULL;

    memcpy(payload, nonce, AUTH_NONCE);
    munge_ctx_set(context, MUNGE_OPT_SOCKET, socket);
    if (strcmp(how, "open"))
        munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, !strcmp(how, "theirs") ? geteuid() + 4711 : geteuid());
    if (!strcmp(how, "plain"))
        munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_NONE);
    if (!strcmp(how, "expired"))
        munge_ctx_set(context, MUNGE_OPT_TTL, 1);
    if (!strcmp(how, "payload"))
        size = (size_t)snprintf((char *)payload, sizeof(payload), "job 7 may run");
    if (!strcmp(how, "long"))
        size = sizeof(payload);
    if (munge_encode(&credential, context, payload, (int)size) != EMUNGE_SUCCESS) {
        printf("munge: %s\n", munge_ctx_strerror(context));
        exit(2);
    }
    munge_ctx_destroy(context);
    return credential;
}

int main(int count, char **words)
{
    struct channel_greeting first, second;
    const char *how = count == 4 ? words[3] : "";
    char *credential;
    int fd;

    if (!*how)
        return 2;
    fd = come(words[1], &first);
    credential = !strcmp(how, "noise") ? strdup("MUNGE:AwQDAAA:") : make(words[2], how, first.nonce);
    if (!strcmp(how, "expired"))
        sleep(3);
    if (!strcmp(how, "replayed"))
        show(fd, credential);
    if (!strcmp(how, "replayed") || !strcmp(how, "other"))
        fd = come(words[1], &second);
    show(fd, credential);
    free(credential);
    return 0;
}
