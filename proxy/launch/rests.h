/*
 * vocl-join's part in a rest: what the session has of the pool is given back when the program lets go of its workers
 * (client/survive/rest.c), a daemon of the pool knows that the session rests, and when the program wants a worker again
 * the pool is asked for a place as the first time (wanted.h); for as long as it takes, the program waits.
 */
#ifndef VOCL_PROXY_LAUNCH_RESTS_H
#define VOCL_PROXY_LAUNCH_RESTS_H

#include "proxy/launch/session.h"

extern struct inquiry rests_inquiry; /* of the daemon that knows of the rest */

/* program: its name, for who looks at the pool. */
void rests_open(const char *program, const char *job);
/* A daemon's message about its node: that the session is to rest. */
void rests_hear_daemon(struct attended *node, const json_t *message);
/* What the program wants to have done: false if that is not about a rest. */
bool rests_hear_program(const struct channel_message *message);
bool rests_now(void);
/* The daemon that knows that it rests takes requests; NULL: there is none just now. lost: should it be lost, another
 * one is told. */
const char *rests_daemon(bool lost);
/* Why it is not to go on, or "". */
const char *rests_ended(void);

#endif
