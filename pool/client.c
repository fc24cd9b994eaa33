#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "pool/client.h"
#include "pool/race.h"

static int say_no(char *why, size_t why_size, const char *address, const char *text)
{
    text_print(why, why_size, "%s: %s", address, text);
    return -EPROTO;
}

static int say_error(char *why, size_t why_size, const char *address, int error)
{
    snprintf(why, why_size, "%s: %s", address, strerror(-error));
    return error;
}

static int authenticate(struct client *client, const struct poolfile *pool, const char *address, long milliseconds,
                        char *why, size_t why_size)
{
    const long until = clock_ms() + milliseconds;
    const struct auth_settings settings = {.key_file = pool->key_file,
                                           .user = pool->user,
                                           .key = pool->key,
                                           .socket = pool->munge_socket,
                                           .daemon = pool->daemon};
    struct channel_greeting greeting;
    struct channel_proof proof = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    struct channel_reply reply;
    const struct auth_plugin *plugin;
    uint8_t bytes[AUTH_MOST];
    char text[128];
    size_t length;
    int error = socket_read_all(client->fd, &greeting, sizeof(greeting), milliseconds);

    if (error)
        return say_error(why, why_size, address, error);
    if (memcmp(greeting.magic, CHANNEL_MAGIC, sizeof(greeting.magic)))
        return say_no(why, why_size, address, "not a daemon of VOCL");
    if (greeting.version != CHANNEL_VERSION) {
        snprintf(text, sizeof(text), "its daemon speaks version %u of the pool's protocol, and this program %d",
                 greeting.version, CHANNEL_VERSION);
        return say_no(why, why_size, address, text);
    }
    greeting.method[sizeof(greeting.method) - 1] = '\0';
    if (*pool->method && strcmp(greeting.method, pool->method))
        return say_no(why, why_size, address, "it authenticates otherwise than the pool file says");
    client->keyed = !strcmp(greeting.method, "key");
    plugin = auth_open(greeting.method, why, why_size);
    if (!plugin)
        return -ENOENT;
    error = plugin->prove(&settings, greeting.nonce, bytes, &length, client->channel.key, why, why_size);
    if (error)
        return error;
    proof.length = (uint32_t)length;
    error = socket_write_all(client->fd, &proof, sizeof(proof));
    if (!error)
        error = socket_write_all(client->fd, bytes, length);
    if (!error)
        error = socket_read_all(client->fd, &reply, sizeof(reply), until - clock_ms());
    if (error)
        return say_error(why, why_size, address, error);
    reply.why[sizeof(reply.why) - 1] = '\0';
    return reply.accepted ? 0 : say_no(why, why_size, address, reply.why);
}

static bool turned_away(int error)
{
    return error == -ECONNRESET || error == -EPIPE;
}

void client_nap(void)
{
    const unsigned most_ms = 320, least_ms = 20;
    unsigned chance = 0;

    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
        chance = (unsigned)getpid();
    nanosleep(&(struct timespec){.tv_nsec = (long)(least_ms + chance % (most_ms - least_ms)) * 1000000}, NULL);
}

/* The greeting has already arrived. */
static int enter(struct client *client, const struct poolfile *pool, const char *address, int fd, long milliseconds,
                 char *why, size_t why_size)
{
    int error;

    *client = (struct client){.fd = fd};
    socket_tune(fd);
    error = authenticate(client, pool, address, milliseconds, why, why_size);
    if (error)
        client_close(client);
    client->heard_ms = client->looked_ms = clock_ms();
    return error;
}

/* A daemon that answers, but refuses this client, counts as one that does not answer: the others are tried. */
static int connect_once(struct client *client, const struct poolfile *pool, const struct poolfile_node *nodes,
                        unsigned count, long milliseconds, char *why, size_t why_size)
{
    bool refused[POOLFILE_NODES] = {false};
    unsigned winner;
    int error = -EAGAIN, fd;

    for (unsigned tries = 0; error && tries < count; tries++) {
        char missed[512]; /* not shown after a refusal, which says more than silence */

        fd = race_connect(nodes, count, refused, milliseconds, &winner, missed, sizeof(missed));
        if (fd < 0) {
            if (tries)
                return error;
            snprintf(why, why_size, "%s", missed);
            return fd;
        }
        error = enter(client, pool, nodes[winner].address, fd, milliseconds, why, why_size);
        refused[winner] = true;
    }
    return error;
}

int client_connect_within(struct client *client, const struct poolfile *pool, const char *address, long milliseconds,
                          char *why, size_t why_size)
{
    struct poolfile_node node = {.name = ""};

    *client = (struct client){.fd = -1};
    snprintf(node.address, sizeof(node.address), "%s", address ? address : "");
    if (!address && !pool->count) {
        snprintf(why, why_size, "the pool has no daemons");
        return -ENOENT;
    }
    if (channel_prepare())
        return say_no(why, why_size, "libsodium", "not usable");
    return connect_once(client, pool, address ? &node : pool->nodes, address ? 1 : pool->count, milliseconds, why,
                        why_size);
}

int client_connect(struct client *client, const struct poolfile *pool, const char *address, char *why, size_t why_size)
{
    const long until = clock_ms() + CLIENT_MS;
    int error;

    while (turned_away(error = client_connect_within(client, pool, address, CLIENT_MS, why, why_size)) &&
           clock_ms() < until)
        client_nap();
    return error;
}

int client_ask(struct client *client, const struct poolfile *pool, const char *address, const json_t *message,
               json_t **answer, char *why, size_t why_size)
{
    int error;

    for (unsigned tries = 0; tries < CLIENT_TRIES; tries++) {
        error = client_connect(client, pool, address, why, why_size);
        if (error)
            return error;
        error = client_call(client, message, answer, why, why_size);
        if (!error)
            return 0;
        client_close(client);
        if (client->heard || !turned_away(error))
            return error;
        client_nap();
    }
    return error;
}

int client_send(struct client *client, const json_t *message)
{
    size_t length;
    uint8_t *record = message ? channel_seal(&client->channel, message, &length) : NULL;
    int error = !message ? -ENOMEM : record ? socket_write_all(client->fd, record, length) : -EMSGSIZE;

    free(record);
    return error;
}

static int receive(struct client *client, json_t **message, long milliseconds)
{
    long until = clock_ms() + milliseconds, length;
    uint8_t head[4], *box;
    int error = socket_read_all(client->fd, head, sizeof(head), milliseconds);

    if (error)
        return error;
    length = channel_length(head);
    if (length < 0)
        return (int)length;
    box = malloc((size_t)length);
    if (!box)
        return -ENOMEM;
    error = socket_read_all(client->fd, box, (size_t)length, until - clock_ms() + 1000);
    *message = error ? NULL : channel_open(&client->channel, box, (size_t)length);
    client->heard |= !error;
    client->heard_ms = clock_ms();
    free(box);
    return error ? error : *message ? 0 : -EBADMSG;
}

int client_receive(struct client *client, json_t **message, long milliseconds)
{
    const long until = clock_ms() + milliseconds;
    int error;

    for (;;) {
        long left = until - clock_ms();

        error = receive(client, message, left > 0 ? left : 1);
        if (error || !json_object_get(*message, "pulse"))
            return error;
        json_decref(*message);
        *message = NULL;
        if (left <= 0)
            return -ETIMEDOUT;
    }
}

int client_beat(struct client *client)
{
    const long now = clock_ms(), patience = settings_peer_ms();
    json_t *pulse;
    int error;

    if (!patience)
        return 0;
    if (now - client->looked_ms > patience / 2) /* this process may have been the one that did not listen */
        client->heard_ms = now;
    client->looked_ms = now;
    if (now - client->heard_ms > patience)
        return -ETIMEDOUT;
    if (now - client->said_ms < settings_tick_ms())
        return 0;
    client->said_ms = now;
    pulse = json_pack("{s:s}", "do", "pulse");
    error = client_send(client, pulse);
    json_decref(pulse);
    return error;
}

void client_explain(const struct client *client, int error, char *why, size_t why_size)
{
    if (client->keyed && !client->heard && (error == -ECONNRESET || error == -EPIPE))
        snprintf(why, why_size, "the daemon refuses the key: it has another one for this user, or no time for so many");
    else if (error == -ENOMEM || error == -EMSGSIZE)
        snprintf(why, why_size, "the message to the daemon is too long, or not UTF-8");
    else
        snprintf(why, why_size, "the daemon does not answer: %s", strerror(-error));
}

int client_call(struct client *client, const json_t *message, json_t **answer, char *why, size_t why_size)
{
    int error = client_send(client, message);

    if (!error)
        error = client_receive(client, answer, CLIENT_MS);
    if (error) {
        client_explain(client, error, why, why_size);
        return error;
    }
    if (!json_object_get(*answer, "error"))
        return 0;
    text_print(why, why_size, "%s", text_of(*answer, "error"));
    json_decref(*answer);
    return -EPROTO;
}

void client_close(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}
