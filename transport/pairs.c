/*
 * A session of workers on this host, without MPI: each has PAIR_SOCKETS connections with the program, which
 * vocl-launcher makes and both sides inherit or are handed, and with each other worker. Where they are many
 * (WORKERS_LATER), what a session costs is to grow as they do: then two of them get theirs when they have something to
 * say to each other (later.c). Nothing listens, and nobody has to show who he is. Frames go through memory (lane.c), as
 * in any session on one host, and bulk data are read in the other's (over_tls_reach.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/guests.h"
#include "transport/later.h"
#include "transport/plain.h"
#include "transport/start.h"

static bool settle(struct stream *stream, int fd)
{
    kept_trust(&stream->socket, fd);
    stream->by = &plain_plugin;
    stream->tls = fd < 0 ? NULL : plain_plugin.open(fd, "");
    return stream->tls != NULL;
}

struct tls_way *pair_way(const int sockets[PAIR_SOCKETS])
{
    struct tls_way *way = way_new(1);
    bool good = way != NULL;

    for (unsigned i = 0; way && i < PAIR_SOCKETS; i++) /* all of them are the way's */
        good &= settle(i == 0 ? &way->frames : i == 1 ? &way->beat : &way->pipes[0].stream, sockets[i]);
    for (unsigned i = 0; !way && i < PAIR_SOCKETS; i++)
        close(sockets[i]);
    if (good)
        return way;
    way_free(way, false);
    return NULL;
}

/* ---- the program ---- */

static int launch_workers(struct start *start)
{
    struct launch launch = launch_new(start, "vocl-launcher", true);

    strings_add(&launch.arguments, "--pairs");
    strings_add(&launch.arguments, "%u", start->workers);
    launch_guests(start, &launch);
    return launch_helper(start, &launch);
}

/* A program that may have few descriptors keeps their numbers for itself. */
static void leave_numbers(const struct start *start, int *descriptors, unsigned count)
{
    for (unsigned i = 0; start->numbers && i < count; i++) {
        const int number = fcntl(descriptors[i], F_DUPFD_CLOEXEC, (int)start->numbers);

        if (number < 0)
            continue;
        close(descriptors[i]);
        descriptors[i] = number;
    }
}

/* The first of each worker's is the one that it says hello on. */
static int expect_workers(struct start *start, const int *descriptors)
{
    int error = 0;

    for (unsigned i = 0; !error && i < start->workers; i++)
        error = door_expect(&start->door, descriptors[PAIR_SOCKETS * i], i + 1);
    return error;
}

static int have_ways(struct job *job, const int *descriptors)
{
    int error = 0;

    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];
        const int *others = descriptors + (size_t)PAIR_SOCKETS * (member->rank - 1);

        member->way = pair_way((int[]){member->fd, others[1], others[2]});
        member->fd = -1;
        error = member->way ? error : -ENOMEM;
    }
    return error;
}

static void close_descriptors(int *descriptors, unsigned workers)
{
    for (unsigned i = 0; i < PAIR_SOCKETS * workers; i++) {
        if (i % PAIR_SOCKETS) /* the first is the door's, or a member's */
            close(descriptors[i]);
    }
}

int start_pairs(struct start *start)
{
    struct job *job = start->job;
    const unsigned count = PAIR_SOCKETS * start->workers;
    int *descriptors = calloc(count, sizeof(*descriptors)), error;

    launch_keep_key(start);
    error = descriptors ? launch_workers(start) : -ENOMEM;
    vocl_log(LOG_INFO, "%u workers are reached by pairs of sockets, without MPI%s", start->workers,
             strcmp(settings_string(SETTING_NETWORK), "auto") ? ", as VOCL_NETWORK says" : ": they are on this host");
    job->started = STARTED_HERE;
    if (!error)
        error = launch_receive(start, descriptors, count);
    if (error) {
        free(descriptors);
        return error;
    }
    leave_numbers(start, descriptors, count);
    error = expect_workers(start, descriptors);
    if (!error)
        error = gather_workers(start);
    if (error)
        close_descriptors(descriptors, start->workers);
    else
        error = have_ways(job, descriptors);
    free(descriptors);
    if (error)
        return error;
    job->provider = &provider_tls;
    job->pipes = 1;
    job->apart = true;
    job->later = start->workers >= WORKERS_LATER;
    job->size = (int)start->workers + 1;
    return enter_alone(job);
}

/* ---- a worker ---- */

static int given(const char *name)
{
    const char *text = getenv(name);
    const int fd = text ? atoi(text) : -1;

    return fd >= 3 && !fcntl(fd, F_SETFD, FD_CLOEXEC) ? fd : -1;
}

static int number(const char *name)
{
    const char *text = getenv(name);

    return text ? atoi(text) : 0;
}

/* Its connections with the others, "RANK:DESCRIPTOR,...": of each the PAIR_SOCKETS. */
static int meet_others(struct job *job, const char *list)
{
    while (list && *list) {
        struct member *member = &job->members[job->member_count];
        int sockets[PAIR_SOCKETS], length;

        for (unsigned i = 0; i < PAIR_SOCKETS; i++) {
            unsigned rank;

            if (sscanf(list, "%u:%d%n", &rank, &sockets[i], &length) != 2 || !rank || rank >= (unsigned)job->size ||
                rank == (unsigned)job->rank || job->member_count >= (unsigned)job->size ||
                (i && rank != member->rank) || fcntl(sockets[i], F_SETFD, FD_CLOEXEC))
                return -EBADF;
            member->rank = rank;
            list += length;
            list += *list == ',';
        }
        member->fd = -1;
        gethostname(member->host, sizeof(member->host) - 1);
        job->member_count++;
        if (!(member->way = pair_way(sockets)))
            return -ENOMEM;
    }
    return 0;
}

int pairs_join(struct job *job, char *why, size_t why_size)
{
    static const uint8_t no_token[TOKEN_BYTES];
    const int sockets[PAIR_SOCKETS] = {given(SESSION_BELL), given(SESSION_BEAT), given(SESSION_BULK)};
    int error;

    job->rank = number("PMI_RANK");
    job->size = number("PMI_SIZE");
    if (sockets[0] < 0 || sockets[1] < 0 || sockets[2] < 0 || job->rank < 1 || job->rank >= job->size) {
        snprintf(why, why_size, "what starts workers gave this one no connections");
        return -EBADF;
    }
    error = worker_say_hello(sockets[0], no_token, NULL, why, why_size);
    job->members = error ? NULL : calloc((size_t)job->size, sizeof(*job->members));
    if (!error && (!job->members || !(job->members->way = pair_way(sockets))))
        error = -ENOMEM;
    if (error)
        return error;
    job->members->fd = -1;
    job->member_count = 1;
    job->provider = &provider_tls;
    job->pipes = 1;
    job->later = job->size > WORKERS_LATER;
    job->others = (unsigned)job->size;
    return meet_others(job, getenv(SESSION_PEERS));
}
