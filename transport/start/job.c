/* Starts the session's job: chooses how its processes are started (doc/internals/flow.md). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start/start.h"
#include "transport/stream/stream.h"

#define MOST_STARTS 4
#define LEAST_NUMBERS 8192 /* of descriptors: a program with so many does not miss those of a session */

static bool forked_session; /* this process is the child of one that had MPI inside */

static unsigned count_hosts(void)
{
    const char *hosts = settings_string(SETTING_HOSTS);
    unsigned count = *hosts != '\0';

    for (; *hosts; hosts++)
        count += *hosts == ',';
    return count;
}

/* Allocates the members, as many as the settings ask for. Not for a pool, which says itself how many it grants. */
static int have_members(struct start *start)
{
    const bool hosts = *settings_string(SETTING_HOSTS);

    start->workers = hosts ? count_hosts() : (unsigned)(settings_workers() + settings_number(SETTING_SPARE));
    if (!start->workers || start->workers > MAX_WORKERS) {
        snprintf(start->why, start->why_size, "%u workers: between 1 and %u are possible", start->workers, MAX_WORKERS);
        return -EINVAL;
    }
    start->job->members = calloc(start->workers, sizeof(*start->job->members));
    return start->job->members ? 0 : -ENOMEM;
}

static int open_own(struct start *start)
{
    const bool hosts = *settings_string(SETTING_HOSTS);
    int error;

    enter_choose(start);
    if (pool_wanted())
        return start_pool(start);
    error = have_members(start);
    if (!error)
        error = network_choose(hosts, NULL, &start->tls, start->why, start->why_size);
    if (!error && start->tls)
        error = enter_tls_load(start);
    if (error)
        return error;
    if (!start->tls && network_is_pairs(hosts, start->workers))
        return start_local(start, true);
    if (!start->tls && !strcmp(start->mpi, "openmpi"))
        return start_openmpi(start);
    return hosts ? start_hosts(start) : start_local(start, false);
}

static int open_here(struct start *start)
{
    struct rlimit limit;
    const unsigned workers = *settings_string(SETTING_HOSTS) ? 0 : (unsigned)settings_workers();
    int error = host_lift_limit(workers, &limit, start->why, start->why_size);

    if (error)
        return error;
    start->numbers = limit.rlim_cur < (rlim_t)LEAST_NUMBERS ? (unsigned)limit.rlim_cur : 0;
    error = open_own(start);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (error)
        host_explain(start->why, start->why_size);
    return error;
}

static void start_free(struct start *start)
{
    start_drop_born(start);
    start_stop_listening(start);
    if (start->tunnel >= 0)
        close(start->tunnel);
    free(start->environment);
}

/* Whether only devices of this process are wanted. */
static bool no_workers(void)
{
    return !*settings_string(SETTING_HOSTS) && settings_number(SETTING_LOCAL) && !settings_workers();
}

static int open_with_workers(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    struct start start = {.job = job,
                          .ending = ending,
                          .argument = argument,
                          .forked = forked_session,
                          .until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000,
                          .why = why,
                          .why_size = why_size,
                          .local.fd = -1,
                          .remote.fd = -1,
                          .tunnel = -1};
    int error;

    if (getrandom(start.token, sizeof(start.token), 0) != sizeof(start.token) ||
        getrandom(start.secret, sizeof(start.secret), 0) != sizeof(start.secret))
        return -EIO;
    error = in_mpmd_job(forked_session) ? start_mpmd(&start) : open_here(&start);
    start_free(&start);
    return error;
}

struct job job_new(void)
{
    return (struct job){.provider = &provider_mpi,
                        .control_socket = -1,
                        .calls.fd = -1,
                        .starter.fd = -1,
                        .pmi.fd = -1,
                        .placeholder.fd = -1};
}

static int open_once(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    int error = 0;

    *job = job_new();
    *why = '\0';
    if (!in_mpmd_job(forked_session) && no_workers())
        job->size = 1;
    else
        error = open_with_workers(job, ending, argument, why, why_size);
    if (!error && !job->fd_store)
        job->fd_store = fd_store_start(NULL, NULL, NULL, 0);
    if (error) {
        if (!*why)
            snprintf(why, why_size, "%s", strerror(-error));
        job_close(job);
    }
    return error;
}

/* Whether a worker came and is lost, or was started and has ended. */
static bool is_loss(int error)
{
    return error == -ECHILD || error == -ECONNRESET || error == -EPIPE || error == -EIO;
}

/* A session that replaces lost workers is started once more instead, with new processes, as it has no objects yet. */
int job_open_client(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    const bool again = *settings_string(SETTING_RECOVER) && !in_mpmd_job(forked_session);
    int error = open_once(job, ending, argument, why, why_size);

    for (unsigned starts = 1; again && is_loss(error) && starts < MOST_STARTS; starts++) {
        vocl_log(LOG_WARN, "the session starts once more: %s", why);
        error = open_once(job, ending, argument, why, why_size);
    }
    return error;
}

void job_close(struct job *job)
{
    for (unsigned i = 0; i < job->member_count; i++) {
        if (job->members[i].fd >= 0)
            close(job->members[i].fd);
        job->members[i].fd = -1;
        streams_free(job->members[i].way, false);
        job->members[i].way = NULL;
    }
    if (job->fd_store)
        fd_store_end(job->fd_store);
    job->fd_store = NULL;
    stored_close(&job->placeholder);
    stored_close(&job->pmi);
    stored_close(&job->starter);
    stored_close(&job->calls);
    if (job->control_socket >= 0)
        close(job->control_socket);
    job->control_socket = -1;
    forked_session = true; /* a later session in this process needs a fresh MPI */
}
