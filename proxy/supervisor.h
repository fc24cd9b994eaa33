/*
 * A worker of a pool and its supervisor: what the daemon, and the fork server that has the drivers loaded already
 * (proxy/fork_server.h), have in common.
 */
#ifndef VOCL_PROXY_SUPERVISOR_H
#define VOCL_PROXY_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SUPERVISOR_ENVIRONMENT 128

/* What is said of a worker's start: its number, or the errno for which there is none. */
struct start_word {
    pid_t worker;
    int error;
};

/* How a worker is to be. Goes from the daemon to the fork server as it is. */
struct supervisor_plan {
    char session[33], user[64], folder[256];
    char group[4096]; /* its control group's folder, or "" */
    char program[4096];
    char status[4096]; /* the file in which the worker's exit status is left, for a daemon that is not the supervisor's
                          parent */
    uid_t uid;
    gid_t gid;
    bool drop;      /* it becomes that user's */
    unsigned count; /* of its variables */
};

#define CHILD_FD 3 /* a child's end of a socket to the daemon */

/*
 * In a child of the daemon's: starts a worker, and stays until all that it starts is gone. environment:
 * NULL-terminated; pmi: the worker's, or -1; problem: where start_words go; run: what the worker is, which is then not
 * executed anew, or NULL. Does not return.
 */
void supervisor_run(const struct supervisor_plan *plan, char **environment, int pmi, int problem, int (*run)(void))
    __attribute__((noreturn));
/* Kills all of a control group. False: there is none. */
bool supervisor_kill_group(const char *group);
/* Writes to a file of it. */
bool supervisor_write_group(const char *group, const char *file, const char *text);

#endif
