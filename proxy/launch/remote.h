/* vocl-proxy --remote: the starter of a worker on another host. */
#ifndef VOCL_PROXY_LAUNCH_REMOTE_H
#define VOCL_PROXY_LAUNCH_REMOTE_H

#define REMOTE_MOST_HEADER (1u << 20)
/* What it reads first: the length of what follows, strings with their ends: the folder, then the environment. */
#define REMOTE_HEADER "VOCL %zu\n"
/* What it then says, a line of its own. */
#define REMOTE_THERE "vocl-proxy is there"

/* Connections through a tunnel that a side may begin, for each member of the session. */
#define REMOTE_MOST_CALLS 32

int remote_run(void);

#endif
