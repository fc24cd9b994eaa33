/* Connecting to several addresses in parallel: see race.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "pool/race.h"

#define AHEAD_MS 100     /* head start of each node before the next */
#define MOST_RUNNERS 512 /* connections under way at a time, and the places of those that have failed */

struct runner {
    int fd;
    unsigned node;
    bool connected;
};

struct race {
    const struct poolfile_node *nodes;
    struct runner runners[MOST_RUNNERS];
    unsigned count;
    int error;
    char *why;
    size_t why_size;
};

static void fail(struct race *race, unsigned node, int error)
{
    race->error = error;
    snprintf(race->why, race->why_size, "%s: %s", race->nodes[node].address, address_error(error));
}

/* Returns a place for a connection, one whose connection has failed first, or NULL. */
static struct runner *find_place(struct race *race)
{
    for (unsigned i = 0; i < race->count; i++) {
        if (race->runners[i].fd < 0)
            return &race->runners[i];
    }
    return race->count < MOST_RUNNERS ? &race->runners[race->count++] : NULL;
}

/* Starts connections to all addresses of a node. */
static void start(struct race *race, unsigned node)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *port;
    char host[128];
    int error = address_split(race->nodes[node].address, host, sizeof(host), &port);

    if (!error && getaddrinfo(host, port, &hints, &found))
        error = -ADDRESS_UNKNOWN;
    if (error)
        fail(race, node, error);
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        struct runner *runner = find_place(race);

        if (!runner) {
            fail(race, node, -EMFILE);
            break;
        }
        *runner = (struct runner){socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), node, false};
        if (runner->fd >= 0 && (!connect(runner->fd, at->ai_addr, at->ai_addrlen) || errno == EINPROGRESS))
            continue;
        fail(race, node, -errno);
        if (runner->fd >= 0)
            close(runner->fd);
        runner->fd = -1;
    }
    if (found)
        freeaddrinfo(found);
}

static void drop(struct race *race, unsigned i, int error)
{
    fail(race, race->runners[i].node, error);
    close(race->runners[i].fd);
    race->runners[i].fd = -1;
}

/* Handles the events of one connection. Returns true if it has won. */
static bool look(struct race *race, unsigned i, short events)
{
    struct runner *runner = &race->runners[i];
    socklen_t length = sizeof(int);
    int error = 0;

    if (!events)
        return false;
    if (getsockopt(runner->fd, SOL_SOCKET, SO_ERROR, &error, &length))
        error = errno;
    if (error) {
        drop(race, i, -error);
        return false;
    }
    if (runner->connected && events & (POLLIN | POLLHUP))
        return true;
    runner->connected |= (events & POLLOUT) != 0;
    return false;
}

/* Waits this long. Returns the index of the winner, or -1. */
static int watch(struct race *race, long milliseconds)
{
    struct pollfd ready[MOST_RUNNERS];

    for (unsigned i = 0; i < race->count; i++)
        ready[i] = (struct pollfd){race->runners[i].fd, race->runners[i].connected ? POLLIN : POLLOUT, 0};
    if (poll(ready, race->count, (int)milliseconds) <= 0)
        return -1;
    for (unsigned i = 0; i < race->count; i++) {
        if (look(race, i, ready[i].revents))
            return (int)i;
    }
    return -1;
}

static bool runs(const struct race *race)
{
    for (unsigned i = 0; i < race->count; i++) {
        if (race->runners[i].fd >= 0)
            return true;
    }
    return false;
}

int race_connect(const struct poolfile_node *nodes, unsigned count, const bool *left_out, long milliseconds,
                 unsigned *winner, char *why, size_t why_size)
{
    struct race race = {.nodes = nodes, .error = -ENOENT, .why = why, .why_size = why_size};
    const long until = clock_ms() + milliseconds;
    long next_ms = 0;
    unsigned next = 0;
    int first = -1, fd = -1;

    while (first < 0 && clock_ms() < until) {
        while (next < count && left_out && left_out[next])
            next++;
        if (next < count && (clock_ms() >= next_ms || !runs(&race))) {
            start(&race, next++);
            next_ms = clock_ms() + AHEAD_MS;
        } else if (next >= count && !runs(&race)) {
            return race.error;
        }
        first = watch(&race, next < count && next_ms < until ? next_ms - clock_ms() + 1 : until - clock_ms());
    }
    for (unsigned i = 0; i < race.count; i++) {
        if ((int)i == first)
            fd = race.runners[i].fd;
        else if (race.runners[i].fd >= 0)
            drop(&race, i, -ETIMEDOUT);
    }
    if (first < 0)
        return race.error;
    fcntl(fd, F_SETFL, 0);
    *winner = race.runners[first].node;
    return fd;
}
