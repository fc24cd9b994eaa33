/*
 * vocl-join's part in a move: it requests the new place as it did the first ones, has that node's daemon start the
 * worker for which the program asks, and returns the old place. The program does the rest (client/survive/move.c).
 */
#ifndef VOCL_PROXY_LAUNCH_MOVES_H
#define VOCL_PROXY_LAUNCH_MOVES_H

#include "proxy/launch/session.h"

extern struct inquiry moves_inquiry; /* the request to a daemon, for a place */

void moves_open(void);
/* Handles `vocl move PID --to NODE [--from NODE]` on this host. Returns false if the words are another request. */
bool moves_asked(const char *words, int out);
/* Whether a move is under way. */
bool moves_now(void);
/* Whether this node takes part in the move. */
bool moves_has(const struct attended *node);
/* Handles a daemon's message that its node's part is to move, or no longer to move. */
void moves_hear_daemon(struct attended *node, const json_t *message);
/* Handles the program's requests to start or end a worker. */
void moves_hear_program(const struct starter_message *message);
/* Called when a node no longer has anything of the session. */
void moves_lose(struct attended *node);
struct pollfd moves_poll(void);
void moves_turn(const struct pollfd *fd);

#endif
