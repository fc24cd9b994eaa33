/*
 * The session: this process' job of workers, and who drives its transport.
 *
 * One lock guards the transport, the streams and the events. Whoever waits drives: one thread at a time, the leader,
 * polls and sleeps on the bells; others that wait sleep until the leader has news. While no application thread waits,
 * the session's own thread leads; when one comes, it steps aside for a while, so that a wait costs one wake-up.
 */
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/keep.h"
#include "client/members.h"
#include "client/moving.h"
#include "wire/tables.h"

#define ASIDE_NS 20000000 /* how long the session's thread stays aside */
#define SLEEP_US 1000000
#define LEAVE_NS 1000000000 /* that who leads may take to stop when the process ends */

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *_Atomic current;
static bool start_failed, exiting;

void session_lock(struct session *session)
{
    pthread_mutex_lock(&session->lock);
}

void session_unlock(struct session *session)
{
    pthread_mutex_unlock(&session->lock);
}

pthread_mutex_t *session_mutex(struct session *session)
{
    return &session->lock;
}

bool session_stops(const struct session *session)
{
    return session->stop;
}

struct transport *session_transport(struct session *session)
{
    return session->transport;
}

struct under_way *session_under_way(struct session *session)
{
    return &session->under_way;
}

const struct front_end *session_front(const struct session *session)
{
    return session->front;
}

void *session_view(const struct session *session)
{
    return session->view;
}

/* ---- what arrives ---- */

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct session *session = owner;
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    struct node *node = members_node(session, peer);
    uint16_t number;
    int more;

    if (!node) /* it has just come, or gone */
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

void session_lose(struct node *node)
{
    node->alive = false;
    wire_buffer_free(&node->batch);
    call_lose(node);
    transfer_lose(node);
    event_lose(node);
    destructor_lose(node);
    block_lose(node);
    recover_tell_lost(node);
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    struct session *session = owner;
    struct node *node = members_node(session, peer);

    keep_lost(peer);
    if (!node)
        return;
    vocl_log(why ? LOG_ERROR : LOG_DEBUG, "worker %u on %s is lost: %s", peer,
             transport_peer_host(session->transport, peer), why ? why : "this process ends");
    if (!why || !recover_begin(node))
        session_lose(node);
}

static bool on_keeps(void *owner, unsigned peer)
{
    struct session *session = owner;
    bool keeps = false;

    for (unsigned i = 0; i < session_node_count(session); i++)
        keeps |= session_node(session, i)->mending && session_node(session, i)->peer == peer;
    return keeps;
}

/* ---- who drives ---- */

static _Thread_local bool polls;

bool session_polls(void)
{
    return polls;
}

static int progress(struct session *session)
{
    int count;

    polls = true;
    count = transport_poll(session->transport);
    for (unsigned i = 0; i < members_nodes(session); i++)
        stream_advance(&session->nodes[i]);
    polls = false;
    return count;
}

/* What comes in between is taken, too. */
static void announce(struct session *session)
{
    polls = true;
    transport_announce(session->transport);
    polls = false;
}

/* Lead for a turn: until something happened, at most for one sleep. The lock is let go in between. */
static void lead(struct session *session, bool own_thread)
{
    long until = clock_ns() + (own_thread || crowd_here(&session->crowd) ? 0 : session->spin_ns);
    long timeout = SLEEP_US;

    session->leading = true;
    session->leader = pthread_self();
    session->own_thread_leads = own_thread;
    if (progress(session))
        goto done;
    while (clock_ns() < until || (transport_bulk_pending(session->transport) && !(own_thread && session->waiters))) {
        session_unlock(session);
        crowd_yield(&session->crowd);
        session_lock(session);
        if (progress(session) || session->stop)
            goto done;
    }
    announce(session);
    if (progress(session) || session->stop || (own_thread && session->waiters))
        goto done;
    for (unsigned i = 0; i < members_nodes(session); i++) {
        if (session->nodes[i].batch.length && session->nodes[i].alive)
            timeout = 10000;
    }
    session_unlock(session);
    transport_sleep(session->transport, -1, timeout);
    session_lock(session);
    progress(session);
done:
    session->leading = false;
    session->own_thread_leads = false;
    if (session->waiters > (own_thread ? 0 : 1) || session->stop)
        pthread_cond_broadcast(&session->news);
}

void session_listen(struct session *session)
{
    session_lock(session);
    if (!session->leading && !session->stop) {
        session->leading = true;
        session->leader = pthread_self();
        progress(session);
        session->leading = false;
        if (session->waiters)
            pthread_cond_broadcast(&session->news);
    }
    session_unlock(session);
}

static struct timespec after(long ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns % 1000000000;
    until.tv_sec += ns / 1000000000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

/* The process ends: nobody uses the transport any more; but for this thread itself,
 * which may be in a handler of a signal. */
static void wait_for_leader(struct session *session)
{
    const struct timespec until = after(LEAVE_NS);

    while (session->leading && !pthread_equal(session->leader, pthread_self())) {
        if (pthread_cond_timedwait(&session->news, &session->lock, &until))
            break;
    }
}

/* The process ends, by another thread: as natively, a wait goes on until that takes this thread with it. */
static void wait_after_end(struct session *session)
{
    if (pthread_equal(session->ender, pthread_self()))
        return;
    session->leading = false;
    session_unlock(session);
    for (;;)
        pause();
}

void session_wait(struct session *session, bool (*ready)(void *), void *argument)
{
    /* what is waited for may need what is to happen on another node */
    for (unsigned i = 0; i < members_nodes(session); i++)
        stream_push(&session->nodes[i]);
    if (ready(argument))
        return;
    deliver_away(session);
    session->waiters++;
    while (!ready(argument)) {
        if (session->stop)
            wait_after_end(session);
        if (session->stop && !session->leading)
            break;
        if (!session->leading) {
            lead(session, false);
            continue;
        }
        if (session->own_thread_leads)
            transport_wake(session->transport);
        pthread_cond_wait(&session->news, &session->lock);
    }
    session->waiters--;
    deliver_back();
    if (session->waiters && !session->leading)
        pthread_cond_signal(&session->news);
}

bool session_wait_on(struct session *session, pthread_cond_t *condition)
{
    if (session->stop)
        wait_after_end(session);
    if (session->stop)
        return false;
    pthread_cond_wait(condition, &session->lock);
    return true;
}

void session_news(struct session *session)
{
    if (session->waiters)
        pthread_cond_broadcast(&session->news);
    if (session->leading && !session->own_thread_leads)
        transport_wake(session->transport);
}

static void *session_thread(void *argument)
{
    struct session *session = argument;
    struct timespec until;

    session_lock(session);
    while (!session->stop) {
        if (!session->waiters && !session->leading)
            lead(session, true);
        if (!session->waiters && !session->leading)
            continue;
        until = after(ASIDE_NS);
        pthread_cond_timedwait(&session->aside, &session->lock, &until);
    }
    session_unlock(session);
    return NULL;
}

void session_need_progress(struct session *session)
{
    if (!session->leading)
        pthread_cond_signal(&session->aside);
}

/* ---- start ---- */

static void init_lock(struct session *session)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;

    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&session->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&session->news, &cond);
    pthread_cond_init(&session->aside, &cond);
}

/*
 * The process exits: what was enqueued is sent, then the session ends. What is left for its own devices is nothing that
 * anybody saw, and their drivers may have been taken down already.
 */
static void on_ending(void *owner)
{
    struct session *session = owner;

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
    if (session->stop) { /* by another thread meanwhile */
        session_unlock(session);
        return;
    }
    session->stop = true;
    session->ender = pthread_self();
    halt_end();
    recover_stop();
    transport_wake(session->transport);
    pthread_cond_broadcast(&session->aside);
    deliver_wake();
    session_unlock(session);
    pthread_join(session->thread, NULL);
    session_lock(session);
    wait_for_leader(session);
    for (unsigned i = 0; i < members_nodes(session); i++)
        session->nodes[i].alive = false;
    transport_close(session->transport);
    session_unlock(session);
}

/* The user's settings name what is loaded and started, which must not be with the rights of a setuid program. */
static bool gains_rights(void)
{
    bool gains = getauxval(AT_SECURE) != 0;

    if (gains)
        vocl_log(LOG_ERROR, "no session: the program has rights that its user has not (setuid, setgid, capabilities)");
    return gains;
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
    transfers_init(&session->under_way.transfers);
    init_lock(session);
    session->spin_ns = settings_number(SETTING_SPIN_US) * 1000;
    session->front = front;
    error = transport_open_client(&callbacks, why, sizeof(why), &session->transport);
    if (error) {
        vocl_log(LOG_ERROR, "no session: %s; `vocl doctor` looks for what is wrong", why);
        free(session);
        return NULL;
    }
    has_local = settings_number(SETTING_LOCAL) && local_open(session, session->transport);
    if (!members_find(session, has_local)) {
        transport_close(session->transport);
        return NULL;
    }
    recover_open(session);
    if (thread_start(&session->thread, session_thread, session)) {
        transport_close(session->transport);
        return NULL;
    }
    if (since)
        timeline_text(TIMELINE_SPAN, 0, since, "the session starts");
    session_lock(session); /* the thread may be sending what has gathered */
    timeline_open(session);
    session_unlock(session);
    view = front->open(session);
    if (!view) {
        on_ending(session);
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

static void before_fork(void)
{
    exchange_before_fork();
}

static void after_fork_in_parent(void)
{
    exchange_after_fork(false);
}

/* The child of a fork has no session: it may start its own. The parent's goes on undisturbed. */
static void after_fork(void)
{
    struct session *session = atomic_load(&current);

    exchange_after_fork(true);
    hostptr_after_fork();
    pthread_mutex_init(&start_lock, NULL);
    handle_after_fork();
    arena_after_fork();
    timeline_after_fork();
    sites_after_fork();
    usm_after_fork();
    addressed_after_fork();
    arrival_after_fork();
    deliver_after_fork();
    destructor_after_fork();
    host_command_after_fork();
    summon_after_fork();
    halt_after_fork();
    rest_after_fork();
    save_after_fork();
    recover_after_fork();
    keep_after_fork();
    start_failed = false;
    if (!session)
        return;
    session->front->after_fork();
    session->under_way = (struct under_way){0}; /* of threads that are gone */
    transfers_init(&session->under_way.transfers);
    init_lock(session);
    session->stop = true;
    session->ender = pthread_self();
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
    pthread_mutex_lock(&start_lock);
    session = atomic_load(&current);
    /* a worker's own OpenCL must not find workers */
    if (!session && !start_failed && !exiting && !getenv("VOCL_WORKER")) {
        if (!watched)
            pthread_atfork(before_fork, after_fork_in_parent, after_fork);
        watched = true;
        handle_kinds(front->kinds, front->dispatch);
        session = session_start(front);
        start_failed = !session;
        atomic_store(&current, session);
    }
    pthread_mutex_unlock(&start_lock);
    return session;
}

/* Runs when the process exits or the library is unloaded; the MPI library may have gone before. */
__attribute__((destructor)) static void session_end(void)
{
    struct session *session = atomic_load(&current);

    exiting = true;
    if (session)
        on_ending(session);
}
