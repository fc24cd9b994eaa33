/* Frames by the provider of each pair, with windows, bells and losses. See transport.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/process.h"
#include "base/timeline.h"
#include "transport/core/link.h"

#define ACK_EVERY 16 /* frames taken without confirming it, where there is no ring */

/* ---- peers ---- */

/* In a worker no other code closes descriptors. */
void link_keep(struct transport *t, struct stored_fd *stored, int fd)
{
    if (t->client)
        stored_hold(stored, t->job.fd_store, fd);
    else
        stored_trust(stored, fd);
}

/* The slot of member->rank is free, and cleared. */
int link_open_peer(struct transport *t, struct member *member)
{
    struct peer *peer = &t->peers[member->rank];

    if (member->rank >= link_capacity(t) || peer->alive)
        return -EBADMSG;
    peer->alive = true;
    peer->provider = member->provider ? member->provider : t->job.provider;
    peer->process = member->process;
    peer->process_began = member->process > 0 ? process_start_time(member->process) : 0;
    peer->told = t->gone_count;
    memcpy(peer->host, member->host, sizeof(peer->host));
    if (!peer->provider->bells) {
        link_keep(t, &peer->bell.socket, member->fd);
        member->fd = -1;
    }
    if (t->width <= member->rank)
        t->width = member->rank + 1;
    peer->way = member->way;
    member->way = NULL;
    return peer->provider->open(t, member->rank);
}

/* Workers count the local member whether there is one or not: only the application names it. */
unsigned transport_peers(const struct transport *t)
{
    return t->width - (t->width == link_local(t) + 1 && t->client && !link_has_local(t));
}

unsigned transport_most_peers(const struct transport *t)
{
    return link_capacity(t);
}

unsigned link_local(const struct transport *t)
{
    return (unsigned)t->job.size;
}

bool link_has_local(const struct transport *t)
{
    return t->peers[link_local(t)].alive;
}

/* The local member does not belong to the job, and stays when MPI has failed. */
bool link_is_usable(const struct transport *t, unsigned peer)
{
    return peer < t->width && t->peers[peer].alive && (!t->ended || peer == link_local(t));
}

unsigned transport_rank(const struct transport *t)
{
    return (unsigned)t->job.rank;
}

bool transport_peer_alive(const struct transport *t, unsigned peer)
{
    if (!t->client && peer == link_local(t))
        peer = 0;
    return peer < t->width && t->peers[peer].alive;
}

const char *transport_peer_host(const struct transport *t, unsigned peer)
{
    return peer < t->width ? t->peers[peer].host : "";
}

int transport_peer_process(const struct transport *t, unsigned peer)
{
    return peer < t->width ? (int)t->peers[peer].process : 0;
}

/* ---- loss ---- */

/* Cuts a lost peer off: if it answers again, it notices this. A process of this host is killed, as it has memory of
 * this process. */
static void cut_off(struct transport *t, struct peer *peer)
{
    const int fd = stored_fd(&peer->bell.socket);
    const bool went = peer->bell.lost && !peer->bell.why; /* by itself: it may still be ending */

    atomic_store(&peer->beat.on, false);
    if (!t->ended && !went && peer->process > 0 && process_kill(peer->process, peer->process_began) && errno != ESRCH)
        vocl_log(LOG_WARN, "process %d: %s", (int)peer->process, strerror(errno));
    if (!t->ended && fd >= 0) /* closed later: other threads may use the number */
        shutdown(fd, SHUT_RDWR);
    peer->bell.lost = true;
}

void link_lose(struct transport *t, unsigned number, const char *why)
{
    struct peer *peer = &t->peers[number];

    if (!peer->alive)
        return;
    peer->alive = false;
    t->incomplete |= !t->ended && !peer->bell.bye;
    cut_off(t, peer);
    provider_shm.lose(t, number);
    bulk_lose(t, number);
    peer->provider->lose(t, number);
    t->membership->lost(t, number);
    t->callbacks.lost(t->callbacks.owner, number, why);
    if (link_has_local(t))
        loop_lose(t, number);
}

int link_give_up(struct peer *peer, const char *why)
{
    if (!peer->bell.lost)
        peer->bell.why = why;
    peer->bell.lost = true;
    return -ECONNRESET;
}

void link_fail(struct transport *t)
{
    if (!t->ended)
        t->failed = stored_fd(&t->wake) >= 0 && fd_store_was_needed(t->job.fd_store)
                        ? "the program has closed descriptors that are not its own, MPI's among them"
                        : "MPI has failed";
    t->ended = true;
}

/* ---- the bell ---- */

/* Rings the peer's bell if it sleeps. Until both sides have the ring, the peer announces sleep at the bell. later: MPI
 * may still hold back what was sent, so a peer that polls now, and then sleeps, may not see it. */
static void ring_for(struct peer *peer, bool later)
{
    if (!(peer->ring.memory && shm_ring_must_ring(&peer->ring)) && !peer->bell.peer_sleeps && !later)
        return;
    peer->bell.peer_sleeps = false;
    bell_send(&peer->bell, BELL_RING, peer->sent);
}

void link_ring(struct peer *peer)
{
    ring_for(peer, false);
}

void link_look(struct peer *peer)
{
    const uint32_t taken = peer->ring.memory ? shm_ring_taken(&peer->ring) : peer->bell.acked;

    if ((int32_t)(taken - peer->bell.acked) > 0)
        peer->bell.acked = taken;
    if ((int32_t)(peer->sent - peer->bell.acked) < 0)
        link_give_up(peer, "it acknowledges frames that were not sent");
}

void link_took(struct peer *peer)
{
    peer->received++;
    if (peer->ring.memory)
        shm_ring_took(&peer->ring, peer->received);
    if (!peer->ring.open && peer->received - peer->confirmed >= ACK_EVERY) {
        peer->confirmed = peer->received;
        bell_send(&peer->bell, BELL_ACK, peer->received);
    }
}

int link_hear(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    int heard = peer->provider->bells ? peer->provider->hear(t, number) : bell_hear(&peer->bell);

    link_look(peer);
    if (peer->bell.peer_sleeps && peer->bell.acked != peer->sent)
        link_ring(peer); /* the peer went to sleep while a message was on its way */
    return heard;
}

/* ---- frames out ---- */

bool transport_drained(const struct transport *t, unsigned peer)
{
    struct peer *to = &t->peers[peer];

    if (to->bell.acked != to->sent)
        link_look(to);
    return to->bell.acked == to->sent;
}

bool transport_want_drained(const struct transport *t, unsigned peer)
{
    struct peer *to = &t->peers[peer];

    if (transport_drained(t, peer))
        return true;
    if (to->ring.memory)
        shm_ring_want_taken(&to->ring, to->sent);
    return transport_drained(t, peer);
}

/* Small frames go through shared memory, if there is some. */
static int send_frame(struct transport *t, unsigned number, uint32_t kind, const void *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    const struct provider *provider = &provider_shm;
    struct frame_header header = {kind, peer->received};
    int error = -EXDEV;

    if (length <= provider->most_frame)
        error = provider->send(t, number, peer->sent, header, bytes, length);
    if (error == -EXDEV) {
        provider = peer->provider;
        error = provider->send(t, number, peer->sent, header, bytes, length);
    }
    if (error)
        return error;
    peer->bytes_out += HEADER + length;
    heartbeat_said(&peer->beat, ++peer->sent);
    peer->confirmed = peer->received;
    if (provider->polled)
        ring_for(peer, peer->ring.memory && provider != &provider_shm);
    fault_step(FAULT_FRAME_SENT);
    return 0;
}

void link_offer_ring(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct memory_address offer;

    if (!peer->alive || shm_ring_offer(&peer->ring, &offer))
        return;
    if (send_frame(t, number, FRAME_OFFER, &offer, sizeof(offer)))
        shm_ring_close(&peer->ring);
}

int link_say(struct transport *t, unsigned number, enum frame_kind kind, const void *bytes, size_t length)
{
    return link_is_usable(t, number) ? send_frame(t, number, kind, bytes, length) : -ECONNRESET;
}

int link_tell(struct transport *t, unsigned number, const struct member_news *news)
{
    return link_say(t, number, FRAME_MEMBER, news, sizeof(*news));
}

/* Through shared memory the peer is near, so the window is small. */
static uint32_t window_of(const struct peer *peer)
{
    return peer->ring.memory ? TRANSPORT_WINDOW : peer->provider->window;
}

static int send_to(struct transport *t, unsigned number, uint32_t local, const void *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    int error;

    if (!link_is_usable(t, number) || peer->bell.lost)
        return -ECONNRESET;
    if (length > peer->provider->most_frame)
        return link_give_up(peer, "a frame to it is too long");
    if (peer->sent - peer->bell.acked >= window_of(peer)) {
        if (peer->ring.open)
            link_look(peer); /* the peer says so there, and a side that sends much asks often */
        else
            link_hear(t, number);
        if (peer->sent - peer->bell.acked >= window_of(peer))
            return -EAGAIN;
    }
    error = send_frame(t, number, FRAME_WHOLE | local, bytes, length);
    if (!error && timeline_wanted())
        timeline_count(TIMELINE_FRAME, number, true, (uint64_t)clock_ns(), length);
    if (!error && !peer->ring.open) /* whether the peer sleeps */
        link_hear(t, number);
    if (error && error != -EAGAIN && number != link_local(t)) /* later frames would refer to the one that is missing */
        return link_give_up(peer, "a frame cannot be sent to it");
    return error;
}

int transport_send(struct transport *t, unsigned number, const void *bytes, size_t length)
{
    if (!t->client && number == link_local(t))
        return send_to(t, 0, FRAME_LOCAL, bytes, length);
    return send_to(t, number, 0, bytes, length);
}

int transport_local_send(struct transport *t, unsigned peer, const void *bytes, size_t length)
{
    return peer ? send_to(t, peer, FRAME_LOCAL, bytes, length) : loop_send(t, bytes, length);
}

int transport_add_local(struct transport *t, const struct transport_local *local)
{
    return loop_attach(t, local);
}

void transport_bytes(const struct transport *t, uint64_t *in, uint64_t *out)
{
    *in = *out = 0;
    for (unsigned peer = 0; t->peers && peer < t->width; peer++) {
        *in += t->peers[peer].bytes_in;
        *out += t->peers[peer].bytes_out;
    }
}
