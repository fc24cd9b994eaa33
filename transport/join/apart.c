/*
 * Two workers of a session of many (later.c) whose starter cannot hand connections to both: on different hosts, or over
 * TLS. A worker that has something to send asks the program, which passes that on (MEMBER_WANTED), and the other
 * answers likewise: so each knows that the other wants the connections, and its address. Then they make them as at the
 * start of a small session (transport/rendezvous/rendezvous.h). Both repeat the message until they have them. A worker
 * that has had several answers, and no connection, cannot reach the other. If the other does not answer, as it is
 * stopped, the worker waits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/join/apart.h"
#include "transport/join/later.h"
#include "transport/join/where.h"
#include "transport/rendezvous/pending.h"

#define AGAIN_MS 1500 /* between two messages to another worker */
#define MOST_TRIES 6  /* so many answers without a connection; after one more it gives up */

struct apart {
    struct rendezvous *m;
    struct endpoint own; /* where others connect; fd < 0: nowhere */
    unsigned count;      /* of workers that it is connecting with */
    char why[160];
};

/* ---- a worker ---- */

bool apart_is(const struct transport *t, unsigned number)
{
    return t->job.by_tls || t->peers[number].is_elsewhere;
}

void apart_close(struct transport *t)
{
    struct apart *apart = t->apart;

    t->apart = NULL;
    if (!apart)
        return;
    rendezvous_drop(apart->m);
    if (apart->own.fd >= 0)
        close(apart->own.fd);
    free(apart);
}

/* Listens at the address at which the program sees this host, or a connecting worker would, or which its starter
 * knows. */
static void listen_there(struct transport *t, const char *endpoint)
{
    const char *host = getenv(SESSION_HOST), *program = getenv(SESSION_ENDPOINT);
    const bool nowhere = program && !strcmp(program, TUNNEL_ENDPOINT);
    struct endpoint *own = &t->apart->own;

    where_to_come_beside(t, endpoint, own);
    if (own->fd < 0 && host && !nowhere && endpoint_listen_tcp(own, host))
        own->fd = -1;
    t->apart->m->listeners[0] = own->fd;
}

static int open_meeting(struct transport *t, const char *endpoint)
{
    struct apart *apart = t->apart = calloc(1, sizeof(*apart));
    struct rendezvous *m;

    if (!apart)
        return -ENOMEM;
    apart->own.fd = -1;
    if (!where_prepare(t, apart->why, sizeof(apart->why)))
        apart->m = rendezvous_new(&t->job, PENDING_EACH * t->width, apart->why, sizeof(apart->why));
    m = apart->m;
    if (m) {
        m->rank = transport_rank(t);
        m->size = (unsigned)link_capacity(t);
        m->pipes = t->job.pipes;
        m->is_handed = true;
        m->by_tunnel = streams_of(t, 0)->tunnelled;
    }
    if (m && !rendezvous_have_size(m)) {
        listen_there(t, endpoint);
        return 0;
    }
    vocl_log(LOG_WARN, "no other worker can be met: %s", *apart->why ? apart->why : strerror(ENOMEM));
    apart_close(t);
    return -ENOMEM;
}

/* Begins to connect with a worker, if it has not yet. */
static int begin(struct transport *t, unsigned number, const char *endpoint)
{
    const int error = t->apart ? 0 : open_meeting(t, endpoint);
    struct rendezvous *m = error ? NULL : t->apart->m;

    if (error || m->streams[number])
        return error;
    m->streams[number] = streams_new(m->pipes);
    if (!m->streams[number])
        return -ENOMEM;
    m->began[number] = clock_ms();
    m->next_try[number] = 0;
    *m->locations[number].endpoint = '\0';
    t->apart->count++;
    return 0;
}

void apart_ask(struct transport *t, unsigned number)
{
    struct member_news news = {.what = MEMBER_WANTED, .number = number};
    struct peer *peer = &t->peers[number];

    if (peer->asked_ms && clock_ms() - peer->asked_ms < AGAIN_MS)
        return;
    if (begin(t, number, "")) {
        peer->bell.lost = true;
        return;
    }
    if (t->apart->own.fd >= 0)
        memcpy(news.endpoint, t->apart->own.text, strnlen(t->apart->own.text, sizeof(news.endpoint) - 1));
    if (link_tell(t, 0, &news))
        return;
    peer->tries += peer->answered;
    peer->answered = false;
    peer->asked_ms = clock_ms();
}

bool apart_gives_up(const struct peer *peer)
{
    return peer->tries > MOST_TRIES;
}

/* Only the program sends this, and its messages about members come first. */
int apart_wanted(struct transport *t, const struct member_news *news)
{
    const unsigned number = news->number;
    struct peer *peer;

    if (!later_may_be(t, number))
        return -EBADMSG;
    peer = &t->peers[number];
    if (number >= t->width || !peer->alive || !peer->provider->is_absent || !apart_is(t, number))
        return 0; /* the other is lost, or they are connected already */
    memcpy(peer->host, news->host, sizeof(peer->host));
    if (begin(t, number, news->endpoint)) {
        peer->bell.lost = true;
        return 0;
    }
    memcpy(t->apart->m->locations[number].endpoint, news->endpoint, sizeof(news->endpoint));
    peer->answered = true;
    later_ask(t, number);
    return 0;
}

void apart_come(struct transport *t, int fd)
{
    if (t->apart)
        pending_come(t->apart->m, fd);
    else
        close(fd);
}

int apart_poll(struct transport *t)
{
    struct apart *apart = t->apart;
    int count = 0;

    if (!apart)
        return 0;
    apart->m->tunnel = t->job.calls.fd; /* as long as it is open */
    rendezvous_turn(apart->m, clock_ms());
    rendezvous_step(apart->m, 0);
    for (unsigned i = 1; i < apart->m->size; i++) {
        struct streams *streams = apart->m->streams[i];

        if (!streams_is_whole(streams))
            continue;
        apart->m->streams[i] = NULL;
        apart->count--;
        later_meet(t, i, streams);
        count++;
    }
    if (!apart->count)
        apart_close(t);
    return count;
}

void apart_forget(struct transport *t, unsigned number)
{
    struct rendezvous *m = t->apart ? t->apart->m : NULL;

    if (!m || !m->streams[number])
        return;
    pending_forget(m, number);
    streams_free(m->streams[number], false);
    m->streams[number] = NULL;
    t->apart->count--;
}

/* ---- the program ---- */

int apart_pass(struct transport *t, unsigned from, const struct member_news *news)
{
    const struct member_news gone = {.what = MEMBER_GONE, .number = news->number};
    const unsigned to = news->number;
    struct member_news said = *news;

    if (!later_may_be(t, to) || to == from)
        return -EBADMSG;
    said.number = from;
    memcpy(said.host, t->peers[from].host, sizeof(said.host));
    if (to >= t->width || !t->peers[to].alive)
        link_tell(t, from, &gone);
    else
        link_tell(t, to, &said);
    return 0; /* if there was no room for it, the worker asks again */
}
