/*
 * Members that join a running session, and leave it. The session's starter starts the newcomer, which connects to the
 * program as at the start of a session over TLS (transport/rendezvous/rendezvous.h), while the program and its workers
 * run. The program announces it to the workers (MEMBER_COMES), which answer with their addresses (MEMBER_HERE). Then it
 * sends these to the newcomer, which connects to all. When all are connected with it (MEMBER_MET) it is a member. If
 * anything fails before, nothing is left but a process that is to end. In a session of many workers it connects only to
 * the program, and the others know of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/join/apart.h"
#include "transport/join/later.h"
#include "transport/join/where.h"
#include "transport/rendezvous/pending.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/stream/plain.h"

#define MEET_MS 10000 /* for each step, if no silent peer is ever lost */
#define LEAST_MS 4000 /* for each step at least: connections may have to be made in another way */

#define MOST_NUMBERS SESSION_MOST_NUMBERS(MAX_WORKERS)

struct join {
    struct rendezvous *m;
    unsigned number;
    enum { STARTING, TOLD, MEETING } state;
    long began, until;
    struct endpoint own; /* where the newcomer connects, meanwhile; fd < 0: nowhere */
    int calls;           /* the program: through it connections are handed over */
    bool plain, told[MOST_NUMBERS];
    uint8_t said[MOST_NUMBERS]; /* the last message of each worker: MEMBER_HERE, MEMBER_MET */
    pid_t process;
    transport_joined *joined;
    void *argument;
    char why[160], host[64], place[128];
};

/* ---- a slot ---- */

static void release_stream(struct stream *stream)
{
    if (stream->tls)
        stream->by->close(stream->tls);
    stream->tls = NULL;
    stored_release(&stream->socket);
}

/* Frees everything of the slot's last member. */
static void clear_slot(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct streams *streams = peer->way;

    heartbeat_remove(t->job.heartbeat, &peer->beat);
    if (streams) {
        release_stream(&streams->frames);
        release_stream(&streams->beat);
        for (unsigned i = 0; i < streams->pipe_count; i++)
            release_stream(&streams->pipes[i].stream);
        streams_free(streams, false);
    }
    shm_ring_close(&peer->ring);
    *peer = (struct peer){.bell.socket.fd = -1, .ring.fd.fd = -1};
}

static bool is_added(const struct transport *t, unsigned number)
{
    return number > link_local(t) && number < link_capacity(t);
}

static bool is_worker(const struct transport *t, unsigned number)
{
    return number && number != link_local(t) && number < t->width && t->peers[number].alive;
}

/* ---- the end of a join ---- */

static void join_free(struct join *join)
{
    rendezvous_drop(join->m);
    if (join->own.fd >= 0)
        close(join->own.fd);
    if (join->calls >= 0)
        close(join->calls);
    free(join);
}

void join_forget(struct transport *t)
{
    if (t->join)
        join_free(t->join);
    t->join = NULL;
}

static int tell_starter(struct transport *t, enum starter_kind kind, unsigned number, const char *text, int fd)
{
    struct starter_message message = {.kind = kind, .number = number};

    snprintf(message.text, sizeof(message.text), "%s", text);
    return starter_tell(t, &message, fd);
}

/* Has the starter end a member's process: now, or after a moment. */
static void end_process(struct transport *t, unsigned number, bool now)
{
    if (is_added(t, number))
        t->leaving[number - link_local(t) - 1] = true;
    if (tell_starter(t, STARTER_END, number, now ? "now" : "", -1))
        vocl_log(LOG_WARN, "worker %u must end, but its starter cannot be reached", number);
}

static void tell_program(struct transport *t, unsigned number, unsigned what, const char *endpoint)
{
    struct member_news news = {.what = what, .number = number};

    snprintf(news.endpoint, sizeof(news.endpoint), "%s", endpoint);
    link_tell(t, 0, &news);
}

static void fail(struct transport *t, int error, const char *why)
{
    struct join *join = t->join;
    struct member_news news = {.what = MEMBER_FAILED, .number = join->number};

    vocl_log(t->client ? LOG_INFO : LOG_WARN, "worker %u cannot join: %s", join->number, why);
    if (t->client) {
        for (unsigned i = 1; i < t->width; i++) {
            if (is_worker(t, i) && join->told[i])
                link_tell(t, i, &news);
        }
        end_process(t, join->number, true);
    } else {
        tell_program(t, join->number, MEMBER_FAILED, "");
    }
    t->join = NULL;
    if (join->joined)
        join->joined(join->argument, join->number, error, why);
    join_free(join);
}

static long patience(void)
{
    const long ms = settings_peer_ms();

    return clock_ms() + (ms > LEAST_MS ? ms : ms ? LEAST_MS : MEET_MS);
}

/* A newcomer within the program's host does not know which workers its starter cannot connect it with. */
static void tell_of_others(struct transport *t, unsigned number)
{
    for (unsigned i = 1; t->job.later && i < t->width; i++) {
        const struct member_news news = {.what = MEMBER_ELSEWHERE, .number = i};

        if (is_worker(t, i) && t->peers[i].is_elsewhere && i != number && link_tell(t, number, &news))
            link_lose(t, number, "it has no room for the news of others");
    }
}

/* All members are connected with the newcomer. */
static void succeed(struct transport *t)
{
    struct join *join = t->join;
    struct member member = {.fd = -1,
                            .rank = join->number,
                            .process = join->process,
                            .provider = &provider_tls,
                            .way = join->m->streams[join->number]};
    struct peer *peer = &t->peers[join->number];

    join->m->streams[join->number] = NULL;
    memcpy(member.host, join->host, sizeof(member.host));
    clear_slot(t, join->number);
    memcpy(peer->place, join->place, sizeof(peer->place));
    peer->is_elsewhere = !join->plain;
    if (!link_open_peer(t, &member))
        heartbeat_add(t->job.heartbeat, &peer->beat, &peer->bell.socket);
    if (!t->client)
        tell_program(t, join->number, MEMBER_MET, "");
    else
        link_offer_ring(t, join->number);
    if (t->client && join->plain)
        tell_of_others(t, join->number);
    t->join = NULL;
    vocl_log(LOG_INFO, "worker %u on %s has joined the session", join->number, join->host);
    if (t->client && link_has_local(t))
        loop_meet(t, join->number);
    if (join->joined)
        join->joined(join->argument, join->number, 0, "");
    if (!t->client && t->callbacks.joined)
        t->callbacks.joined(t->callbacks.owner, join->number);
    join_free(join);
}

/* ---- the program ---- */

static struct join *join_new(struct transport *t, unsigned number, unsigned size)
{
    struct join *join = calloc(1, sizeof(*join));

    if (!join)
        return NULL;
    join->number = number;
    join->own.fd = join->calls = -1;
    join->began = clock_ms();
    join->m = rendezvous_new(&t->job, 0, join->why, sizeof(join->why));
    if (!join->m) {
        free(join);
        return NULL;
    }
    join->m->rank = transport_rank(t);
    join->m->newcomer = number;
    join->m->base = (unsigned)t->job.size;
    join->m->size = size;
    join->m->pipes = t->job.pipes ? t->job.pipes : 1;
    return join;
}

static unsigned free_number(struct transport *t)
{
    unsigned kept = 0;

    for (unsigned i = link_local(t) + 1; i < link_capacity(t); i++) {
        if (t->peers[i].alive || t->leaving[i - link_local(t) - 1])
            continue;
        if (!t->callbacks.keeps || !t->callbacks.keeps(t->callbacks.owner, i))
            return i;
        kept = i;
    }
    return kept;
}

static int begin(struct transport *t, struct join *join, const char *host)
{
    char text[sizeof(((struct starter_message *)0)->text)];
    int ends[2], error;

    join->plain = where_is_here(t, host);
    snprintf(join->place, sizeof(join->place), "%s", join->plain ? "" : host);
    join->m->by = join->plain ? &plain_plugin : tls_plugin;
    if (!join->plain)
        where_to_come(t, host, &join->own);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -errno;
    snprintf(text, sizeof(text), "%s\t%s", join->plain ? "" : host, join->plain ? TUNNEL_ENDPOINT : join->own.text);
    error = tell_starter(t, STARTER_START, join->number, text, ends[1]);
    close(ends[1]);
    join->calls = ends[0];
    join->m->tunnel = ends[0];
    join->m->listeners[0] = join->own.fd;
    join->until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    return error;
}

int transport_add_member(struct transport *t, const char *host, transport_joined *joined, void *argument, char *why,
                         size_t why_size)
{
    int error = where_may_come(t, host, why, why_size);
    unsigned number;

    if (error)
        return error;
    if (t->join) {
        snprintf(why, why_size, "another worker is still joining");
        return -EBUSY;
    }
    number = free_number(t);
    if (!number) {
        snprintf(why, why_size, "all %u numbers for added workers are in use", link_most_added(t));
        return -ENOSPC;
    }
    clear_slot(t, number);
    t->join = join_new(t, number, number >= t->width ? number + 1 : t->width);
    error = t->join ? begin(t, t->join, host) : -ENOMEM;
    if (error) {
        snprintf(why, why_size, "no worker can be started: %s", strerror(-error));
        join_forget(t);
        return error;
    }
    t->join->joined = joined;
    t->join->argument = argument;
    return (int)number;
}

bool transport_refuse_member(struct transport *t, unsigned number, const char *place, unsigned device)
{
    char text[300];

    if (t->job.started != STARTED_POOL || *place != '#')
        return false;
    snprintf(text, sizeof(text), "%u %s", device, place);
    return !tell_starter(t, STARTER_UNFIT, number, text, -1);
}

int transport_drop_member(struct transport *t, unsigned number)
{
    if (!t->client || !is_worker(t, number))
        return -EINVAL;
    if (t->join && t->join->state != STARTING) /* the other workers know of the newcomer */
        return -EBUSY;
    t->peers[number].process = 0; /* the process ends by itself: link_lose() must not kill it */
    bell_send(&t->peers[number].bell, BELL_BYE, 0);
    t->peers[number].bell.bye = true;
    end_process(t, number, false);
    link_lose(t, number, NULL);
    if (is_added(t, number) || t->peers[number].provider == &provider_tls)
        clear_slot(t, number);
    else
        shm_ring_close(&t->peers[number].ring);
    return 0;
}

static void tell_others(struct transport *t)
{
    struct join *join = t->join;
    const struct location *there = &join->m->locations[join->number];
    struct member_news news = {.number = join->number};

    if (t->untold) /* a lost worker had its number */
        later_tell(t);
    memcpy(join->host, there->host, sizeof(join->host));
    memcpy(news.host, there->host, sizeof(news.host));
    memcpy(news.endpoint, there->endpoint, sizeof(news.endpoint));
    for (unsigned i = 1; i < t->width; i++) {
        const bool plain = join->plain && !t->peers[i].is_elsewhere;

        if (t->job.later)
            news.what = plain ? MEMBER_COMES_LATER_PLAIN : MEMBER_COMES_LATER;
        else
            news.what = plain ? MEMBER_COMES_PLAIN : MEMBER_COMES;
        join->told[i] = is_worker(t, i) && !link_tell(t, i, &news);
    }
    vocl_log(LOG_DEBUG, "worker %u has connected; the other workers are informed", join->number);
    join->state = TOLD;
    join->until = patience();
}

/* Whether all workers that know of the newcomer have answered with `what`. */
static bool all_say(const struct join *join, uint8_t what)
{
    for (unsigned i = 1; i < join->m->size; i++) {
        if (join->told[i] && join->said[i] < what)
            return false;
    }
    return true;
}

/* Tells the newcomer which members exist, so that it connects to all. */
static void welcome_it(struct transport *t)
{
    struct join *join = t->join;
    struct rendezvous *m = join->m;
    const struct welcome welcome = {.magic = HELLO_MAGIC,
                                    .accepted = !t->job.later                   ? 1
                                                : t->job.by_tls || !join->plain ? ACCEPTED_LATER_TLS
                                                                                : ACCEPTED_LATER,
                                    .rank = join->number,
                                    .size = m->size,
                                    .pipes = m->pipes,
                                    .base = m->base};

    for (unsigned i = 1; i < m->size; i++) {
        if (!join->told[i])
            continue;
        snprintf(m->locations[i].host, sizeof(m->locations->host), "%s", *t->peers[i].host ? t->peers[i].host : "?");
        if (join->plain && t->peers[i].is_elsewhere && !*m->locations[i].endpoint)
            snprintf(m->locations[i].endpoint, sizeof(m->locations->endpoint), TUNNEL_ENDPOINT);
    }
    if (!stream_say(&m->streams[join->number]->frames, &welcome, sizeof(welcome)) ||
        (!t->job.later &&
         !stream_say(&m->streams[join->number]->frames, m->locations, m->size * sizeof(*m->locations)))) {
        fail(t, -ECONNRESET, "it was lost while joining");
        return;
    }
    join->state = MEETING;
    join->until = patience();
}

static int program_turn(struct transport *t)
{
    struct join *join = t->join;
    struct rendezvous *m = join->m;

    if (join->state == STARTING && m->streams) {
        tell_others(t);
        return 1;
    }
    if (join->state == TOLD && all_say(join, MEMBER_HERE)) {
        welcome_it(t);
        return 1;
    }
    if (join->state == MEETING && streams_is_whole(m->streams[join->number]) && all_say(join, MEMBER_MET)) {
        succeed(t);
        return 1;
    }
    return 0;
}

/* ---- a worker ---- */

static int comes_later(struct transport *t, const struct member_news *news)
{
    const unsigned number = news->number;

    if (t->client || !t->job.later || !is_added(t, number) || number == transport_rank(t))
        return -EBADMSG;
    if (t->peers[number].alive)
        link_lose(t, number, "its number was given to another worker");
    clear_slot(t, number);
    later_expect(t, number);
    t->peers[number].is_elsewhere = news->what == MEMBER_COMES_LATER;
    memcpy(t->peers[number].host, news->host, sizeof(news->host));
    tell_program(t, number, MEMBER_MET, "");
    if (t->callbacks.joined)
        t->callbacks.joined(t->callbacks.owner, number);
    return 0;
}

/* If this worker is connected with the lost one, the end of the connections reports the loss, after all data has been
 * received. */
static int is_gone(struct transport *t, unsigned number)
{
    if (t->client || !later_may_be(t, number))
        return -EBADMSG;
    if (number < t->width && t->peers[number].alive && t->peers[number].provider->is_absent)
        link_lose(t, number, "its process is gone");
    return 0;
}

static int is_elsewhere(struct transport *t, unsigned number)
{
    if (t->client || !t->job.later || !is_worker(t, number) || number == transport_rank(t))
        return -EBADMSG;
    t->peers[number].is_elsewhere = true;
    return 0;
}

static int somebody_comes(struct transport *t, const struct member_news *news)
{
    struct join *join;

    if (t->client || !is_added(t, news->number) || news->number == transport_rank(t))
        return -EBADMSG;
    if (t->join)
        fail(t, -ECANCELED, "replaced by another joining worker");
    if (t->peers[news->number].alive)
        link_lose(t, news->number, "its number was given to another worker");
    clear_slot(t, news->number);
    t->join = join = join_new(t, news->number, news->number + 1);
    if (!join)
        return -ENOMEM;
    join->state = MEETING;
    join->plain = news->what == MEMBER_COMES_PLAIN;
    join->until = patience() + MEET_MS;
    memcpy(join->host, news->host, sizeof(join->host));
    if (!join->plain && where_prepare(t, join->why, sizeof(join->why))) {
        fail(t, -ENOENT, join->why);
        return 0;
    }
    join->m->by = join->plain ? &plain_plugin : tls_plugin;
    join->m->tunnel = t->job.calls.fd;
    if (rendezvous_have_size(join->m) || !(join->m->streams[join->number] = streams_new(join->m->pipes))) {
        fail(t, -ENOMEM, "no memory for its connections");
        return 0;
    }
    memcpy(join->m->locations[join->number].endpoint, news->endpoint, sizeof(news->endpoint));
    if (!join->plain)
        where_to_come_beside(t, news->endpoint, &join->own);
    join->m->listeners[0] = join->own.fd;
    tell_program(t, join->number, MEMBER_HERE, join->own.fd >= 0 ? join->own.text : "");
    return 0;
}

/* ---- both ---- */

int join_poll(struct transport *t)
{
    struct join *join = t->join;
    const long now = clock_ms();
    int error = rendezvous_turn(join->m, now), count;

    if (error) {
        fail(t, error, *join->why ? join->why : strerror(-error));
        return 1;
    }
    if (join->m->streams && (join->state == MEETING || t->client))
        rendezvous_step(join->m, join->state == MEETING ? join->began : now);
    if (!t->client && streams_is_whole(join->m->streams[join->number])) {
        succeed(t);
        return 1;
    }
    count = t->client ? program_turn(t) : 0;
    if (t->join == join && now >= join->until) {
        fail(t, -ETIMEDOUT,
             join->state == STARTING ? "it did not connect within VOCL_START_TIMEOUT seconds"
             : join->state == TOLD   ? "another worker does not answer"
                                     : "not all connections with it could be made");
        return 1;
    }
    return count;
}

void join_tidy(struct transport *t)
{
    for (unsigned i = link_local(t) + 1; i < t->width; i++) {
        if (!t->peers[i].alive && t->peers[i].way)
            clear_slot(t, i);
    }
}

static int join_news(struct transport *t, unsigned number, const struct member_news *news)
{
    struct join *join = t->join;
    const bool current = join && join->number == news->number;

    if (!t->client && number)
        return -EBADMSG;
    if (news->what == MEMBER_COMES || news->what == MEMBER_COMES_PLAIN)
        return somebody_comes(t, news);
    if (news->what == MEMBER_COMES_LATER || news->what == MEMBER_COMES_LATER_PLAIN)
        return comes_later(t, news);
    if (news->what == MEMBER_ELSEWHERE)
        return is_elsewhere(t, news->number);
    if (news->what == MEMBER_WANTED)
        return t->client ? apart_pass(t, number, news) : apart_wanted(t, news);
    if (news->what == MEMBER_GONE || (news->what == MEMBER_FAILED && !t->client && t->job.later))
        return is_gone(t, news->number);
    if (news->what != MEMBER_HERE && news->what != MEMBER_MET && news->what != MEMBER_FAILED)
        return -EBADMSG;
    if (!t->client && news->what != MEMBER_FAILED)
        return -EBADMSG;
    if (!current || (t->client && !join->told[number])) /* of a join that was given up */
        return 0;
    if (!t->client) {
        t->join = NULL;
        join_free(join);
    } else if (news->what == MEMBER_FAILED) {
        snprintf(join->why, sizeof(join->why), "worker %u on %s does not reach it", number, t->peers[number].host);
        fail(t, -EHOSTUNREACH, join->why);
    } else {
        if (news->what == MEMBER_HERE && join->state == TOLD)
            memcpy(join->m->locations[number].endpoint, news->endpoint, sizeof(news->endpoint));
        join->said[number] = (uint8_t)news->what;
    }
    return 0;
}

static void join_hear(struct transport *t, const struct starter_message *message, int fd)
{
    const unsigned number = message->number;
    char why[256];

    if (fd >= 0)
        close(fd);
    if (message->kind == STARTER_STARTED && t->join && t->join->number == number)
        t->join->process = (pid_t)atol(message->text);
    if (message->kind == STARTER_WAITS && t->join && t->join->number == number && t->join->state == STARTING)
        t->join->until = clock_ms() + settings_number(SETTING_START_TIMEOUT) * 1000;
    if (message->kind != STARTER_ENDED || !is_added(t, number))
        return;
    if (t->join && t->join->number == number) {
        snprintf(why, sizeof(why), "%.200s", message->text);
        fail(t, -ECHILD, why);
    }
    t->leaving[number - link_local(t) - 1] = false;
}

int transport_describe(struct transport *t, const char *state)
{
    return t->job.starter.fd < 0 ? -ENOTSUP : tell_starter(t, STARTER_STATE, 0, state, -1);
}

/* The number of a lost member that came later becomes free again; and a join fails, as the newcomer would not be
 * connected with the lost worker. */
static void join_lost(struct transport *t, unsigned number)
{
    if (!t->client || t->ended)
        return;
    if (is_added(t, number) && !t->leaving[number - link_local(t) - 1])
        end_process(t, number, true);
    if (t->join && t->join->told[number])
        fail(t, -ECONNRESET, "another worker was lost as it came");
    if (t->job.later && number != link_local(t))
        later_lost(t, number);
}

const struct membership join_membership = {.news = join_news, .starter = join_hear, .lost = join_lost};
