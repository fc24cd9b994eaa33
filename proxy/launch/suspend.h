/*
 * vocl-join's part when a session is suspended: what it has of the pool is given back when the program releases its
 * workers (client/survive/suspend.c), a daemon of the pool knows that it is suspended, and when the program wants a
 * worker again the pool is asked for a place as the first time (replacement.h); for as long as it takes, the program
 * waits.
 */
#ifndef VOCL_PROXY_LAUNCH_SUSPEND_H
#define VOCL_PROXY_LAUNCH_SUSPEND_H

#include "proxy/launch/session.h"

extern struct inquiry suspend_inquiry; /* of the daemon that knows that it is suspended */

/* program: its name, for who looks at the pool. */
void suspend_open(const char *program, const char *job);
/* A daemon's message about its node: that the session is to be suspended. */
void suspend_hear_daemon(struct attended *node, const json_t *message);
/* What the program wants to have done: false if that is not about suspending. */
bool suspend_hear_program(const struct starter_message *message);
bool suspend_is_on(void);
/* The address of the daemon that knows it, which takes requests; NULL: there is none just now. lost: should it be lost,
 * another one is told. */
const char *suspend_daemon(bool lost);
/* Why it is not to go on, or "". */
const char *suspend_ended(void);

#endif
