/*
 * A worker that the program wants again, as it was lost (client/survive/recover.c) or the session rests, and of which
 * it says no more than the number that the last one had: the pool is asked for such a place, wherever it has one, and
 * the worker is started there. There is one at a time.
 */
#ifndef VOCL_PROXY_LAUNCH_WANTED_H
#define VOCL_PROXY_LAUNCH_WANTED_H

#include "proxy/launch/session.h"

extern struct inquiry wanted_inquiry; /* of a daemon, for the place */

void wanted_open(void);
/* A node's worker has ended. */
void wanted_keep(const struct attended *node);
/* What the program wants to have done: false if that is not about such a worker. */
bool wanted_hear_program(const struct channel_message *message);
/* wanted_turn() is to be called every second. */
bool wanted_now(void);
void wanted_turn(void);

#endif
