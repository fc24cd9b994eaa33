/* Frames by the provider of each pair, with windows, bells and losses. See transport.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/timeline.h"
#include "transport/apart.h"
#include "transport/later.h"

#define HEAR_EVERY 64    /* polls; hearing costs a system call */
#define FRAMES_NS 500000 /* of frames, before what else there is has its turn */
#define ACK_EVERY 16     /* frames taken without having said so, where there is no lane */

/* ---- open and close ---- */

static void on_ending(void *argument)
{
    struct transport *t = argument;

    if (t->callbacks.ending)
        t->callbacks.ending(t->callbacks.owner);
    t->ended = true;
}

/* In a worker nobody else closes descriptors. */
void link_keep(struct transport *t, struct kept *kept, int fd)
{
    if (t->client)
        kept_hold(kept, t->job.keeper, fd);
    else
        kept_trust(kept, fd);
}

/* Its slot is free, and clean. */
int link_open_peer(struct transport *t, struct member *member)
{
    struct peer *peer = &t->peers[member->rank];

    if (member->rank >= link_capacity(t) || peer->alive)
        return -EBADMSG;
    peer->alive = true;
    peer->provider = t->job.provider;
    peer->process = member->process;
    peer->told = t->gone_count;
    memcpy(peer->host, member->host, sizeof(peer->host));
    if (member->way)
        peer->provider = &provider_tls;
    if (!peer->provider->bells) {
        link_keep(t, &peer->bell.socket, member->fd);
        member->fd = -1;
    }
    if (t->width <= member->rank)
        t->width = member->rank + 1;
    if (!member->way)
        return peer->provider->open(t, member->rank);
    tls_open_way(t, member->rank, member->way);
    member->way = NULL;
    return 0;
}

static int open_peers(struct transport *t)
{
    int wake[2], error;

    t->width = link_local(t) + 1;
    if (t->width <= transport_rank(t))
        t->width = transport_rank(t) + 1;
    t->peers = calloc(link_capacity(t), sizeof(*t->peers));
    t->sleep_on = calloc(link_capacity(t) * PROVIDER_MOST_DESCRIPTORS + 5, sizeof(*t->sleep_on));
    t->leaving = calloc(link_most_added(t), sizeof(*t->leaving));
    if (!t->peers || !t->sleep_on || !t->leaving)
        return -ENOMEM;
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
        return -errno;
    link_keep(t, &t->wake, wake[0]);
    link_keep(t, &t->waker, wake[1]);
    if (t->job.channel.fd >= 0)
        link_keep(t, &t->job.channel, t->job.channel.fd);
    fault_begin(transport_rank(t));
    for (unsigned i = 0; i < link_capacity(t); i++)
        t->peers[i].bell.socket.fd = t->peers[i].lane.fd = -1;
    for (unsigned i = 0; i < t->job.member_count; i++) {
        error = link_open_peer(t, &t->job.members[i]);
        if (error)
            return error;
    }
    if (!t->client && t->job.later)
        later_expect_all(t);
    /* now that there is somebody who listens to all */
    pulse_remove(t->job.pulse, &t->job.beat);
    if (!t->job.pulse && t->job.member_count)
        t->job.pulse = pulse_start(!t->client);
    for (unsigned i = 0; i < t->width; i++) {
        if (t->peers[i].alive && !later_is(&t->peers[i]))
            pulse_add(t->job.pulse, &t->peers[i].beat, &t->peers[i].bell.socket);
    }
    if (t->job.later && (error = ears_open(t)))
        return error;
    t->judged_ms = clock_ms();
    t->look_us = settings_peer_ms() ? 250 * settings_peer_ms() : LONGEST_DOZE_US;
    return 0;
}

static void offer_lanes(struct transport *t);

static int transport_open(bool client, const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out)
{
    struct transport *t = calloc(1, sizeof(*t));
    int error;

    if (!t)
        return -ENOMEM;
    t->callbacks = *callbacks;
    t->client = client;
    TAILQ_INIT(&t->bulks);
    TAILQ_INIT(&t->over);
    t->pieces_at_once = settings_pipeline();
    t->wake.fd = t->waker.fd = t->ears = -1;
    t->doze_us = FIRST_DOZE_US;
    error = client ? job_open_client(&t->job, on_ending, t, why, why_size)
                   : job_open_worker(&t->job, on_ending, t, why, why_size);
    if (!error) {
        error = open_peers(t);
        if (error) {
            snprintf(why, why_size, "%s", strerror(-error));
            transport_close(t);
            return error;
        }
        if (client)
            offer_lanes(t);
        *out = t;
        return 0;
    }
    t->callbacks.ending = NULL; /* MPI may have t: it tells it when it ends */
    return error;
}

int transport_open_client(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out)
{
    return transport_open(true, callbacks, why, why_size, out);
}

int transport_open_worker(const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out)
{
    return transport_open(false, callbacks, why, why_size, out);
}

/* Workers count the local member whether there is one or not: it is for the application to speak of it. */
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

/* The local member is not the job's, and stays when MPI has failed. */
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

static void close_all(struct transport *t, bool forget)
{
    for (unsigned i = 0; t->peers && i < t->width; i++) {
        const struct provider *provider = t->peers[i].provider;

        if (i == link_local(t))
            continue;
        if (provider && provider->close)
            provider->close(t, i, forget);
        provider_lane.close(t, i, forget);
        kept_close(&t->peers[i].bell.socket);
    }
    /* A thread of an executor may still wake it: that goes with the process. */
    if (!t->client || (!forget && t->peers && link_has_local(t)))
        return;
    kept_close(&t->wake);
    kept_close(&t->waker);
}

/* MPI may still write to posted memory, and a late thread may still look: it all goes with the process. */
void transport_close(struct transport *t)
{
    t->ended = true;
    pulse_stop(t->job.pulse);
    join_forget(t);
    apart_close(t);
    for (unsigned i = 0; t->peers && i < t->width; i++) {
        if (i == link_local(t))
            continue;
        if (t->client && i)
            vocl_log(LOG_INFO, "worker %u: %llu bytes sent, %llu received", i,
                     (unsigned long long)t->peers[i].bytes_out, (unsigned long long)t->peers[i].bytes_in);
        if (t->peers[i].alive)
            bell_send(&t->peers[i].bell, BELL_BYE, 0);
        t->peers[i].alive = false;
    }
    if (t->job.placeholder.fd >= 0 && send(kept_fd(&t->job.placeholder), "q", 1, MSG_NOSIGNAL) != 1)
        vocl_log(LOG_DEBUG, "the placeholder went first");
    ears_close(t); /* what the program has closed is given back as long as there is a keeper */
    job_close(&t->job);
    if (!t->job.whole) {
        close_all(t, false);
        return;
    }
    if (!link_leave_together(t))
        vocl_log(LOG_INFO, "MPI_Finalize is left out: somebody is missing");
    else if (t->job.plugin->finish())
        vocl_log(LOG_WARN, "MPI_Finalize failed");
}

void transport_forget(struct transport *t)
{
    t->ended = true;
    join_forget(t);
    apart_close(t);
    for (unsigned i = 0; i < t->width; i++)
        t->peers[i].alive = false;
    ears_close(t);
    close_all(t, true);
    keeper_forget(t->job.keeper);
    t->job.keeper = NULL; /* the parent's */
    t->job.pulse = NULL;
    job_close(&t->job);
}

/* ---- loss ---- */

/* Whoever comes back finds itself out; what is on this host does not come back, for it has memory of this process. */
static void cut_off(struct transport *t, struct peer *peer)
{
    const int fd = kept_fd(&peer->bell.socket);
    const bool went = peer->bell.lost && !peer->bell.why; /* and its number may be another's */

    atomic_store(&peer->beat.on, false);
    if (!t->ended && !went && peer->process > 0 && kill(peer->process, SIGKILL))
        vocl_log(LOG_WARN, "process %d: %s", (int)peer->process, strerror(errno));
    if (!t->ended && fd >= 0) /* closed later: it is the others' number, too */
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
    provider_lane.lose(t, number);
    bulk_lose(t, number);
    peer->provider->lose(t, number);
    join_lose(t, number);
    if (t->client && t->job.later && !t->ended && number != link_local(t))
        later_lost(t, number);
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
        t->failed = kept_fd(&t->wake) >= 0 && keeper_was_needed(t->job.keeper)
                        ? "the program has closed descriptors that are not its own, MPI's among them"
                        : "MPI has failed";
    t->ended = true;
}

/* ---- the bell ---- */

/* Until both sides have the lane it says at the bell that it sleeps. later: MPI may have yet to push what was sent, so
 * who looks now, and then sleeps, may not see it. */
static void ring_for(struct peer *peer, bool later)
{
    if (!(peer->lane.memory && lane_must_ring(&peer->lane)) && !peer->bell.peer_sleeps && !later)
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
    const uint32_t taken = peer->lane.memory ? lane_taken(&peer->lane) : peer->bell.acked;

    if ((int32_t)(taken - peer->bell.acked) > 0)
        peer->bell.acked = taken;
    if ((int32_t)(peer->sent - peer->bell.acked) < 0)
        link_give_up(peer, "it confirms what it was not sent");
}

void link_took(struct peer *peer)
{
    peer->received++;
    if (peer->lane.memory)
        lane_took(&peer->lane, peer->received);
    if (!peer->lane.open && peer->received - peer->confirmed >= ACK_EVERY) {
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
        link_ring(peer); /* something crossed with its going to sleep */
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
    if (to->lane.memory)
        lane_want_taken(&to->lane, to->sent);
    return transport_drained(t, peer);
}

/* Small ones through memory, where there is some. */
static int send_frame(struct transport *t, unsigned number, uint32_t kind, const void *bytes, size_t length)
{
    struct peer *peer = &t->peers[number];
    const struct provider *provider = &provider_lane;
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
    pulse_said(&peer->beat, ++peer->sent);
    peer->confirmed = peer->received;
    if (provider->polled)
        ring_for(peer, peer->lane.memory && provider != &provider_lane);
    fault_step(FAULT_FRAME_SENT);
    return 0;
}

/* The first frame to every worker. One of another host cannot take it, and says nothing. */
static void offer_lanes(struct transport *t)
{
    for (unsigned number = 1; number < link_local(t); number++)
        link_offer_lane(t, number);
}

void link_offer_lane(struct transport *t, unsigned number)
{
    struct peer *peer = &t->peers[number];
    struct memory_address offer;

    if (!peer->alive || lane_offer(&peer->lane, &offer))
        return;
    if (send_frame(t, number, FRAME_LANE, &offer, sizeof(offer)))
        lane_close(&peer->lane);
}

int link_say(struct transport *t, unsigned number, enum frame_kind kind, const void *bytes, size_t length)
{
    return link_is_usable(t, number) ? send_frame(t, number, kind, bytes, length) : -ECONNRESET;
}

int link_tell(struct transport *t, unsigned number, const struct member_news *news)
{
    return link_say(t, number, FRAME_MEMBER, news, sizeof(*news));
}

/* Memory is near. */
static uint32_t window_of(const struct peer *peer)
{
    return peer->lane.memory ? TRANSPORT_WINDOW : peer->provider->window;
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
        if (peer->lane.open)
            link_look(peer); /* it says so there, and who sends much asks often */
        else
            link_hear(t, number);
        if (peer->sent - peer->bell.acked >= window_of(peer))
            return -EAGAIN;
    }
    error = send_frame(t, number, FRAME_WHOLE | local, bytes, length);
    if (!error && timeline_wanted())
        timeline_count(TIMELINE_FRAME, number, true, (uint64_t)clock_ns(), length);
    if (!error && !peer->lane.open) /* whether it sleeps */
        link_hear(t, number);
    if (error && error != -EAGAIN && number != link_local(t)) /* what comes next would be about what has not come */
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

/* ---- progress ---- */

/* What is over meanwhile waits to be told of: some of the frames, where many are here. */
static int receive_frames(struct transport *t)
{
    const long until = clock_ns() + FRAMES_NS;
    int count = 0, more;

    do {
        more = 0;
        for (unsigned i = 0; i < t->width && !t->ended; i++) {
            if (t->peers[i].alive && i != link_local(t))
                more += receive_frame(t, i);
        }
        count += more;
    } while (more && !t->ended && clock_ns() < until);
    return count;
}

static int meet_others(struct transport *t)
{
    if (!t->client)
        return later_poll(t);
    if (t->untold)
        later_tell(t);
    if (t->wish_count)
        apart_tell(t);
    return 0;
}

/* Where all that is said goes through memory, connections only have to say what is too large for that, and who is gone:
 * they are read from now and then, and as long as they have something. */
static bool must_look(const struct transport *t)
{
    if (t->listens || t->came || !TAILQ_EMPTY(&t->bulks))
        return true;
    for (unsigned i = 0; i < t->width; i++) {
        if (t->peers[i].alive && !t->peers[i].lane.open && i != link_local(t))
            return true;
    }
    return false;
}

int transport_poll(struct transport *t)
{
    const bool last_look = t->announced, listen = last_look || t->woke || ++t->polls % HEAR_EVERY == 0;
    int count = 0;

    if (!last_look)
        sleep_over(t);
    if (listen)
        channel_poll(t, t->woke && t->channel && t->channel->revents);
    t->woke = t->announced = false;
    t->listens = listen;
    if (t->job.size > 1 && !t->job.apart && keeper_was_needed(t->job.keeper)) /* MPI might wait for ever */
        link_fail(t);
    t->looks = must_look(t);
    t->came = false;
    ears_look(t);
    count += receive_frames(t);
    for (unsigned i = 0; i < t->width; i++) {
        if (link_is_usable(t, i))
            count += t->peers[i].provider->poll(t, i);
    }
    if (!TAILQ_EMPTY(&t->bulks))
        count += bulk_poll(t);
    for (unsigned i = 0; i < t->width; i++) {
        struct peer *peer = &t->peers[i];

        if (!peer->alive || i == link_local(t))
            continue;
        if (listen && !peer->provider->bells && !(last_look && peer->lane.open))
            link_hear(t, i);
        if (t->ended)
            link_lose(t, i, t->failed);
        else if (peer->bell.lost && !receive_frame(t, i)) /* what it still said comes first */
            link_lose(t, i, peer->bell.why ? peer->bell.why : "its process is gone");
    }
    if (listen && t->join)
        count += join_poll(t);
    if (listen && t->job.later)
        count += meet_others(t);
    if (listen)
        join_tidy(t);
    if (listen && !last_look) /* when all have been listened to */
        pulse_judge(t);
    if (count)
        t->doze_us = FIRST_DOZE_US;
    return count;
}

void transport_bytes(const struct transport *t, uint64_t *in, uint64_t *out)
{
    *in = *out = 0;
    for (unsigned peer = 0; t->peers && peer < t->width; peer++) {
        *in += t->peers[peer].bytes_in;
        *out += t->peers[peer].bytes_out;
    }
}
