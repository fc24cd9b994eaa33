/*
 * The bells between workers. Each listens, and tells the application where when it says hello; when all have their
 * ranks the application sends each a roster of those below it, which it connects to. A session goes on without what
 * cannot be connected: data then has no way between these two.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/internal.h"

struct entry {
    uint32_t rank;
    char host[64], endpoint[128];
};

int peers_listen(struct endpoint *endpoint, const char *of, int fd)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    char address[NI_MAXHOST];

    if (!strncmp(of, "unix:", 5))
        return endpoint_listen_unix(endpoint);
    if (getsockname(fd, (struct sockaddr *)&own, &length) ||
        getnameinfo((struct sockaddr *)&own, length, address, sizeof(address), NULL, 0, NI_NUMERICHOST))
        return -EADDRNOTAVAIL;
    return endpoint_listen_tcp(endpoint, address);
}

/* ---- the application ---- */

int peers_introduce(const struct job *job)
{
    for (unsigned i = 0; i < job->member_count; i++) {
        struct bell_record record = {BELL_ROSTER, 0};
        int error;

        for (unsigned other = 0; other < job->member_count; other++)
            record.value += job->members[other].rank < job->members[i].rank;
        error = socket_write_all(job->members[i].fd, &record, sizeof(record));
        for (unsigned other = 0; !error && other < job->member_count; other++) {
            struct entry entry = {.rank = job->members[other].rank};

            if (entry.rank >= job->members[i].rank)
                continue;
            memcpy(entry.host, job->members[other].host, sizeof(entry.host));
            memcpy(entry.endpoint, job->members[other].endpoint, sizeof(entry.endpoint));
            error = socket_write_all(job->members[i].fd, &entry, sizeof(entry));
        }
        if (error)
            return error;
    }
    return 0;
}

/* ---- a worker ---- */

static void add(struct job *job, int fd, uint32_t rank, const char *host)
{
    struct member *member = &job->members[job->member_count++];

    *member = (struct member){.fd = fd, .rank = rank};
    snprintf(member->host, sizeof(member->host), "%s", host);
}

static bool is_known(const struct job *job, uint32_t rank)
{
    for (unsigned i = 0; i < job->member_count; i++) {
        if (job->members[i].rank == rank)
            return true;
    }
    return false;
}

static int call_on(const struct job *job, const struct entry *entry, const uint8_t *token)
{
    struct hello hello;
    int fd = endpoint_connect(entry->endpoint), error;

    if (fd < 0)
        return fd;
    socket_tune(fd);
    hello_fill(&hello, HELLO_PEER, token, (uint32_t)job->rank);
    error = socket_write_all(fd, &hello, sizeof(hello));
    if (!error)
        return fd;
    close(fd);
    return error;
}

/* What is no peer of this session is hung up on. */
static void consider(struct job *job, struct caller *caller, const char *refused)
{
    const uint32_t rank = caller->hello.extra;

    free(caller->extra);
    if (!refused && caller->hello.role == HELLO_PEER && rank > (uint32_t)job->rank && rank < (uint32_t)job->size &&
        !is_known(job, rank)) {
        add(job, caller->fd, rank, caller->hello.host);
        return;
    }
    vocl_log(LOG_ERROR, "refused a process that is no other worker of this session");
    close(caller->fd);
}

static int call_on_all(struct job *job, const uint8_t *token, long until)
{
    struct bell_record record;
    int error = bell_await(job->members[0].fd, &record, until, NULL);

    if (!error && (record.kind != BELL_ROSTER || record.value >= (uint32_t)job->size))
        error = -EBADMSG;
    for (uint32_t i = 0; !error && i < record.value; i++) {
        struct entry entry;
        int fd;

        error = socket_read_all(job->members[0].fd, &entry, sizeof(entry), until - clock_ms());
        if (error)
            return error;
        entry.host[sizeof(entry.host) - 1] = entry.endpoint[sizeof(entry.endpoint) - 1] = '\0';
        if (!entry.rank || entry.rank >= (uint32_t)job->rank || is_known(job, entry.rank))
            return -EBADMSG;
        fd = call_on(job, &entry, token);
        if (fd >= 0)
            add(job, fd, entry.rank, entry.host);
        else
            vocl_log(LOG_WARN, "worker %u on %s cannot be reached: %s", entry.rank, entry.host, strerror(-fd));
    }
    return error;
}

int peers_join(struct job *job, const struct endpoint *endpoint, const uint8_t *token, long until)
{
    unsigned below, above = (unsigned)(job->size - 1 - job->rank);
    struct door door = {.token = token};
    int error = call_on_all(job, token, until);

    if (error)
        return error;
    below = job->member_count;
    while (!error && job->member_count < below + above) {
        const int watched[] = {endpoint->fd, job->members[0].fd};
        struct caller caller;
        const char *refused;
        unsigned ready;
        char byte;

        if (clock_ms() >= until) {
            vocl_log(LOG_WARN, "%u other workers did not come", below + above - job->member_count);
            break;
        }
        ready = door_wait(&door, watched, 2, until - clock_ms());
        if (ready & 1)
            error = door_open(&door, endpoint->fd);
        else if (ready & 2 && recv(job->members[0].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
            error = -ECONNRESET;
        else if (ready & 2)
            poll(NULL, 0, 1); /* the application has begun to speak; the others come all the same */
        while (!error && job->member_count < below + above && door_hear(&door, &caller, &refused))
            consider(job, &caller, refused);
    }
    door_close(&door);
    return error;
}

int peers_inherit(struct job *job, const char *list)
{
    char host[64] = "";

    gethostname(host, sizeof(host) - 1);
    while (list && *list) {
        unsigned rank;
        int fd, length = 0;

        if (sscanf(list, "%u:%d%n", &rank, &fd, &length) != 2 || !rank || rank >= (unsigned)job->size ||
            rank == (unsigned)job->rank || is_known(job, rank) || fcntl(fd, F_SETFD, FD_CLOEXEC))
            return -EBADF;
        add(job, fd, rank, host);
        list += length;
        list += *list == ',';
    }
    return 0;
}
