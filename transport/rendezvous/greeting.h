/*
 * The first messages between members of a session, whatever carries the later ones. The connecting side first sends the
 * connection's identity, which says what it is for (transport/plugin/tls.h; transport/stream/plain.h sends it in the
 * clear). On its first connection with the program a worker then sends a greeting, which the program answers with a
 * welcome when all workers have come.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_GREETING_H
#define VOCL_TRANSPORT_RENDEZVOUS_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/plugin/tls.h"

#define HELLO_MAGIC 0x4c434f56u /* "VOCL" */
#define ANYBODY 65535           /* the number of a worker that has none yet */

/* Sent by the member with the higher number, on the connection for frames with the program. `extra` bytes follow: the
 * environment of Open MPI's placeholder; no other member sends any. */
struct greeting {
    uint32_t magic, version, byte_order, pointer_size, rank, extra;
    char host[64], endpoint[128];
};

/* The program's answer, when all workers have come; `size` locations follow. */
#define ACCEPTED_LATER 2     /* accepted; no locations follow, as workers connect on demand (transport/join/later.c) */
#define ACCEPTED_LATER_TLS 3 /* the same, over TLS (transport/join/apart.c) */

struct welcome {
    uint32_t magic, accepted, rank, size, pipes, base; /* base: the size before any member came later */
    char why[128];
};

struct location {
    char host[64], endpoint[128];
};

/* Sent on every other connection, by the member with the lower number. */
struct consent {
    uint32_t magic, accepted;
};

/* Writes the identity of a connection: the two numbers, the connecting member's first, its purpose, and with MPI
 * between hosts the session's token in hexadecimal digits (else ""). No two connections have the same. */
void identity_write(char identity[TLS_IDENTITY], unsigned from, unsigned to, unsigned index, const char *token);
/* Reads an identity. False: it is not valid, or of another session. */
bool identity_read(const char *identity, const char *token, unsigned *from, unsigned *to, unsigned *index);
/* The MPI library of a worker that will enter MPI with the program: behind the end of the greeting's endpoint, so that
 * the greeting of other versions is as long. Returns "" if there is none. */
void greeting_put_library(struct greeting *greeting, const char *library);
const char *greeting_library(const struct greeting *greeting);
/* Fills in this process' greeting. */
void greeting_fill(struct greeting *greeting, unsigned rank);
/* Returns why a greeting is not acceptable, or NULL. */
const char *greeting_wrong(const struct greeting *greeting);

#endif
