/* How members of a session meet: see rendezvous.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/log.h"
#include "transport/plugin/loader.h"
#include "transport/rendezvous/pending.h"
#include "transport/rendezvous/rendezvous.h"

#define REVERSE_MS 1000 /* after this time the waiting side connects itself */
#define TUNNEL_MS 1500  /* after this time a side connects through the starter of the workers */
#define HASTE_MS 500    /* the same, if that is known to be necessary */
#define WORKERS_PART 4  /* after this part of the start timeout two workers do without each other */
#define EACH_MS 200     /* in addition for each worker: many on one host have few processors */

/* ---- each pair ---- */

/* The member with the higher number connects to the other. If no connection comes, the other one connects; and if
 * that fails, too, the first connects through the starter of the workers. It does not wait long if it had to do so
 * before. */
bool rendezvous_is_above(const struct rendezvous *m, unsigned peer)
{
    return m->newcomer ? peer == m->newcomer : peer > m->rank;
}

static enum how { WAIT, DIRECT, TUNNELLED } how_to_reach(const struct rendezvous *m, unsigned peer, long waited)
{
    const char *endpoint = m->locations[peer].endpoint;
    const bool there = *endpoint && strcmp(endpoint, TUNNEL_ENDPOINT);
    const bool tunnelled = m->by_tunnel || m->streams[peer]->tunnelled;
    const long patience = tunnelled ? HASTE_MS : TUNNEL_MS;
    const bool alone = m->listeners[0] < 0 && m->listeners[1] < 0; /* nobody can connect to this side */

    if (rendezvous_is_above(m, peer))
        return there && (tunnelled || alone || waited >= REVERSE_MS) ? DIRECT : WAIT;
    if (m->tunnel >= 0 && (waited >= patience || (!there && alone)))
        return TUNNELLED;
    return there && !tunnelled ? DIRECT : WAIT;
}

bool rendezvous_step(struct rendezvous *m, long began)
{
    const long now = clock_ms();
    bool whole = true;

    for (unsigned peer = 0; peer < m->size; peer++) {
        enum how how;

        if (peer == m->rank || !m->streams[peer] || streams_is_whole(m->streams[peer]))
            continue;
        whole = false;
        how = now < m->next_try[peer] ? WAIT
                                      : how_to_reach(m, peer, now - (m->began[peer] > began ? m->began[peer] : began));
        if (how == WAIT)
            continue;
        m->next_try[peer] =
            now + (how == DIRECT && !rendezvous_is_above(m, peer) ? TUNNEL_MS - REVERSE_MS : REVERSE_MS);
        for (unsigned i = 0; i <= m->pipes + !m->bells; i++) {
            const unsigned index = i <= m->pipes ? i : BEAT;

            if (!streams_at(m->streams[peer], index)->tls)
                pending_go(m, peer, index, how == TUNNELLED);
        }
    }
    return whole;
}

/* Whether only connections between workers are missing, which a session may do without. */
static bool has_program(const struct rendezvous *m)
{
    return m->rank && streams_is_whole(m->streams[0]);
}

/* Returns when all connections are complete. Connections between a worker and the program are waited for as long as a
 * session may take to start. */
int rendezvous_meet(struct rendezvous *m, long until)
{
    const long began = clock_ms();
    const long reach = began + (until - began) / WORKERS_PART + (long)m->size * EACH_MS;

    while (!rendezvous_step(m, began)) {
        const long now = clock_ms(), most = has_program(m) && reach < until ? reach : until;
        int error;

        if (now >= most)
            break;
        error = rendezvous_turn(m, now + 100 < most ? now + 100 : most);
        if (error)
            return error;
        if (m->start && launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

int rendezvous_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size)
{
    if (!tls_plugin)
        tls_plugin = loader_open_tls(why, why_size);
    if (!tls_plugin)
        return -ENOENT;
    if (!tls_plugin->init(secret, network_is_plain(), ending, argument))
        return 0;
    snprintf(why, why_size, "OpenSSL cannot be used");
    return -EIO;
}

struct rendezvous *rendezvous_new(struct job *job, unsigned more, char *why, size_t why_size)
{
    struct rendezvous *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct rendezvous){
        .job = job, .by = tls_plugin, .listeners = {-1, -1}, .tunnel = -1, .why = why, .why_size = why_size};
    m->pending_count = MOST_PENDING + more;
    m->pending = calloc(m->pending_count, sizeof(*m->pending));
    m->ready = calloc(RENDEZVOUS_OTHERS + m->pending_count, sizeof(*m->ready));
    if (!m->pending || !m->ready) {
        rendezvous_end(m);
        return NULL;
    }
    for (unsigned i = 0; i < m->pending_count; i++)
        m->pending[i].fd = -1;
    return m;
}

int rendezvous_have_size(struct rendezvous *m)
{
    m->streams = calloc(m->size, sizeof(*m->streams));
    m->next_try = calloc(m->size, sizeof(*m->next_try));
    m->began = calloc(m->size, sizeof(*m->began));
    m->locations = m->locations ? m->locations : calloc(m->size, sizeof(*m->locations));
    return m->streams && m->next_try && m->began && m->locations ? 0 : -ENOMEM;
}

void rendezvous_drop(struct rendezvous *m)
{
    for (unsigned i = 0; m && m->streams && i < m->size; i++)
        streams_free(m->streams[i], false);
    if (m)
        rendezvous_end(m);
}

void rendezvous_end(struct rendezvous *m)
{
    for (unsigned i = 0; m->pending && i < m->pending_count; i++) {
        if (m->pending[i].state != PENDING_NONE)
            pending_end(&m->pending[i]);
    }
    free(m->pending);
    free(m->ready);
    free(m->streams);
    free(m->next_try);
    free(m->began);
    free(m->locations);
    free(m);
}
