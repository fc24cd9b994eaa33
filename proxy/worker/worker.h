/*
 * A worker: the process that serves one session the devices of its node. What its files share.
 *
 *     worker.c        the main loop, between the transport and the executor
 *     affinity.c      where its devices are in the node's PCIe tree: its threads go near them (affinity.h)
 *     control.c       its end of the connection to the daemon that started it (proxy/control.h)
 *     fork_server.c   what has the drivers loaded, for workers that begin as copies of it
 *     list_devices.c  vocl-proxy --probe: the node's devices, for a daemon
 */
#ifndef VOCL_PROXY_WORKER_WORKER_H
#define VOCL_PROXY_WORKER_WORKER_H

#include "executor/executor.h"
#include "transport/transport.h"
#include "wire/wire.h"

struct worker {
    struct transport *transport;
    struct executor *executor;
    struct wire_buffer notes;  /* what waits to be sent, */
    size_t notes_sent;         /* but for these bytes at the beginning */
    struct wire_buffer *peers; /* the same for other workers, by rank */
    unsigned waiting;          /* of those that have something */
    int output[2], epoll;      /* what this process prints on stdout and stderr; what else wakes it */
    struct affinity *affinity; /* where its devices are */
    bool arbitrations_wait;
    struct control *control; /* to the daemon that started it, or NULL */
    bool over;
    int status;
};

/* ---- list_devices.c ---- */
/* Print the native devices. */
int list_devices(void);
/* Print what this is, for who wants to use it from another host. Returns the exit status. */
int worker_about(void);

/* ---- fork_server.c ---- */
/* A process of which workers are copies (proxy/fork_server.h). word: its argument, which is theirs then. */
int fork_server_run(char *word);

/* ---- worker.c ---- */
/* Serve one session: returns the exit status when it is over. */
int worker_run(void);

/* ---- control.c ---- */
void control_open(struct worker *worker);
/* Hear what the daemon says, and tell it what is used: to be called again and again, also before sleeping (idle). */
void control_look(struct worker *worker, bool idle);
void control_close(struct worker *worker);
/* As executor_host's turn. */
void control_slice(void *owner, unsigned ordinal, enum slice_note note);

#endif
