/* Watches the workers during MPI_Init, which does not return while one of them is missing. */
#ifndef VOCL_TRANSPORT_MPI_WATCH_H
#define VOCL_TRANSPORT_MPI_WATCH_H

#include <poll.h>
#include <pthread.h>

#include "transport/core/link.h"

/* ---- watch.c ---- */
struct watch {
    int control_socket;
    long until;
    struct job *job;
    nfds_t count;
    struct pollfd *fds; /* the first is an eventfd for watch_stop() */
    long *heard_ms;     /* when each member was heard last */
    long answered_ms;   /* when they were sent a heartbeat last */
    pthread_t thread;
    char why[128];
};

/* Ends the job if one of its members is lost, or after so long; until watch_stop(). Returns 0 or a negative errno. */
int watch_start(struct watch *watch, struct job *job, long milliseconds);
/* Writes the reason, if it has ended the job. */
void watch_stop(struct watch *watch, char *why, size_t why_size);

/* Sends a heartbeat to all members of a job, which are not peers yet. */
void bells_beat(const struct job *job);
/* Waits for the next record that is no heartbeat; heartbeats have to arrive meanwhile. With a job, sends its members
 * one for each that arrives. Returns 0 or a negative errno. */
int bell_await(int fd, struct bell_record *record, long until, const struct job *job);

/* ---- leaving.c ---- */
/* False: a member is missing, and MPI_Finalize would wait for ever. */
bool link_leave_together(struct transport *t);

#endif
