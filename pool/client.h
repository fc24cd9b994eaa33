/* A connection to a daemon of the pool, from a process that can wait: `vocl`, and vocl-join for programs. */
#ifndef VOCL_POOL_CLIENT_H
#define VOCL_POOL_CLIENT_H

#include "pool/channel.h"
#include "pool/poolfile.h"

struct client {
    int fd;
    bool keyed, heard; /* by auth key, which shows in the first message only; whether there was one */
    struct channel channel;
    long heard_ms, said_ms, looked_ms; /* when something came last, a pulse went, and client_beat() looked */
};

#define CLIENT_MS 10000 /* for a daemon to be reached, and to answer */
#define CLIENT_TRIES 5  /* of who is not heard after that */

/* All return 0, or negative errno and why. */
/* At "host:port"; NULL: to the first daemon of the pool that answers, as all are tried side by side. Where it has no
 * place for one more who has not proved who he is, again, for CLIENT_MS; not client_connect_within(). */
int client_connect(struct client *client, const struct poolfile *pool, const char *address, char *why, size_t why_size);
int client_connect_within(struct client *client, const struct poolfile *pool, const char *address, long milliseconds,
                          char *why, size_t why_size);
/* -ENOMEM for NULL, which json_pack() makes of a text that is no UTF-8, too. */
int client_send(struct client *client, const json_t *message);
/* The next message, which is the caller's; -ETIMEDOUT after so long. */
int client_receive(struct client *client, json_t **message, long milliseconds);
/* Sends, and takes the answer; its "error" is why, with -EPROTO. */
int client_call(struct client *client, const json_t *message, json_t **answer, char *why, size_t why_size);
/* To be called several times a second while the connection is held: says that this process is there, and sees to it
 * that the daemon is. -ETIMEDOUT: it has not answered for VOCL_PEER_TIMEOUT. */
int client_beat(struct client *client);
/* Connects and calls: again, some times, if that ends without a word. Whether a
 * daemon has a place, and takes the key, shows in its first answer. The connection stays open if it is 0. */
int client_ask(struct client *client, const struct poolfile *pool, const char *address, const json_t *message,
               json_t **answer, char *why, size_t why_size);
/* Some time, after which not all come again together that were turned away together. */
void client_nap(void);
/* What an error of sending or receiving means. */
void client_explain(const struct client *client, int error, char *why, size_t why_size);
void client_close(struct client *client);

#endif
