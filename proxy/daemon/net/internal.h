/* What connection.c, proof.c and stranger.c share. */
#ifndef VOCL_PROXY_DAEMON_NET_INTERNAL_H
#define VOCL_PROXY_DAEMON_NET_INTERNAL_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/socket.h>

#include "proxy/daemon/net/connection.h"

#define PROOF_SECONDS 5 /* in all, however it is spent */
#define IDLE_SECONDS 60
#define MOST_UNREAD (CHANNEL_MOST + 4)

/* Why an outgoing one is about to be closed, with the other end's address; the first reason counts. */
__attribute__((format(printf, 2, 3))) void connection_blame(struct connection *c, const char *format, ...);
/* Nothing more comes or goes. The event loop destroys it, and tells its owner: callers further up still use both. */
void connection_drop(struct connection *c);
/* The other end hears why, and is closed. */
void connection_refuse(struct connection *c, const char *why);
/* As question_ask(); the answer has c as its argument, and begins with connection_answered(). */
void connection_ask(struct connection *c, enum question_kind kind, void (*find)(const struct daemon *d, void *bytes),
                    const void *bytes, size_t size, void (*answered)(void *c, void *bytes));
/* False: it is being closed, and nothing is to be done about it any more. */
bool connection_answered(struct connection *c);
/* What has come meanwhile is taken. */
void connection_resume(struct connection *c);
/* For how long it may say nothing; 0: for ever. */
void connection_set_seconds(struct connection *c, int reading);

/* ---- proof.c: each false if there is more to come, or the connection is closed ---- */
/* Who came says who he is. */
bool proof_take(struct connection *c, struct evbuffer *input);
/* Whom this daemon came to has greeted it. */
bool proof_give(struct connection *c, struct evbuffer *input);
/* And says whether it is believed. */
bool proof_reply(struct connection *c, struct evbuffer *input);

/* ---- stranger.c ---- */
/* How many there may be. */
unsigned strangers_room(void);
void stranger_begin(struct connection *c, const struct sockaddr *address);
/* Its first message came under the key that only who it says it is can have: it has the time that it takes to find out
 * who that is. */
void stranger_known(struct connection *c);
/* And that is found out. False: there is no place for it. */
bool stranger_end(struct connection *c);

#endif
