/* Enters MPI: which library, on which thread, with what of the program's environment and descriptors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start/start.h"
#include "transport/stream/distance.h"

#define FAR_US 5000

struct entry {
    struct start *start;
    const char **environment;
    bool apart;
    int error;
};

static void enter(void *argument)
{
    struct entry *entry = argument;
    struct start *start = entry->start;
    struct job *job = start->job;

    entry->error = job->plugin->init(entry->environment, start->ending, start->argument, entry->apart, &job->rank,
                                     &job->size, &job->last_tag);
}

/* On one host UCX uses only shared memory. It needs its descriptors to connect, and for its own thread: so they can be
 * in a table that the program does not reach. */
static int enter_apart(struct entry *entry, int pmi, bool local)
{
    struct job *job = entry->start->job;

    entry->apart = local && loader_comes_first(entry->start->mpi) && job->plugin->over_ucx();
    job->fd_store = fd_store_start(entry->apart ? enter : NULL, entry, &pmi, pmi >= 0 ? 1 : 0);
    if (!job->fd_store)
        entry->apart = false;
    if (!entry->apart)
        enter(entry);
    job->apart = entry->apart;
    if (entry->error) {
        snprintf(entry->start->why, entry->start->why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    return 0;
}

/* Gives the control socket to the store, so that the session ends only with the process. */
static void keep_starter(struct job *job)
{
    if (job->fd_store && fd_store_take(job->fd_store, job->control_socket))
        job->control_socket = -1;
}

/* MPI makes a rendezvous for long messages, and has one connection. */
static void look_how_far(const struct job *job)
{
    long farthest = 0;

    for (unsigned i = 0; i < job->member_count; i++) {
        const long us = distance_us(job->members[i].fd);

        farthest = us > farthest ? us : farthest;
    }
    if (farthest > FAR_US)
        vocl_log(LOG_INFO, "a round trip takes %ld us: VOCL_NETWORK=tls is faster at this distance", farthest);
}

int enter_mpi(struct start *start, const char **environment, int pmi, bool local)
{
    struct entry entry = {start, environment, false, 0};
    struct job *job = start->job;
    struct watch watch;
    int error = 0;

    /* The launcher sends on the bells for this process while it is stopped. */
    for (unsigned i = 0; !error && i < job->member_count; i++)
        error = socket_send_descriptors(job->control_socket, "b", 1, &job->members[i].fd, 1);
    if (!error)
        error = watch_start(&watch, job, start->until - clock_ms());
    if (error)
        return error;
    error = enter_apart(&entry, pmi, local);
    watch_stop(&watch, error ? start->why : NULL, start->why_size);
    if (!error)
        error = starter_open(job);
    if (!error)
        look_how_far(job);
    if (error || !job->fd_store)
        return error;
    keep_starter(job);
    if (job->placeholder.fd >= 0)
        stored_hold(&job->placeholder, job->fd_store, job->placeholder.fd);
    return 0;
}

static int enter_ranks(struct start *start, int pmi, bool local)
{
    char descriptor[32], size[32];
    const char *environment[] = {descriptor,
                                 size,
                                 "PMI_RANK=0",
                                 "MPIR_CVAR_NOLOCAL=1",
                                 local ? launch_ucx() : *start->devices ? start->devices : NULL,
                                 NULL};
    int error;

    stored_hold(&start->job->pmi, NULL, pmi);
    snprintf(descriptor, sizeof(descriptor), "PMI_FD=%d", start->job->pmi.fd);
    snprintf(size, sizeof(size), "PMI_SIZE=%u", start->workers + 1);
    if (local && getenv("UCX_TLS"))
        environment[4] = NULL;
    error = enter_mpi(start, environment, start->job->pmi.fd, local && !getenv("UCX_TLS"));
    if (!error && start->job->apart) /* MPI has a copy of its own */
        stored_close(&start->job->pmi);
    if (!error && start->job->size != (int)start->workers + 1) {
        snprintf(start->why, start->why_size, "the program and the workers use different MPI jobs");
        error = -EPROTO;
    }
    return error;
}

int enter_tls_load(struct start *start)
{
    return rendezvous_prepare(start->secret, start->ending, start->argument, start->why, start->why_size);
}

/* Without MPI: gives the store the descriptors that the program must not close. */
static int enter_alone(struct job *job)
{
    int error = starter_open(job);

    if (error)
        return error;
    job->fd_store = fd_store_start(NULL, NULL, NULL, 0);
    keep_starter(job);
    return 0;
}

int enter_await(struct start *start)
{
    const struct job *job = start->job;

    for (unsigned i = 0; i < job->member_count; i++) {
        const struct member *member = &job->members[i];
        struct bell_record record;
        int error = bell_await(member->fd, &record, start->until, job); /* some workers listen already */

        if (!error && (record.kind != BELL_RANK || record.value != member->rank))
            error = -EBADMSG;
        if (!error)
            continue;
        snprintf(start->why, start->why_size, "a worker on %s failed in MPI_Init: %s", member->host, strerror(-error));
        return error;
    }
    vocl_log_stage("all in MPI");
    return 0;
}

int enter_session(struct start *start, int pmi, bool local)
{
    struct job *job = start->job;
    int error = rendezvous_open(start);

    if (!error && !start->tls && start->each <= 1) {
        error = enter_ranks(start, pmi, local);
        return error ? error : enter_await(start);
    }
    if (pmi >= 0) /* stays open for what the starter would write there */
        stored_hold(&job->pmi, NULL, pmi);
    return error ? error : enter_alone(job);
}

void enter_choose(struct start *start)
{
    const char *own = loader_program_mpi();

    start->mpi = settings_string(SETTING_MPI);
    /* a second Open MPI in one process crashes, even in a namespace of its own */
    if (own && !strcmp(start->mpi, "openmpi") && (!strcmp(own, "openmpi") || loader_foreign_memory()))
        start->mpi = "mpich";
}

int enter_load(struct start *start)
{
    const char *own = loader_program_mpi();
    const bool same = own && !strcmp(own, start->mpi);

    start->job->plugin = loader_open(start->mpi, same || start->forked, start->why, start->why_size);
    return start->job->plugin ? 0 : -ENOENT;
}
