/* How a session is started: what the ways to do it share. Each fills a struct job. */
#ifndef VOCL_TRANSPORT_START_START_H
#define VOCL_TRANSPORT_START_START_H

#include "transport/mpi/watch.h"
#include "transport/plugin/loader.h"
#include "transport/rendezvous/rendezvous.h"

/* ---- job.c ---- */
/* One without members. */
struct job job_new(void);
/* The program's job, by the way that the settings say: ending(argument) is called when the process ends and takes what
 * carries the session with it. 0, or negative errno and why. */
int job_open_client(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);
void job_close(struct job *job);

/* ---- worker.c ---- */
int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);

/* The ways; each in a file of its own. 0, or negative errno and why. */
/* ---- local.c ---- */
int start_local(struct start *start, bool pairs);

/* ---- pool.c ---- */
int start_pool(struct start *start);
bool pool_wanted(void);

/* ---- openmpi.c ---- */
int start_openmpi(struct start *start);

/* ---- mpmd.c ---- */
int start_mpmd(struct start *start);
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

/* ---- hosts.c ---- */
int start_hosts(struct start *start);
/* Listen for the workers at the address of this host from which the hosts are reached. */
int hosts_listen(struct start *start, const char *hosts);

/* ---- enter.c ---- */
/* Which MPI the session has, as the program leaves it the choice. */
void enter_choose(struct start *start);
/* It is loaded: best while the workers are starting, too. */
int enter_load(struct start *start);
/* MPI_Init, with this environment besides (NULL-terminated) and, if it is not negative, this descriptor in use; what
 * has to outlive the program's own descriptors is given to the store. local: all workers are on this host. */
int enter_mpi(struct start *start, const char **environment, int pmi, bool local);
/* Until all workers have come through it. */
int enter_await(struct start *start);
/* How a session begins whose processes have been started: its members meet, and enter MPI, if that carries what they
 * say. pmi: where rank 0's starter speaks, which is this function's, or -1. local: all workers are on this host. */
int enter_session(struct start *start, int pmi, bool local);
/* What that needs is loaded, before anything is started. */
int enter_tls_load(struct start *start);

#endif
