/*
 * The TLS plugin: OpenSSL as the few functions that the transport needs, loaded at run time, so that libvocl depends on
 * libc alone and a program with an OpenSSL of its own is not disturbed. TLS 1.3 with external pre-shared keys: each
 * connection has an identity, said in the clear by who connects, and the key that follows from it and from the
 * session's secret; so who has not got the secret does not come through the handshake, and a connection cannot be taken
 * for another. The keys of the traffic come from a Diffie-Hellman exchange besides (psk_dhe_ke): the secret alone does
 * not open what was recorded. Nothing blocks. One thread at a time may use a connection.
 */
#ifndef VOCL_TRANSPORT_PLUGIN_TLS_H
#define VOCL_TRANSPORT_PLUGIN_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/socket.h"

#define TLS_PLUGIN_VERSION 3
#define TLS_PLUGIN_SYMBOL "vocl_tls_plugin"
#define TLS_HASH 32
#define TLS_IDENTITY 64 /* of an identity, the 0 at its end included */

struct tls;

struct tls_plugin {
    unsigned version;
    /* What all connections have in common. bare: only the handshake is TLS's, who each other is; what follows goes as
     * it is. ending(argument) is called when the process ends and takes OpenSSL with it. */
    int (*init)(const uint8_t *secret, bool bare, void (*ending)(void *), void *argument);
    /* A connection over a socket that does not block. identity: of who connects; NULL: this side accepts. */
    struct tls *(*open)(int fd, const char *identity);
    /* Go on with the handshake: 0 done, -EAGAIN, or another negative errno: it has failed. */
    int (*shake)(struct tls *tls);
    /* Who connects, when it is done. */
    const char *(*identity)(const struct tls *tls);
    /* The socket has another number now. */
    void (*use)(struct tls *tls, int fd);
    /* How much of it was taken, perhaps 0: it is encrypted, and sent by flush() at the latest. Or negative errno. */
    ssize_t (*write)(struct tls *tls, const void *bytes, size_t length);
    /* Send what is encrypted: 1 when nothing is left, 0, or negative errno. */
    int (*flush)(struct tls *tls);
    /* How much came, 0: nothing now; or negative errno: it has ended, or what came is not what was sent. */
    ssize_t (*read)(struct tls *tls, void *bytes, size_t length);
    /* Whether something waits to be sent. */
    bool (*waits)(const struct tls *tls);
    /* Whether the kernel encrypts. */
    bool (*by_kernel)(const struct tls *tls);
    /* The SHA-256 of the bytes; false: there is none. */
    bool (*digest)(const void *bytes, size_t length, uint8_t hash[TLS_HASH]);
    /* Free it: the socket stays. */
    void (*close)(struct tls *tls);
};

#endif
