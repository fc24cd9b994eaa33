/*
 * The TLS plugin: OpenSSL as the few functions that the transport needs, loaded at run time, so that libvocl depends on
 * libc alone and a program's own OpenSSL is not disturbed. TLS 1.3 with external pre-shared keys: each connection has
 * an identity, which the connecting side sends in the clear, and a key, derived from it and from the session's secret.
 * So nobody without the secret completes the handshake, and a connection cannot be mistaken for another. The traffic
 * keys also come from a Diffie-Hellman exchange (psk_dhe_ke): the secret alone does not decrypt what was recorded.
 * Nothing blocks. Only one thread at a time may use a connection.
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
#define TLS_IDENTITY 64 /* bytes of an identity, the 0 at its end included */

struct tls;

struct tls_plugin {
    unsigned version;
    /* Sets what all connections share. bare: TLS only proves the identities, in the handshake; the data after it is not
     * encrypted. ending(argument) is called when the process ends and takes OpenSSL with it. */
    int (*init)(const uint8_t *secret, bool bare, void (*ending)(void *), void *argument);
    /* Opens a connection over a nonblocking socket. identity: of the connecting side; NULL: this side accepts. */
    struct tls *(*open)(int fd, const char *identity);
    /* Continues the handshake. Returns 0 when it is complete, -EAGAIN, or another negative errno if it has failed. */
    int (*shake)(struct tls *tls);
    /* The identity of the connecting side, after the handshake. */
    const char *(*identity)(const struct tls *tls);
    /* Sets the socket's new descriptor. */
    void (*use)(struct tls *tls, int fd);
    /* Returns how many bytes were taken, perhaps 0, or a negative errno. They are encrypted, and sent by flush() at the
     * latest. */
    ssize_t (*write)(struct tls *tls, const void *bytes, size_t length);
    /* Sends encrypted bytes. Returns 1 when none is left, 0 if some are, or a negative errno. */
    int (*flush)(struct tls *tls);
    /* Returns the number of bytes read; 0: none has arrived; or a negative errno: the connection has ended, or bytes
     * were changed on the way. */
    ssize_t (*read)(struct tls *tls, void *bytes, size_t length);
    /* Whether bytes wait to be sent. */
    bool (*waits)(const struct tls *tls);
    /* Whether the kernel encrypts. */
    bool (*by_kernel)(const struct tls *tls);
    /* Computes the SHA-256 of the bytes; false: it is not available. */
    bool (*digest)(const void *bytes, size_t length, uint8_t hash[TLS_HASH]);
    /* Frees the connection; the socket stays open. */
    void (*close)(struct tls *tls);
};

#endif
