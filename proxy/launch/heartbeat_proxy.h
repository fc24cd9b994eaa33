/*
 * A program that is stopped, by Ctrl-Z or in a debugger, does not answer its workers, and is not dead. Its launcher, in
 * a session of its own, has the program's bells, too, and says on them how it is. When the host is gone nobody does.
 */
#ifndef VOCL_PROXY_LAUNCH_HEARTBEAT_PROXY_H
#define VOCL_PROXY_LAUNCH_HEARTBEAT_PROXY_H

#include <stdbool.h>

/* What has come on the control socket: a bell, the program's socket of packets (requests.h), or nothing more (false).
 */
bool heartbeat_proxy_hear(int control);
/* To be called so often, in milliseconds, or never (-1); the time that is left. */
int heartbeat_proxy_look(int control);
/* Bells close with the program. */
void heartbeat_proxy_end(void);

#endif
