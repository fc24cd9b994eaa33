/*
 * A request to a daemon that stays open until the caller ends it. The connection remains for messages in both
 * directions. If it is lost, the request is sent again, to the same or another daemon. A process may have several
 * inquiries, and waits in poll() for them together with other descriptors.
 */
#ifndef VOCL_POOL_INQUIRY_H
#define VOCL_POOL_INQUIRY_H

#include <poll.h>

#include "pool/client.h"

#define INQUIRY_ANY "" /* as an address: the daemon that answers first */

struct inquiry;

/* What inquiries of one kind share, among it the pause between attempts to connect: an attempt blocks everything
 * else. */
struct inquiry_kind {
    long reach_ms, again_ms; /* time limit of an attempt to connect, and pause between attempts, in ms */
    long tried_ms;
    void (*hear)(struct inquiry *inquiry, const json_t *message);
    /* The connection is lost (reached), or could not be made. May be NULL. */
    void (*lost)(struct inquiry *inquiry, bool reached, const char *why);
    /* Called before the next attempt after that, to set another address. Returns false if there is none at present. May
     * be NULL. */
    bool (*change)(struct inquiry *inquiry);
};

struct inquiry {
    struct inquiry_kind *kind;
    const struct poolfile *pool;
    struct client client; /* its fd is -1 while there is no connection */
    char address[128];
    json_t *question; /* with the ticket that the last daemon gave for it; NULL: none is open */
    bool asked, lost; /* asked: no answer has arrived yet; lost: another address is needed */
};

void inquiry_open(struct inquiry *inquiry, struct inquiry_kind *kind, const struct poolfile *pool);
/* Opens the inquiry: from now on the question is asked until it is answered. Makes the first attempt at once. Takes
 * ownership of question. address NULL: change() sets it. */
void inquiry_begin(struct inquiry *inquiry, const char *address, json_t *question);
/* The same, over inquiry->client, which is connected, and with another question first, whose answer it waits for.
 * Returns 0, or a negative errno with the reason in why. */
int inquiry_begin_with(struct inquiry *inquiry, json_t *first, const char *address, json_t *question, char *why,
                       size_t why_size);
void inquiry_end(struct inquiry *inquiry);
/* Sends a message to the daemon, if it is connected. Takes ownership of message, which is NULL if memory is
 * exhausted. */
void inquiry_say(struct inquiry *inquiry, json_t *message);

/* Fills fds for poll(). Returns true if inquiries_turn() has to be called regularly even if nothing arrives. */
bool inquiries_poll(struct inquiry *const *list, unsigned count, struct pollfd *fds);
/* Handles what poll() found, sends heartbeats, and makes the attempts to connect that are due. */
void inquiries_turn(struct inquiry *const *list, unsigned count, const struct pollfd *fds);
/* Sends heartbeats. Call it before anything that takes long. */
void inquiries_beat(struct inquiry *const *list, unsigned count);

#endif
