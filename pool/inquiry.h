/*
 * What a process wants of a daemon for as long as that takes. The connection stays, for what either has to say, and
 * when it is lost this or another daemon is asked again. A process has several side by side, and waits in poll() for
 * other things besides.
 */
#ifndef VOCL_POOL_INQUIRY_H
#define VOCL_POOL_INQUIRY_H

#include <poll.h>

#include "pool/client.h"

#define INQUIRY_ANY "" /* for an address: whichever daemon answers first */

struct inquiry;

/* Those of a kind share the pauses between tries, as everything else waits while a daemon is reached for. */
struct inquiry_kind {
    long reach_ms, again_ms; /* how long a try may take, and the pause */
    long tried_ms;
    void (*hear)(struct inquiry *inquiry, const json_t *message);
    /* Or NULL. reached: the connection had been made. */
    void (*lost)(struct inquiry *inquiry, bool reached, const char *why);
    /* Before the next try when it was lost, or not reached: another address. False: there is none just now. Or NULL. */
    bool (*change)(struct inquiry *inquiry);
};

struct inquiry {
    struct inquiry_kind *kind;
    const struct poolfile *pool;
    struct client client; /* its fd is -1 while there is no connection */
    char address[128];
    json_t *question; /* with the ticket that the last daemon gave for it; NULL: nothing is wanted */
    bool asked, lost; /* no answer has come yet; another address is needed */
};

void inquiry_open(struct inquiry *inquiry, struct inquiry_kind *kind, const struct poolfile *pool);
/* From now on the answer is wanted; the first try is made at once. Takes the question over. address: NULL: change()
 * says which. */
void inquiry_begin(struct inquiry *inquiry, const char *address, json_t *question);
/* The same, where another question, whose answer it waits for, comes before: over client, which is connected. 0, or
 * negative errno and why. */
int inquiry_begin_with(struct inquiry *inquiry, json_t *first, const char *address, json_t *question, char *why,
                       size_t why_size);
void inquiry_end(struct inquiry *inquiry);
/* To the daemon, if it is connected. Takes the message over, which is NULL where there is no memory for it. */
void inquiry_say(struct inquiry *inquiry, json_t *message);

/* What to poll for; true: turns are needed though nothing may come. */
bool inquiries_poll(struct inquiry *const *list, unsigned count, struct pollfd *fds);
/* What was found, pulses, and tries. */
void inquiries_turn(struct inquiry *const *list, unsigned count, const struct pollfd *fds);
/* Before anything that takes a while. */
void inquiries_beat(struct inquiry *const *list, unsigned count);

#endif
