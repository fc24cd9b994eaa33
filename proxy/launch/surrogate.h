/*
 * A program that is stopped, by Ctrl-Z or in a debugger, does not answer its workers, and is not dead. Its launcher, in
 * a session of its own, has the program's bells, too, and says on them how it is. When the host is gone nobody does.
 */
#ifndef VOCL_PROXY_LAUNCH_SURROGATE_H
#define VOCL_PROXY_LAUNCH_SURROGATE_H

#include <stdbool.h>

/* What has come on the lifeline: a bell, the program's channel (requests.h), or nothing more (false). */
bool surrogate_hear(int lifeline);
/* To be called so often, in milliseconds, or never (-1); the time that is left. */
int surrogate_look(int lifeline);
/* Bells close with the program. */
void surrogate_end(void);

#endif
