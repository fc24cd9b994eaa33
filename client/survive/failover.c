/*
 * Failover: a worker that is lost, or dismissed (recover_move()), is replaced by another one, to which its node's
 * journal is replayed. So are the workers of nodes that have interacted with it since the last snapshot (struct group),
 * although they are alive: contents and events that went between them have to go again. These workers end, since what
 * is enqueued there may never end by itself, and others take their places.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/core/session.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/survive/effects.h"
#include "client/survive/journal.h"
#include "client/survive/replicas.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"

#define MOST_TRIES 10
#define MOST_ROUNDS 8 /* of one failover: the group may grow while it waits */
#define MOST_ENDING 5 /* most seconds that a killed process may take to end */
#define SECOND 1000000000L
#define RETRY_NS 50000000

/* ---- finding a worker to replace another ---- */

/* Whether `other` can replace the node's worker: its devices fit, and it has the memory that the lost worker shared.
 * Returns 0, or an error with the reason. Any worker will do for a node that has replied nothing yet. */
static int may_stand_for(struct node *node, struct node *other, char *why, size_t size)
{
    int error = node->journal->told ? session_front(node->session)->fits(node, other, why, size) : 0;

    if (!error && node->memory == NODE_MEMORY_SHARED && !arena_shared_with(other)) {
        snprintf(why, size, "the new worker cannot share the memory that the program shared with the lost one");
        error = other->alive ? -ENOTSUP : -ECONNRESET;
    }
    return error;
}

/* Returns 0 with a spare worker that fits, or an error. -ECONNRESET: one was lost as it was asked, and the next may
 * fit. */
static int spare_that_fits(struct node *node, struct node **out, char *why, size_t size)
{
    struct session *session = node->session;
    int error = -ENODEV;

    for (unsigned i = 0; i < session_spare_count(session); i++) {
        struct node *spare = session_spare(session, i);

        if (!spare->peer || !spare->alive || spare->promised)
            continue;
        error = may_stand_for(node, spare, why, size);
        if (!error)
            *out = spare;
        if (!error || error == -ECONNRESET)
            return error;
    }
    return error;
}

/* Starts one worker. again: it does not fit, and another one may. */
static int come_once(struct node *node, const char *where, struct node **out, bool *again, char *why, size_t size)
{
    struct session *session = node->session;
    struct node *spare = NULL;
    int error;

    *again = false;
    while ((error = summon_worker(session, where, &spare, why, size)) == -EBUSY && !program_ends(session))
        session_look_later(); /* another worker is being started, for a move */
    if (error)
        return error == -ECHILD || error == -EBUSY || error == -EHOSTUNREACH ? -ECONNRESET : error;
    error = may_stand_for(node, spare, why, size);
    if (!error) {
        *out = spare;
        return 0;
    }
    session_lock(session);
    if (!spare->alive)
        error = -ECONNRESET;
    if (error == -EXDEV)
        *again = session_refuse_spare(session, spare, where);
    else
        session_drop_spare(session, spare);
    session_unlock(session);
    return error;
}

static int come_from(struct node *node, const char *where, struct node **out, char *why, size_t size)
{
    char unfit[256] = "";
    bool again;
    int error;

    while ((error = come_once(node, where, out, &again, why, size)) && again && !program_ends(node->session))
        snprintf(unfit, sizeof(unfit), "%s", why);
    if (!error || !*unfit)
        return error;
    snprintf(why, size, "%s", unfit); /* the reason of the misfit says more than that there is no other place */
    return -EXDEV;
}

/* Finds a spare worker, or starts one: where the lost one was, on another of the hosts, or where the session began; in
 * a pool ("#NUMBER") wherever that has a place. */
static int find_another(struct node *node, struct node **out, char *why, size_t size)
{
    struct session *session = node->session;
    int error = spare_that_fits(node, out, why, size);
    const char *host = node->journal->host;
    char other[256];

    if (error && error != -ECONNRESET)
        error = come_from(node, host, out, why, size);
    for (unsigned i = 0; error && error != -ECONNRESET && *host != '#' && i < session_node_count(session); i++) {
        session_lock(session);
        snprintf(other, sizeof(other), "%s",
                 transport_peer_host(session_transport(session), session_node(session, i)->peer));
        session_unlock(session);
        if (*other && strcasecmp(other, host))
            error = come_from(node, other, out, why, size);
    }
    if (error && transport_is_away(session_transport(session), host))
        error = come_from(node, "here", out, why, size);
    return error;
}

/* Lock held. */
static bool has_next(const struct node *node)
{
    const struct node *next = node->journal->wanted;

    return next && next->peer && next->alive;
}

/* Lock held, released meanwhile. */
static int find_next(struct node *node, bool spare, char *why, size_t size)
{
    struct session *session = node->session;
    struct node *next = NULL;
    int error;

    if (node->journal->wanted && node->journal->wanted->peer) /* lost before anything was sent to it */
        session_drop_spare(session, node->journal->wanted);
    node->journal->wanted = NULL;
    session_unlock(session);
    error = spare ? spare_that_fits(node, &next, why, size) : find_another(node, &next, why, size);
    session_lock(session);
    if (!error && (!next->alive || next->promised))
        error = -ECONNRESET;
    if (error)
        return error;
    next->promised = true;
    node->journal->wanted = next;
    return 0;
}

static void drop_next(struct node *node)
{
    if (node->journal->wanted)
        node->journal->wanted->promised = false;
    node->journal->wanted = NULL;
}

/* ---- the old workers ---- */

void failover_note_place(struct node *node)
{
    struct journal *j = node->journal;
    struct transport *transport = session_transport(node->session);

    transport_place(transport, node->peer, j->host, sizeof(j->host));
    j->process = transport_peer_process(transport, node->peer);
    j->was = node->peer;
}

void failover_hold(struct node *node)
{
    struct journal *j = node->journal;

    if (j->mover) {
        journal_leave_out(j, &node->batch);
        node->repeats = 0; /* the last launch is elsewhere in the batch */
    }
    node->failing_over = true;
}

void failover_dismiss(struct node *node)
{
    if (node->journal->lost)
        return;
    failover_note_place(node);
    session_dismiss(node);
    node->journal->lost = true;
    node->losses++;
}

static bool nobody_looks(void *argument)
{
    return !((struct journal *)argument)->looking;
}

static bool has_ended(const struct journal *j)
{
    return (j->process <= 0 || kill(j->process, 0)) && !j->looking;
}

/* Waits until neither the lost worker nor the program uses the shared memory, before a replay changes it. Lock held,
 * released meanwhile. */
static void await_end(struct node *node)
{
    struct journal *j = node->journal;
    const long until = clock_ns() + MOST_ENDING * SECOND;

    while (j->process > 0 && !kill(j->process, 0) && clock_ns() < until) {
        session_unlock(node->session);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        session_lock(node->session);
    }
    j->process = 0; /* do not wait again */
    session_wait(node->session, nobody_looks, j);
}

/* ---- the group ---- */

struct failover {
    struct group group;
    bool begun; /* workers of the group that were alive have been dismissed */
    char why[300];
};

/* Finds the node's group. Nothing is sent to any of its nodes from here on. */
static int gather(struct failover *m, struct node *node)
{
    struct group group;
    int error = group_find(node, &group);
    const char *bound;

    if (error)
        return error;
    group_free(&m->group);
    m->group = group;
    bound = group_bound(&group);
    if (bound) {
        snprintf(m->why, sizeof(m->why), "%s", bound);
        return -ENOTSUP;
    }
    for (unsigned i = 0; i < group.count; i++)
        failover_hold(group.nodes[i]);
    return 0;
}

static bool all_have_next(const struct failover *m)
{
    bool all = true;

    for (unsigned i = 0; i < m->group.count; i++)
        all &= m->group.nodes[i]->journal->lost && has_next(m->group.nodes[i]);
    return all;
}

static bool is_ready(const struct failover *m)
{
    bool ready = all_have_next(m);

    for (unsigned i = 0; i < m->group.count; i++)
        ready &= has_ended(m->group.nodes[i]->journal);
    return ready;
}

/* Called before a live worker is dismissed: where no worker can be started, there has to be a spare one. */
static int find_before(struct failover *m, struct node *node)
{
    char place[256];

    transport_place(session_transport(node->session), node->peer, place, sizeof(place));
    if (has_next(node) || !transport_may_add_member(session_transport(node->session), place, m->why, sizeof(m->why)))
        return 0;
    return find_next(node, true, m->why, sizeof(m->why));
}

static bool is_of(const struct group *group, const struct node *node)
{
    bool is = false;

    for (unsigned i = 0; i < group->count && !is; i++)
        is = group->nodes[i] == node;
    return is;
}

/* Finds the nodes that may keep contents which leaving members have: the successors of lost workers, and workers that
 * stay. */
static unsigned find_receivers(const struct group *group, struct node **to)
{
    struct session *session = group->nodes[0]->session;
    unsigned count = 0;

    for (unsigned i = 0; i < group->count; i++) {
        if (has_next(group->nodes[i]))
            to[count++] = group->nodes[i]->journal->wanted;
    }
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->journal && node->peer && node->alive && !node->failing_over && !is_of(group, node))
            to[count++] = node;
    }
    return count;
}

/* Copies contents that only leaving members keep to others. */
static int hand_over(const struct group *group)
{
    const unsigned most = session_node_count(group->nodes[0]->session);
    struct node **to = calloc(2 * most, sizeof(struct node *));
    unsigned *members = calloc(most, sizeof(*members));
    struct leaving leaving = {members, 0};
    int error = -ENOMEM;

    if (to && members) {
        for (unsigned i = 0; i < group->count; i++) {
            if (!group->nodes[i]->journal->lost)
                members[leaving.count++] = group->nodes[i]->peer;
        }
        error = !leaving.count || replicas_hand_over(&leaving, to, find_receivers(group, to)) ? 0 : -ECONNRESET;
    }
    free(to);
    free(members);
    return error;
}

/* Finds places for the successors of lost workers first: if there is none, the other workers stay. Live workers are
 * dismissed before their successors start, as in a pool these may get the same places. */
static int find_places(struct failover *m)
{
    const struct group *group = &m->group;
    int error = 0;

    for (unsigned i = 0; i < group->count && !error; i++) {
        if (group->nodes[i]->journal->lost && !has_next(group->nodes[i]))
            error = find_next(group->nodes[i], false, m->why, sizeof(m->why));
    }
    for (unsigned i = 0; i < group->count && !error; i++) {
        if (!group->nodes[i]->journal->lost)
            error = find_before(m, group->nodes[i]);
    }
    if (!error)
        error = hand_over(group);
    for (unsigned i = 0; i < group->count && !error; i++) {
        m->begun |= !group->nodes[i]->journal->lost;
        failover_dismiss(group->nodes[i]);
    }
    for (unsigned i = 0; i < group->count && !error; i++) {
        if (!has_next(group->nodes[i]))
            error = find_next(group->nodes[i], false, m->why, sizeof(m->why));
    }
    return error;
}

/* Makes the group ready for the replay. Lock held, released meanwhile. */
static int get_ready(struct failover *m, struct node *node)
{
    for (unsigned round = 0; round < MOST_ROUNDS && !session_stops(node->session); round++) {
        int error = gather(m, node);

        if (error)
            return error;
        if (is_ready(m))
            return 0;
        if (!all_have_next(m))
            error = find_places(m);
        if (error)
            return error;
        for (unsigned i = 0; i < m->group.count; i++)
            await_end(m->group.nodes[i]);
    }
    return -ECONNRESET;
}

/* Puts the new workers' numbers into what is yet to be sent, and into what is to be replayed. */
static void readdress(const struct failover *m, const unsigned *now)
{
    struct session *session = m->group.nodes[0]->session;
    const struct rewriting how = {.now = now};

    for (unsigned i = 0; i < m->group.count; i++)
        effect_rewrite_all(&m->group.nodes[i]->journal->log, &how);
    for (unsigned i = 0; i < session_node_count(session); i++)
        effect_rewrite_all(&session_node(session, i)->batch, &how);
}

/* Replaces *why, which is about the search for workers so far. */
static void explain(struct failover *m)
{
    *m->why = 0;
    for (unsigned i = 0; i < m->group.count; i++) {
        struct journal *j = m->group.nodes[i]->journal;

        if (j->displaced)
            snprintf(m->why, sizeof(m->why), "no worker can allocate shared virtual memory at the old addresses");
        j->displaced = false;
    }
}

static int tell_again(struct failover *m)
{
    struct session *session = m->group.nodes[0]->session;
    unsigned *now = calloc(transport_most_peers(session_transport(session)) + 1, sizeof(*now));
    int error;

    if (!now)
        return -ENOMEM;
    for (unsigned i = 0; i < m->group.count; i++)
        now[m->group.nodes[i]->peer] = m->group.nodes[i]->journal->wanted->peer;
    for (unsigned i = 0; i < m->group.count; i++) {
        struct journal *j = m->group.nodes[i]->journal;

        session_replace(m->group.nodes[i], j->wanted);
        j->wanted = NULL;
        j->lost = false;
    }
    m->begun = true;
    readdress(m, now);
    free(now);
    error = replay(&m->group);
    for (unsigned i = 0; i < m->group.count; i++)
        vocl_log(LOG_DEBUG, "replay to worker %u: %s", m->group.nodes[i]->peer, error ? strerror(-error) : "done");
    if (error)
        explain(m);
    return error;
}

/* ---- the end of a failover ---- */

bool failover_is_over(void *argument)
{
    const struct node *node = argument;

    return !node->failing_over || session_stops(node->session);
}

static void end_well(const struct group *group)
{
    for (unsigned i = 0; i < group->count; i++)
        group->nodes[i]->failing_over = false;
    for (unsigned i = 0; i < group->count; i++) {
        transfer_resume(group->nodes[i]);
        stream_push(group->nodes[i]);
    }
    recover_snapshot_soon(); /* or to replicate contents anew */
}

static void go_on(struct node *node)
{
    node->failing_over = false;
    transfer_resume(node);
    stream_push(node);
}

static void lose(struct node *node, const char *why)
{
    node->failing_over = false;
    if (!node->journal->off)
        recover_give_up(node, why);
    session_lose(node);
}

/* Ends a failover that has failed. Lost workers are lost for good, and so are those to which only a part was replayed,
 * or nothing yet. */
static void end_badly(struct failover *m, struct node *node, int error)
{
    const struct group own = {&node, 1}, *group = m->group.count ? &m->group : &own;
    const char *why = *m->why ? m->why : strerror(-error);

    for (unsigned i = 0; i < group->count; i++) {
        struct node *each = group->nodes[i];

        if (!each->journal) /* a node in this process */
            continue;
        drop_next(each);
        if (m->begun)
            failover_dismiss(each);
        if (each->failing_over && !each->journal->lost)
            go_on(each);
    }
    for (unsigned i = 0; i < group->count; i++) {
        if (group->nodes[i]->failing_over)
            lose(group->nodes[i], why);
    }
}

void failover(struct node *node)
{
    struct session *session = node->session;
    const long since = clock_ns();
    struct failover m = {.begun = false};
    int error = -ECONNRESET;

    for (unsigned tries = 0;
         error == -ECONNRESET && tries < MOST_TRIES && !node->journal->off && !session_stops(session); tries++) {
        error = get_ready(&m, node);
        if (!error) {
            error = tell_again(&m);
        } else if (error == -ECONNRESET) {
            session_unlock(session);
            nanosleep(&(struct timespec){0, RETRY_NS}, NULL);
            session_lock(session);
        }
    }
    for (unsigned i = 0; !error && i < m.group.count; i++) {
        const struct node *each = m.group.nodes[i];

        vocl_log(LOG_WARN, "worker %u is worker %u now: %zu bytes of commands and data again, %ld ms%s",
                 each->journal->was, each->peer, each->journal->log.length + each->journal->kept_bytes,
                 (clock_ns() - since) / 1000000, i ? " (it depended on that worker)" : "");
    }
    if (error && !*m.why && group_bound(&m.group))
        snprintf(m.why, sizeof(m.why), "%s", group_bound(&m.group));
    if (error == -ECONNRESET && !*m.why)
        snprintf(m.why, sizeof(m.why), "%d replacement workers in a row were lost, too", MOST_TRIES);
    if (error)
        end_badly(&m, node, error);
    else
        end_well(&m.group);
    group_free(&m.group);
    session_news(session);
    session_need_progress(session);
}
