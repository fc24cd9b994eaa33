/* How members of a session over TLS meet: see meeting.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/log.h"
#include "transport/guests.h"
#include "transport/meeting.h"

#define REVERSE_MS 1000 /* after which who waits for another goes there himself, */
#define TUNNEL_MS 1500  /* through what started the workers, */
#define HASTE_MS 500    /* or after so long, if that is known to be the way, */
#define WORKERS_PART 4  /* of the time that there is; then two workers go on without each other, */
#define EACH_MS 200     /* or so much later for each: many on one host have few processors for their handshakes */

const struct tls_plugin *tls_plugin;

/* ---- each pair ---- */

/* The one with the higher number goes to the other; if it does not come, the other way round; and if that does not come
 * either, the first goes through what started the workers. Who had to do so before does not wait for long. */
bool meeting_is_above(const struct meeting *m, unsigned peer)
{
    return m->newcomer ? peer == m->newcomer : peer > m->rank;
}

static enum how { WAIT, DIRECT, TUNNELLED } how_to_reach(const struct meeting *m, unsigned peer, long waited)
{
    const char *endpoint = m->locations[peer].endpoint;
    const bool there = *endpoint && strcmp(endpoint, TUNNEL_ENDPOINT);
    const bool tunnelled = m->by_tunnel || m->ways[peer]->tunnelled;
    const long patience = tunnelled ? HASTE_MS : TUNNEL_MS;
    const bool alone = m->listeners[0] < 0 && m->listeners[1] < 0; /* nobody can come here */

    if (meeting_is_above(m, peer))
        return there && (tunnelled || alone || waited >= REVERSE_MS) ? DIRECT : WAIT;
    if (m->tunnel >= 0 && (waited >= patience || (!there && alone)))
        return TUNNELLED;
    return there && !tunnelled ? DIRECT : WAIT;
}

bool meeting_step(struct meeting *m, long began)
{
    const long now = clock_ms();
    bool whole = true;

    for (unsigned peer = 0; peer < m->size; peer++) {
        enum how how;

        if (peer == m->rank || !m->ways[peer] || way_is_whole(m->ways[peer]))
            continue;
        whole = false;
        how = now < m->next_try[peer] ? WAIT
                                      : how_to_reach(m, peer, now - (m->began[peer] > began ? m->began[peer] : began));
        if (how == WAIT)
            continue;
        m->next_try[peer] = now + (how == DIRECT && !meeting_is_above(m, peer) ? TUNNEL_MS - REVERSE_MS : REVERSE_MS);
        for (unsigned i = 0; i <= m->pipes + !m->bells; i++) {
            const unsigned index = i <= m->pipes ? i : BEAT;

            if (!way_stream(m->ways[peer], index)->tls)
                guest_go(m, peer, index, how == TUNNELLED);
        }
    }
    return whole;
}

/* Whether only connections between workers are missing, which a session may do without. */
static bool has_program(const struct meeting *m)
{
    return m->rank && way_is_whole(m->ways[0]);
}

/* Until all have their connections; or for as long as a session may take to start, if that is between a worker and the
 * program. */
int meeting_meet(struct meeting *m, long until)
{
    const long began = clock_ms();
    const long reach = began + (until - began) / WORKERS_PART + (long)m->size * EACH_MS;

    while (!meeting_step(m, began)) {
        const long now = clock_ms(), most = has_program(m) && reach < until ? reach : until;
        int error;

        if (now >= most)
            break;
        error = meeting_turn(m, now + 100 < most ? now + 100 : most);
        if (error)
            return error;
        if (m->start && launch_hear(m->start))
            return -ECHILD;
    }
    return 0;
}

int meeting_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size)
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

struct meeting *meeting_new(struct job *job, unsigned more, char *why, size_t why_size)
{
    struct meeting *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct meeting){
        .job = job, .by = tls_plugin, .listeners = {-1, -1}, .tunnel = -1, .why = why, .why_size = why_size};
    m->guest_count = GUESTS + more;
    m->guests = calloc(m->guest_count, sizeof(*m->guests));
    m->ready = calloc(MEETING_OTHERS + m->guest_count, sizeof(*m->ready));
    if (!m->guests || !m->ready) {
        meeting_end(m);
        return NULL;
    }
    for (unsigned i = 0; i < m->guest_count; i++)
        m->guests[i].fd = -1;
    return m;
}

int meeting_have_size(struct meeting *m)
{
    m->ways = calloc(m->size, sizeof(*m->ways));
    m->next_try = calloc(m->size, sizeof(*m->next_try));
    m->began = calloc(m->size, sizeof(*m->began));
    m->locations = m->locations ? m->locations : calloc(m->size, sizeof(*m->locations));
    return m->ways && m->next_try && m->began && m->locations ? 0 : -ENOMEM;
}

void meeting_drop(struct meeting *m)
{
    for (unsigned i = 0; m && m->ways && i < m->size; i++)
        way_free(m->ways[i], false);
    if (m)
        meeting_end(m);
}

void meeting_end(struct meeting *m)
{
    for (unsigned i = 0; m->guests && i < m->guest_count; i++) {
        if (m->guests[i].state != GUEST_NONE)
            guest_end(&m->guests[i]);
    }
    free(m->guests);
    free(m->ready);
    free(m->ways);
    free(m->next_try);
    free(m->began);
    free(m->locations);
    free(m);
}
