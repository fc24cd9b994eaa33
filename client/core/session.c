/*
 * The session: this process' job of workers, and which thread drives its transport.
 *
 * One lock guards the transport, the streams and the events. A thread that waits drives the transport: one at a time,
 * the leader, polls and sleeps on the bells; others that wait sleep until the leader has news. While no application
 * thread waits, the session's own thread leads; when one comes, it steps aside for a while, so that a wait costs one
 * wake-up.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "client/core/deliver.h"
#include "client/core/event.h"
#include "client/core/members.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"

#define ASIDE_NS 20000000 /* how long the session's thread stays aside */
#define SLEEP_US 1000000
#define LOOK_NS 100000
#define LEAVE_NS 1000000000 /* how long the leader may take to stop when the process ends */

void session_lock(struct session *session)
{
    mutex_lock(&session->lock);
}

void session_unlock(struct session *session)
{
    mutex_unlock(&session->lock);
}

struct mutex *session_mutex(struct session *session)
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

/* ---- driving the transport ---- */

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

/* Announces the sleep to the peers. Messages that arrive meanwhile are handled, too. */
static void announce(struct session *session)
{
    polls = true;
    transport_announce(session->transport);
    polls = false;
}

/* Leads until something happens, for at most one sleep. The lock is released in between. */
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

void session_await_leader(struct session *session)
{
    const struct timespec until = after(LEAVE_NS);

    while (session->leading && !pthread_equal(session->leader, pthread_self())) {
        if (mutex_wait_until(&session->news, &session->lock, &until))
            break;
    }
}

/* ---- the process ends ---- */

static PER_PROCESS atomic_bool exits; /* not in the child of a fork, which continues without the session */
static PER_PROCESS pthread_t ender;   /* if exits is set: the thread that ends the process */

void session_exit_begin(void)
{
    if (atomic_load(&exits)) /* called at MPI's end and at the library's: others read ender by then */
        return;
    ender = pthread_self();
    atomic_store(&exits, true);
}

/* Whether another thread ends the process. False for a thread that handles messages of nodes: the end waits for it. */
static bool is_ended(void)
{
    return atomic_load(&exits) && !pthread_equal(ender, pthread_self()) && !polls;
}

void session_exit_wait(void)
{
    while (is_ended())
        pause();
}

bool session_is_over(struct session *session)
{
    if (!session->stop)
        return false;
    if (is_ended()) {
        session_unlock(session);
        session_exit_wait();
    }
    return true;
}

/* ---- waiting ---- */

void session_wait(struct session *session, bool (*ready)(void *), void *argument)
{
    /* the condition may depend on what is to happen on another node */
    for (unsigned i = 0; i < members_nodes(session); i++)
        stream_push(&session->nodes[i]);
    if (!session_is_over(session) && ready(argument))
        return;
    deliver_away(session);
    session->waiters++;
    while (!ready(argument)) {
        if (session_is_over(session) && !session->leading)
            break;
        if (!session->leading) {
            lead(session, false);
            continue;
        }
        if (session->own_thread_leads)
            transport_wake(session->transport);
        mutex_wait(&session->news, &session->lock);
    }
    session->waiters--;
    deliver_back();
    session_is_over(session); /* ready() may be true because the session has ended */
    if (session->waiters && !session->leading)
        pthread_cond_signal(&session->news);
}

bool session_wait_on(struct session *session, pthread_cond_t *condition)
{
    if (session_is_over(session))
        return false;
    mutex_wait(condition, &session->lock);
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
        mutex_wait_until(&session->aside, &session->lock, &until);
    }
    session_unlock(session);
    return NULL;
}

void session_need_progress(struct session *session)
{
    if (!session->leading)
        pthread_cond_signal(&session->aside);
}

void session_look_later(void)
{
    const struct timespec pause = {0, LOOK_NS};

    nanosleep(&pause, NULL);
}

/* ---- begin and end ---- */

void session_begin(struct session *session)
{
    pthread_condattr_t cond;

    mutex_init_recursive(&session->lock, RANK_SESSION);
    pthread_condattr_init(&cond);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&session->news, &cond);
    pthread_cond_init(&session->aside, &cond);
    transfers_init(&session->under_way.transfers);
}

int session_drive(struct session *session)
{
    return thread_start(&session->thread, session_thread, session);
}

void session_lose(struct node *node)
{
    node->alive = false;
    wire_buffer_free(&node->batch);
    call_lose(node);
    node->session->lost(node);
    event_lose(node);
    destructor_lose(node);
}
