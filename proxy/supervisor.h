/*
 * A worker of a pool and its supervisor, the process between the worker and the daemon: what is common to the daemon
 * and the fork server, which has the drivers loaded (proxy/fork_server.h).
 */
#ifndef VOCL_PROXY_SUPERVISOR_H
#define VOCL_PROXY_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SUPERVISOR_ENVIRONMENT 128

/* The result of a worker's start: its PID, or the errno if there is none. */
struct start_word {
    pid_t worker;
    int error;
};

/* How to start a worker. The daemon sends it to the fork server unchanged. */
struct supervisor_plan {
    char session[33], user[64], folder[256];
    char group[4096]; /* folder of its control group, or "" */
    char program[4096];
    /* A file for a daemon that is not the supervisor's parent: SUPERVISOR_WORKER, later the worker's exit status. */
    char status[4096];
    uid_t uid;
    gid_t gid;
    bool drop;      /* the worker is to run as that user */
    unsigned count; /* of environment variables */
};

/* The worker's PID, the worker's start time and the supervisor's PID. */
#define SUPERVISOR_WORKER "worker %d %llu %d\n"

#define CHILD_FD 3 /* a child's end of its socket to the daemon */

/*
 * Called in a child of the daemon. Starts a worker, and stays until all processes that the worker has started have
 * ended. environment: NULL-terminated; pmi: the worker's PMI socket, or -1; problem: where start_words are written;
 * run: the worker's main function, called in place of exec, or NULL. Does not return.
 */
void supervisor_run(const struct supervisor_plan *plan, char **environment, int pmi, int problem, int (*run)(void))
    __attribute__((noreturn));
/* Kills all processes of a control group. Returns false if there is none. */
bool supervisor_kill_group(const char *group);
/* Writes to a file of the group. */
bool supervisor_write_group(const char *group, const char *file, const char *text);

#endif
