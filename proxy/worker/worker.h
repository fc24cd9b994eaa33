/*
 * A worker: the process that gives one session the devices of its node. This header is what its files share.
 *
 *     worker.c        the main loop, between the transport and the executor
 *     affinity.c      the place of its devices in the node's PCIe tree, near which its threads run (affinity.h)
 *     control.c       its end of the connection to the daemon that started it (proxy/control.h)
 *     fork_server.c   a process with the drivers loaded, of which workers are copies
 *     list_devices.c  vocl-proxy --probe: lists the node's devices, for a daemon
 */
#ifndef VOCL_PROXY_WORKER_WORKER_H
#define VOCL_PROXY_WORKER_WORKER_H

#include "executor/executor.h"
#include "transport/transport.h"
#include "wire/wire.h"

struct worker {
    struct transport *transport;
    struct executor *executor;
    struct wire_buffer notes;  /* for the program */
    size_t notes_sent;         /* how many of their bytes have been sent */
    struct wire_buffer *peers; /* the same for other workers, by rank */
    unsigned waiting;          /* how many of peers have something to send */
    int output[2], epoll;      /* pipes of this process' stdout and stderr; epoll: what else wakes the loop */
    struct affinity *affinity; /* the place of its devices in the PCIe tree */
    bool arbitrations_wait;
    struct control *control; /* connection to the daemon that started it, or NULL */
    bool over;
    int status;
};

/* ---- list_devices.c ---- */
/* Prints the native devices. */
int list_devices(void);
/* Prints the version, for a user of this worker on another host. Returns the exit status. */
int worker_about(void);

/* ---- fork_server.c ---- */
/* Runs the process of which workers are copies (proxy/fork_server.h). word: its argument, which a copy overwrites with
 * a worker's. */
int fork_server_run(char *word);

/* ---- worker.c ---- */
/* Serves one session. Returns the exit status when the session is over. */
int worker_run(void);

/* ---- control.c ---- */
void control_open(struct worker *worker);
/* Receives the daemon's messages, and reports usage. Called regularly, and before sleeping (idle). */
void control_look(struct worker *worker, bool idle);
void control_close(struct worker *worker);
/* The function `slice` of struct executor_host. */
void control_slice(void *owner, unsigned ordinal, enum slice_note note);

#endif
