/*
 * The workers of a session come: everybody says hello on the bell before anybody enters MPI_Init, so that a process
 * that is missing is an error and not a hang.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start.h"

#define REASON_MS 500 /* that a helper may take to say why a worker is gone */

static const char *take_placeholder(struct start *start, struct caller *caller)
{
    if (!start->wants_placeholder || start->job->placeholder.fd >= 0)
        return "not expected";
    if (!caller->extra)
        return "no environment came";
    start->environment = caller->extra;
    start->environment_length = caller->hello.extra;
    caller->extra = NULL;
    kept_trust(&start->job->placeholder, caller->fd);
    return NULL;
}

static const char *take_worker(struct start *start, const struct caller *caller)
{
    struct job *job = start->job;
    struct member *member = &job->members[job->member_count];

    if (job->member_count == start->workers)
        return "not expected";
    *member = (struct member){
        .fd = caller->fd, .rank = caller->rank, .process = caller->rank ? caller->process : socket_process(caller->fd)};
    socket_name_processes(caller->fd, false); /* on which descriptors may come */
    if (!caller->rank) {
        if (caller->hello.extra != sizeof(member->endpoint))
            return "it expects its peers nowhere";
        memcpy(member->endpoint, caller->extra, sizeof(member->endpoint));
        member->endpoint[sizeof(member->endpoint) - 1] = '\0';
    }
    memcpy(member->host, caller->hello.host, sizeof(member->host));
    job->member_count++;
    return NULL;
}

/* One that has said hello, or cannot any more. An error, and why, when it was to be of this session and is not: nobody
 * else will come in its place. */
static int consider(struct start *start, struct caller *caller, const char *refused)
{
    const bool ours = caller->rank || !memcmp(caller->hello.token, start->token, TOKEN_BYTES);
    const bool known = caller->hello.magic == HELLO_MAGIC;

    if (!refused && caller->hello.role == HELLO_PLACEHOLDER)
        refused = take_placeholder(start, caller);
    else if (!refused)
        refused = caller->hello.role == HELLO_WORKER ? take_worker(start, caller) : "not expected";
    if (refused)
        vocl_log(LOG_ERROR, "refused a process on %s: %s", known ? caller->hello.host : "?", refused);
    door_answer(caller, refused);
    if (!refused || !ours)
        return 0;
    if (known)
        snprintf(start->why, start->why_size, "a worker on %s: %s", caller->hello.host, refused);
    else if (start->job->lifeline < 0 || socket_wait(start->job->lifeline, POLLIN, REASON_MS) <= 0 ||
             !launch_hear(start))
        snprintf(start->why, start->why_size, "worker %u: %s", caller->rank, refused);
    return known ? -EPROTO : -ECHILD;
}

static int wait_for_somebody(struct start *start)
{
    const int watched[] = {start->local.fd, start->remote.fd, start->job->lifeline};
    unsigned ready = door_wait(&start->door, watched, 3, start->until - clock_ms());
    int error = 0;

    if (ready & 1)
        error = door_open(&start->door, start->local.fd);
    if (ready & 2 && !error)
        error = door_open(&start->door, start->remote.fd);
    if (error)
        snprintf(start->why, start->why_size, "%s", strerror(-error));
    return error ? error : ready & 4 ? launch_hear(start) : 0;
}

static void stop_listening(struct start *start)
{
    door_close(&start->door);
    if (start->local.fd >= 0)
        close(start->local.fd);
    if (start->remote.fd >= 0)
        close(start->remote.fd);
    start->local.fd = start->remote.fd = -1;
}

int gather_workers(struct start *start)
{
    struct job *job = start->job;
    int error = 0;

    start->door.token = start->token;
    while (!error && (job->member_count < start->workers || (start->wants_placeholder && job->placeholder.fd < 0))) {
        struct caller caller;
        const char *refused;

        if (clock_ms() >= start->until) {
            snprintf(start->why, start->why_size, "%u of %u workers came within VOCL_START_TIMEOUT seconds",
                     job->member_count, start->workers);
            error = -ETIMEDOUT;
            break;
        }
        error = wait_for_somebody(start);
        while (!error && door_hear(&start->door, &caller, &refused))
            error = consider(start, &caller, refused);
    }
    stop_listening(start);
    if (!error)
        vocl_log_stage("workers started");
    return error;
}

int gather_ranks(struct start *start)
{
    const struct job *job = start->job;
    bool strangers = false;

    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];
        struct bell_record record;
        int error = bell_await(member->fd, &record, start->until, job); /* some listen already */

        if (!error && (record.kind != BELL_RANK || record.value == 0 || record.value >= (uint32_t)job->size ||
                       (member->rank && record.value != member->rank)))
            error = -EBADMSG;
        if (error) {
            snprintf(start->why, start->why_size, "a worker on %s did not come through MPI_Init: %s", member->host,
                     strerror(-error));
            return error;
        }
        strangers |= !member->rank;
        member->rank = record.value;
    }
    vocl_log_stage("all in MPI");
    if (strangers && peers_introduce(job)) {
        snprintf(start->why, start->why_size, "a worker was lost while the others were introduced to it");
        return -ECONNRESET;
    }
    return 0;
}
