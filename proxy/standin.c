/* Standing in for a program that is stopped: see standin.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/standin.h"
#include "transport/internal.h"

static int *bells;
static unsigned count;
static long looked_ms;

bool standin_hear(int lifeline)
{
    int fd, *more, got;
    char byte;

    got = socket_take(lifeline, &byte, 1, &fd);
    if (fd >= 0 && (more = realloc(bells, (count + 1) * sizeof(*bells)))) {
        bells = more;
        bells[count++] = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    return got > 0 || got == -EAGAIN || got == -EINTR;
}

void standin_end(void)
{
    while (count)
        close(bells[--count]);
}

/* Of a process or one of its threads: 'R', 'S', and so on, or '\0'. */
static char state_of(int directory, const char *name)
{
    char path[300], text[512];
    const char *at;
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "%s/stat", name);
    fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return '\0';
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    at = strrchr(text, ')');
    return at && at[1] ? at[2] : '\0';
}

static bool stands(char state)
{
    return state == 'T' || state == 't';
}

/* All of it: whose first thread has ended is asked for the others. */
static bool is_stopped(pid_t program)
{
    char path[64];
    DIR *threads;
    bool one = false, all = true;
    char first;

    snprintf(path, sizeof(path), "/proc/%d", (int)program);
    first = state_of(AT_FDCWD, path);
    if (first != 'Z')
        return stands(first);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)program);
    threads = opendir(path);
    if (!threads)
        return false;
    for (struct dirent *entry; (entry = readdir(threads));) {
        char state = *entry->d_name == '.' ? 'Z' : state_of(dirfd(threads), entry->d_name);

        one |= stands(state);
        all &= stands(state) || state == 'Z' || !state;
    }
    closedir(threads);
    return one && all;
}

int standin_look(int lifeline)
{
    const long every = settings_peer_ms() / 4;
    long left = looked_ms + every - clock_ms();
    pid_t program;

    if (!every || !count)
        return -1;
    if (left > 0)
        return (int)left;
    looked_ms = clock_ms();
    program = socket_process(lifeline);
    if (program && is_stopped(program)) {
        for (unsigned i = 0; i < count; i++)
            bell_beat(bells[i], true);
    }
    return (int)every;
}
