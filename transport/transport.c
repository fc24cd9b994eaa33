/* A session's transport as a whole: open, poll, close. See transport.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "transport/join/apart.h"
#include "transport/join/later.h"
#include "transport/start/start.h"
#include "transport/stream/stream.h"

#define HEAR_EVERY 64    /* polls between two that also listen to the bells, which costs a system call */
#define FRAMES_NS 500000 /* of receiving frames, before the rest has its turn */

/* ---- open ---- */

static void on_ending(void *argument)
{
    struct transport *t = argument;

    if (t->callbacks.ending)
        t->callbacks.ending(t->callbacks.owner);
    t->ended = true;
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
    if (t->job.starter.fd >= 0)
        link_keep(t, &t->job.starter, t->job.starter.fd);
    fault_begin(transport_rank(t));
    for (unsigned i = 0; i < link_capacity(t); i++)
        t->peers[i].bell.socket.fd = t->peers[i].ring.fd.fd = -1;
    for (unsigned i = 0; i < t->job.member_count; i++) {
        error = link_open_peer(t, &t->job.members[i]);
        if (error)
            return error;
    }
    if (!t->client && t->job.later)
        later_expect_all(t);
    /* from now on transport_poll() listens to all peers */
    heartbeat_remove(t->job.heartbeat, &t->job.beat);
    if (!t->job.heartbeat && t->job.member_count)
        t->job.heartbeat = heartbeat_start(!t->client);
    for (unsigned i = 0; i < t->width; i++) {
        if (t->peers[i].alive && !t->peers[i].provider->is_absent)
            heartbeat_add(t->job.heartbeat, &t->peers[i].beat, &t->peers[i].bell.socket);
    }
    if (t->job.later && (error = poll_set_open(t)))
        return error;
    t->judged_ms = clock_ms();
    t->look_us = settings_peer_ms() ? 250 * settings_peer_ms() : LONGEST_DOZE_US;
    return 0;
}

/* Sends the first frame to every worker. A worker on another host cannot accept it, and says nothing. */
static void offer_rings(struct transport *t)
{
    for (unsigned number = 1; number < link_local(t); number++)
        link_offer_ring(t, number);
}

static int transport_open(bool client, const struct transport_callbacks *callbacks, char *why, size_t why_size,
                          struct transport **out)
{
    struct transport *t = calloc(1, sizeof(*t));
    int error;

    if (!t)
        return -ENOMEM;
    t->callbacks = *callbacks;
    t->client = client;
    t->membership = &join_membership;
    TAILQ_INIT(&t->bulks);
    TAILQ_INIT(&t->over);
    t->pieces_at_once = settings_pipeline();
    t->wake.fd = t->waker.fd = t->poll_set = -1;
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
            offer_rings(t);
        *out = t;
        return 0;
    }
    t->callbacks.ending = NULL; /* MPI may keep t, to announce its end with */
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

/* ---- close ---- */

static void close_all(struct transport *t, bool forget)
{
    for (unsigned i = 0; t->peers && i < t->width; i++) {
        const struct provider *provider = t->peers[i].provider;

        if (i == link_local(t))
            continue;
        if (provider && provider->close)
            provider->close(t, i, forget);
        provider_shm.close(t, i, forget);
        stored_close(&t->peers[i].bell.socket);
    }
    /* A thread of an executor may still wake the transport: the pipe is left to the end of the process. */
    if (!t->client || (!forget && t->peers && link_has_local(t)))
        return;
    stored_close(&t->wake);
    stored_close(&t->waker);
}

/* MPI may still write to posted memory, and a late thread may still read: all memory is left to the end of the
 * process. */
void transport_close(struct transport *t)
{
    t->ended = true;
    copiers_close(t);
    heartbeat_stop(t->job.heartbeat);
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
    if (t->job.placeholder.fd >= 0 && send(stored_fd(&t->job.placeholder), "q", 1, MSG_NOSIGNAL) != 1)
        vocl_log(LOG_DEBUG, "the placeholder went first");
    poll_set_close(t); /* descriptors that the program has closed are replaced as long as the store exists */
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
    poll_set_close(t);
    close_all(t, true);
    fd_store_forget(t->job.fd_store);
    t->job.fd_store = NULL; /* it belongs to the parent */
    t->job.heartbeat = NULL;
    job_close(&t->job);
}

/* ---- progress ---- */

/* Receives frames for a limited time, as completed operations wait to be reported meanwhile. */
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
    return 0;
}

/* Whether this poll reads from the connections. If all frames go through shared memory, connections only carry large
 * frames and the end of a peer: they are read from time to time, and as long as there is something to read. */
static bool must_look(const struct transport *t)
{
    if (t->listens || t->came || !TAILQ_EMPTY(&t->bulks))
        return true;
    for (unsigned i = 0; i < t->width; i++) {
        if (t->peers[i].alive && !t->peers[i].ring.open && i != link_local(t))
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
        starter_poll(t, t->woke && t->starter && t->starter->revents);
    t->woke = t->announced = false;
    t->listens = listen;
    if (t->job.size > 1 && !t->job.apart && fd_store_was_needed(t->job.fd_store)) /* MPI might wait for ever */
        link_fail(t);
    t->looks = must_look(t);
    t->came = false;
    poll_set_look(t);
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
        if (listen && !peer->provider->bells && !(last_look && peer->ring.open))
            link_hear(t, i);
        if (t->ended)
            link_lose(t, i, t->failed);
        else if (peer->bell.lost && !receive_frame(t, i)) /* frames that it sent before come first */
            link_lose(t, i, peer->bell.why ? peer->bell.why : "its process is gone");
    }
    if (listen && t->join)
        count += join_poll(t);
    if (listen && t->job.later)
        count += meet_others(t);
    if (listen)
        join_tidy(t);
    if (listen && !last_look) /* when all peers have been heard */
        silence_judge(t);
    count += last_look && sleep_was_rung(t);
    if (count)
        t->doze_us = FIRST_DOZE_US;
    return count;
}
