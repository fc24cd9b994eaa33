/*
 * vocl-join's part when a session is suspended. When the program releases its workers, their places are returned to the
 * pool, and a daemon of the pool gets the message that the session is suspended. When the program needs a worker again,
 * a place is requested as the first time (replacement.h), and the program waits as long as that takes.
 */
#ifndef VOCL_PROXY_LAUNCH_SUSPEND_H
#define VOCL_PROXY_LAUNCH_SUSPEND_H

#include "proxy/launch/session.h"

extern struct inquiry suspend_inquiry; /* to the daemon that knows of the suspension */

/* program: its name, for lists of the pool's sessions. */
void suspend_open(const char *program, const char *job);
/* Handles a daemon's message that the session is to be suspended. */
void suspend_hear_daemon(struct attended *node, const json_t *message);
/* Handles the program's message. Returns false if it is not about suspending. */
bool suspend_hear_program(const struct starter_message *message);
bool suspend_is_on(void);
/* Returns the address of the daemon that knows of the suspension, which also takes requests; NULL: there is none at
 * present. lost: the daemon may be lost, so tell another one. */
const char *suspend_daemon(bool lost);
/* Returns why the session is not to resume, or "". */
const char *suspend_ended(void);

#endif
