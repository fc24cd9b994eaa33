/* A connection to a daemon of the pool, from a process that may block: `vocl`, and vocl-join on behalf of programs. */
#ifndef VOCL_POOL_CLIENT_H
#define VOCL_POOL_CLIENT_H

#include "pool/channel.h"
#include "pool/poolfile.h"

struct client {
    int fd;
    bool keyed, heard; /* keyed: method key, whose failure only the first message shows; heard: a message has arrived */
    struct channel channel;
    /* When the last bytes were received, the last heartbeat was sent, and client_beat() was called. */
    long heard_ms, said_ms, looked_ms;
};

#define CLIENT_MS 10000 /* to connect to a daemon, and for its answer */
#define CLIENT_TRIES 5  /* attempts if the daemon closes the connection without a message */

/* Functions that return int return 0 or a negative errno; those with why put the reason there. */
/* Connects to the daemon at "host:port", or, if address is NULL, to the first daemon of the pool that answers: all are
 * tried in parallel. If the daemon has no slot for another unauthenticated connection, client_connect() tries again for
 * CLIENT_MS; client_connect_within() does not. */
int client_connect(struct client *client, const struct poolfile *pool, const char *address, char *why, size_t why_size);
int client_connect_within(struct client *client, const struct poolfile *pool, const char *address, long milliseconds,
                          char *why, size_t why_size);
/* Returns -ENOMEM for NULL, which json_pack() also returns for text that is not UTF-8. */
int client_send(struct client *client, const json_t *message);
/* Receives the next message, which the caller has to release. Returns -ETIMEDOUT if none arrives in time. */
int client_receive(struct client *client, json_t **message, long milliseconds);
/* Sends a message and receives the answer. If the answer has a member "error", its text is the reason, with -EPROTO. */
int client_call(struct client *client, const json_t *message, json_t **answer, char *why, size_t why_size);
/* Sends heartbeats, and checks that the daemon still answers. Call it several times a second while the connection is
 * open. Returns -ETIMEDOUT if the daemon has not answered for VOCL_PEER_TIMEOUT. */
int client_beat(struct client *client);
/* Connects and calls. Tries again, a few times, if the connection is closed without a message: only the first answer
 * shows whether the daemon has a slot and accepts the key. If it returns 0, the connection stays open. */
int client_ask(struct client *client, const struct poolfile *pool, const char *address, const json_t *message,
               json_t **answer, char *why, size_t why_size);
/* Sleeps for a random time, so that clients that were refused together do not all return at once. */
void client_nap(void);
/* Explains an error of sending or receiving. */
void client_explain(const struct client *client, int error, char *why, size_t why_size);
void client_close(struct client *client);

#endif
