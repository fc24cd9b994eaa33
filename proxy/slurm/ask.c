#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "proxy/slurm/ask.h"

/* Reads until the end of the output. Returns 0, or a negative errno if time or room runs out. */
static int hear(int fd, char *output, size_t size, size_t *length, long until_ms)
{
    char none[256];

    for (;;) {
        const long left = until_ms - clock_ms();
        struct pollfd ready = {fd, POLLIN, 0};
        ssize_t got;

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        if (size && *length + 1 >= size)
            return -ENOSPC;
        got = size ? read(fd, output + *length, size - *length - 1) : read(fd, none, sizeof(none));
        if (!got || (got < 0 && errno != EINTR))
            return 0;
        if (got > 0)
            *length += (size_t)got;
    }
}

int ask(char *const *words, char *const *environment, char *output, size_t size, size_t *length, int seconds)
{
    size_t heard = 0;
    int ends[2], status = 0, error;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    pid = spawn(&(struct spawn){.arguments = words,
                                .environment = environment,
                                .descriptors = (int[]){-1, ends[1], 2},
                                .count = 3,
                                .fresh = true});
    close(ends[1]);
    error = pid < 0 ? pid : hear(ends[0], output, size, &heard, clock_ms() + 1000L * seconds);
    close(ends[0]);
    if (pid > 0 && error)
        kill(pid, SIGKILL);
    if (pid > 0)
        status = spawn_wait(pid);
    if (error)
        return error;
    if (size)
        output[heard] = '\0';
    if (length)
        *length = heard;
    return status;
}
