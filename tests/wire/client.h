/* A session with a live worker, for programs that send it any messages of the protocol. */
#ifndef VOCL_TESTS_WIRE_CLIENT_H
#define VOCL_TESTS_WIRE_CLIENT_H

#include "transport/transport.h"
#include "wire/wire.h"

#define OBJECT(number) (0x01000000u + (number))

/* Fields of a create_image for pixels of four bytes. */
#define RGBA_IMAGE(id, across, down)                                                                                   \
    .image = (id), .context = OBJECT(1), .flags = 1, .order = 0x10b5, .type = 0x10da, .object_type = 0x10f1,           \
    .width = (across), .height = (down)

struct client {
    struct transport *transport;
    bool lost;
    unsigned answers, outcomes;
    int outcome; /* the last one received */
};

/* Seeds random_next(), which returns the same numbers after the same seed. */
void random_seed(uint64_t seed);
uint64_t random_next(void);

/* Opens a session, or ends the program. */
void client_open(struct client *client);
/* Waits until the worker is gone, and returns whether it is within that time. */
bool client_ended_within(struct client *client, int milliseconds);
/* Sends the frame, and empties it. */
void client_send(struct client *client, struct wire_buffer *frame);
/* Creates a device, context, queue, two buffers, a program, its kernel and a user event, all numbered 1 (the buffers 1
 * and 2). */
void client_prologue(struct client *client);
/* Asks for the outcome of an object or a command. Returns false if the worker does not answer. */
bool client_outcome(struct client *client, unsigned kind, uint32_t object, int *error);
void client_close(struct client *client);

/* A part of a buffer, as in struct wire_region. */
#define PIECE(offset, bytes)                                                                                           \
    {                                                                                                                  \
        .kind = WIRE_PIECE, .size = (bytes), .origin = {(offset) }                                                     \
    }

#endif
