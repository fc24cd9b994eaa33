/* MPI_Init, as long as it is in the way: who is there meanwhile. */
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
    struct pollfd *fds; /* the first is for watch_stop() */
    long *heard_ms;     /* of each member */
    long answered_ms;   /* when they were told last that this one is there */
    pthread_t thread;
    char why[128];
};

/* Until watch_stop(): end the job if one of its members is lost, or after so long. 0 or negative errno. */
int watch_start(struct watch *watch, struct job *job, long milliseconds);
/* And what it ended it for, if it did. */
void watch_stop(struct watch *watch, char *why, size_t why_size);

/* A heartbeat to all members of a job, which have yet to be peers. */
void bells_beat(const struct job *job);
/* The next record but heartbeats, which have to come meanwhile; for each, the members of job, if there is one, get one
 * of this side. 0 or negative errno. */
int bell_await(int fd, struct bell_record *record, long until, const struct job *job);

/* ---- leaving.c ---- */
/* False: somebody is missing, and MPI_Finalize would wait for ever. */
bool link_leave_together(struct transport *t);

#endif
