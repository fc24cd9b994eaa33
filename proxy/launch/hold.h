/* What vocl-join does for `vocl run --hold`: it keeps what a pool has granted for sessions that name it. */
#ifndef VOCL_PROXY_LAUNCH_HOLD_H
#define VOCL_PROXY_LAUNCH_HOLD_H

#include <sys/types.h>

#include "proxy/launch/session.h"

/* Every node's part is held from now on: 0, or negative errno and why. */
int hold_all(char *why, size_t why_size);
/* Until that process has ended, or the nodes have nothing of it any more. A daemon that is started anew is told again.
 */
void hold_until(pid_t process);

#endif
