/* Chooses a session's network: MPI, TLS, TLS or plain sockets through ssh, or socket pairs within a host. */
#ifndef VOCL_TRANSPORT_LAUNCH_NETWORK_H
#define VOCL_TRANSPORT_LAUNCH_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

/* Chooses by VOCL_NETWORK. by_hosts: there are other hosts; pool: their pool's network ("mpi", "tls"), or NULL. The
 * user may choose tls where the pool has mpi, but not mpi where it has tls. Returns 0, or a negative errno and why. */
int network_choose(bool by_hosts, const char *pool, bool *tls, char *why, size_t why_size);
/* Whether workers of this host are to be reached by socket pairs, without MPI. */
bool network_is_pairs(bool by_hosts, unsigned workers);
/* Whether the members are to connect only through ssh. */
bool network_is_ssh(void);
/* Whether nothing is encrypted, and the members only prove their identity. */
bool network_is_plain(void);
/* Makes MPI over TCP listen only at the interface of this address, unless UCX has other settings. Returns the line for
 * its environment, or NULL. */
const char *network_bind(const char *address, char *line, size_t size);

#endif
