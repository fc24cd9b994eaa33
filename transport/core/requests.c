/*
 * Messages between the program and its starter, which has started the session's processes, and users' requests to the
 * session, which come through it. The thread that polls the transport takes a request; a thread of its own answers it,
 * and may take as long as it likes.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/requests.h"
#include "base/thread.h"
#include "transport/core/link.h"

#define LAST_WORD_MS 1000
#define DRAIN_MS 1000
#define LOOK_MS 100 /* between two polls, where nobody sleeps */

struct answer {
    struct stored_fd socket;
    bool ended;
    transport_request *handler;
    void *context;
    char words[sizeof(((struct starter_message *)0)->text)];
};

/* ---- the starter ---- */

int starter_open(struct job *job)
{
    int ends[2], error;

    if (job->control_socket < 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -errno;
    error = socket_send_descriptors(job->control_socket, &(char){CONTROL_STARTER}, 1, &ends[1], 1);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        job->starter.fd = ends[0];
    return error;
}

/* Receives one message. Returns the number of bytes, 0 at the end, or a negative errno. */
static ssize_t hear(int starter, struct starter_message *message, int *fd)
{
    unsigned count = 1;
    ssize_t got;

    *fd = -1;
    got = socket_receive_descriptors(starter, message, sizeof(*message), fd, &count, 1);
    message->text[sizeof(message->text) - 1] = '\0';
    return got;
}

/* ---- answers ---- */

static void say(struct answer *answer, const char *what, const char *format, va_list arguments)
{
    char line[REQUESTS_MOST];
    int length = snprintf(line, sizeof(line), "%s", what), fd = stored_fd(&answer->socket);

    vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, arguments);
    for (char *at = line; *at; at++) {
        if (*at == '\n')
            *at = ' ';
    }
    strcat(line, "\n");
    if (fd >= 0 && send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        vocl_log(LOG_DEBUG, "the process that asked does not read its answer: %s", strerror(errno));
}

void answer_progress(struct answer *answer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!answer->ended)
        say(answer, REQUEST_PROGRESS, format, arguments);
    va_end(arguments);
}

/* Waits until there is room for the last line, unless nobody reads. */
void answer_end(struct answer *answer, bool done, const char *format, ...)
{
    struct pollfd room = {stored_fd(&answer->socket), POLLOUT, 0};
    va_list arguments;

    if (!answer->ended)
        poll(&room, 1, LAST_WORD_MS);
    va_start(arguments, format);
    if (!answer->ended)
        say(answer, done ? REQUEST_DONE : REQUEST_FAILED, format, arguments);
    va_end(arguments);
    answer->ended = true;
}

bool answer_is_wanted(struct answer *answer)
{
    struct pollfd end = {stored_fd(&answer->socket), POLLRDHUP, 0};

    return end.fd >= 0 && poll(&end, 1, 0) == 0;
}

bool answer_await(struct answer *answer, int milliseconds)
{
    struct pollfd word = {stored_fd(&answer->socket), POLLIN, 0};
    char byte;

    return word.fd >= 0 && poll(&word, 1, milliseconds) == 1 && recv(word.fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static void *run(void *argument)
{
    struct answer *answer = argument;

    answer->handler(answer->context, answer->words, answer);
    answer_end(answer, false, "it was not answered");
    stored_close(&answer->socket);
    free(answer);
    return NULL;
}

/* The handler where the program has set none. */
static void refuse(void *context, const char *request, struct answer *answer)
{
    (void)context;
    answer_end(answer, false, "this program's VOCL cannot do that: %s", request);
}

static void take_request(struct transport *t, const struct starter_message *message, int fd)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    pthread_t thread;

    if (!answer) {
        close(fd);
        return;
    }
    answer->handler = t->on_request ? t->on_request : refuse;
    answer->context = t->request_context;
    memcpy(answer->words, message->text, sizeof(answer->words));
    stored_hold(&answer->socket, NULL, fd);
    answer_progress(answer, "taken");
    if (!thread_start(&thread, run, answer)) {
        pthread_detach(thread);
        return;
    }
    answer_end(answer, false, "no thread can be started");
    stored_close(&answer->socket);
    free(answer);
}

/* ---- in the transport ---- */

void transport_on_request(struct transport *t, transport_request *handler, void *context)
{
    t->on_request = handler;
    t->request_context = context;
}

bool starter_sleep_on(struct transport *t, struct pollfd *descriptor)
{
    if (!t->client || t->job.starter.fd < 0)
        return false;
    *descriptor = (struct pollfd){stored_fd(&t->job.starter), POLLIN, 0};
    return true;
}

int starter_tell(struct transport *t, const struct starter_message *message, int fd)
{
    struct pollfd ready;

    if (!t->client || !starter_sleep_on(t, &ready) || ready.fd < 0)
        return -ENOTCONN;
    ready.events = POLLOUT;
    if (poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT)
        return -EAGAIN;
    return socket_send_descriptors(ready.fd, message, sizeof(*message), &fd, fd >= 0);
}

/* In a worker that no member is to be connected with now: discards connections of members that have gone again, and
 * reports that the program lives, which nobody needs. */
static void drain_calls(struct transport *t)
{
    const bool listens = t->peers[0].beat.vouched;
    char bytes[64];
    ssize_t next;

    if (t->job.calls.fd < 0 || t->join || t->job.later || clock_ms() - t->starter_ms < DRAIN_MS)
        return;
    t->starter_ms = clock_ms();
    while ((next = recv(t->job.calls.fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK)) > 0 && (next > 1 || !listens))
        recv(t->job.calls.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

void starter_poll(struct transport *t, bool spoke)
{
    struct starter_message message;
    struct pollfd ready;
    long now;
    int fd;

    if (!t->client)
        drain_calls(t);
    if (!t->client || t->job.starter.fd < 0)
        return;
    now = clock_ms();
    if (!spoke && now - t->starter_ms < LOOK_MS)
        return;
    t->starter_ms = now;
    while (starter_sleep_on(t, &ready) && poll(&ready, 1, 0) == 1) {
        ssize_t got = hear(ready.fd, &message, &fd);

        if (got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT)
            return;
        if (got != (ssize_t)sizeof(message)) {
            stored_close(&t->job.starter);
            if (fd >= 0)
                close(fd);
            return;
        }
        if (message.kind == STARTER_REQUEST && fd >= 0)
            take_request(t, &message, fd);
        else
            t->membership->starter(t, &message, fd);
    }
}
