/*
 * A worker in place of one that has gone because it was lost (client/survive/recover.c), or because the session is
 * suspended. The program only gives the number that the old worker had. vocl-join requests such a place anywhere in the
 * pool, and has the worker started there. There is one replacement at a time.
 */
#ifndef VOCL_PROXY_LAUNCH_REPLACEMENT_H
#define VOCL_PROXY_LAUNCH_REPLACEMENT_H

#include "proxy/launch/session.h"

extern struct inquiry replacement_inquiry; /* the request to a daemon, for the place */

void replacement_open(void);
/* A node's worker has ended: keeps a record of its place. */
void replacement_keep(const struct attended *node);
/* Handles the program's message. Returns false if it is not about such a worker. */
bool replacement_hear_program(const struct starter_message *message);
/* Whether a replacement is under way, and replacement_turn() has to be called every second. */
bool replacement_is_wanted(void);
void replacement_turn(void);

#endif
