/* Connections to and from the daemon, and messages on them. */
#ifndef VOCL_PROXY_DAEMON_NET_CONNECTION_H
#define VOCL_PROXY_DAEMON_NET_CONNECTION_H

#include "pool/channel.h"
#include "proxy/daemon/net/message.h"
#include "proxy/daemon/net/question.h"

struct connection;
struct connection_owner {
    void (*message)(struct connection *c, json_t *message); /* borrowed */
    void (*closed)(struct connection *c);                   /* its memory goes afterwards */
    void (*opened)(struct connection *c);                   /* outgoing: it may be used now; or NULL */
    bool prompt; /* who stands for a session says that it is there in time; who gets one may be busy with that */
};

enum phase { PHASE_PROOF, PHASE_GREETING, PHASE_REPLY, PHASE_OPEN, PHASE_CLOSING };

struct connection {
    struct daemon *daemon;
    struct auth_peer peer;
    struct user user; /* the same, as it was found out lately */
    char remote[64];
    char why[192]; /* an outgoing one is closed, or "" if that is not known */
    void *argument;
    /* and for the files of net/ */
    const struct connection_owner *owner;
    LIST_ENTRY(connection) in;
    struct bufferevent *stream;
    enum phase phase;
    struct channel channel;
    uint8_t nonce[AUTH_NONCE];
    long user_ms; /* when the user was found out, or 0 */
    unsigned configured;
    char node[64];         /* of an outgoing one, to which */
    uint8_t address[16];   /* whose strangers it counts with */
    struct timer deadline; /* a stranger's */
    bool pulses;           /* it says that it is there */
    long heard_ms;
    bool outgoing, stranger, dropped;
    struct event *end;         /* destroys it */
    struct question *question; /* until it is answered nothing more is taken of what comes */
    json_t *deferred;          /* the message that has come meanwhile, or NULL */
};

/* take: what the messages ask for on connections that nobody owns. */
int connection_listen(struct daemon *d, void (*take)(struct connection *c, json_t *message), char *why,
                      size_t why_size);
/* To another daemon. NULL if it cannot be tried. */
struct connection *connection_open(struct daemon *d, const char *node, const char *address,
                                   const struct connection_owner *owner, void *argument);
/* Takes message over. */
void connection_send(struct connection *c, json_t *message);
/* After what is to be sent was sent. As with connection_send() to who does not read, c and what it belongs to stay
 * until the event loop has them again: only then its owner is told, and it is destroyed. */
void connection_close(struct connection *c);
/* An accepted connection belongs to something from now on: it may be silent, and closed() is told when it ends. */
void connection_own(struct connection *c, const struct connection_owner *owner, void *argument);
/* Whether it has said that it is there, and then nothing for longer than it may. */
bool connection_is_silent(const struct connection *c);
/* Those that are silent are lost. was_away: it is this daemon that did not listen. */
void connections_judge(struct daemon *d, long now, bool was_away);
void connection_fail(struct connection *c, const char *error);
/* What somebody waits for, if he is there still; nobody owns the connection then, and *asker is NULL. */
void connection_answer(struct connection **asker, json_t *message);
/* Every open one of that owner. */
void connections_each(struct daemon *d, const struct connection_owner *owner, void (*visit)(struct connection *c));
void connections_close(struct daemon *d);

#endif
