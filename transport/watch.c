/*
 * What watches over MPI_Init, which waits for the other ranks for as long as they take: when a worker is gone, or the
 * time is up, the launcher is made to end the job, and without its mpiexec MPI_Init fails.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "transport/internal.h"

static void *watch_thread(void *argument)
{
    struct watch *watch = argument;
    struct timespec left = {.tv_sec = watch->milliseconds / 1000, .tv_nsec = watch->milliseconds % 1000 * 1000000};

    ppoll(watch->fds, watch->count, &left, NULL);
    if (!watch->fds[0].revents) {
        vocl_log(LOG_INFO, "MPI_Init is given up");
        shutdown(watch->lifeline, SHUT_RDWR);
    }
    return NULL;
}

int watch_start(struct watch *watch, const struct job *job, long milliseconds)
{
    int error;

    *watch = (struct watch){.lifeline = job->lifeline,
                            .milliseconds = milliseconds > 0 ? milliseconds : 0,
                            .count = job->member_count + 1,
                            .fds = calloc(job->member_count + 1, sizeof(*watch->fds))};
    if (!watch->fds)
        return -ENOMEM;
    watch->fds[0] = (struct pollfd){eventfd(0, EFD_CLOEXEC), POLLIN, 0};
    for (unsigned i = 0; i < job->member_count; i++)
        watch->fds[i + 1] = (struct pollfd){job->members[i].fd, POLLRDHUP, 0};
    error = watch->fds[0].fd < 0 ? errno : thread_start(&watch->thread, watch_thread, watch);
    if (error) {
        close(watch->fds[0].fd);
        free(watch->fds);
    }
    return -error;
}

void watch_stop(struct watch *watch)
{
    uint64_t one = 1;

    if (write(watch->fds[0].fd, &one, sizeof(one)) < 0)
        vocl_log(LOG_ERROR, "eventfd: %s", strerror(errno));
    pthread_join(watch->thread, NULL);
    close(watch->fds[0].fd);
    free(watch->fds);
}
