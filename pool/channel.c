#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "pool/channel.h"

_Static_assert(AUTH_KEY == crypto_secretbox_KEYBYTES, "a key of the channel is one of the box");

int channel_prepare(void)
{
    return sodium_init() < 0 ? -EIO : 0;
}

void channel_greet(struct channel_greeting *greeting, const char *method)
{
    memset(greeting, 0, sizeof(*greeting));
    memcpy(greeting->magic, CHANNEL_MAGIC, sizeof(greeting->magic));
    greeting->version = CHANNEL_VERSION;
    randombytes_buf(greeting->nonce, sizeof(greeting->nonce));
    memcpy(greeting->method, method, strlen(method) < sizeof(greeting->method) ? strlen(method) : 0);
}

/* The key belongs to this connection alone, so direction and record number make the nonce unique. */
static void make_nonce(uint8_t nonce[crypto_secretbox_NONCEBYTES], bool from_daemon, uint64_t place)
{
    memset(nonce, 0, crypto_secretbox_NONCEBYTES);
    nonce[0] = from_daemon;
    memcpy(nonce + 8, &place, sizeof(place));
}

uint8_t *channel_seal(struct channel *channel, const json_t *message, size_t *length)
{
    uint8_t nonce[crypto_secretbox_NONCEBYTES], *record = NULL;
    char *text = json_dumps(message, JSON_COMPACT);
    size_t plain = text ? strlen(text) : 0;
    uint32_t boxed = (uint32_t)(plain + crypto_secretbox_MACBYTES);

    if (text && boxed <= CHANNEL_MOST)
        record = malloc(sizeof(boxed) + boxed);
    if (record) {
        make_nonce(nonce, channel->is_daemon, channel->sent++);
        memcpy(record, &boxed, sizeof(boxed));
        crypto_secretbox_easy(record + sizeof(boxed), (const uint8_t *)text, plain, nonce, channel->key);
        *length = sizeof(boxed) + boxed;
    }
    free(text);
    return record;
}

long channel_length(const uint8_t head[4])
{
    uint32_t length;

    memcpy(&length, head, sizeof(length));
    return length < crypto_secretbox_MACBYTES || length > CHANNEL_MOST ? -EBADMSG : (long)length;
}

json_t *channel_open(struct channel *channel, const uint8_t *box, size_t length)
{
    uint8_t nonce[crypto_secretbox_NONCEBYTES], *plain = malloc(length);
    json_t *message = NULL;

    if (!plain || length < crypto_secretbox_MACBYTES) {
        free(plain);
        return NULL;
    }
    make_nonce(nonce, !channel->is_daemon, channel->received++);
    if (!crypto_secretbox_open_easy(plain, box, length, nonce, channel->key))
        message = json_loadb((const char *)plain, length - crypto_secretbox_MACBYTES, JSON_REJECT_DUPLICATES, NULL);
    free(plain);
    if (message && !json_is_object(message)) {
        json_decref(message);
        return NULL;
    }
    return message;
}

const char *text_of(const json_t *message, const char *name)
{
    const char *text = json_string_value(json_object_get(message, name));

    return text ? text : "";
}
