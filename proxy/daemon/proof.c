/* Who is at the other end of a connection: what each shows the other before there are messages (pool/channel.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/daemon/connection.h"

static void auth_settings_of(const struct connection *c, struct auth_settings *settings)
{
    const struct config *config = c->daemon->config;

    *settings = (struct auth_settings){.key_file = config->key_file,
                                       .node = config->name,
                                       .other = c->node,
                                       .socket = config->munge_socket,
                                       .daemon = geteuid(),
                                       .least = config->least_uid};
}

/* By key it says which daemon it is; only those of the pool file are. */
static int check_daemon(const struct connection *c, char *why, size_t why_size)
{
    const struct poolfile *pool = &c->daemon->pool;

    if (*c->peer.name != '@')
        return 0;
    for (unsigned i = 0; i < pool->count; i++) {
        if (!strcmp(pool->nodes[i].name, c->peer.name + 1))
            return 0;
    }
    snprintf(why, why_size, "no daemon of this pool: %s", c->peer.name);
    return -EACCES;
}

bool proof_take(struct connection *c, struct evbuffer *input)
{
    struct channel_reply reply = {.accepted = 1};
    struct auth_settings settings;
    struct channel_proof proof;
    uint8_t bytes[AUTH_MOST];
    int error = 0;

    if (evbuffer_copyout(input, &proof, sizeof(proof)) < (ssize_t)sizeof(proof))
        return false;
    if (memcmp(proof.magic, CHANNEL_MAGIC, sizeof(proof.magic)) || proof.length > AUTH_MOST) {
        snprintf(reply.why, sizeof(reply.why), "no client of VOCL");
        error = -EBADMSG;
    } else if (evbuffer_get_length(input) < sizeof(proof) + proof.length) {
        return false;
    } else if (proof.version != CHANNEL_VERSION) {
        snprintf(reply.why, sizeof(reply.why), "versions of VOCL differ");
        error = -EPROTO;
    }
    if (!error) {
        evbuffer_drain(input, sizeof(proof));
        evbuffer_remove(input, bytes, proof.length);
        auth_settings_of(c, &settings);
        error = c->daemon->plugin->check(&settings, c->nonce, bytes, proof.length, c->channel.key, &c->peer, reply.why,
                                         sizeof(reply.why));
    }
    if (!error)
        error = check_daemon(c, reply.why, sizeof(reply.why));
    reply.accepted = !error;
    bufferevent_write(c->stream, &reply, sizeof(reply));
    if (error) {
        c->daemon->totals.refused++;
        daemon_log("warning", "refused %s: %s", c->remote, reply.why);
        connection_close(c);
        return false;
    }
    c->phase = PHASE_OPEN;
    return true;
}

bool proof_give(struct connection *c, struct evbuffer *input)
{
    struct channel_proof proof = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    struct channel_greeting greeting;
    struct auth_settings settings;
    uint8_t bytes[AUTH_MOST];
    char why[128] = "it is no daemon of VOCL";
    bool good = false;
    size_t length = 0;

    if (evbuffer_get_length(input) < sizeof(greeting))
        return false;
    evbuffer_remove(input, &greeting, sizeof(greeting));
    auth_settings_of(c, &settings);
    greeting.method[sizeof(greeting.method) - 1] = '\0';
    if (!memcmp(greeting.magic, CHANNEL_MAGIC, sizeof(greeting.magic))) {
        if (greeting.version != CHANNEL_VERSION)
            snprintf(why, sizeof(why), "versions of VOCL differ");
        else if (strcmp(greeting.method, c->daemon->config->method))
            snprintf(why, sizeof(why), "its auth is %s, and this daemon's %s", greeting.method,
                     c->daemon->config->method);
        else
            good =
                !c->daemon->plugin->prove(&settings, greeting.nonce, bytes, &length, c->channel.key, why, sizeof(why));
    }
    if (!good) {
        daemon_log("warning", "%s: %s", c->remote, why);
        connection_blame(c, "%s: %s", c->remote, why);
        connection_close(c);
        return false;
    }
    proof.length = (uint32_t)length;
    bufferevent_write(c->stream, &proof, sizeof(proof));
    bufferevent_write(c->stream, bytes, length);
    c->phase = PHASE_REPLY;
    return true;
}

bool proof_reply(struct connection *c, struct evbuffer *input)
{
    struct channel_reply reply;

    if (evbuffer_get_length(input) < sizeof(reply))
        return false;
    evbuffer_remove(input, &reply, sizeof(reply));
    reply.why[sizeof(reply.why) - 1] = '\0';
    if (!reply.accepted) {
        daemon_log("warning", "%s refuses this daemon: %s", c->remote, reply.why);
        connection_blame(c, "%s refuses this daemon: %s", c->remote, reply.why);
        connection_close(c);
        return false;
    }
    c->phase = PHASE_OPEN;
    connection_set_seconds(c, 0);
    if (c->owner && c->owner->opened)
        c->owner->opened(c);
    return true;
}
