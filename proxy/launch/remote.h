/* vocl-proxy --remote: starts a worker on another host. */
#ifndef VOCL_PROXY_LAUNCH_REMOTE_H
#define VOCL_PROXY_LAUNCH_REMOTE_H

#define REMOTE_MOST_HEADER (1u << 20)
/* It first reads the length of what follows, and then strings with their terminating 0: the folder, and the
 * environment. */
#define REMOTE_HEADER "VOCL %zu\n"
/* It then writes this, on a line of its own. */
#define REMOTE_THERE "vocl-proxy is there"

/* How many connections through a tunnel each side may begin, for each member of the session. */
#define REMOTE_MOST_CALLS 32

int remote_run(void);

#endif
