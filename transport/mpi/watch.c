/*
 * Watches over MPI_Init, which waits for the other ranks for as long as they take. When a worker has ended, or does not
 * answer, or the time is up, the control socket is shut down, so that the launcher ends the job: without its mpiexec
 * MPI_Init fails. It also sends the workers heartbeats of the program.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "transport/mpi/watch.h"

#define LOOK_MS 100

void bells_beat(const struct job *job)
{
    for (unsigned i = 0; job && i < job->member_count; i++)
        bell_beat(job->members[i].fd, false);
}

int bell_await(int fd, struct bell_record *record, long until, const struct job *job)
{
    const long patience = settings_peer_ms();
    int error;

    do {
        long left = until - clock_ms();

        bells_beat(job);
        error = socket_read_all(fd, record, sizeof(*record), patience && patience < left ? patience : left);
    } while (!error && (record->kind == BELL_BEAT || record->kind == BELL_STOPPED));
    return error;
}

/* Takes a worker's heartbeats. The last record, its rank, is left to be read later. False: the worker is lost. */
static bool hear(struct watch *watch, unsigned i)
{
    struct member *member = &watch->job->members[i];
    const long patience = settings_peer_ms();
    struct bell_record record;
    ssize_t got;

    while ((got = recv(member->fd, &record, sizeof(record), MSG_PEEK | MSG_DONTWAIT)) != 0) {
        if (got < (ssize_t)sizeof(record))
            break;
        watch->heard_ms[i] = clock_ms();
        if (record.kind != BELL_BEAT)
            break;
        if (recv(member->fd, &record, sizeof(record), MSG_DONTWAIT) != sizeof(record))
            break;
    }
    if (watch->fds[i + 1].revents & (POLLRDHUP | POLLHUP | POLLERR))
        snprintf(watch->why, sizeof(watch->why), "the worker on %s is gone", member->host);
    else if (patience && clock_ms() - watch->heard_ms[i] > patience)
        snprintf(watch->why, sizeof(watch->why), "the worker on %s has not answered for %ld seconds", member->host,
                 patience / 1000);
    return !*watch->why;
}

/* Sends heartbeats: a worker that has left MPI_Init sooner listens to this program already. */
static void answer(struct watch *watch)
{
    const long tick = settings_tick_ms();

    if (!settings_peer_ms() || clock_ms() - watch->answered_ms < tick)
        return;
    watch->answered_ms = clock_ms();
    bells_beat(watch->job);
}

static void *watch_thread(void *argument)
{
    struct watch *watch = argument;
    bool good = true;

    while (good && !watch->fds[0].revents) {
        poll(watch->fds, watch->count, LOOK_MS);
        answer(watch);
        for (unsigned i = 0; good && i + 1 < watch->count; i++)
            good = hear(watch, i);
        if (good && clock_ms() > watch->until) {
            snprintf(watch->why, sizeof(watch->why), "not all workers came within VOCL_START_TIMEOUT seconds");
            good = false;
        }
    }
    if (!watch->fds[0].revents) {
        vocl_log(LOG_INFO, "MPI_Init is given up: %s", watch->why);
        shutdown(watch->control_socket, SHUT_RDWR);
    }
    return NULL;
}

static void watch_free(struct watch *watch)
{
    if (watch->fds)
        close(watch->fds[0].fd);
    free(watch->fds);
    free(watch->heard_ms);
}

int watch_start(struct watch *watch, struct job *job, long milliseconds)
{
    int error;

    *watch = (struct watch){.control_socket = job->control_socket,
                            .until = clock_ms() + milliseconds,
                            .job = job,
                            .count = job->member_count + 1,
                            .fds = calloc(job->member_count + 1, sizeof(*watch->fds)),
                            .heard_ms = calloc(job->member_count + 1, sizeof(*watch->heard_ms))};
    if (!watch->fds || !watch->heard_ms) {
        free(watch->fds);
        free(watch->heard_ms);
        return -ENOMEM;
    }
    watch->fds[0] = (struct pollfd){eventfd(0, EFD_CLOEXEC), POLLIN, 0};
    for (unsigned i = 0; i < job->member_count; i++) {
        watch->fds[i + 1] = (struct pollfd){job->members[i].fd, POLLRDHUP, 0};
        watch->heard_ms[i] = clock_ms();
    }
    error = watch->fds[0].fd < 0 ? errno : thread_start(&watch->thread, watch_thread, watch);
    if (error)
        watch_free(watch);
    return -error;
}

void watch_stop(struct watch *watch, char *why, size_t why_size)
{
    uint64_t one = 1;

    if (write(watch->fds[0].fd, &one, sizeof(one)) < 0)
        vocl_log(LOG_ERROR, "eventfd: %s", strerror(errno));
    pthread_join(watch->thread, NULL);
    if (why && *watch->why)
        snprintf(why, why_size, "%s", watch->why);
    watch_free(watch);
}
