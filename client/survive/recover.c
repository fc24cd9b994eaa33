/*
 * Replaces lost workers, by two threads: one waits for losses, one takes snapshots, so that a loss during a snapshot is
 * handled like any other.
 */
#include "client/survive/recover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/core/halt.h"
#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/data/coherence.h"
#include "client/survive/journal.h"
#include "client/survive/replicas.h"
#include "client/survive/moving.h"

#define MOST_LOSSES 16 /* between two snapshots: the commands themselves may crash the worker */
#define MOST_FULL 16   /* a journal that is this many times too long, as no snapshot is possible, is given up */
#define SECOND 1000000000L
#define MOST_DOUBTS 64
#define DOUBT_NS (5 * SECOND) /* plus twice the peer timeout: by then a true loss is known here, too */

/* A worker has reported the loss of another one, which is alive as seen from here. */
struct doubt {
    struct node *node;
    unsigned by, peer;
    long since;
};

/* Guarded by the session's lock. */
static PER_PROCESS struct {
    struct session *session;
    bool on, begun;    /* begun: all nodes have described their devices */
    long failing_over; /* since when (ns) the snapshot thread has seen a failover, or 0 */
    pthread_cond_t lost, full;
    struct doubt doubts[MOST_DOUBTS];
    unsigned doubt_count;
} recovery;

static void init_conditions(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&recovery.lost, &attributes);
    pthread_cond_init(&recovery.full, &attributes);
    pthread_condattr_destroy(&attributes);
}

void recover_stop(void)
{
    if (!recovery.session)
        return;
    pthread_cond_broadcast(&recovery.lost);
    pthread_cond_broadcast(&recovery.full);
}

bool recover_will(const struct node *node)
{
    return node->journal && recovery.on && !node->journal->off && !session_stops(node->session);
}

bool recover_is_on(void)
{
    return recovery.on;
}

bool recover_any_failover(struct session *session)
{
    bool any = false;

    for (unsigned i = 0; i < session_node_count(session); i++)
        any |= session_node(session, i)->failing_over;
    return any;
}

void recover_give_up(struct node *node, const char *why)
{
    vocl_log(LOG_ERROR, "worker %u is not replaced: %s", node->peer, why);
    journal_off(node->journal);
}

/* Returns why the node's group cannot be replayed, or NULL. */
static const char *bound_of(struct node *node)
{
    struct group group;
    const char *bound;

    if (group_find(node, &group))
        return "there is no memory";
    bound = group_bound(&group);
    group_free(&group);
    return bound;
}

/* ---- losses that workers report ---- */

static void tell_lost(struct node *node, unsigned peer)
{
    const struct wire_lose_worker m = {peer};

    if (!node->alive || !node->peer || node->failing_over) /* the node gets another worker */
        return;
    wire_put_lose_worker(&node->batch, &m);
    session_need_progress(node->session);
}

/* Whether the spare worker is the successor for a node that is being replayed. */
static bool is_next(const struct node *spare)
{
    bool is = false;

    for (unsigned i = 0; i < session_node_count(spare->session) && !is; i++) {
        const struct journal *j = session_node(spare->session, i)->journal;

        is = j && j->wanted == spare;
    }
    return is;
}

/* Reports a loss to spare workers: for_good to all, else only to the target of a move, as contents on their way to it
 * are not replayed. Other spare workers receive nothing yet; once they take a place, what they receive from a lost
 * worker that is replaced will come from its successor. */
static void tell_spares(const struct node *lost, bool for_good)
{
    for (unsigned i = 0; i < session_spare_count(lost->session); i++) {
        struct node *spare = session_spare(lost->session, i);

        if (for_good || (spare->promised && !is_next(spare)))
            tell_lost(spare, lost->peer);
    }
}

void recover_tell_lost(struct node *lost)
{
    struct session *session = lost->session;

    if (!recovery.on || !lost->journal)
        return;
    tell_spares(lost, true);
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node != lost && node->journal)
            tell_lost(node, lost->peer);
    }
}

void recover_note_lost(struct node *node, unsigned peer)
{
    if (!recovery.on || !transport_peer_alive(session_transport(node->session), peer))
        return;
    if (recovery.doubt_count == MOST_DOUBTS)
        tell_lost(node, peer);
    else
        recovery.doubts[recovery.doubt_count++] = (struct doubt){node, node->peer, peer, clock_ns()};
}

/* Settles doubts that have lasted too long: the two workers cannot reach each other, so what should go between them has
 * failed. */
static void look_at_doubts(struct session *session)
{
    const long most = DOUBT_NS + 2 * settings_peer_ms() * (SECOND / 1000);

    for (unsigned i = 0; i < recovery.doubt_count;) {
        const struct doubt doubt = recovery.doubts[i];
        const bool same = doubt.node->alive && doubt.node->peer == doubt.by &&
                          transport_peer_alive(session_transport(session), doubt.peer);

        if (same && clock_ns() - doubt.since < most) {
            i++;
            continue;
        }
        if (same)
            tell_lost(doubt.node, doubt.peer);
        recovery.doubts[i] = recovery.doubts[--recovery.doubt_count];
    }
}

/* ---- losses ---- */

bool recover_begin(struct node *node)
{
    struct journal *j = node->journal;
    const char *bound;

    if (!recover_will(node))
        return false;
    if (!j->lost)
        failover_note_place(node);
    j->lost = true;
    bound = bound_of(node);
    if (!bound && ++j->losses > MOST_LOSSES)
        bound = "its workers were lost too often since the last snapshot";
    if (bound)
        recover_give_up(node, bound);
    if (bound && !node->failing_over)
        return false;
    node->losses++;
    failover_hold(node); /* if that was so already, the failover under way sees that it has failed */
    tell_spares(node, false);
    pthread_cond_signal(&recovery.lost);
    session_news(node->session);
    return true;
}

static bool none_failing_over(void *session)
{
    return session_stops(session) || !recover_any_failover(session);
}

/* Whether the node's worker may be dismissed. Returns 0 or an error, with *why for -ENOTSUP. Waits for other failovers
 * first, as any change does (move.c). Lock held, released meanwhile. */
static int may_go(struct node *node, struct node *target, const char **why)
{
    session_wait(node->session, none_failing_over, node->session);
    if (replicas_hand_over(&(struct leaving){&node->peer, 1}, &target, 1) < 2)
        *why = "the contents that it keeps cannot be kept there";
    else
        *why = !recover_will(node) ? "it has no journal" : bound_of(node);
    if (*why)
        return -ENOTSUP;
    return recover_any_failover(node->session) || !target->alive ? -ECONNRESET : 0;
}

int recover_move(struct node *node, struct node *target, struct move_watch *watch, const char **why)
{
    struct session *session = node->session;
    struct journal *j = node->journal;
    const unsigned to = target->peer;
    int error;

    session_lock(session);
    error = may_go(node, target, why);
    if (!error && watch && watch->leaves) {
        session_unlock(session);
        watch->leaves(watch->argument);
        session_lock(session);
        error = may_go(node, target, why);
    }
    if (error) {
        session_unlock(session);
        return error;
    }
    j->wanted = target;
    failover_hold(node);
    failover_dismiss(node);
    snprintf(j->host, sizeof(j->host), "%s", transport_peer_host(session_transport(session), target->peer));
    pthread_cond_signal(&recovery.lost);
    session_news(session);
    session_wait(session, failover_is_over, node);
    if (!node->alive || node->peer != to)
        error = -ECONNRESET;
    session_unlock(session);
    return error;
}

/* ---- messages of a node ---- */

void recover_note_event(struct node *node, uint32_t event, cl_int status)
{
    const struct _cl_event *known = handle_find(WIRE_EVENT, event);

    if (status > CL_COMPLETE)
        return;
    if (node->failing_over)
        replay_event(node->journal, event);
    if (status == CL_COMPLETE && known && known->queue && !known->ended && atomic_load(&known->status) > CL_COMPLETE)
        journal_known(node->journal, JOURNAL_EVENT, event);
}

void recover_note_reply(struct node *node, uint32_t call)
{
    if (node->journal && !recovery.begun)
        node->journal->told = true;
    if (node->failing_over)
        replay_reply(node->journal, call);
}

/* If no call waits for the answer, this is a replay of an allocation that succeeded the first time. */
void recover_note_refused(struct node *node, uint32_t call)
{
    if (call_is_open(node, call))
        journal_unsay(node->journal, call);
    else if (node->failing_over)
        replay_refused(node->journal);
}

static void note_data(struct node *node, uint32_t tag)
{
    journal_known(node->journal, JOURNAL_DATA, tag);
}

uint32_t recover_printed(struct node *node, unsigned stream, uint32_t length)
{
    struct journal *j = node->journal;
    uint64_t skip;

    if (!j)
        return 0;
    skip = j->skip[stream - 1] < length ? j->skip[stream - 1] : length;
    j->skip[stream - 1] -= skip;
    j->printed[stream - 1] += length - skip;
    return (uint32_t)skip;
}

/* ---- the threads ---- */

/* Finds a node to replace the worker of. While the session starts, a node that has described its devices waits until
 * all have, as these are compared. */
static struct node *find_failing_over(struct session *session)
{
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->failing_over && (recovery.begun || !node->journal->told))
            return node;
    }
    return NULL;
}

static void *failover_thread(void *argument)
{
    struct session *session = argument;
    struct node *node;

    session_lock(session);
    while (!session_stops(session)) {
        node = find_failing_over(session);
        if (node)
            failover(node);
        else
            mutex_wait(&recovery.lost, session_mutex(session));
    }
    session_unlock(session);
    return NULL;
}

/* ---- snapshots ---- */

void recover_snapshot_soon(void)
{
    pthread_cond_signal(&recovery.full);
}

static bool is_due(const struct node *node, long every)
{
    const struct journal *j = node->journal;

    return recovery.begun && node->alive && !node->failing_over && j && !j->off && j->since &&
           (j->full || (every && clock_ns() - j->since > every * SECOND));
}

/* Whether to wait for a failover, since its new worker is to keep others' contents; but not for ever. */
static bool awaits_keeper(struct session *session)
{
    bool any = false;

    for (unsigned i = 0; i < session_node_count(session) && !any && replicas_is_on(); i++)
        any = session_node(session, i)->failing_over;
    if (!any)
        recovery.failing_over = 0;
    else if (!recovery.failing_over)
        recovery.failing_over = clock_ns();
    return any && clock_ns() - recovery.failing_over < PATIENCE_NS;
}

static bool is_too_long(const struct journal *j)
{
    return j->log.length + j->kept_bytes > MOST_FULL * j->limit;
}

/* Lock held, released meanwhile. */
static void give_anew(struct node *node)
{
    struct journal *j = node->journal;
    bool whole;

    session_unlock(node->session);
    summon_lock();
    pause_lock(); /* a move hands over, too */
    session_lock(node->session);
    j->once = false;
    whole = replicas_anew(node);
    session_unlock(node->session);
    pause_unlock();
    summon_unlock();
    session_lock(node->session);
    if (whole && node->alive && !node->failing_over)
        vocl_log(LOG_INFO, "contents of worker %u are stored by two workers again", node->peer);
    else if (!j->since)
        j->since = clock_ns();
    j->full |= !whole;
}

/* Takes a snapshot. Returns false if it failed, and is to be tried again later. Lock held, released meanwhile. */
static bool take_one(struct node *node)
{
    struct journal *j = node->journal;
    char why[300] = "";
    int error;

    session_unlock(node->session);
    summon_lock();
    error = snapshot(node, why, sizeof(why));
    summon_unlock();
    session_lock(node->session);
    if (error)
        vocl_log(LOG_DEBUG, "no snapshot of worker %u: %s", node->peer, *why ? why : strerror(-error));
    if (error == -ENOTSUP && (j->log.length > JOURNAL_LONGEST || is_too_long(j)))
        recover_give_up(node, *why ? why : "what is in pipes");
    else if (error && is_too_long(j))
        recover_give_up(node, "the program leaves no moment for a snapshot");
    return !error;
}

static void *snapshot_thread(void *argument)
{
    struct session *session = argument;
    const long every = settings_number(SETTING_RECOVER_EVERY);
    struct timespec until;
    bool wait = false;

    session_lock(session);
    while (!session_stops(session)) {
        if (wait) {
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_sec++;
            mutex_wait_until(&recovery.full, session_mutex(session), &until);
        }
        wait = true;
        look_at_doubts(session);
        for (unsigned i = 0; i < session_node_count(session) && !session_stops(session) && !awaits_keeper(session);
             i++) {
            struct node *node = session_node(session, i);

            if (recover_will(node) && node->alive && !node->failing_over && node->journal->once)
                give_anew(node);
            if (is_due(node, every) && take_one(node))
                wait = false;
        }
    }
    session_unlock(session);
    return NULL;
}

static bool start_threads(struct session *session)
{
    pthread_t replacer, taker;

    if (thread_start(&replacer, failover_thread, session))
        return false;
    pthread_detach(replacer);
    if (!thread_start(&taker, snapshot_thread, session))
        pthread_detach(taker);
    return true;
}

static const struct observer observer = {.sent = journal_sent,
                                         .data = journal_data,
                                         .arrived = note_data,
                                         .forgotten = journal_forget,
                                         .met = group_meet,
                                         .will_fail_over = recover_will,
                                         .begins = epoch_enter,
                                         .ends = epoch_leave,
                                         .uses = epoch_use,
                                         .is_settled = epoch_is_settled,
                                         .opens = epoch_open,
                                         .closes = epoch_close,
                                         .made = epoch_add,
                                         .gone = epoch_forget,
                                         .apart = epoch_count};

void recover_open(struct session *session)
{
    const char *how = settings_string(SETTING_RECOVER);

    if (!*how)
        return;
    if (strcmp(how, "replay") || !halt_can()) {
        vocl_log(LOG_ERROR, "lost workers are not replaced: %s",
                 strcmp(how, "replay") ? "VOCL_RECOVER has to be replay" : "this system has no membarrier");
        return;
    }
    init_conditions();
    replicas_open();
    recovery.session = session;
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (!node->in_process)
            node->journal = journal_new(node, (size_t)settings_bytes(SETTING_RECOVER_LOG));
        if (node->journal)
            node->observer = &observer;
    }
    coherence_watch(true);
    session_lock(session); /* the threads read recovery.on as soon as they run */
    recovery.on = start_threads(session);
    session_unlock(session);
}

void recover_start(struct session *session)
{
    if (recovery.session != session)
        return;
    session_lock(session);
    recovery.begun = true;
    pthread_cond_signal(&recovery.lost);
    session_unlock(session);
    vocl_log(LOG_DEBUG, "all devices are known; lost workers will be replaced");
}
