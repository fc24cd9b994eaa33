/*
 * vocl-join's part in a move: it gets the new place, as it got the first ones, has that node's daemon start the worker
 * for which the program asks, and gives the old place back. The program does the rest (client/survive/move.c).
 */
#ifndef VOCL_PROXY_LAUNCH_MOVES_H
#define VOCL_PROXY_LAUNCH_MOVES_H

#include "proxy/launch/session.h"

extern struct inquiry moves_inquiry; /* of a daemon, for a place */

void moves_open(void);
/* `vocl move PID --to NODE [--from NODE]` on this host: false if these words are something else. */
bool moves_asked(const char *words, int out);
/* One is under way. */
bool moves_now(void);
/* And that node is part of it. */
bool moves_has(const struct attended *node);
/* A daemon's message about its node: that it is to move, or not any more. */
void moves_hear_daemon(struct attended *node, const json_t *message);
/* What the program wants to have done. */
void moves_hear_program(const struct starter_message *message);
/* A node has nothing of the session any more. */
void moves_lose(struct attended *node);
struct pollfd moves_poll(void);
void moves_turn(const struct pollfd *fd);

#endif
