/* Who is in a session, and how it was started: what the start leaves for the session's life. */
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
    char endpoint[128];              /* known to the program, for the others */
    const struct provider *provider; /* of this pair, or NULL: the job's */
    struct streams *way; /* what it is reached by, until transport_open() has it; with MPI it has the bell alone: fd */
};

/* With which members that come later show that they belong to a session over MPI. */
struct newcomer_key {
    bool known;
    uint8_t secret[SECRET_BYTES];
    void (*ending)(void *); /* as job_open_client()'s */
    void *argument;
};

struct job {
    const struct provider *provider; /* of all pairs */
    const struct mpi_plugin *plugin; /* or NULL: without MPI */
    bool whole;                      /* an MPMD job, whose mpiexec wants to see all ranks finalize */
    int rank, size;
    uint32_t last_tag;
    unsigned pipes; /* without MPI: connections for bulk data of each pair */
    bool later;  /* workers are connected with each other when they have something to say (transport/join/later.c); */
    bool by_tls; /* all of them over TLS (transport/join/apart.c) */
    unsigned others;    /* a worker: those below this number may be there */
    int control_socket; /* to vocl-launcher or vocl-join, or -1 */
    char place[128];    /* a pool's: where a node of it is */
    /* by vocl-launcher: on this host, or by ssh; by a pool's daemons */
    enum { STARTED_OTHERWISE, STARTED_HERE, STARTED_THERE, STARTED_POOL } started;
    struct newcomer_key newcomers;
    struct stored_fd calls;       /* a worker: where it is handed connections, or -1 */
    struct stored_fd starter;     /* to the same, while the session runs (requests.c), or -1 */
    struct stored_fd pmi;         /* what MPI has of its starter, or -1 */
    struct stored_fd placeholder; /* Open MPI's, of this process, or -1 */
    struct fd_store *fd_store;    /* of the client's descriptors, or NULL */
    bool apart;                   /* and of MPI's, or there is none */
    struct heartbeat *heartbeat;
    struct stored_fd first; /* a worker's bell, until it is the peer's */
    struct beat beat;       /* of that */
    unsigned member_count;
    struct member *members;
};

#endif
