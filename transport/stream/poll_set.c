/*
 * If a member has connections with many others, reading from each costs more than handling what arrives. So an epoll
 * descriptor holds them all, and each poll of the transport asks it once: a connection that is not readable in this
 * round is not read from, and a sleeper sleeps on this one descriptor. With few connections there is no poll set: it
 * made a launch and clFinish between two hosts 1.15 times as long. A program that takes all descriptor numbers can also
 * hit it while it is being recreated (tests/parity/descriptors: dup2() fails with EBUSY).
 *
 * The set holds open files, not numbers: if the program closes a socket's descriptor, the store still has the file
 * (transport/alive/fd_store.h). If the program closes the epoll descriptor, its number may become another file's. It is
 * ours if it holds the session's pipe.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/stream/plain.h"
#include "transport/stream/stream.h"

#define OF_NOBODY UINT64_MAX

static uint64_t name_of(unsigned number, unsigned index)
{
    return (uint64_t)number << 32 | index;
}

/* ---- the descriptor ---- */

static int control(const struct transport *t, int what, int fd, uint64_t name)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = name};

    return epoll_ctl(t->poll_set, what, fd, &event) ? -errno : 0;
}

/* Sockets that the program has just closed are added when they have been replaced. */
static void add(struct transport *t, unsigned number)
{
    struct streams *streams = t->peers[number].way;

    for (unsigned i = 0; i <= streams->pipe_count; i++) {
        if (stream_ready(streams_at(streams, i)))
            control(t, EPOLL_CTL_ADD, stored_fd(&streams_at(streams, i)->socket), name_of(number, i));
    }
}

static bool hears_of(const struct transport *t, unsigned number)
{
    return number < t->width && t->peers[number].alive && t->peers[number].provider == &provider_tls;
}

static void renew(struct transport *t)
{
    t->poll_set = epoll_create1(EPOLL_CLOEXEC);
    if (t->poll_set < 0)
        return;
    control(t, EPOLL_CTL_ADD, stored_fd(&t->wake), OF_NOBODY);
    for (unsigned i = 0; i < t->width; i++) {
        if (hears_of(t, i))
            add(t, i);
    }
}

/* In a worker no other code closes descriptors. */
static bool is_ours(const struct transport *t, int wake)
{
    int error;

    if (!t->client)
        return true;
    error = control(t, EPOLL_CTL_ADD, wake, OF_NOBODY);
    if (!error)
        control(t, EPOLL_CTL_DEL, wake, OF_NOBODY);
    return error == -EEXIST;
}

int poll_set_open(struct transport *t)
{
    t->heard = calloc(2 * link_capacity(t), sizeof(*t->heard));
    if (!t->heard)
        return -ENOMEM;
    renew(t);
    return t->poll_set < 0 ? -errno : 0;
}

void poll_set_close(struct transport *t)
{
    if (t->poll_set >= 0 && is_ours(t, stored_fd(&t->wake)))
        close(t->poll_set);
    t->poll_set = -1;
}

/* ---- the peers in it ---- */

void poll_set_meet(struct transport *t, unsigned number)
{
    if (t->poll_set >= 0)
        add(t, number);
}

void poll_set_lose(struct transport *t, unsigned number)
{
    struct streams *streams = t->peers[number].way;

    for (unsigned i = 0; t->poll_set >= 0 && i <= streams->pipe_count; i++)
        control(t, EPOLL_CTL_DEL, stored_fd(&streams_at(streams, i)->socket), 0);
}

bool poll_set_are_quiet(const struct transport *t, const struct stream *stream)
{
    const bool is_plain = stream->by == &plain_plugin;

    if (t->poll_set < 0)
        return is_plain && !t->looks;
    return (is_plain || stream->dry) && stream->round != t->round; /* TLS may have read ahead */
}

/* False: the event is of a lost peer, and would be reported again and again. */
static bool note(struct transport *t, uint64_t name)
{
    const unsigned number = (unsigned)(name >> 32), index = (unsigned)name;
    struct streams *streams = hears_of(t, number) ? t->peers[number].way : NULL;

    if (name == OF_NOBODY)
        return true;
    if (!streams || index > streams->pipe_count)
        return false;
    streams_at(streams, index)->round = t->round;
    t->came = true;
    return true;
}

void poll_set_look(struct transport *t)
{
    bool good = true;
    int count;

    if (t->poll_set < 0)
        return;
    t->round++;
    if (!t->looks)
        return;
    if (!is_ours(t, stored_fd(&t->wake)))
        renew(t);
    if (t->poll_set < 0)
        return;
    count = epoll_wait(t->poll_set, t->heard, (int)(2 * link_capacity(t)), 0);
    for (int i = 0; i < count; i++)
        good &= note(t, t->heard[i].data.u64);
    if (good)
        return;
    close(t->poll_set);
    renew(t);
}
