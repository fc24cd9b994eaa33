/* The ways in which a session starts. Each fills a struct job. */
#ifndef VOCL_TRANSPORT_START_START_H
#define VOCL_TRANSPORT_START_START_H

#include "transport/mpi/watch.h"
#include "transport/plugin/loader.h"
#include "transport/rendezvous/rendezvous.h"

/* ---- job.c ---- */
/* Returns a job without members. */
struct job job_new(void);
/* Starts the program's job, as the settings say. ending(argument) is called when the process ends and takes MPI or
 * OpenSSL with it. Returns 0, or a negative errno and why. */
int job_open_client(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);
void job_close(struct job *job);

/* ---- worker.c ---- */
int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size);

/* The ways, each in a file of its own. All return 0, or a negative errno and why. */
/* ---- local.c ---- */
int start_local(struct start *start, bool pairs);

/* ---- pool.c ---- */
int start_pool(struct start *start);
bool pool_wanted(void);

/* ---- openmpi.c ---- */
int start_openmpi(struct start *start);

/* ---- mpmd.c ---- */
int start_mpmd(struct start *start);
/* Whether this process is rank 0 of a job that mpiexec started; never if it had MPI inside before a fork. */
bool in_mpmd_job(bool forked);
/* The MPI of the job's environment, or else the setting. */
const char *job_mpi(void);
/* Sends or receives one message of the job, before there is a link. Returns 0 or a negative errno. */
int transfer_now(struct job *job, int peer, bool send, void *bytes, size_t length, long until);
struct invitation {
    char endpoint[128];
    uint8_t token[TOKEN_BYTES];
};

/* ---- hosts.c ---- */
int start_hosts(struct start *start);
/* Listens for the workers at the address of this host from which the hosts are reached. */
int hosts_listen(struct start *start, const char *hosts);

/* ---- enter.c ---- */
/* Chooses the session's MPI, as far as the program allows. */
void enter_choose(struct start *start);
/* Loads it: best while the workers are starting. */
int enter_load(struct start *start);
/* Calls MPI_Init, with this additional environment (NULL-terminated) and, if it is not negative, pmi, which stays in
 * use. Gives the store the descriptors that the program must not close. local: all workers are on this host. */
int enter_mpi(struct start *start, const char **environment, int pmi, bool local);
/* Waits until all workers have left MPI_Init. */
int enter_await(struct start *start);
/* Completes the start of a session whose processes have been started: its members meet, and enter MPI if that is the
 * provider. pmi: rank 0's connection with its starter, which this function takes, or -1. local: all workers are on this
 * host. */
int enter_session(struct start *start, int pmi, bool local);
/* Loads TLS, before any process is started. */
int enter_tls_load(struct start *start);

#endif
