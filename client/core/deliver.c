/*
 * Callbacks: functions of the application that the library calls. They run on threads of their own, with no lock held,
 * so that they may call OpenCL: those of one queue one after the other, those of different queues concurrently. While
 * one of them waits in OpenCL, the next one of its queue may run.
 *
 * Natively a command is over, for threads that wait for it and for later commands, when its callbacks have returned. So
 * the application's waits end with deliver_wait(). A wait that begins after a callback has begun does not include that
 * callback, as natively: it may itself be waiting for that thread.
 */
#include <errno.h>
#include <time.h>

#include "base/thread.h"
#include "client/core/deliver.h"
#include "client/core/handle.h"
#include "client/core/per_process.h"
#include "client/core/session.h"

#define MOST_THREADS 16 /* without those that wait in OpenCL */
#define END_MS 200      /* how long the end of the process waits for callbacks that no thread waits for */

struct waiter { /* a thread in deliver_wait() */
    struct waiter *next;
    const struct due *due;
    bool done;
};

/* Under the session's lock. */
static PER_PROCESS struct callback_queue general; /* callbacks of no queue */
static PER_PROCESS struct callback_queue *ready, **last_ready = &ready;
static PER_PROCESS unsigned ready_count, threads, idle, away; /* away: threads whose callback waits in OpenCL */
static PER_PROCESS struct waiter *waiters;
static PER_PROCESS bool ending;
static PER_PROCESS pthread_cond_t work, ended;
static PER_PROCESS bool conditions;

static atomic_uint_fast64_t begins;
static PER_PROCESS atomic_uint total;      /* callbacks that are due and have not returned */
static PER_PROCESS atomic_uint registered; /* callbacks of commands that have not returned */
static _Thread_local struct callback *own;
static _Thread_local bool is_deliverer;

uint64_t deliver_now_begun(void)
{
    return atomic_load(&begins);
}

bool deliver_runs(void)
{
    return own || is_deliverer;
}

static void init_conditions(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &attributes);
    pthread_cond_init(&ended, &attributes);
    pthread_condattr_destroy(&attributes);
    conditions = true;
}

void deliver_after_fork(void)
{
    own = NULL;
    is_deliverer = false;
}

void deliver_registered(cl_command_queue queue)
{
    atomic_fetch_add(&queue->functions, 1);
    atomic_fetch_add(&registered, 1);
}

void deliver_returned(cl_command_queue queue)
{
    atomic_fetch_sub(&queue->functions, 1);
    atomic_fetch_sub(&registered, 1);
}

/* ---- which callbacks have returned ---- */

/* Called without the lock, too. A command is known to be over a moment before its callbacks are due, under the lock. */
static bool none_is_due(void)
{
    return !atomic_load(&total) && !atomic_load(&registered);
}

static bool callbacks_done(const struct callback_queue *callbacks, uint64_t number, uint32_t event, uint64_t since)
{
    for (const struct callback *callback = callbacks->first; callback; callback = callback->next) {
        if (callback->begun && callback->begun <= since)
            continue;
        if (event ? callback->id == event : callback->number <= number)
            return false;
    }
    return true;
}

/* Whether all callbacks of commands that are over are due. A node reports each command by itself, and maybe a later one
 * first, so that some may not be due yet. */
static bool all_due(cl_command_queue queue, uint64_t over, uint32_t id)
{
    cl_event event;

    LIST_FOREACH (event, &queue->called, called) {
        const uint64_t number = atomic_load(&event->number); /* 0 while it is being sent */

        if (number && (id ? event->object.id == id : number <= over) && atomic_load(&event->status) > CL_COMPLETE)
            return false;
    }
    return true;
}

/* over: the number up to which commands are over or, out of order and for one event, not 0 if its command is over. */
static bool queue_done(cl_command_queue queue, uint64_t number, uint64_t over, uint32_t event, uint64_t since,
                       unsigned depth)
{
    const bool in_order = queue_in_order(queue);

    if (in_order)
        event = 0;
    if (!callbacks_done(&queue->callbacks, number, event, since) || (over && !all_due(queue, over, event)))
        return false;
    for (unsigned i = 0; depth && i < MOST_BEHIND; i++) {
        const struct behind *behind = &queue->behind[i];
        cl_command_queue other;

        if (!behind->queue || behind->at > number || (event && behind->at != number))
            continue;
        other = handle_find(WIRE_QUEUE, behind->queue);
        if (other && !queue_done(other, behind->number, behind->at <= over ? behind->number : 0, behind->event, since,
                                 depth - 1))
            return false;
    }
    return true;
}

/* Returns the number up to which the queue's commands are known to be over; out of order, for one event: not 0 if the
 * commands that it waited for are over. */
static uint64_t known_over(const struct due *due)
{
    const uint64_t finished = atomic_load(&due->queue->finished);

    if (due->event && !queue_in_order(due->queue))
        return due->well ? due->number : 0;
    return finished < due->number ? finished : due->number;
}

static bool is_done(const struct due *due)
{
    if (none_is_due())
        return true;
    if (!due->queue)
        return callbacks_done(&general, 0, due->event, due->since);
    return queue_done(due->queue, due->number, known_over(due), due->event, due->since, 4) &&
           (due->event || callbacks_done(&general, 0, 0, due->since));
}

void deliver_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    const uint64_t at = atomic_load(&queue->enqueued) + 1;

    for (cl_uint i = 0; i < count; i++) {
        const struct _cl_event *event = list[i];
        struct behind *behind;

        if (atomic_load(&event->status) <= CL_COMPLETE && !atomic_load(&total))
            continue;
        if (!event->queue || (event->queue == queue && queue_in_order(queue)))
            continue;
        session_lock(queue->node->session);
        behind = &queue->behind[queue->behind_next++ % MOST_BEHIND];
        *behind = (struct behind){event->queue->object.id, event->object.id, atomic_load(&event->number), at};
        session_unlock(queue->node->session);
    }
}

/* Whether no thread could be started: then no thread waits for callbacks, as none will be called. */
static bool nobody_runs(void)
{
    return !threads && atomic_load(&total);
}

/* ---- running ---- */

static void start_thread(struct session *session);

static void callbacks_offer(struct session *session, struct callback_queue *callbacks)
{
    if (!callbacks->next_due || callbacks->owner || callbacks->offered)
        return;
    callbacks->offered = true;
    callbacks->next = NULL;
    *last_ready = callbacks;
    last_ready = &callbacks->next;
    ready_count++;
    if (idle >= ready_count)
        pthread_cond_signal(&work);
    else if (threads - away < MOST_THREADS)
        start_thread(session);
}

static struct callback *begin(void)
{
    struct callback_queue *callbacks = ready;
    struct callback *callback = callbacks->next_due;

    ready = callbacks->next;
    if (!ready)
        last_ready = &ready;
    ready_count--;
    callbacks->offered = false;
    callbacks->next_due = callback->next;
    callbacks->owner = callback;
    callback->begun = atomic_fetch_add(&begins, 1) + 1;
    return callback;
}

static void look_at_waiters(bool news)
{
    for (struct waiter *waiter = waiters; waiter; waiter = waiter->next) {
        waiter->done = waiter->done || nobody_runs() || is_done(waiter->due);
        news |= waiter->done;
    }
    if (news)
        pthread_cond_broadcast(&ended);
}

static void end(struct session *session, struct callback *callback)
{
    struct callback_queue *callbacks = callback->in;
    struct callback **at = &callbacks->first;
    const bool news = ending;

    while (*at != callback)
        at = &(*at)->next;
    *at = callback->next;
    if (callbacks->last == &callback->next)
        callbacks->last = at;
    if (callbacks->owner == callback)
        callbacks->owner = NULL;
    atomic_fetch_sub(&total, 1);
    callbacks_offer(session, callbacks);
    look_at_waiters(news);
}

static void run(struct session *session, struct callback *callback)
{
    struct callback *outer = own;

    session_unlock(session);
    own = callback;
    callback->run(callback);
    own = outer;
    session_lock(session);
    end(session, callback);
    session_unlock(session);
    callback->free(callback); /* this may destroy its queue, with its list of callbacks */
    session_lock(session);
}

static void *deliver_thread(void *argument)
{
    struct session *session = argument;

    is_deliverer = true;
    session_lock(session);
    while (!session_stops(session)) {
        if (ready) {
            run(session, begin());
            continue;
        }
        idle++;
        mutex_wait(&work, session_mutex(session));
        idle--;
    }
    session_unlock(session);
    return NULL;
}

static void start_thread(struct session *session)
{
    pthread_t thread;

    if (thread_start(&thread, deliver_thread, session))
        return;
    pthread_detach(thread); /* it may be in the application's code when the process ends */
    threads++;
}

static void callbacks_add(struct callback_queue *callbacks, struct callback *callback)
{
    if (!conditions)
        init_conditions();
    if (!callbacks->first)
        callbacks->last = &callbacks->first;
    callback->in = callbacks;
    callback->next = NULL;
    *callbacks->last = callback;
    callbacks->last = &callback->next;
    atomic_fetch_add(&total, 1);
}

void deliver(struct session *session, cl_command_queue queue, struct callback *callback)
{
    struct callback_queue *callbacks = queue ? &queue->callbacks : &general;

    callbacks_add(callbacks, callback);
    if (!callbacks->next_due)
        callbacks->next_due = callback;
    callbacks_offer(session, callbacks);
    if (nobody_runs())
        look_at_waiters(false);
}

void deliver_here(struct session *session, struct callback *callback)
{
    static struct callback_queue *const callbacks = &general;

    callback->begun = atomic_fetch_add(&begins, 1) + 1;
    callback->in = callbacks;
    callback->next = callbacks->first; /* before callbacks that are due and have not begun */
    if (!callbacks->first)
        callbacks->last = &callback->next;
    callbacks->first = callback;
    atomic_fetch_add(&total, 1);
    run(session, callback);
}

/* ---- waiting ---- */

void deliver_away(struct session *session)
{
    if (!own)
        return;
    away += is_deliverer;
    if (own->in->owner == own)
        own->in->owner = NULL;
    callbacks_offer(session, own->in);
}

void deliver_back(void)
{
    if (own)
        away -= is_deliverer;
}

bool deliver_done(struct session *session, const struct due *due)
{
    bool done;

    if (none_is_due())
        return true;
    session_lock(session);
    done = is_done(due) || nobody_runs();
    session_unlock(session);
    return done;
}

void deliver_wait(struct session *session, const struct due *due)
{
    struct waiter waiter = {.due = due}, **at;

    if (none_is_due())
        return;
    session_lock(session);
    if (!is_done(due) && !nobody_runs()) {
        waiter.next = waiters;
        waiters = &waiter;
        deliver_away(session);
        session_need_progress(session); /* the callbacks may need it, and maybe no other thread drives it */
        while (!waiter.done && session_wait_on(session, &ended))
            ;
        deliver_back();
        for (at = &waiters; *at != &waiter; at = &(*at)->next)
            ;
        *at = waiter.next;
    }
    session_unlock(session);
}

void deliver_stop(struct session *session)
{
    struct timespec until;

    if (!conditions)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += END_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    ending = true;
    while (!own && threads && atomic_load(&total) &&
           mutex_wait_until(&ended, session_mutex(session), &until) != ETIMEDOUT)
        ;
}

void deliver_wake(void)
{
    if (!conditions)
        return;
    pthread_cond_broadcast(&work);
    pthread_cond_broadcast(&ended);
}
