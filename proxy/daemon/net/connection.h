/* Connections to and from the daemon, and the messages on them. */
#ifndef VOCL_PROXY_DAEMON_NET_CONNECTION_H
#define VOCL_PROXY_DAEMON_NET_CONNECTION_H

#include "pool/channel.h"
#include "proxy/daemon/net/message.h"
#include "proxy/daemon/net/question.h"

struct connection;
struct connection_owner {
    void (*message)(struct connection *c, json_t *message); /* message is borrowed */
    void (*closed)(struct connection *c);                   /* the connection is freed afterwards */
    void (*opened)(struct connection *c);                   /* outgoing: it is ready for messages; may be NULL */
    /* The client represents a session, so its heartbeats must arrive in time; one that still gets a session may be
     * busy. */
    bool prompt;
};

enum phase { PHASE_PROOF, PHASE_GREETING, PHASE_REPLY, PHASE_OPEN, PHASE_CLOSING };

struct connection {
    struct daemon *daemon;
    struct auth_peer peer;
    struct user user; /* the same user, as looked up recently */
    char remote[64];
    char why[192]; /* why an outgoing one is closed, or "" if that is not known */
    void *argument;
    /* for the files of net/ */
    const struct connection_owner *owner;
    LIST_ENTRY(connection) in;
    struct bufferevent *stream;
    enum phase phase;
    struct channel channel;
    uint8_t nonce[AUTH_NONCE];
    long user_ms; /* when the user was looked up, or 0 */
    unsigned configured;
    char node[64];         /* of an outgoing one: the node it leads to */
    uint8_t address[16];   /* by which unauthenticated connections are counted */
    struct timer deadline; /* for authentication */
    bool pulses;           /* the other end sends heartbeats */
    long heard_ms;
    bool outgoing, stranger, dropped;
    struct event *end;         /* destroys the connection */
    struct question *question; /* until it is answered, no more messages are taken */
    json_t *deferred;          /* the message that waits for the answer, or NULL */
};

/* Starts to listen. take: handles the messages of connections without an owner. */
int connection_listen(struct daemon *d, void (*take)(struct connection *c, json_t *message), char *why,
                      size_t why_size);
/* Opens a connection to another daemon. Returns NULL on failure. */
struct connection *connection_open(struct daemon *d, const char *node, const char *address,
                                   const struct connection_owner *owner, void *argument);
/* Takes ownership of message. */
void connection_send(struct connection *c, json_t *message);
/* Closes the connection after the pending output is sent. As when connection_send() meets a peer that does not read, c
 * and its owner's data remain valid until control returns to the event loop: only then is closed() called and c
 * destroyed. */
void connection_close(struct connection *c);
/* An accepted connection gets an owner: it may then be silent, and closed() is called at its end. */
void connection_own(struct connection *c, const struct connection_owner *owner, void *argument);
/* Whether the other end has sent heartbeats before, and now nothing for too long. */
bool connection_is_silent(const struct connection *c);
/* Drops the connections that are silent. was_away: this daemon itself did not run for a while, so silence does not
 * count. */
void connections_judge(struct daemon *d, long now, bool was_away);
void connection_fail(struct connection *c, const char *error);
/* Sends the answer to a client that waits for it, if the client is still there. Its connection then has no owner, and
 * *asker is NULL. */
void connection_answer(struct connection **asker, json_t *message);
/* Visits every open connection of this owner. */
void connections_each(struct daemon *d, const struct connection_owner *owner, void (*visit)(struct connection *c));
void connections_close(struct daemon *d);

#endif
