/* The members of a session, and how it was started: the result of the start, for the life of the session. */
#ifndef VOCL_TRANSPORT_CORE_JOB_H
#define VOCL_TRANSPORT_CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/socket.h"
#include "transport/alive/bell.h"
#include "transport/alive/heartbeat.h"
#include "transport/alive/fd_store.h"
#include "transport/core/provider.h"

struct member {
    int fd;
    uint32_t rank;
    pid_t process; /* on this host, or 0 */
    char host[64];
    char endpoint[128];              /* where other members connect to it; the program passes it on to them */
    const struct provider *provider; /* of this pair, or NULL: the job's */
    struct streams *way; /* its streams, until transport_open() takes them; NULL with MPI, where fd is the bell */
};

/* The secret by which members that come later to a session over MPI show that they belong to it. */
struct newcomer_key {
    bool known;
    uint8_t secret[SECRET_BYTES];
    void (*ending)(void *); /* as job_open_client()'s */
    void *argument;
};

struct job {
    const struct provider *provider; /* of all pairs, unless a member has another */
    const struct mpi_plugin *plugin; /* or NULL: without MPI */
    bool whole;                      /* an MPMD job: its mpiexec expects all ranks to finalize */
    int rank, size;
    uint32_t last_tag;
    unsigned pipes;     /* without MPI: connections for bulk data of each pair */
    bool later;         /* workers are connected with each other on demand (transport/join/later.c) */
    bool by_tls;        /* with later: over TLS (transport/join/apart.c) */
    unsigned others;    /* in a worker: numbers of other workers are below this */
    int control_socket; /* to vocl-launcher or vocl-join, or -1 */
    char place[128];    /* in a pool: the host of one of its nodes */
    /* Who started the workers: vocl-launcher on this host, or by ssh; the daemons of a pool. */
    enum { STARTED_OTHERWISE, STARTED_HERE, STARTED_THERE, STARTED_POOL } started;
    struct newcomer_key newcomers;
    struct stored_fd calls;       /* in a worker: the socket on which it is handed connections, or -1 */
    struct stored_fd starter;     /* to the starter, while the session runs (requests.c), or -1 */
    struct stored_fd pmi;         /* MPI's connection with its starter, or -1 */
    struct stored_fd placeholder; /* to the placeholder of Open MPI, which stands in for this process, or -1 */
    struct fd_store *fd_store;    /* holds the client's descriptors, or NULL */
    bool apart;                   /* MPI's descriptors are in the store, too, or there is no MPI */
    struct heartbeat *heartbeat;
    struct stored_fd first; /* in a worker: its bell to the program, until struct peer has it */
    struct beat beat;       /* its heartbeat */
    unsigned member_count;
    struct member *members;
};

#endif
