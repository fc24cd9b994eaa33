/* Which network a session has. */
#ifndef VOCL_TRANSPORT_LAUNCH_NETWORK_H
#define VOCL_TRANSPORT_LAUNCH_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

/* What VOCL_NETWORK means here. by_hosts: there are other hosts; pool: what their pool says ("mpi", "tls"), or NULL:
 * who wants tls has it, and what is to be tls is not mpi. 0, or negative errno and why. */
int network_choose(bool by_hosts, const char *pool, bool *tls, char *why, size_t why_size);
/* Whether workers of this host are to be reached by pairs of sockets, without MPI. */
bool network_is_pairs(bool by_hosts, unsigned workers);
/* Whether that is to be TLS through what starts the workers alone. */
bool network_is_ssh(void);
/* Nothing is encrypted, and the members prove who they are. */
bool network_is_plain(void);
/* MPI over TCP listens: from now on only at the interface of this address, unless UCX is told something else. The line
 * for its environment, or NULL. */
const char *network_bind(const char *address, char *line, size_t size);

#endif
