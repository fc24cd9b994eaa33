/* Runs programs and collects their output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "base/text.h"
#include "tools/doctor.h"

#define MOST_OUTPUT (64u << 10)

struct stream {
    int fd; /* -1: the output has ended */
    char *text;
    size_t length;
};

static bool stream_open(struct stream *stream, int *far)
{
    int ends[2];

    stream->text = calloc(1, MOST_OUTPUT + 1);
    if (!stream->text || pipe2(ends, O_CLOEXEC))
        return false;
    stream->fd = ends[0];
    *far = ends[1];
    return true;
}

/* Output beyond the room is read and dropped, so that the program does not block. */
static void stream_read(struct stream *stream)
{
    char rest[4096];
    const size_t room = MOST_OUTPUT - stream->length;
    ssize_t got = room ? read(stream->fd, stream->text + stream->length, room) : read(stream->fd, rest, sizeof(rest));

    if (got <= 0 && !(got < 0 && errno == EINTR)) {
        close(stream->fd);
        stream->fd = -1;
    } else if (got > 0 && room) {
        stream->length += (size_t)got;
    }
}

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Puts the input into a file, so that all of it is available whenever the program reads it. */
static int open_input(const char *input, size_t length)
{
    FILE *file = input ? tmpfile() : NULL;
    int fd;

    if (!file)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    fwrite(input, 1, length, file);
    fflush(file);
    fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    fclose(file);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void listen_to(struct stream streams[2], struct tried *tried, long started_us, long limit_ms)
{
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd ready[] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};
        const long left = limit_ms - (clock_us() - started_us) / 1000;

        if (left <= 0)
            return;
        poll(ready, 2, (int)left);
        for (int i = 0; i < 2; i++) {
            if (streams[i].fd >= 0 && ready[i].revents)
                stream_read(&streams[i]);
        }
        if (streams[0].length && !tried->first_ns) {
            tried->first_ns = now_ns();
            tried->first_ms = (double)(clock_us() - started_us) / 1000;
        }
    }
}

static int end_of(pid_t pid, bool in_time)
{
    int status;

    if (!in_time)
        kill(-pid, SIGKILL);
    status = spawn_wait(pid);
    return in_time ? status : -1;
}

struct tried doctor_try(char *const *words, const char *input, size_t length, long limit_ms)
{
    struct stream streams[2] = {{.fd = -1}, {.fd = -1}};
    struct tried tried = {.status = 127};
    const long started_us = clock_us();
    int in = open_input(input, length), out = -1, errors = -1;
    pid_t pid = -1;

    if (stream_open(&streams[0], &out) && stream_open(&streams[1], &errors))
        pid = spawn(&(struct spawn){
            .arguments = words, .descriptors = (int[]){in, out, errors}, .count = 3, .signal = SIGKILL, .group = true});
    for (size_t i = 0; i < 3; i++) {
        const int fd = (int[]){in, out, errors}[i];

        if (fd >= 0)
            close(fd);
    }
    if (pid > 0) {
        listen_to(streams, &tried, started_us, limit_ms);
        tried.status = end_of(pid, streams[0].fd < 0 && streams[1].fd < 0);
    }
    for (int i = 0; i < 2; i++) {
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    }
    tried.ms = (double)(clock_us() - started_us) / 1000;
    tried.output = streams[0].text ? streams[0].text : strdup("");
    tried.errors = streams[1].text ? streams[1].text : strdup("");
    return tried;
}

void tried_free(struct tried *tried)
{
    free(tried->output);
    free(tried->errors);
}

const char *last_line(char *text)
{
    static char visible[400];
    size_t length = strlen(text);
    char *begin;

    while (length && strchr("\n\r ", text[length - 1]))
        text[--length] = '\0';
    begin = strrchr(text, '\n');
    text_visible(begin ? begin + 1 : text, visible, sizeof(visible));
    if (begin)
        *begin = '\0';
    else
        *text = '\0';
    return visible;
}
