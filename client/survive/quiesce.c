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

static struct mutex quiescing = MUTEX(RANK_QUIESCING);

void quiesce_lock(void)
{
    mutex_lock(&quiescing);
}

void quiesce_unlock(void)
{
    mutex_unlock(&quiescing);
}

void quiesce_after_fork(void)
{
    mutex_init(&quiescing, RANK_QUIESCING);
}

bool move_ended(struct session *session)
{
    bool ended;

    session_lock(session);
    ended = session_stops(session);
    session_unlock(session);
    return ended;
}

/* What is missing, or NULL. Under the lock. */
const char *quiesce_missing(const struct move *m)
{
    const struct under_way *under_way = session_under_way(m->session);

    if (event_ask_all())
        return "a command that does not end";
    if (!ends_reached(&m->ends))
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
        patience = ends_may_be_gated() ? GATED_NS : PATIENCE_NS;
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
        ends_put(&m->ends, m->session);
        error = wait_quiet(m, since);
        ends_drop(&m->ends);
        if (!error && m->ends.failed)
            error = move_refuse(m, -ENOMEM, "no memory");
        if (!error)
            halt_set(HALT_ALL); /* a function of the program may have enqueued something meanwhile */
    } while (!error && (halt_any_inside() || look(m) || ends_find(&m->ends, m->session)) &&
             (ends_drop(&m->ends), true));
    return error;
}
