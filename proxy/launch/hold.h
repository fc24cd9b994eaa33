/* What vocl-join does for `vocl run --hold` and vocl-kubernetes: it keeps devices that a pool has granted, for sessions
 * that name the hold. */
#ifndef VOCL_PROXY_LAUNCH_HOLD_H
#define VOCL_PROXY_LAUNCH_HOLD_H

#include <sys/types.h>

#include "proxy/launch/session.h"

/* Has every node hold its part, and for so many seconds longer than this process exists. Returns 0, or a negative errno
 * with the reason in why. */
int hold_all(unsigned keep_seconds, char *why, size_t why_size);
/* Returns when this process has ended, or no node holds anything any more. Asks a daemon that was restarted to hold
 * again. */
void hold_until(pid_t process);
/* The same for the control socket: if a line arrives there, the devices are returned at once. If it closes, the hold
 * remains for its keep_seconds. */
void hold_until_told(int control);

#endif
