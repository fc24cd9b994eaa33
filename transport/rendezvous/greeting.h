/*
 * How members of a session begin to speak with each other, whatever carries it afterwards. Who connects says first what
 * the connection is for, its identity (transport/plugin/tls.h; transport/stream/plain.h says it in the clear); on the
 * first one with the program a worker then says a greeting, and is answered by a welcome when all are there.
 */
#ifndef VOCL_TRANSPORT_RENDEZVOUS_GREETING_H
#define VOCL_TRANSPORT_RENDEZVOUS_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/plugin/tls.h"

#define HELLO_MAGIC 0x4c434f56u /* "VOCL" */
#define ANYBODY 65535           /* the number of a worker that has none yet */

/* By the one with the higher number, on the connection for frames with the program. So many bytes of extra follow: the
 * environment of Open MPI's placeholder, which alone has any. */
struct greeting {
    uint32_t magic, version, byte_order, pointer_size, rank, extra;
    char host[64], endpoint[128];
};

/* The program's answer, when all are there; so many places follow. */
#define ACCEPTED_LATER 2 /* accepted: no places follow, for others are not to be gone to (transport/join/later.c), */
#define ACCEPTED_LATER_TLS 3 /* and if they are, it is over TLS (transport/join/apart.c) */

struct welcome {
    uint32_t magic, accepted, rank, size, pipes, base; /* base: the size before anybody came later */
    char why[128];
};

struct location {
    char host[64], endpoint[128];
};

/* On every other connection: by the one with the lower number. */
struct consent {
    uint32_t magic, accepted;
};

/* The two numbers, who connects first, what for, and with MPI between hosts the session's token in hexadecimal digits
 * (else ""): nobody's identity is another's. */
void identity_write(char identity[TLS_IDENTITY], unsigned from, unsigned to, unsigned index, const char *token);
/* Back. False: it is none, or of another session. */
bool identity_read(const char *identity, const char *token, unsigned *from, unsigned *to, unsigned *index);
/* This process' own. */
void greeting_fill(struct greeting *greeting, unsigned rank);
/* NULL if it is acceptable. */
const char *greeting_wrong(const struct greeting *greeting);

#endif
