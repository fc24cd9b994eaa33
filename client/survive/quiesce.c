/* Before a node moves: no call is half-way, and what was enqueued has ended. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/core/halt.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/enqueue.h"
#include "client/memory/arena.h"
#include "client/survive/moving.h"

#define GATED_NS 50000000 /* while the program has a user event that it may have to set first */

static pthread_mutex_t quiescing = PTHREAD_MUTEX_INITIALIZER;

void quiesce_lock(void)
{
    pthread_mutex_lock(&quiescing);
}

void quiesce_unlock(void)
{
    pthread_mutex_unlock(&quiescing);
}

void quiesce_after_fork(void)
{
    pthread_mutex_init(&quiescing, NULL);
}

bool move_ended(struct session *session)
{
    bool ended;

    session_lock(session);
    ended = session_stops(session);
    session_unlock(session);
    return ended;
}

static void add_end(struct object *object, void *argument)
{
    struct move *m = argument;
    cl_command_queue queue = (cl_command_queue)object;
    struct end *more;

    if (!queue->node || !queue->node->alive || atomic_load(&queue->enqueued) <= atomic_load(&queue->finished))
        return;
    if (m->end_count == m->end_room) {
        more = realloc(m->ends, (m->end_room * 2 + 16) * sizeof(*more));
        m->failed += !more;
        if (!more)
            return;
        m->ends = more;
        m->end_room = m->end_room * 2 + 16;
    }
    if (handle_try_use(object))
        m->ends[m->end_count++] = (struct end){.queue = queue, .number = atomic_load(&queue->enqueued)};
}

static bool still_busy(struct move *m)
{
    session_lock(m->session);
    handle_each(WIRE_QUEUE, add_end, m);
    session_unlock(m->session);
    return m->end_count;
}

void ends_put(struct move *m)
{
    still_busy(m);
    for (unsigned i = 0; i < m->end_count; i++) {
        struct end *end = &m->ends[i];
        struct wire_enqueue_marker marker = {.queue = end->queue->object.id, .subscribe = SUBSCRIBE_COMPLETE};

        end->event = event_new(end->queue->context, end->queue, CL_COMMAND_MARKER);
        m->failed += !end->event;
        if (!end->event)
            continue;
        end->event->before = end->number;
        end->event->subscribed = marker.subscribe;
        marker.event = end->event->object.id;
        wire_put_enqueue_marker(stream_begin(end->queue->node), &marker);
        if (stream_end(end->queue->node, STREAM_NOW)) { /* its event would never be over */
            node_set_clear(&end->event->known);
            handle_release(end->event, WIRE_EVENT, 0);
            end->event = NULL;
            m->failed++;
        }
    }
}

void ends_drop(struct move *m)
{
    while (m->end_count) {
        struct end *end = &m->ends[--m->end_count];

        if (end->event && atomic_load(&end->event->status) <= CL_COMPLETE)
            queue_finished(end->queue, end->number, atomic_load(&end->event->status) == CL_COMPLETE);
        if (end->event)
            handle_release(end->event, WIRE_EVENT, 0);
        handle_drop(end->queue);
    }
}

bool ends_reached(const struct move *m)
{
    for (unsigned i = 0; i < m->end_count; i++) {
        if (m->ends[i].event && atomic_load(&m->ends[i].event->status) > CL_COMPLETE)
            return false;
    }
    return true;
}

/* What does not end may wait for a user event. */
static bool may_be_gated(void)
{
    return event_any_open() && !host_command_any();
}

bool ends_wait(struct move *m, long patience)
{
    const long since = clock_ns();
    bool reached = false;

    while (!reached && clock_ns() - since < (may_be_gated() ? GATED_NS : patience) && m->node->alive &&
           !move_ended(m->session)) {
        session_lock(m->session);
        reached = ends_reached(m);
        session_need_progress(m->session);
        session_unlock(m->session);
        if (!reached)
            session_look_later();
    }
    ends_drop(m);
    return reached && !m->failed;
}

/* What is missing, or NULL. Under the lock. */
const char *quiesce_missing(const struct move *m)
{
    const struct under_way *under_way = session_under_way(m->session);

    if (event_ask_all())
        return "a command that does not end";
    if (!ends_reached(m))
        return "a command that does not end";
    if (!TAILQ_EMPTY(&under_way->transfers.all))
        return "data that are on their way";
    if (host_command_any())
        return "a command that the program carries out";
    if (under_way->calls)
        return "a question that is not answered yet";
    if (block_any_leaving() || destructor_any())
        return "a memory object whose end is not told yet";
    return NULL;
}

static const char *look(struct move *m)
{
    const char *missing;

    session_lock(m->session);
    missing = quiesce_missing(m);
    for (unsigned i = 0; i < session_node_count(m->session); i++)
        stream_push(session_node(m->session, i));
    session_need_progress(m->session);
    session_unlock(m->session);
    return missing;
}

bool move_was_lost(const struct move *m)
{
    return !m->node->alive || (m->target && !m->target->alive) ||
           (m->from && (m->node->mending || m->node->peer != m->from));
}

/* Until nothing is under way; new calls do not begin. */
static int wait_quiet(struct move *m, long since)
{
    const char *missing = "a call that does not end";
    long patience;

    for (;;) {
        if (move_was_lost(m))
            return move_refuse(m, -ECONNRESET, "a worker was lost");
        if (!halt_any_inside() && !(missing = look(m)))
            return 0;
        if (move_ended(m->session))
            return move_refuse(m, -EBUSY, "the program ends");
        patience = may_be_gated() ? GATED_NS : PATIENCE_NS;
        m->gated = patience == GATED_NS && clock_ns() - since > patience;
        if (clock_ns() - since > patience)
            return move_refuse(m, -EBUSY, "%s%s", missing,
                               patience == GATED_NS ? ", perhaps for a user event that the program has yet to set"
                                                    : "");
        session_look_later();
    }
}

bool quiesce_calls(struct move *m, long until)
{
    halt_set(HALT_ALL);
    while (halt_any_inside()) {
        if (clock_ns() > until || move_ended(m->session)) {
            halt_set(HALT_NONE);
            return false;
        }
        session_lock(m->session);
        session_need_progress(m->session);
        session_unlock(m->session);
        session_look_later();
    }
    return true;
}

/* Builds, which take long, are better waited for while the program goes on. */
static void wait_for_calls(struct move *m)
{
    const long until = clock_ns() + PATIENCE_NS;
    bool any = true;

    while (any && clock_ns() < until && !move_ended(m->session)) {
        session_lock(m->session);
        any = session_under_way(m->session)->calls != NULL;
        session_unlock(m->session);
        if (any)
            session_look_later();
    }
}

int quiesce(struct move *m)
{
    long since;
    int error;

    wait_for_calls(m);
    since = m->halted = clock_ns();
    do {
        halt_set(HALT_PROGRAM);
        while (halt_any_inside() && clock_ns() - since < PATIENCE_NS && !move_ended(m->session)) {
            session_lock(m->session);
            session_need_progress(m->session);
            session_unlock(m->session);
            session_look_later();
        }
        ends_put(m);
        error = wait_quiet(m, since);
        ends_drop(m);
        if (!error && m->failed)
            error = move_refuse(m, -ENOMEM, "no memory");
        if (!error)
            halt_set(HALT_ALL); /* a function of the program may have enqueued something meanwhile */
    } while (!error && (halt_any_inside() || look(m) || still_busy(m)) && (ends_drop(m), true));
    return error;
}
