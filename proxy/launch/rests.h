/*
 * vocl-join's part in a rest: what the session has of the pool is given back when the program lets go of its workers
 * (client/survive/rest.c), a daemon of the pool knows that the session rests, and when the program wants a worker again
 * the pool is asked for a place as the first time; for as long as it takes, the program waits.
 */
#ifndef VOCL_PROXY_LAUNCH_RESTS_H
#define VOCL_PROXY_LAUNCH_RESTS_H

#include "proxy/launch/newcomers.h"

#define RESTS_ASKERS 8 /* at most that wait for the program's answer at once */
#define RESTS_WIDTH (1 + RESTS_ASKERS)

/* program: its name, for who looks at the pool. */
void rests_open(const struct pool_session *session, const char *program, const char *job);
/* A daemon's message about its node: that the session is to rest. */
void rests_hear_daemon(struct attended *node, const json_t *message);
/* What the program wants to have done: false if that is not about a rest. */
bool rests_hear_program(const struct channel_message *message);
bool rests_now(void);
/* Something is tried again and again: rests_turn() is to be called every second. */
bool rests_busy(void);
void rests_poll(struct pollfd *fds);
void rests_turn(const struct pollfd *fds);

#endif
