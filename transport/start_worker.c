/* A worker's way into its session. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "transport/meeting.h"

int worker_say_hello(int fd, const uint8_t *token, const struct endpoint *own, char *why, size_t why_size)
{
    struct hello_reply reply;
    struct hello hello;
    int error;

    hello_fill(&hello, HELLO_WORKER, token, own ? sizeof(own->text) : (uint32_t)getpid());
    error = socket_write_all(fd, &hello, sizeof(hello));
    if (!error && own)
        error = socket_write_all(fd, own->text, sizeof(own->text));
    if (!error)
        error = socket_read_all(fd, &reply, sizeof(reply), HELLO_MS);
    if (!error && (reply.magic != HELLO_MAGIC || !reply.accepted)) {
        reply.why[sizeof(reply.why) - 1] = '\0';
        snprintf(why, why_size, "refused: %s", reply.magic == HELLO_MAGIC ? reply.why : "not a VOCL program");
        error = -EPROTO;
    } else if (error) {
        snprintf(why, why_size, "hello: %s", strerror(-error));
    }
    return error;
}

/* MPI, too: at the address by which the application is reached. */
static void listen_there_only(const char *endpoint, int fd)
{
    static char line[64];
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    char address[NI_MAXHOST];

    if (!strncmp(endpoint, "tcp:", 4) && !getsockname(fd, (struct sockaddr *)&own, &length) &&
        !getnameinfo((struct sockaddr *)&own, length, address, sizeof(address), NULL, 0, NI_NUMERICHOST) &&
        network_bind(address, line, sizeof(line)))
        putenv(line);
}

static int call_on(const char *endpoint, const uint8_t *token, struct endpoint *own, char *why, size_t why_size)
{
    int fd = endpoint_connect(endpoint), error;

    if (fd < 0) {
        snprintf(why, why_size, "%s: %s", endpoint, strerror(-fd));
        return fd;
    }
    socket_tune(fd);
    listen_there_only(endpoint, fd);
    error = peers_listen(own, endpoint, fd);
    if (error)
        own->fd = -1;
    else
        error = worker_say_hello(fd, token, own, why, why_size);
    if (error)
        close(fd);
    return error ? error : fd;
}

static int enter(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    static const char *const own[] = {NULL};

    job->plugin = loader_open(job_mpi(), false, why, why_size);
    if (!job->plugin)
        return -ENOENT;
    if (job->plugin->init(own, ending, argument, false, &job->rank, &job->size, &job->last_tag)) {
        snprintf(why, why_size, "MPI_Init_thread failed %s", job->plugin->complaint());
        return -EIO;
    }
    return 0;
}

static int have_member(struct job *job, int bell)
{
    struct bell said = {.socket.fd = bell};

    job->members = calloc((size_t)job->size, sizeof(*job->members));
    if (!job->members)
        return -ENOMEM;
    bell_send(&said, BELL_RANK, (uint32_t)job->rank);
    job->members[0].fd = bell;
    job->member_count = 1;
    return 0;
}

/* From now on, whatever this process waits for. */
static void answer(struct job *job, int bell)
{
    kept_trust(&job->first, bell);
    job->pulse = pulse_start(true);
    pulse_add(job->pulse, &job->beat, &job->first);
}

/* vocl-launcher gave it all that it needs. */
static int open_born(struct job *job, const char *given, void (*ending)(void *), void *argument, char *why,
                     size_t why_size)
{
    static const uint8_t no_token[TOKEN_BYTES];
    int bell = atoi(given), error;

    if (bell < 3 || fcntl(bell, F_SETFD, FD_CLOEXEC)) {
        snprintf(why, why_size, "%s=%s is no descriptor", SESSION_BELL, given);
        return -EBADF;
    }
    error = worker_say_hello(bell, no_token, NULL, why, why_size);
    if (!error)
        answer(job, bell);
    if (!error)
        error = enter(job, ending, argument, why, why_size);
    if (!error)
        error = have_member(job, bell);
    if (!error)
        error = peers_inherit(job, getenv(SESSION_PEERS));
    if (error && !*why)
        snprintf(why, why_size, "the bells: %s", strerror(-error));
    return error;
}

/* It goes to where the program is: it knows that from the beginning, or by MPI. */
static int open_called(struct job *job, const char *endpoint, void (*ending)(void *), void *argument, char *why,
                       size_t why_size)
{
    long until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    struct invitation invitation = {.endpoint = ""};
    struct endpoint own = {.fd = -1};
    int bell = -1, error;

    if (endpoint && hex_read(getenv(SESSION_TOKEN), invitation.token, TOKEN_BYTES)) {
        bell = call_on(endpoint, invitation.token, &own, why, why_size);
        if (bell >= 0)
            answer(job, bell);
        error = bell < 0 ? bell : enter(job, ending, argument, why, why_size);
    } else {
        error = enter(job, ending, argument, why, why_size);
        if (!error && (job->rank == 0 || job->size < 2)) {
            snprintf(why, why_size, "a worker is started by VOCL, or by mpiexec beside the program that it serves");
            error = -EINVAL;
        }
        if (!error)
            error = transfer_now(job, 0, false, &invitation, sizeof(invitation), until);
        invitation.endpoint[sizeof(invitation.endpoint) - 1] = '\0';
        if (!error) {
            bell = call_on(invitation.endpoint, invitation.token, &own, why, why_size);
            error = bell < 0 ? bell : 0;
            if (!error)
                answer(job, bell);
        }
    }
    if (!error)
        error = have_member(job, bell);
    if (!error) {
        job->whole = !endpoint;
        error = peers_join(job, &own, invitation.token, until);
        if (error)
            snprintf(why, why_size, "the other workers: %s", strerror(-error));
    }
    if (own.fd >= 0)
        close(own.fd);
    return error;
}

static int descriptor_of(const char *text)
{
    const int fd = atoi(text);

    return fd >= 3 && !fcntl(fd, F_SETFD, FD_CLOEXEC) ? fd : -1;
}

int job_open_worker(struct job *job, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    const char *bell = getenv(SESSION_BELL), *endpoint = getenv(SESSION_ENDPOINT);
    const char *calls = getenv(SESSION_CALLS);
    const bool plain = getenv(SESSION_PLAIN) != NULL;
    uint8_t secret[SECRET_BYTES];

    *job = (struct job){.provider = &provider_mpi,
                        .lifeline = -1,
                        .calls.fd = -1,
                        .channel.fd = -1,
                        .pmi.fd = -1,
                        .placeholder.fd = -1};
    *why = '\0';
    if (calls)
        kept_trust(&job->calls, descriptor_of(calls));
    job->guests = (struct guest_key){.ending = ending, .argument = argument};
    job->guests.known = hex_read(getenv(SESSION_GUESTS), job->guests.secret, SECRET_BYTES);
    if (endpoint && (plain || hex_read(getenv(SESSION_SECRET), secret, sizeof(secret))))
        return meeting_join(job, endpoint, plain ? NULL : secret,
                            clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000, ending, argument, why,
                            why_size);
    if (getenv(SESSION_BEAT))
        return pairs_join(job, why, why_size);
    return bell ? open_born(job, bell, ending, argument, why, why_size)
                : open_called(job, endpoint, ending, argument, why, why_size);
}
