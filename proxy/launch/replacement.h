/*
 * A worker in the place of one that is gone, as it was lost (client/survive/recover.c) or the session is suspended. The
 * program says no more than the number that the last one had: the pool is asked for such a place, wherever it has one,
 * and the worker is started there. There is one at a time.
 */
#ifndef VOCL_PROXY_LAUNCH_REPLACEMENT_H
#define VOCL_PROXY_LAUNCH_REPLACEMENT_H

#include "proxy/launch/session.h"

extern struct inquiry replacement_inquiry; /* of a daemon, for the place */

void replacement_open(void);
/* A node's worker has ended. */
void replacement_keep(const struct attended *node);
/* What the program wants to have done: false if that is not about such a worker. */
bool replacement_hear_program(const struct starter_message *message);
/* replacement_turn() is to be called every second. */
bool replacement_is_wanted(void);
void replacement_turn(void);

#endif
