/* How a session is started: what the ways to do it share. Each fills a struct job; how bytes travel is link.c's. */
#ifndef VOCL_TRANSPORT_START_H
#define VOCL_TRANSPORT_START_H

#include "transport/internal.h"

#define MAX_WORKERS 1024

struct start {
    struct job *job;
    void (*ending)(void *);
    void *argument;
    bool forked;     /* this process is the child of one that had MPI inside */
    const char *mpi; /* "mpich" or "openmpi" */
    long until;      /* it may take */
    char *why;
    size_t why_size;
    unsigned workers;
    unsigned numbers;           /* of descriptors, that the program may have: others are the session's; 0: all are */
    bool tls;                   /* without MPI: the secret in the token's place */
    uint8_t token[TOKEN_BYTES]; /* who is not born with a bell shows this */
    uint8_t secret[SECRET_BYTES];
    char devices[64];              /* for UCX, where it goes to other hosts: "UCX_NET_DEVICES=..." or "" */
    struct endpoint local, remote; /* where those say hello; fd < 0: nowhere */
    int tunnel;                    /* where connections through what started the workers are handed over, or -1 */
    bool wants_placeholder;
    char *environment; /* the placeholder's: NUL-terminated strings */
    uint32_t environment_length;
    int *born; /* connections that who started the workers has made, of each so many, or NULL */
    unsigned each;
};

/* The ways; each in a file of its own. 0, or negative errno and why. */
int start_local(struct start *start, bool pairs);
int start_hosts(struct start *start);
int start_pool(struct start *start);
int start_mpmd(struct start *start);
int start_openmpi(struct start *start);

bool pool_wanted(void);
/* Whether this process is rank 0 of a job that mpiexec started; never one that had MPI inside before. */
bool in_mpmd_job(bool forked);
/* The MPI that the job's environment is of, or else the setting. */
const char *job_mpi(void);
/* One message of the job, before there is a link; 0 or negative errno. */
int transfer_now(struct job *job, int peer, bool send, void *bytes, size_t length, long until);
struct invitation {
    char endpoint[128];
    uint8_t token[TOKEN_BYTES];
};

/* ---- job.c ---- */
/* What was made for the workers, and nobody has taken, is closed; and nothing listens any more. */
void start_drop_born(struct start *start);
void start_stop_listening(struct start *start);

/* ---- start_hosts.c ---- */
/* Listen for the workers at the address of this host from which the hosts are reached. */
int hosts_listen(struct start *start, const char *hosts);

/* ---- enter.c ---- */
/* Which MPI the session has, as the program leaves it the choice. */
void enter_choose(struct start *start);
/* It is loaded: best while the workers are starting, too. */
int enter_load(struct start *start);
/* MPI_Init, with this environment besides (NULL-terminated) and, if it is not negative, this descriptor in use; what
 * has to outlive the program's own descriptors is given to the keeper. local: all workers are on this host. */
int enter_mpi(struct start *start, const char **environment, int pmi, bool local);
/* Until all workers have come through it. */
int enter_await(struct start *start);
/* How a session begins whose processes have been started: its members meet, and enter MPI, if that carries what they
 * say. pmi: where rank 0's starter speaks, which is this function's, or -1. local: all workers are on this host. */
int enter_session(struct start *start, int pmi, bool local);
/* What that needs is loaded, before anything is started. */
int enter_tls_load(struct start *start);

/* ---- launch.c ---- */
/* Strings for execve(). failed: one of them could not be had. */
struct strings {
    char **all;
    size_t count;
    bool failed;
};
__attribute__((format(printf, 2, 3))) void strings_add(struct strings *strings, const char *format, ...);
/* A program of VOCL's own that starts the session's processes, with the environment that workers are to have, but for
 * the place where they say hello. */
struct launch {
    struct strings arguments, environment;
};
struct launch launch_new(const struct start *start, const char *helper, bool local);
/* Over MPI: those who come later will show the session's secret. */
void launch_keep_key(const struct start *start);
/* With what they do, if that is so. */
void launch_guests(const struct start *start, struct launch *launch);
/* Where they say hello, and what they show there. */
void launch_place(const struct start *start, struct launch *launch);
/* It is started, with the lifeline to it, and freed. */
int launch_helper(struct start *start, struct launch *launch);
/* The helper hands over so many descriptors. */
int launch_receive(struct start *start, int *descriptors, unsigned count);
/* What the helper says of a failure, or of its end: negative errno and why. 0 if it says nothing. */
int launch_hear(struct start *start);
/* A line of the helper's, without its end; negative errno. */
int launch_line(int fd, char *line, size_t size, long milliseconds);
/* Where workers and program need no network to reach each other: what UCX is told. */
#define LAUNCH_UCX "UCX_TLS=posix,sysv,cma,self"
/* The same, or, where a worker may be lost and the session goes on (VOCL_RECOVER), without reading other processes'
 * memory: MPI fails, for all, if such a process is gone. */
const char *launch_ucx(void);

#endif
