/* A worker's side of the start of a session. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "transport/start/start.h"

struct entry {
    void (*ending)(void *);
    void *argument;
    char *why;
    size_t why_size;
};

/* ---- with MPI ---- */

/* Makes MPI listen only at the address by which the program is reached. */
static void listen_there_only(const struct job *job)
{
    static char line[64];
    char address[NI_MAXHOST];

    if (!socket_own_address(job->members[0].fd, address, sizeof(address)) && network_bind(address, line, sizeof(line)))
        putenv(line);
}

static int enter(struct job *job, const struct entry *entry)
{
    static const char *const own[] = {NULL};

    job->plugin = loader_open(job_mpi(), false, entry->why, entry->why_size);
    if (!job->plugin)
        return -ENOENT;
    if (!job->plugin->init(own, entry->ending, entry->argument, false, &job->rank, &job->size, &job->last_tag))
        return 0;
    snprintf(entry->why, entry->why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
    return -EIO;
}

/* Receives the program's address, in a job that mpiexec has started. */
static int be_invited(struct job *job, struct invitation *invitation, const struct entry *entry, long until)
{
    int error = enter(job, entry);

    if (!error && (job->rank == 0 || job->size < 2)) {
        snprintf(entry->why, entry->why_size,
                 "a worker is started by VOCL, or by mpiexec beside the program that it serves");
        return -EINVAL;
    }
    if (!error)
        error = transfer_now(job, 0, false, invitation, sizeof(*invitation), until);
    invitation->endpoint[sizeof(invitation->endpoint) - 1] = '\0';
    job->whole = !error;
    return error;
}

/* Enters MPI, and checks that it and the program gave this worker the same number. */
static int enter_beside(struct job *job, const struct entry *entry)
{
    const int rank = job->rank, size = job->size;
    int error;

    listen_there_only(job);
    error = enter(job, entry);
    if (error || (job->rank == rank && job->size == size))
        return error;
    snprintf(entry->why, entry->why_size, "MPI says that it is %d of %d, and the program %d of %d", job->rank,
             job->size, rank, size);
    return -EPROTO;
}

/* If it cannot be loaded, that is found out again and said when MPI is entered. */
static void name_library(struct introduction *introduction)
{
    char why[256];
    const struct mpi_plugin *plugin = loader_open(job_mpi(), false, why, sizeof(why));

    if (plugin)
        plugin->library(introduction->library, sizeof(introduction->library));
}

static int open_with_mpi(struct job *job, struct introduction *introduction, const struct entry *entry)
{
    struct invitation invitation = {.endpoint = ""};
    struct bell bell = {.why = NULL};
    const char *token = getenv(SESSION_TOKEN);
    int error = 0;

    if (introduction->born[0] < 0 && (!introduction->endpoint || !token)) {
        error = be_invited(job, &invitation, entry, introduction->until);
        introduction->endpoint = invitation.endpoint;
        hex_show(invitation.token, TOKEN_BYTES, introduction->token);
    } else if (introduction->born[0] < 0) {
        snprintf(introduction->token, sizeof(introduction->token), "%s", token);
        name_library(introduction);
    }
    if (!error)
        error = rendezvous_join(job, introduction, entry->why, entry->why_size);
    if (!error && !job->whole)
        error = enter_beside(job, entry);
    if (error)
        return error;
    bell.socket.fd = job->members[0].fd;
    bell_send(&bell, BELL_RANK, (uint32_t)job->rank);
    return 0;
}

/* ---- with any network ---- */

int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    struct introduction introduction = {.endpoint = getenv(SESSION_ENDPOINT),
                                        .born = {-1, -1, -1},
                                        .until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000,
                                        .ending = ending,
                                        .argument = argument};
    const struct entry entry = {ending, argument, why, why_size};
    const bool is_plain = getenv(SESSION_PLAIN) != NULL;
    uint8_t secret[SECRET_BYTES];

    *job = job_new();
    *why = '\0';
    stored_trust(&job->calls, environment_descriptor(SESSION_CALLS));
    job->newcomers = (struct newcomer_key){.ending = ending, .argument = argument};
    job->newcomers.known = hex_read(getenv(SESSION_GUESTS), job->newcomers.secret, SECRET_BYTES);
    if (introduction.endpoint && !is_plain && hex_read(getenv(SESSION_SECRET), secret, sizeof(secret)))
        introduction.secret = secret;
    for (unsigned i = 0; !is_plain && !introduction.secret && i < PAIR_SOCKETS; i++)
        introduction.born[i] = environment_descriptor((const char *[]){SESSION_BELL, SESSION_BEAT, SESSION_BULK}[i]);
    introduction.bells = !is_plain && !introduction.secret && introduction.born[1] < 0;
    return introduction.bells ? open_with_mpi(job, &introduction, &entry)
                              : rendezvous_join(job, &introduction, why, why_size);
}
