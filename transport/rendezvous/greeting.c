/* The first messages between members of a session: see greeting.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/launch/network.h"
#include "transport/rendezvous/greeting.h"
#include "transport/stream/stream.h"
#include "wire/frame.h"

#define BYTE_ORDER_MARK 0x01020304

void identity_write(char identity[TLS_IDENTITY], unsigned from, unsigned to, unsigned index, const char *token)
{
    const char *kind = index == BEAT ? "beat" : index ? "bulk" : "frames";

    memset(identity, 0, TLS_IDENTITY);
    /* a member that encrypts and one that does not must not connect */
    snprintf(identity, TLS_IDENTITY, "%s:%s:%u:%u:%u%s%s", network_is_plain() ? "plain" : "vocl", kind, from, to, index,
             *token ? ":" : "", token);
}

bool identity_read(const char *identity, const char *token, unsigned *from, unsigned *to, unsigned *index)
{
    char kind[8], same[TLS_IDENTITY];
    uint8_t difference = 0;

    if (sscanf(identity, "%*5[a-z]:%7[a-z]:%u:%u:%u", kind, from, to, index) != 4)
        return false;
    identity_write(same, *from, *to, *index, token);
    /* Always compares the whole, so that the time does not show how much is right. */
    for (size_t i = 0; i < strnlen(same, TLS_IDENTITY) + 1; i++)
        difference |= (uint8_t)(identity[i] ^ same[i]);
    return !difference;
}

void greeting_fill(struct greeting *greeting, unsigned rank)
{
    *greeting = (struct greeting){HELLO_MAGIC, WIRE_VERSION, BYTE_ORDER_MARK, sizeof(void *), rank, 0, "", ""};
    gethostname(greeting->host, sizeof(greeting->host) - 1);
}

const char *greeting_wrong(const struct greeting *greeting)
{
    if (greeting->magic != HELLO_MAGIC)
        return "not a VOCL process";
    if (greeting->byte_order != BYTE_ORDER_MARK || greeting->pointer_size != sizeof(void *))
        return "byte order or pointer size differ";
    if (greeting->version != WIRE_VERSION)
        return "protocol versions differ: the same VOCL must be installed on both sides";
    return NULL;
}

void greeting_put_library(struct greeting *greeting, const char *library)
{
    const size_t at = strnlen(greeting->endpoint, sizeof(greeting->endpoint)) + 1, length = strlen(library) + 1;

    if (at + length <= sizeof(greeting->endpoint))
        memcpy(greeting->endpoint + at, library, length);
}

const char *greeting_library(const struct greeting *greeting)
{
    const size_t at = strnlen(greeting->endpoint, sizeof(greeting->endpoint)) + 1;
    const bool ends =
        at < sizeof(greeting->endpoint) && memchr(greeting->endpoint + at, 0, sizeof(greeting->endpoint) - at) != NULL;

    return ends ? greeting->endpoint + at : "";
}
