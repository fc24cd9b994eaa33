/* A session with a live worker, for programs that speak the protocol to it as they like. */
#ifndef VOCL_TESTS_WIRE_CLIENT_H
#define VOCL_TESTS_WIRE_CLIENT_H

#include "transport/transport.h"
#include "wire/wire.h"

#define OBJECT(number) (0x01000000u + (number))

/* Fields of a create_image: so many pixels of four bytes. */
#define RGBA_IMAGE(id, across, down)                                                                                   \
    .image = (id), .context = OBJECT(1), .flags = 1, .order = 0x10b5, .type = 0x10da, .object_type = 0x10f1,           \
    .width = (across), .height = (down)

struct client {
    struct transport *transport;
    bool lost;
    unsigned answers, outcomes;
    int outcome; /* the last one told */
};

/* The same numbers after the same seed. */
void random_seed(uint64_t seed);
uint64_t random_next(void);

/* Ends the program if there is no session. */
void client_open(struct client *client);
/* Until the worker is gone or so long has passed without that. */
bool client_ended_within(struct client *client, int milliseconds);
/* The frame, which is then empty. */
void client_send(struct client *client, struct wire_buffer *frame);
/* Device, context, queue, two buffers, a program, its kernel and a user event, all numbered 1 (the buffers 1 and 2). */
void client_prologue(struct client *client);
/* How it went with an object or a command; false: the worker says nothing any more. */
bool client_outcome(struct client *client, unsigned kind, uint32_t object, int *error);
void client_close(struct client *client);

/* A part of a buffer, as in struct wire_region. */
#define PIECE(offset, bytes)                                                                                           \
    {                                                                                                                  \
        .kind = WIRE_PIECE, .size = (bytes), .origin = {(offset) }                                                     \
    }

#endif
