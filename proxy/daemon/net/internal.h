/* What connection.c, proof.c and stranger.c share. */
#ifndef VOCL_PROXY_DAEMON_NET_INTERNAL_H
#define VOCL_PROXY_DAEMON_NET_INTERNAL_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/socket.h>

#include "proxy/daemon/net/connection.h"

#define PROOF_SECONDS 5 /* for the whole authentication */
#define IDLE_SECONDS 60
#define MOST_UNREAD (CHANNEL_MOST + 4)

/* Records why an outgoing connection is about to be closed, with the other end's address; the first reason counts. */
__attribute__((format(printf, 2, 3))) void connection_blame(struct connection *c, const char *format, ...);
/* Stops all input and output. The event loop later calls closed() and destroys the connection, because callers further
 * up still use both. */
void connection_drop(struct connection *c);
/* Sends the reason, and closes the connection. */
void connection_refuse(struct connection *c, const char *why);
/* As question_ask(); answered() gets c as its argument, and has to begin with connection_answered(). */
void connection_ask(struct connection *c, enum question_kind kind, void (*find)(const struct daemon *d, void *bytes),
                    const void *bytes, size_t size, void (*answered)(void *c, void *bytes));
/* Returns false if the connection is being closed, and nothing more is to be done. */
bool connection_answered(struct connection *c);
/* Takes the messages that have arrived meanwhile. */
void connection_resume(struct connection *c);
/* Sets how many seconds the other end may be silent; 0: any time. */
void connection_set_seconds(struct connection *c, int reading);

/* ---- proof.c: each returns false if more input is needed, or the connection is closed ---- */
/* Takes the proof of a client that has connected. */
bool proof_take(struct connection *c, struct evbuffer *input);
/* Takes the greeting of a daemon that this one has connected to, and sends a proof. */
bool proof_give(struct connection *c, struct evbuffer *input);
/* Takes that daemon's reply. */
bool proof_reply(struct connection *c, struct evbuffer *input);

/* ---- stranger.c ---- */
/* Returns how many unauthenticated connections there may be. */
unsigned strangers_room(void);
void stranger_begin(struct connection *c, const struct sockaddr *address);
/* The first message was encrypted with the right key: the time limit for authentication no longer applies while the
 * user is looked up. */
void stranger_known(struct connection *c);
/* The user has been looked up. Returns false if there are too many connections. */
bool stranger_end(struct connection *c);

#endif
