/* An MPMD job: mpiexec started rank 0, which is this process, and the others, which are workers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/settings.h"
#include "transport/start/start.h"

#define ENDPOINT_TAG 1

/* Whether an ancestor of this process is an mpiexec that also starts workers. */
static bool workers_above(void)
{
    pid_t pid = getppid();

    for (int depth = 0; pid > 1 && depth < 8; depth++) {
        char path[64], text[16384];
        size_t length;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        file = fopen(path, "re");
        length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
        if (file)
            fclose(file);
        if (length && memmem(text, length, "vocl-proxy", 10) && memmem(text, length, "--worker", 8) &&
            (memmem(text, length, "mpiexec", 7) || memmem(text, length, "mpirun", 6)))
            return true;
        pid = process_parent(pid);
    }
    return false;
}

bool in_mpmd_job(bool forked)
{
    const char *wanted = settings_string(SETTING_JOB), *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");

    if (!rank) {
        rank = getenv("OMPI_COMM_WORLD_RANK");
        size = getenv("OMPI_COMM_WORLD_SIZE");
    }
    if (!strcmp(wanted, "off") || forked || !rank || !size || strcmp(rank, "0") || !strcmp(size, "1"))
        return false;
    return !strcmp(wanted, "mpmd") || (!loader_program_mpi() && workers_above());
}

const char *job_mpi(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") ? "openmpi" : getenv("PMI_RANK") ? "mpich" : settings_string(SETTING_MPI);
}

int transfer_now(struct job *job, int peer, bool send, void *bytes, size_t length, long until)
{
    struct plugin_request request;
    size_t got;
    int done = 0;
    int error = send ? job->plugin->send(peer, PLUGIN_CONTROL, ENDPOINT_TAG, bytes, length, &request)
                     : job->plugin->receive(peer, PLUGIN_CONTROL, ENDPOINT_TAG, bytes, length, &request);

    while (!error && !done && clock_ms() < until)
        error = job->plugin->test(&request, &done, &got);
    return error ? -EIO : done ? 0 : -ETIMEDOUT;
}

static int enter(struct start *start)
{
    static const char *const own[] = {NULL};
    struct job *job = start->job;

    job->plugin = loader_open(job_mpi(), loader_program_mpi() != NULL, start->why, start->why_size);
    if (!job->plugin)
        return -ENOENT;
    if (job->plugin->init(own, start->ending, start->argument, false, &job->rank, &job->size, &job->last_tag)) {
        snprintf(start->why, start->why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    start->workers = (unsigned)job->size - 1;
    job->members = calloc(start->workers, sizeof(*job->members));
    return job->members ? 0 : -ENOMEM;
}

static int invite(struct start *start)
{
    struct invitation invitation = {.endpoint = ""};
    char host[64] = "localhost";
    int error;

    gethostname(host, sizeof(host) - 1);
    error = endpoint_listen_tcp(&start->remote,
                                *settings_string(SETTING_ADDRESS) ? settings_string(SETTING_ADDRESS) : host);
    if (error)
        start->remote.fd = -1;
    memcpy(invitation.token, start->token, TOKEN_BYTES);
    memcpy(invitation.endpoint, start->remote.text, sizeof(invitation.endpoint));
    for (int peer = 1; !error && peer < start->job->size; peer++)
        error = transfer_now(start->job, peer, true, &invitation, sizeof(invitation), start->until);
    return error;
}

int start_mpmd(struct start *start)
{
    int error = enter(start);

    if (error)
        return error;
    error = invite(start);
    if (!error)
        error = rendezvous_open(start);
    if (!error)
        error = enter_await(start);
    else if (!*start->why)
        snprintf(start->why, start->why_size, "the job's workers cannot be reached: %s", address_error(error));
    start->job->whole = !error;
    return error;
}
