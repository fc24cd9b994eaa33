/* Starts the helper, VOCL's program that starts a session's processes; and the state of a start while it runs. */
#ifndef VOCL_TRANSPORT_LAUNCH_LAUNCH_H
#define VOCL_TRANSPORT_LAUNCH_LAUNCH_H

#include <sys/resource.h>

#include "base/clock.h"
#include "transport/core/job.h"
#include "transport/launch/network.h"
#include "transport/starter.h"
#include "transport/transport.h"

#define MAX_WORKERS 1024

struct start {
    struct job *job;
    void (*ending)(void *);
    void *argument;
    bool forked;     /* this process is the child of one that had MPI inside */
    const char *mpi; /* "mpich" or "openmpi" */
    long until;      /* the time at which the start fails */
    char *why;
    size_t why_size;
    unsigned workers;
    /* RLIMIT_NOFILE of the program: the session uses descriptors from this number on; 0: the program's limit is high
     * enough. */
    unsigned numbers;
    bool tls;                   /* without MPI: the secret replaces the token */
    uint8_t token[TOKEN_BYTES]; /* shown by workers that do not inherit their bell */
    uint8_t secret[SECRET_BYTES];
    char devices[64];              /* for UCX to other hosts: "UCX_NET_DEVICES=..." or "" */
    struct endpoint local, remote; /* where workers connect; fd < 0: nowhere */
    int tunnel;                    /* the socket on which connections arrive that the workers' starter carries, or -1 */
    bool wants_placeholder;
    char *environment; /* the placeholder's: NUL-terminated strings */
    uint32_t environment_length;
    int *born; /* connections that the starter of the workers has made, `each` for every worker, or NULL */
    unsigned each;
};

/* ---- launch.c ---- */
/* Strings for execve(). failed: memory was exhausted. */
struct strings {
    char **all;
    size_t count;
    bool failed;
};
__attribute__((format(printf, 2, 3))) void strings_add(struct strings *strings, const char *format, ...);
/* A helper: one of VOCL's own programs, which starts the session's processes; with the environment for the workers,
 * except the address to connect to. */
struct launch {
    struct strings arguments, environment;
};
struct launch launch_new(const struct start *start, const char *helper, bool local);
/* Over MPI: keeps the session's secret, by which members that come later identify themselves. */
void launch_keep_key(const struct start *start);
/* Adds that secret to the environment, if there is one. */
void launch_newcomers(const struct start *start, struct launch *launch);
/* Adds the address that workers connect to, and the token or secret. */
void launch_place(const struct start *start, struct launch *launch);
/* Starts the helper, connected by the control socket, and frees launch. */
int launch_helper(struct start *start, struct launch *launch);
/* Receives so many descriptors from the helper. */
int launch_receive(struct start *start, int *descriptors, unsigned count);
/* Reads the helper's messages. Returns 0 if there is none, or a negative errno and why if it reports a failure or has
 * ended. */
int launch_hear(struct start *start);
/* Reads a line, without its end. Returns 0 or a negative errno. */
int launch_line(int fd, char *line, size_t size, long milliseconds);
/* UCX's setting where workers and program need no network to reach each other. */
#define LAUNCH_UCX "UCX_TLS=posix,sysv,cma,self"
/* The same; or, if workers may be lost and the session goes on (VOCL_RECOVER), without reading other processes' memory:
 * MPI would fail for all when such a process has ended. */
const char *launch_ucx(void);
/* Closes connections that were made for the workers and not taken; and the listening sockets. */
void start_drop_born(struct start *start);
void start_stop_listening(struct start *start);

/* ---- host.c ---- */
/* A start opens many files, and some more for each worker: raises the program's own limit as far as possible. Returns
 * 0, and in before the limit to restore; or a negative errno and why, if the limit is too low. */
int host_lift_limit(unsigned workers, struct rlimit *before, char *why, size_t why_size);
/* Adds to MPI's message what is missing on this machine. */
void host_explain(char *why, size_t why_size);

/* ---- spawn.c ---- */
/* Starts program in a session of its own, not as a child that the caller's wait() or SIGCHLD could see. descriptor
 * becomes its 3; its standard input and output are /dev/null. */
int spawn_apart(const char *program, char *const *arguments, char *const *environment, int descriptor);

#endif
