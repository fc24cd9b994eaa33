/* What starts a session's processes, and what is known of a start while it goes on. */
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
    long until;      /* it may take */
    char *why;
    size_t why_size;
    unsigned workers;
    unsigned numbers;           /* of descriptors, that the program may have: others are the session's; 0: all are */
    bool tls;                   /* without MPI: the secret in the token's place */
    uint8_t token[TOKEN_BYTES]; /* who is not born with a bell shows this */
    uint8_t secret[SECRET_BYTES];
    char devices[64];              /* for UCX, where it goes to other hosts: "UCX_NET_DEVICES=..." or "" */
    struct endpoint local, remote; /* where those connect; fd < 0: nowhere */
    int tunnel;                    /* where connections through what started the workers are handed over, or -1 */
    bool wants_placeholder;
    char *environment; /* the placeholder's: NUL-terminated strings */
    uint32_t environment_length;
    int *born; /* connections that who started the workers has made, of each so many, or NULL */
    unsigned each;
};

/* ---- launch.c ---- */
/* Strings for execve(). failed: one of them could not be had. */
struct strings {
    char **all;
    size_t count;
    bool failed;
};
__attribute__((format(printf, 2, 3))) void strings_add(struct strings *strings, const char *format, ...);
/* A program of VOCL's own that starts the session's processes, with the environment that workers are to have, but for
 * the address to connect to. */
struct launch {
    struct strings arguments, environment;
};
struct launch launch_new(const struct start *start, const char *helper, bool local);
/* Over MPI: those who come later will show the session's secret. */
void launch_keep_key(const struct start *start);
/* With what they do, if that is so. */
void launch_newcomers(const struct start *start, struct launch *launch);
/* The address that they connect to, and the token or secret. */
void launch_place(const struct start *start, struct launch *launch);
/* It is started, with the control socket to it, and freed. */
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
/* What was made for the workers, and nobody has taken, is closed; and nothing listens any more. */
void start_drop_born(struct start *start);
void start_stop_listening(struct start *start);

/* ---- host.c ---- */
/* A start opens many files, and for each worker some more: a limit of the program's own that it may exceed is lifted.
 * 0, and what it was to be set again; or negative errno and why, if it is too low. */
int host_lift_limit(unsigned workers, struct rlimit *before, char *why, size_t why_size);
/* MPI said what failed, but not what of this machine is to blame. */
void host_explain(char *why, size_t why_size);

/* ---- spawn.c ---- */
/* Start program in a session of its own, not a child that the caller's wait() or SIGCHLD could see. descriptor becomes
 * its 3, its standard input and output are /dev/null. */
int spawn_apart(const char *program, char *const *arguments, char *const *environment, int descriptor);

#endif
