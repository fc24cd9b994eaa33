/* The program's side of the rendezvous: workers connect, get their numbers, and learn of each other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/rendezvous/pending.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/stream/distance.h"
#include "transport/stream/plain.h"

#define REASON_MS 500           /* for a helper to say why a worker has ended */
#define MOST_EXTRA (256u << 10) /* bytes that follow a greeting */
#define FEWEST_PIPES 2
#define MANY_PIPES 256 /* in a session whose workers connect on demand */

/* The PID of a worker on this host, as the kernel reports it, or 0. */
static pid_t process_of(const struct pending *pending)
{
    const pid_t process = pending->by == &plain_plugin ? plain_process(pending->tls) : 0;

    return process > 1 && process != getpid() ? process : 0;
}

static void refuse(struct rendezvous *m, struct pending *pending, const char *why)
{
    struct welcome welcome = {.magic = HELLO_MAGIC};

    vocl_log(LOG_ERROR, "refused a process on %s: %s", pending->said.greeting.host, why);
    snprintf(m->why, m->why_size, "a worker on %s: %s", pending->said.greeting.host, why);
    snprintf(welcome.why, sizeof(welcome.why), "%s", why);
    pending_write(pending, &welcome, sizeof(welcome));
}

static int take_worker(struct rendezvous *m, struct pending *pending)
{
    const struct greeting *greeting = &pending->said.greeting;
    struct member *member = &m->job->members[m->job->member_count];

    *member = (struct member){
        .fd = -1, .rank = greeting->rank, .process = process_of(pending), .way = streams_new(m->bells ? 0 : m->pipes)};
    if (!member->way)
        return -ENOMEM;
    m->job->member_count++;
    memcpy(member->host, greeting->host, sizeof(member->host));
    memcpy(member->endpoint, greeting->endpoint, sizeof(member->endpoint));
    pending_settle(pending, member->way);
    return 0;
}

/* Takes a member that joins a running session. transport/join/join.c looks whether it has come. */
static int take_newcomer(struct rendezvous *m, struct pending *pending)
{
    const struct greeting *greeting = &pending->said.greeting;

    if (rendezvous_have_size(m) || !(m->streams[m->newcomer] = streams_new(m->pipes)))
        return -ENOMEM;
    memcpy(m->locations[m->newcomer].host, greeting->host, sizeof(greeting->host));
    memcpy(m->locations[m->newcomer].endpoint, greeting->endpoint, sizeof(greeting->endpoint));
    pending_settle(pending, m->streams[m->newcomer]);
    return 0;
}

/* Takes Open MPI's placeholder, whose connection stays open. */
static int take_placeholder(struct rendezvous *m, struct pending *pending)
{
    const struct welcome welcome = {.magic = HELLO_MAGIC, .accepted = 1};

    if (!pending_write(pending, &welcome, sizeof(welcome)))
        return -ECONNRESET;
    m->start->environment = pending->extra;
    m->start->environment_length = pending->said.greeting.extra;
    pending->extra = NULL;
    stored_trust(&m->job->placeholder, pending->fd);
    pending->fd = -1;
    pending_end(pending);
    return 0;
}

static const char *greeting_unfit(const struct rendezvous *m, const struct greeting *greeting)
{
    const char *wrong = greeting_wrong(greeting);

    if (wrong)
        return wrong;
    if (greeting->extra ? !m->start || !m->start->wants_placeholder || m->job->placeholder.fd >= 0
        : m->newcomer   ? greeting->rank != m->newcomer
                        : m->job->member_count == m->size - 1)
        return "not expected";
    return greeting->extra > MOST_EXTRA ? "its greeting is too long" : NULL;
}

#define MOST_WHY sizeof(((struct welcome *)0)->why)

/* MPI libraries of different versions wait for each other in MPI_Init, or end the process. Returns why a worker's does
 * not fit, or NULL. */
static const char *library_unfit(const struct rendezvous *m, const struct greeting *greeting, char why[MOST_WHY])
{
    const struct mpi_plugin *plugin = m->start ? m->start->job->plugin : NULL;
    const char *there = greeting_library(greeting);
    char here[sizeof(((struct introduction *)0)->library)];

    if (!plugin || !*there)
        return NULL;
    plugin->library(here, sizeof(here));
    if (!strcmp(here, there))
        return NULL;
    snprintf(why, MOST_WHY, "MPI is \"%.40s\" there, and \"%.40s\" here: use --network tls", there, here);
    return why;
}

static int check_greeting(struct rendezvous *m, struct pending *pending)
{
    struct greeting *greeting = &pending->said.greeting;
    const char *wrong = greeting_unfit(m, greeting);
    char why[MOST_WHY];

    if (!wrong)
        wrong = library_unfit(m, greeting, why);

    greeting->host[sizeof(greeting->host) - 1] = greeting->endpoint[sizeof(greeting->endpoint) - 1] = '\0';
    if (wrong)
        refuse(m, pending, wrong);
    return wrong ? -EPROTO : 0;
}

int rendezvous_extra(struct rendezvous *m, struct pending *pending)
{
    const int error = check_greeting(m, pending);

    return error ? error : (int)pending->said.greeting.extra;
}

int rendezvous_greeted(struct rendezvous *m, struct pending *pending)
{
    const int error = check_greeting(m, pending);

    if (error)
        return error;
    if (pending->said.greeting.extra)
        return take_placeholder(m, pending);
    return m->newcomer ? take_newcomer(m, pending) : take_worker(m, pending);
}

int rendezvous_missing(struct rendezvous *m, unsigned rank)
{
    const struct start *start = m->start;
    const bool speaks = start && start->job->control_socket >= 0;

    if (!speaks || socket_wait(start->job->control_socket, POLLIN, REASON_MS) <= 0 || !launch_hear(m->start))
        snprintf(m->why, m->why_size, "worker %u: its process is gone", rank);
    return -ECHILD;
}

static bool all_there(const struct rendezvous *m)
{
    return m->job->member_count == m->size - 1 && (!m->start->wants_placeholder || m->job->placeholder.fd >= 0);
}

static int gather(struct rendezvous *m, long until)
{
    while (!all_there(m)) {
        int error;

        if (clock_ms() >= until) {
            snprintf(m->why, m->why_size, "%u of %u workers came within VOCL_START_TIMEOUT seconds",
                     m->job->member_count, m->size - 1);
            return -ETIMEDOUT;
        }
        error = rendezvous_turn(m, until);
        if (error)
            return error;
        if (launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

/* Gives the workers their numbers: the one that its starter gave it, or the next free one in the order in which they
 * came. */
static int give_numbers(struct rendezvous *m)
{
    struct job *job = m->job;
    unsigned next = 1;

    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        if (!member->rank || member->rank >= m->size || m->streams[member->rank])
            member->rank = 0;
        else
            m->streams[member->rank] = member->way;
    }
    for (unsigned i = 0; i < job->member_count; i++) {
        struct member *member = &job->members[i];

        while (!member->rank) {
            if (!m->streams[next])
                m->streams[member->rank = next] = member->way;
            next++;
        }
        memcpy(m->locations[member->rank].host, member->host, sizeof(member->host));
        memcpy(m->locations[member->rank].endpoint, member->endpoint, sizeof(member->endpoint));
    }
    return 0;
}

/* Chooses the number of connections for bulk data, the same for all pairs: as many as the longest known distance needs,
 * unless the user has chosen, and as there are slots for when they are made. */
static void choose_pipes(struct rendezvous *m)
{
    const unsigned asked = settings_streams(), share = (m->later ? MANY_PIPES : MOST_PENDING / 2) / (m->size - 1);
    const unsigned most = share < FEWEST_PIPES ? FEWEST_PIPES : share < MOST_PIPES ? share : MOST_PIPES;
    long farthest = 0;

    for (unsigned rank = 1; rank < m->size; rank++) {
        const long us = distance_us(m->streams[rank]->frames.socket.fd);

        farthest = us > farthest ? us : farthest;
    }
    m->pipes = asked ? asked : distance_streams(farthest, most);
    for (unsigned rank = 1; rank < m->size; rank++)
        m->streams[rank]->pipe_count = m->pipes;
    vocl_log(LOG_INFO, "%u connections for bulk data with each, %s: a round trip takes %ld us", m->pipes,
             asked ? "as VOCL_STREAMS says" : "chosen by distance", farthest);
}

static int welcome_all(struct rendezvous *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        const struct welcome welcome = {.magic = HELLO_MAGIC,
                                        .accepted = !m->later   ? 1
                                                    : m->by_tls ? ACCEPTED_LATER_TLS
                                                                : ACCEPTED_LATER,
                                        .rank = rank,
                                        .size = m->size,
                                        .pipes = m->pipes,
                                        .base = m->size};

        if (!stream_say(&m->streams[rank]->frames, &welcome, sizeof(welcome)) ||
            (!m->later && !stream_say(&m->streams[rank]->frames, m->locations, m->size * sizeof(*m->locations)))) {
            snprintf(m->why, m->why_size, "a worker on %s was lost at the start", m->locations[rank].host);
            return -ECONNRESET;
        }
    }
    return 0;
}

static int check_whole(const struct rendezvous *m)
{
    for (unsigned rank = 1; rank < m->size; rank++) {
        if (streams_is_whole(m->streams[rank]))
            continue;
        snprintf(m->why, m->why_size, "not all connections with the worker on %s could be made",
                 m->locations[rank].host);
        return -ETIMEDOUT;
    }
    return 0;
}

/* Takes the connections that the starter has made: the worker identifies itself on the first of each. */
static int expect_born(struct rendezvous *m)
{
    const struct start *start = m->start;
    int error = 0;

    for (unsigned i = 0; !error && start->born && i < start->workers; i++) {
        error = pending_expect(m, start->born[start->each * i], i + 1);
        start->born[start->each * i] = -1;
    }
    return error;
}

/* Takes the others. */
static int settle_born(struct rendezvous *m)
{
    const struct start *start = m->start;
    bool good = true;

    for (unsigned i = 0; start->each > 1 && i < start->workers; i++) {
        int *born = start->born + (size_t)start->each * i;

        good &= pair_settle(m->streams[i + 1], born);
        born[0] = born[1] = born[2] = -1;
    }
    return good ? 0 : -ENOMEM;
}

static struct rendezvous *begin(struct start *start)
{
    const bool later = start->workers >= WORKERS_LATER && (start->tls || start->each > 1);
    const unsigned more = (later ? MANY_PIPES + PENDING_EACH * start->workers : 0) + (start->born ? start->workers : 0);
    struct rendezvous *m = rendezvous_new(start->job, more, start->why, start->why_size);

    if (!m)
        return NULL;
    m->start = start;
    m->size = start->workers + 1;
    m->later = later;
    m->by_tls = start->tls;
    m->bells = !start->tls && start->each <= 1;
    m->by = start->tls ? tls_plugin : &plain_plugin;
    m->pipes = start->tls ? MOST_PIPES : m->bells ? 0 : 1;
    m->listeners[0] = start->local.fd;
    m->listeners[1] = start->remote.fd;
    m->tunnel = start->tunnel;
    if (!start->tls && !start->born)
        hex_show(start->token, TOKEN_BYTES, m->token);
    return m;
}

static void take_members(struct rendezvous *m)
{
    struct job *job = m->job;

    job->size = (int)m->size;
    for (unsigned i = 0; m->bells && i < job->member_count; i++) {
        job->members[i].fd = streams_take_bell(job->members[i].way);
        job->members[i].way = NULL;
    }
    if (m->bells)
        return;
    job->provider = &provider_tls;
    job->pipes = m->pipes;
    job->later = m->later;
    job->by_tls = m->later && m->by_tls;
    job->apart = true;
}

int rendezvous_open(struct start *start)
{
    struct rendezvous *m = begin(start);
    int error = m ? expect_born(m) : -ENOMEM;

    if (!error)
        error = gather(m, start->until);
    if (!error)
        error = rendezvous_have_size(m);
    if (!error)
        error = give_numbers(m);
    if (!error && start->tls)
        choose_pipes(m);
    if (!error)
        error = settle_born(m);
    if (!error)
        error = welcome_all(m);
    if (!error)
        error = rendezvous_meet(m, start->until);
    if (!error)
        error = check_whole(m);
    if (!error)
        take_members(m);
    if (m)
        rendezvous_end(m);
    start_stop_listening(start);
    if (!error)
        vocl_log_stage("workers started");
    return error;
}
