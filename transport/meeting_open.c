/* The application's side of a meeting: its workers come, get their numbers, and are told of each other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/guests.h"
#include "transport/meeting.h"
#include "transport/distance.h"
#include "wire/frame.h"

#define FEWEST_PIPES 2
#define MANY_PIPES 256 /* of a session of many, which has none between workers yet */

static const char *greeting_wrong(const struct greeting *greeting)
{
    if (greeting->magic != HELLO_MAGIC)
        return "not a VOCL process";
    if (greeting->byte_order != 0x01020304 || greeting->pointer_size != sizeof(void *))
        return "byte order or pointer size differ";
    if (greeting->version != WIRE_VERSION)
        return "protocol versions differ: the same VOCL must be installed on both sides";
    return NULL;
}

/* Negative: a worker of this session that does not fit; nobody will come in its place. */
int meeting_greeted(struct meeting *m, struct guest *guest)
{
    struct greeting *greeting = &guest->said.greeting;
    const char *wrong = greeting_wrong(greeting);
    struct welcome welcome = {.magic = HELLO_MAGIC};
    struct member *member;

    greeting->host[sizeof(greeting->host) - 1] = greeting->endpoint[sizeof(greeting->endpoint) - 1] = '\0';
    if (!wrong && m->newcomer && greeting->rank != m->newcomer)
        wrong = "not expected";
    if (!wrong && m->newcomer)
        return meeting_newcomer(m, guest);
    if (!wrong && !m->newcomer && m->job->member_count == m->size - 1)
        wrong = "not expected";
    if (wrong) {
        vocl_log(LOG_ERROR, "refused a process on %s: %s", greeting->host, wrong);
        snprintf(m->why, m->why_size, "a worker on %s: %s", greeting->host, wrong);
        snprintf(welcome.why, sizeof(welcome.why), "%s", wrong);
        guest_write(guest, &welcome, sizeof(welcome));
        return -EPROTO;
    }
    member = &m->job->members[m->job->member_count];
    *member = (struct member){.fd = -1, .rank = greeting->rank, .way = way_new(m->pipes)};
    if (!member->way)
        return -ENOMEM;
    m->job->member_count++;
    memcpy(member->host, greeting->host, sizeof(member->host));
    memcpy(member->endpoint, greeting->endpoint, sizeof(member->endpoint));
    guest_settle(guest, member->way);
    return 0;
}

static int gather(struct meeting *m, long until)
{
    while (m->job->member_count < m->size - 1) {
        int error;

        if (clock_ms() >= until) {
            snprintf(m->why, m->why_size, "%u of %u workers came within VOCL_START_TIMEOUT seconds",
                     m->job->member_count, m->size - 1);
            return -ETIMEDOUT;
        }
        error = meeting_turn(m, until);
        if (error)
            return error;
        if (launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

/* A worker whose starter gave it a number has that; the others get what is left in the order in which they came. */
static int give_numbers(struct meeting *m)
{
    struct job *job = m->job;
    unsigned next = 1;

    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        if (!member->rank || member->rank >= m->size || m->ways[member->rank])
            member->rank = 0;
        else
            m->ways[member->rank] = member->way;
    }
    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        while (!member->rank) {
            if (!m->ways[next])
                m->ways[member->rank = next] = member->way;
            next++;
        }
        memcpy(m->locations[member->rank].host, member->host, sizeof(member->host));
        memcpy(m->locations[member->rank].endpoint, member->endpoint, sizeof(member->endpoint));
    }
    return 0;
}

/* All pairs have as many connections for bulk data as the longest way that is known wants, if the user has not said,
 * and there is room for who comes to make them. */
static void choose_pipes(struct meeting *m)
{
    const unsigned asked = settings_streams(), share = (m->later ? MANY_PIPES : GUESTS / 2) / (m->size - 1);
    const unsigned most = share < FEWEST_PIPES ? FEWEST_PIPES : share < MOST_PIPES ? share : MOST_PIPES;
    long farthest = 0;

    for (unsigned rank = 1; rank < m->size; rank++) {
        const long us = distance_us(m->ways[rank]->frames.socket.fd);

        farthest = us > farthest ? us : farthest;
    }
    m->pipes = asked ? asked : distance_streams(farthest, most);
    for (unsigned rank = 1; rank < m->size; rank++)
        m->ways[rank]->pipe_count = m->pipes;
    vocl_log(LOG_INFO, "%u connections for bulk data with each, %s: a round trip takes %ld us", m->pipes,
             asked ? "as VOCL_STREAMS says" : "chosen by distance", farthest);
}

static int welcome_all(struct meeting *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        const struct welcome welcome = {.magic = HELLO_MAGIC,
                                        .accepted = m->later ? ACCEPTED_LATER_TLS : 1,
                                        .rank = rank,
                                        .size = m->size,
                                        .pipes = m->pipes,
                                        .base = m->size};

        if (!stream_say(&m->ways[rank]->frames, &welcome, sizeof(welcome)) ||
            (!m->later && !stream_say(&m->ways[rank]->frames, m->locations, m->size * sizeof(*m->locations)))) {
            snprintf(m->why, m->why_size, "a worker on %s was lost at the start", m->locations[rank].host);
            return -ECONNRESET;
        }
    }
    return 0;
}

static int check_whole(const struct meeting *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        if (way_is_whole(m->ways[rank]))
            continue;
        snprintf(m->why, m->why_size, "not all connections with the worker on %s could be made",
                 m->locations[rank].host);
        return -ETIMEDOUT;
    }
    return 0;
}

int meeting_open(struct start *start)
{
    struct job *job = start->job;
    const bool later = start->workers >= WORKERS_LATER;
    const unsigned more = later ? MANY_PIPES + GUESTS_EACH * start->workers : 0;
    struct meeting *m = meeting_new(job, more, start->why, start->why_size);
    int error = m ? 0 : -ENOMEM;

    if (!error) {
        m->start = start;
        m->size = start->workers + 1;
        m->later = later;
        m->pipes = MOST_PIPES;
        m->listeners[0] = start->local.fd;
        m->listeners[1] = start->remote.fd;
        m->tunnel = start->tunnel;
        error = gather(m, start->until);
    }
    if (!error)
        error = meeting_have_size(m);
    if (!error)
        error = give_numbers(m);
    if (!error)
        choose_pipes(m);
    if (!error)
        error = welcome_all(m);
    if (!error)
        error = meeting_meet(m, start->until);
    if (!error)
        error = check_whole(m);
    if (!error) {
        job->provider = &provider_tls;
        job->pipes = m->pipes;
        job->later = job->by_tls = m->later;
        job->apart = true;
        job->size = (int)m->size;
    }
    if (m)
        meeting_end(m);
    return error;
}
