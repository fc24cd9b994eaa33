/*
 * vocl-join's part in a recovery (client/survive/recover.c): in the place of a worker that was lost the pool is asked
 * for another such place, wherever in the pool.
 */
#ifndef VOCL_PROXY_LAUNCH_LOSSES_H
#define VOCL_PROXY_LAUNCH_LOSSES_H

#include "proxy/launch/newcomers.h"

void losses_open(const struct pool_session *session);
/* A node's worker has ended. */
void losses_keep(const struct attended *node);
/* What the program wants to have done: false if that is not about a worker that was lost. */
bool losses_hear_program(const struct channel_message *message);

#endif
