/*
 * Begins and ends a session, and dispatches what its transport receives: the one file that knows all folders of the
 * client.
 */
#include <errno.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/core/deliver.h"
#include "client/core/halt.h"
#include "client/core/members.h"
#include "client/core/per_process.h"
#include "client/data/address_command.h"
#include "client/data/coherence.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/svm.h"
#include "client/note.h"
#include "client/start.h"
#include "client/survive/checkpoint.h"
#include "client/survive/replicas.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"
#include "client/trace/timeline.h"
#include "wire/tables.h"

static PER_PROCESS struct mutex start_lock = MUTEX(RANK_START);
static struct session *_Atomic current;
static PER_PROCESS bool start_failed;
static PER_PROCESS long start_next; /* if not 0, a start that failed may be repeated at that time, ns */
static PER_PROCESS char start_why[512];
static bool exiting;

#define START_PAUSE_NS 1000000000 /* programs ask for the platforms several times in a row */

/* ---- frames and losses ---- */

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct session *session = owner;
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    struct node *node = members_node(session, peer);
    uint16_t number;
    int more;

    if (!node) /* it has just joined, or left */
        return 0;
    wire_trace("<-", peer, bytes, length);
    while ((more = wire_next(&frame, &number, &fields)) == 1) {
        if (!note_take(node, number, fields)) {
            vocl_log(LOG_ERROR, "worker %u sent a malformed %s", peer, wire_name(number));
            return -EBADMSG;
        }
    }
    return more < 0 ? -EBADMSG : 0;
}

/* Ends what the folders above core/ have under way on a lost node. */
static void end_what_was_under_way(struct node *node)
{
    transfer_lose(node);
    block_lose(node);
    recover_tell_lost(node);
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    struct session *session = owner;
    struct node *node = members_node(session, peer);

    replicas_lost(peer);
    if (!node)
        return;
    vocl_log(why ? LOG_ERROR : LOG_DEBUG, "worker %u on %s is lost: %s", peer,
             transport_peer_host(session->transport, peer), why ? why : "this process is ending");
    if (!why || !recover_begin(node))
        session_lose(node);
}

static bool on_keeps(void *owner, unsigned peer)
{
    struct session *session = owner;
    bool keeps = false;

    for (unsigned i = 0; i < session_node_count(session); i++)
        keeps |= session_node(session, i)->failing_over && session_node(session, i)->peer == peer;
    return keeps;
}

/* ---- begin and end ---- */

/* Sends what was enqueued, then ends the session. Commands for this process' own devices are dropped: nobody saw their
 * results, and their drivers may be down already. */
static void session_close(struct session *session)
{
    if (!session->stop)
        timeline_end(session);
    session_lock(session);
    if (session->stop) {
        session_unlock(session);
        return;
    }
    for (unsigned i = 0; i < session->node_count; i++) {
        if (!session->nodes[i].in_process)
            stream_push(&session->nodes[i]);
    }
    deliver_stop(session);
    if (session->stop) { /* set by another thread meanwhile */
        session_unlock(session);
        return;
    }
    session->stop = true;
    halt_end();
    recover_stop();
    transport_wake(session->transport);
    pthread_cond_broadcast(&session->aside);
    deliver_wake();
    session_unlock(session);
    pthread_join(session->thread, NULL);
    session_lock(session);
    session_await_leader(session);
    for (unsigned i = 0; i < members_nodes(session); i++)
        session->nodes[i].alive = false;
    transport_close(session->transport);
    session_unlock(session);
}

static void on_ending(void *owner)
{
    session_exit_begin();
    session_close(owner);
}

/* The user's settings name files that are loaded and started. They must not be with the rights of a setuid program. */
static bool gains_rights(void)
{
    bool gains = getauxval(AT_SECURE) != 0;

    if (gains)
        vocl_log(LOG_ERROR, "no session: the program has more privileges than its user (setuid, setgid, capabilities)");
    return gains;
}

/* A pool that has no device for the program now may have one later. Other reasons do not pass by themselves, and a
 * start that fails for them may take long. */
static void note_failure(int error, const char *why)
{
    const bool known = !strcmp(why, start_why);

    vocl_log(known ? LOG_INFO : LOG_ERROR, "no session: %s; run `vocl doctor` with the same options to find the reason",
             why);
    snprintf(start_why, sizeof(start_why), "%s", why);
    start_next = error == -ENODEV ? clock_ns() + START_PAUSE_NS : 0;
}

static bool may_start(void)
{
    return !start_failed || (start_next && clock_ns() >= start_next);
}

static struct session *session_start(const struct front_end *front)
{
    struct session *session = calloc(1, sizeof(*session));
    const struct transport_callbacks callbacks = {
        .owner = session, .frame = on_frame, .lost = on_lost, .ending = on_ending, .keeps = on_keeps};
    const uint64_t since = timeline_now();
    char why[512] = "";
    bool has_local;
    void *view;
    int error;

    if (!session || gains_rights()) {
        free(session);
        return NULL;
    }
    vocl_log_stage(NULL);
    session_begin(session);
    session->spin_ns = settings_number(SETTING_SPIN_US) * 1000;
    session->front = front;
    session->lost = end_what_was_under_way;
    error = transport_open_client(&callbacks, why, sizeof(why), &session->transport);
    if (error) {
        note_failure(error, why);
        free(session);
        return NULL;
    }
    has_local = settings_number(SETTING_LOCAL) && local_open(session, session->transport);
    if (!members_find(session, has_local)) {
        transport_close(session->transport);
        return NULL;
    }
    recover_open(session);
    if (session_drive(session)) {
        transport_close(session->transport);
        return NULL;
    }
    if (since)
        timeline_text(TIMELINE_SPAN, 0, since, "the session starts");
    session_lock(session); /* the session's thread may be sending the batches */
    timeline_open(session);
    session_unlock(session);
    view = front->open(session);
    if (!view) {
        session_close(session);
        return NULL;
    }
    session_lock(session);
    session->view = view;
    session_unlock(session);
    vocl_log_stage("devices told");
    move_start(session);
    recover_start(session);
    return session;
}

/* ---- forks ---- */

static void before_fork(void)
{
    exchange_before_fork();
}

static void after_fork_in_parent(void)
{
    exchange_after_fork(false);
}

/* The child of a fork has no session, and may start its own. The parent's continues. */
static void after_fork(void)
{
    struct session *session = atomic_load(&current);

    exchange_after_fork(true);
    hostptr_after_fork();
    per_process_after_fork();
    arena_after_fork();
    timeline_after_fork();
    sites_again();
    deliver_after_fork();
    halt_after_fork();
    if (!session)
        return;
    session->front->after_fork();
    session->under_way = (struct under_way){0}; /* it belongs to threads that the child does not have */
    session_begin(session);
    session->stop = true;
    for (unsigned i = 0; i < members_nodes(session); i++)
        session->nodes[i].alive = false;
    transport_forget(session->transport);
    atomic_store(&current, NULL);
}

struct session *session_get(const struct front_end *front)
{
    struct session *session = atomic_load(&current);
    static bool watched;

    if (session)
        return session;
    mutex_lock(&start_lock);
    session = atomic_load(&current);
    /* a worker's own OpenCL must not find workers */
    if (!session && may_start() && !exiting && !getenv("VOCL_WORKER")) {
        if (!watched)
            pthread_atfork(before_fork, after_fork_in_parent, after_fork);
        watched = true;
        handle_kinds(front->kinds, front->dispatch);
        start_next = 0;
        session = session_start(front);
        start_failed = !session;
        atomic_store(&current, session);
    }
    mutex_unlock(&start_lock);
    if (!session)
        session_exit_wait();
    return session;
}

/* Runs when the process exits or the library is unloaded. The MPI library may have been finalized before. */
__attribute__((destructor)) static void session_end(void)
{
    struct session *session = atomic_load(&current);

    exiting = true;
    session_exit_begin();
    if (session)
        session_close(session);
}
