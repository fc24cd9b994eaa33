/*
 * Workers that are lost are replaced. Two threads: one waits for losses, one takes checkpoints, so that a loss during a
 * checkpoint is one as any other.
 */
#include "client/recover.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/journal.h"
#include "client/moving.h"

#define MOST_LOSSES 16 /* between two checkpoints: it may be the commands that end their worker */
#define MOST_TRIES 10
#define MOST_FULL 16  /* a journal that is so many times too long, as no checkpoint can be taken, is given up */
#define MOST_ENDING 5 /* seconds that a process that was killed may take to end */
#define SECOND 1000000000L

/* Under the session's lock. */
static struct {
    struct session *session;
    bool on, begun; /* begun: all nodes have told their devices */
    pthread_cond_t lost, full;
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

void recover_after_fork(void)
{
    if (recovery.session)
        coherence_watch(false);
    recovery.session = NULL;
    recovery.on = recovery.begun = false;
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

static void give_up(struct node *node, const char *why)
{
    vocl_log(LOG_ERROR, "worker %u is not replaced: %s", node->peer, why);
    journal_off(node->journal);
}

bool recover_begin(struct node *node)
{
    struct journal *j = node->journal;
    const char *bound;

    if (!recover_will(node))
        return false;
    j->lost = true;
    transport_place(session_transport(node->session), node->peer, j->host, sizeof(j->host));
    j->process = transport_peer_process(session_transport(node->session), node->peer);
    if (j->mover)
        journal_leave_out(j, &node->batch);
    if (j->mover)
        node->repeats = 0; /* the last one is elsewhere in the batch */
    bound = journal_bound(j);
    if (!bound && ++j->losses > MOST_LOSSES)
        bound = "too many have been lost since the last checkpoint";
    if (bound)
        give_up(node, bound);
    if (bound && !node->mending)
        return false;
    node->mending = true; /* if it was already, who does it sees that it has failed */
    pthread_cond_signal(&recovery.lost);
    session_news(node->session);
    return true;
}

int recover_move(struct node *node, struct node *target, const char **why)
{
    struct session *session = node->session;
    struct journal *j = node->journal;
    const unsigned to = target->peer;
    int error = 0;

    session_lock(session);
    *why = !recover_will(node) ? "what it was told is not kept" : journal_bound(j);
    if (*why || node->mending || !target->alive) {
        session_unlock(session);
        return *why ? -ENOTSUP : -ECONNRESET;
    }
    snprintf(j->host, sizeof(j->host), "%s", transport_peer_host(session_transport(session), target->peer));
    j->wanted = target;
    target->promised = false;
    node->mending = true;
    session_dismiss(node);
    pthread_cond_signal(&recovery.lost);
    session_news(session);
    while (node->mending && !session_stops(session)) {
        session_unlock(session);
        move_look_later();
        session_lock(session);
    }
    if (!node->alive || node->peer != to)
        error = -ECONNRESET;
    session_unlock(session);
    return error;
}

/* ---- what a node tells ---- */

void recover_note_event(struct node *node, uint32_t event, cl_int status)
{
    const struct _cl_event *known = handle_find(WIRE_EVENT, event);

    if (status > CL_COMPLETE)
        return;
    if (node->mending)
        replay_event(node->journal, event);
    if (status == CL_COMPLETE && known && known->queue && !known->ended && atomic_load(&known->status) > CL_COMPLETE)
        journal_known(node->journal, JOURNAL_EVENT, event);
}

void recover_note_reply(struct node *node, uint32_t call)
{
    if (node->journal && !recovery.begun)
        node->journal->told = true;
    if (node->mending)
        replay_reply(node->journal, call);
}

void recover_note_data(struct node *node, uint32_t tag)
{
    if (node->journal)
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

/* ---- another worker ---- */

/* One that has the memory that the lost one had; why it cannot. Of a node that has told nothing yet any will do. */
static int may_stand_for(struct node *node, struct node *other, char *why, size_t size)
{
    int error = node->journal->told ? session_front(node->session)->fits(node, other, why, size) : 0;

    if (!error && node->memory == NODE_MEMORY_SHARED && !arena_shared_with(other)) {
        snprintf(why, size, "the next worker cannot have the memory that the program shared with the lost one");
        error = other->alive ? -ENOTSUP : -ECONNRESET;
    }
    return error;
}

/* 0 with one that fits; -ECONNRESET: one was lost as it was asked, and the next may do. */
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

static int come_from(struct node *node, const char *where, struct node **out, char *why, size_t size)
{
    struct session *session = node->session;
    struct node *spare = NULL;
    int error = summon_worker(session, where, &spare, why, size);

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
    session_drop_spare(session, spare);
    session_unlock(session);
    return error;
}

/* That it moves to, if it has not been taken by another. */
static struct node *take_wanted(struct node *node)
{
    struct node *wanted;

    session_lock(node->session);
    wanted = node->journal->wanted;
    node->journal->wanted = NULL;
    if (wanted && !wanted->peer)
        wanted = NULL;
    session_unlock(node->session);
    return wanted;
}

/* A spare one, or one that comes: where the lost one was, or on another of the hosts, or where all began. */
static int find_another(struct node *node, struct node **out, char *why, size_t size)
{
    struct session *session = node->session;
    struct node *wanted = take_wanted(node);
    int error = wanted ? 0 : spare_that_fits(node, out, why, size);
    const char *host = node->journal->host;
    char other[256];

    if (wanted)
        *out = wanted;
    if (error && error != -ECONNRESET)
        error = come_from(node, host, out, why, size);
    for (unsigned i = 0; error && error != -ECONNRESET && i < session_node_count(session); i++) {
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

/* Under the lock. */
static void end_mending(struct node *node, int error)
{
    node->mending = false;
    if (error) {
        session_lose(node);
    } else {
        transfer_resume(node);
        stream_push(node);
    }
    session_news(node->session);
    session_need_progress(node->session);
}

static bool nobody_looks(void *argument)
{
    return !((struct journal *)argument)->looking;
}

/* Under the lock. While the lost one is in this memory still, or the program, nothing is done there. */
static void await_end(struct node *node)
{
    struct journal *j = node->journal;
    const long until = clock_ns() + MOST_ENDING * SECOND;

    while (j->process > 0 && !kill(j->process, 0) && clock_ns() < until) {
        session_unlock(node->session);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        session_lock(node->session);
    }
    session_wait(node->session, nobody_looks, j);
}

static void mend(struct node *node)
{
    struct session *session = node->session;
    struct journal *j = node->journal;
    const long since = clock_ns();
    const unsigned was = node->peer;
    char why[300] = "";
    int error = -ECONNRESET;

    for (unsigned tries = 0; error == -ECONNRESET && tries < MOST_TRIES && !j->off && !session_stops(session);
         tries++) {
        struct node *another = NULL;

        session_unlock(session);
        error = find_another(node, &another, why, sizeof(why));
        if (error == -ECONNRESET)
            nanosleep(&(struct timespec){0, 50000000}, NULL);
        session_lock(session);
        if (!error)
            await_end(node); /* which lets go of the lock: the other may be lost by then */
        if (!error && (!another->alive || another->promised))
            error = -ECONNRESET;
        if (error)
            continue;
        session_replace(node, another);
        j->lost = false;
        error = replay(node);
        vocl_log(LOG_DEBUG, "replay to worker %u: %s", node->peer, error ? strerror(-error) : "done");
    }
    if (error && !j->off)
        give_up(node, *why ? why : strerror(-error));
    if (!error)
        vocl_log(LOG_WARN, "worker %u is worker %u now: %zu bytes of commands and data again, %ld ms", was, node->peer,
                 j->log.length + j->kept_bytes, (clock_ns() - since) / 1000000);
    end_mending(node, error);
}

/* While the session starts: one that has told its devices waits until all have, for these are compared. */
static struct node *find_mending(struct session *session)
{
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->mending && (recovery.begun || !node->journal->told))
            return node;
    }
    return NULL;
}

static void *mend_thread(void *argument)
{
    struct session *session = argument;
    struct node *node;

    session_lock(session);
    while (!session_stops(session)) {
        node = find_mending(session);
        if (node)
            mend(node);
        else
            pthread_cond_wait(&recovery.lost, session_mutex(session));
    }
    session_unlock(session);
    return NULL;
}

/* ---- checkpoints ---- */

void recover_checkpoint_soon(void)
{
    pthread_cond_signal(&recovery.full);
}

static bool is_due(const struct node *node, long every)
{
    const struct journal *j = node->journal;

    return recovery.begun && node->alive && !node->mending && j && !j->off && j->since &&
           (j->full || (every && clock_ns() - j->since > every * SECOND));
}

/* Under the lock, which is let go. False: it is too early. */
static bool take_one(struct node *node)
{
    struct journal *j = node->journal;
    char why[300] = "";
    int error;

    session_unlock(node->session);
    summon_lock();
    error = checkpoint(node, why, sizeof(why));
    summon_unlock();
    session_lock(node->session);
    if (error)
        vocl_log(LOG_DEBUG, "no checkpoint of worker %u: %s", node->peer, *why ? why : strerror(-error));
    if (error && j->log.length + j->kept_bytes > MOST_FULL * j->limit)
        give_up(node, "the program leaves no moment for a checkpoint");
    return !error;
}

static void *checkpoint_thread(void *argument)
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
            pthread_cond_timedwait(&recovery.full, session_mutex(session), &until);
        }
        wait = true;
        for (unsigned i = 0; i < session_node_count(session) && !session_stops(session); i++) {
            if (is_due(session_node(session, i), every) && take_one(session_node(session, i)))
                wait = false;
        }
    }
    session_unlock(session);
    return NULL;
}

static bool start_threads(struct session *session)
{
    pthread_t mender, taker;

    if (thread_start(&mender, mend_thread, session))
        return false;
    pthread_detach(mender);
    if (!thread_start(&taker, checkpoint_thread, session))
        pthread_detach(taker);
    return true;
}

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
    recovery.session = session;
    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (!node->in_process)
            node->journal = journal_new(node, (size_t)settings_bytes(SETTING_RECOVER_LOG));
    }
    coherence_watch(true);
    recovery.on = start_threads(session);
}

void recover_start(struct session *session)
{
    if (recovery.session != session)
        return;
    session_lock(session);
    recovery.begun = true;
    pthread_cond_signal(&recovery.lost);
    session_unlock(session);
    vocl_log(LOG_DEBUG, "all devices are told; workers that are lost are replaced");
}
