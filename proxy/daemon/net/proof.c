/* Authentication of the other end of a connection, before there are messages (pool/channel.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "proxy/daemon/net/internal.h"

/* What munged is asked, or what is looked up among the keys (question.c). */
struct proof {
    uint8_t nonce[AUTH_NONCE];
    char other[64];
    /* the proof to check, or the result */
    uint8_t bytes[AUTH_MOST];
    size_t length;
    uint8_t key[AUTH_KEY];
    struct auth_peer peer;
    int error;
    char why[124];
};

static void auth_settings_of(const struct config *config, const struct proof *proof, struct auth_settings *settings)
{
    *settings = (struct auth_settings){.key_file = config->key_file,
                                       .node = config->name,
                                       .other = proof->other,
                                       .socket = config->munge_socket,
                                       .daemon = geteuid()};
}

static void find_check(const struct daemon *d, void *bytes)
{
    struct proof *proof = bytes;
    struct auth_settings settings;

    auth_settings_of(d->config, proof, &settings);
    proof->error = d->plugin->check(&settings, proof->nonce, proof->bytes, proof->length, proof->key, &proof->peer,
                                    proof->why, sizeof(proof->why));
}

static void find_proof(const struct daemon *d, void *bytes)
{
    struct proof *proof = bytes;
    struct auth_settings settings;

    auth_settings_of(d->config, proof, &settings);
    proof->error = d->plugin->prove(&settings, proof->nonce, proof->bytes, &proof->length, proof->key, proof->why,
                                    sizeof(proof->why));
}

/* Returns the answer to such a question, or an error if there is none; NULL: the connection is being closed. */
static struct proof *answered(struct connection *c, void *bytes)
{
    static struct proof none;

    if (!connection_answered(c))
        return NULL;
    if (bytes)
        return bytes;
    none.error = -ETIMEDOUT;
    snprintf(none.why, sizeof(none.why), "%s: no answer in time", c->daemon->config->method);
    return &none;
}

/* With method key a daemon says which one it is; accepts only those of the pool file. */
static int check_daemon(const struct poolfile *pool, const char *name, char *why, size_t why_size)
{
    if (*name != '@')
        return 0;
    for (unsigned i = 0; i < pool->count; i++) {
        if (!strcmp(pool->nodes[i].name, name + 1))
            return 0;
    }
    snprintf(why, why_size, "no daemon of this pool: %s", name);
    return -EACCES;
}

/* why NULL: the client is accepted. */
static void reply(struct connection *c, const char *why)
{
    struct channel_reply reply = {.accepted = !why};

    text_print(reply.why, sizeof(reply.why), "%s", why ? why : "");
    bufferevent_write(c->stream, &reply, sizeof(reply));
    if (!why) {
        c->phase = PHASE_OPEN;
        return;
    }
    c->daemon->totals.refused++;
    daemon_log("warning", "refused %s: %s", c->remote, why);
    connection_close(c);
}

static void on_check(void *argument, void *bytes)
{
    struct connection *c = argument;
    struct proof *proof = answered(c, bytes);

    if (!proof)
        return;
    if (!proof->error)
        proof->error = check_daemon(&c->daemon->pool, proof->peer.name, proof->why, sizeof(proof->why));
    if (!proof->error) {
        c->peer = proof->peer;
        memcpy(c->channel.key, proof->key, sizeof(c->channel.key));
    }
    reply(c, proof->error ? proof->why : NULL);
    connection_resume(c);
}

bool proof_take(struct connection *c, struct evbuffer *input)
{
    struct channel_proof head;
    struct proof proof;
    char why[sizeof(((struct channel_reply *)NULL)->why)];

    if (evbuffer_copyout(input, &head, sizeof(head)) < (ssize_t)sizeof(head))
        return false;
    if (memcmp(head.magic, CHANNEL_MAGIC, sizeof(head.magic)) || head.length > AUTH_MOST) {
        reply(c, "no client of VOCL");
        return false;
    }
    if (evbuffer_get_length(input) < sizeof(head) + head.length)
        return false;
    if (head.version != CHANNEL_VERSION) {
        snprintf(why, sizeof(why), "it speaks version %u of the pool's protocol, and the daemon %d: another VOCL",
                 head.version, CHANNEL_VERSION);
        reply(c, why);
        return false;
    }
    evbuffer_drain(input, sizeof(head));
    memset(&proof, 0, sizeof(proof));
    memcpy(proof.nonce, c->nonce, sizeof(proof.nonce));
    proof.length = head.length;
    evbuffer_remove(input, proof.bytes, head.length);
    connection_ask(c, QUESTION_PROOF, find_check, &proof, sizeof(proof), on_check);
    return false;
}

static void give_up(struct connection *c, const char *why)
{
    daemon_log("warning", "%s: %s", c->remote, why);
    connection_blame(c, "%s: %s", c->remote, why);
    connection_close(c);
}

/* The other daemon learns of the version, too: a proof without content says it. */
static void give_up_version(struct connection *c, unsigned version)
{
    const struct channel_proof head = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    char why[128];

    bufferevent_write(c->stream, &head, sizeof(head));
    snprintf(why, sizeof(why), "its daemon speaks version %u of the pool's protocol, and this one %d: another VOCL",
             version, CHANNEL_VERSION);
    give_up(c, why);
}

static void on_proof(void *argument, void *bytes)
{
    struct channel_proof head = {.magic = CHANNEL_MAGIC, .version = CHANNEL_VERSION};
    struct connection *c = argument;
    struct proof *proof = answered(c, bytes);

    if (!proof)
        return;
    if (proof->error) {
        give_up(c, proof->why);
        return;
    }
    memcpy(c->channel.key, proof->key, sizeof(c->channel.key));
    head.length = (uint32_t)proof->length;
    bufferevent_write(c->stream, &head, sizeof(head));
    bufferevent_write(c->stream, proof->bytes, proof->length);
    c->phase = PHASE_REPLY;
    connection_resume(c);
}

bool proof_give(struct connection *c, struct evbuffer *input)
{
    struct channel_greeting greeting;
    struct proof proof;
    char why[128];

    if (evbuffer_get_length(input) < sizeof(greeting))
        return false;
    evbuffer_remove(input, &greeting, sizeof(greeting));
    greeting.method[sizeof(greeting.method) - 1] = '\0';
    if (memcmp(greeting.magic, CHANNEL_MAGIC, sizeof(greeting.magic))) {
        give_up(c, "it is not a VOCL daemon");
    } else if (greeting.version != CHANNEL_VERSION) {
        give_up_version(c, greeting.version);
    } else if (strcmp(greeting.method, c->daemon->config->method)) {
        snprintf(why, sizeof(why), "its auth is %s, and this daemon's %s", greeting.method, c->daemon->config->method);
        give_up(c, why);
    } else {
        memset(&proof, 0, sizeof(proof));
        memcpy(proof.nonce, greeting.nonce, sizeof(proof.nonce));
        memcpy(proof.other, c->node, sizeof(proof.other));
        connection_ask(c, QUESTION_PROOF, find_proof, &proof, sizeof(proof), on_proof);
    }
    return false;
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
