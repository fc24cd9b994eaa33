/*
 * Resumes a suspended session: workers are found for its nodes, all objects are recreated there and get their contents;
 * then the nodes have members again, in one moment under the session's lock. If any of this fails, all of it is undone,
 * and the session is still suspended.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "client/core/halt.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"
#include "client/survive/suspension.h"
#include "client/survive/store.h"
#include "client/trace/timeline.h"

#define NUMBER_NS 10000000000 /* longest wait until a worker that has ended frees its number */

/* Finds or starts a worker that is not reserved for another node. */
static int find_worker(struct suspension *r, struct suspended_node *node, struct node **found)
{
    const long until = clock_ns() + NUMBER_NS;
    int error;

    do {
        error = summon_spare(r->pause.session, node->host, found, &node->came, r->pause.reason, r->pause.reason_size);
        if (error == -ENOSPC || error == -EBUSY)
            session_look_later();
    } while ((error == -ENOSPC || error == -EBUSY) && clock_ns() < until && !program_ends(r->pause.session));
    return error;
}

static int bring_one(struct suspension *r, struct suspended_node *node)
{
    struct move *m = &node->move;
    int error = find_worker(r, node, &m->target);

    if (error)
        m->target = NULL;
    if (error)
        return error;
    m->target->promised = true;
    if (m->node->memory == NODE_MEMORY_SHARED && !arena_shared_with(m->target))
        return pause_refuse(&r->pause, -EXDEV, "its worker cannot map the memory that the program shares with it");
    return session_front(r->pause.session)->fits(m->node, m->target, r->pause.reason, r->pause.reason_size);
}

/* Dismisses a worker started here whose devices are not like those that the program knows. Returns whether another one
 * may be tried. */
static bool may_have_another(struct suspension *r, struct suspended_node *node)
{
    struct node *target = node->move.target;
    bool others;

    if (!node->came)
        return false;
    target->promised = false;
    session_lock(r->pause.session);
    others = session_refuse_spare(r->pause.session, target, node->host);
    session_unlock(r->pause.session);
    node->move.target = NULL;
    return others;
}

/* Finds a worker with the node's devices. In a pool each attempt gets other devices, until there is no other place;
 * then why the last worker did not fit says more. */
static int bring(struct suspension *r, struct suspended_node *node)
{
    char unfit[256] = "", last[256];
    int error;

    while ((error = bring_one(r, node)) == -EXDEV && may_have_another(r, node))
        snprintf(unfit, sizeof(unfit), "%s", r->pause.reason);
    if (!error || node->move.target || !*unfit)
        return error;
    snprintf(last, sizeof(last), "%s", r->pause.reason);
    return pause_refuse(&r->pause, -EXDEV, "%s; %s", unfit, last);
}

static int make(struct suspension *r, struct suspended_node *node)
{
    (void)r;
    return make_all(&node->move);
}

static int give(struct suspension *r, struct suspended_node *node)
{
    struct move *m = &node->move;

    return store_give(r->store, m->node, m->target, m->objects, m->count, r->pause.reason, r->pause.reason_size);
}

/* Whether the target's batch is sent. Otherwise what created its objects would get into the node's journal. */
static bool has_sent(void *argument)
{
    struct node *target = argument;

    stream_push(target);
    return !target->alive || !target->batch.length;
}

static int give_members(struct suspension *r)
{
    bool alive = true;

    session_lock(r->pause.session);
    for (unsigned i = 0; i < r->count; i++)
        session_wait(r->pause.session, has_sent, r->nodes[i].move.target);
    for (unsigned i = 0; i < r->count; i++)
        alive &= r->nodes[i].move.target->alive;
    for (unsigned i = 0; alive && i < r->count; i++) {
        struct move *m = &r->nodes[i].move;

        move_members(m);
        m->target->promised = false;
    }
    session_news(r->pause.session);
    session_need_progress(r->pause.session);
    session_unlock(r->pause.session);
    return alive ? 0 : pause_refuse(&r->pause, -ECONNRESET, "a worker was lost");
}

/* Whether a worker was lost, so that others may succeed. */
static bool any_target_lost(const struct suspension *r, int error)
{
    bool lost = error == -ECHILD || error == -EHOSTUNREACH || error == -ECONNRESET;

    for (unsigned i = 0; i < r->count; i++)
        lost |= r->nodes[i].move.target && !r->nodes[i].move.target->alive;
    return lost;
}

/* Dismisses the workers started in vain; one that was spare is spare again. */
static void give_up(struct suspension *r)
{
    struct wire_forget ask = {0};
    struct wire_forget_reply reply;
    struct call call;

    for (unsigned i = 0; i < r->count; i++) {
        struct suspended_node *node = &r->nodes[i];

        if (node->move.target)
            node->move.target->promised = false;
        if (node->move.target && node->came)
            summon_drop(r->pause.session, node->move.target);
        else if (node->move.target && node->move.target->alive && !call_forget(node->move.target, &ask, &reply, &call))
            call_free(&call);
        node->move.target = NULL;
    }
    r->pause.other = NULL;
}

/* Lets calls that need no node finish, and lets no call begin. */
static int halt_all(struct suspension *r)
{
    halt_set(HALT_ALL);
    while (halt_any_inside()) {
        if (program_ends(r->pause.session))
            return -ECANCELED;
        session_lock(r->pause.session);
        session_need_progress(r->pause.session);
        session_unlock(r->pause.session);
        session_look_later();
    }
    return 0;
}

int suspension_resume(struct suspension *r)
{
    int error;

    summon_lock();
    pause_lock();
    error = halt_all(r);
    r->pause.began = clock_ns();
    pause_count_anew(&r->pause);
    pause_phase(&r->pause, "come");
    if (!error)
        error = suspended_each(r, bring);
    r->pause.other = r->nodes[0].move.target;
    pause_phase(&r->pause, "objects");
    if (!error)
        error = suspended_each(r, make);
    pause_phase(&r->pause, "give");
    pause_expect(&r->pause, store_contents(r->store));
    r->contents = -clock_ns();
    if (!error)
        error = suspended_each(r, give);
    r->contents += clock_ns();
    pause_phase(&r->pause, "resume");
    if (!error)
        error = give_members(r);
    suspended_drop(r);
    r->lost = error && any_target_lost(r, error);
    if (error) {
        give_up(r);
    } else {
        timeline_span(r->suspended_since, r->pause.node,
                      "the session is suspended"); /* which ends before the program's next command */
        halt_set(HALT_NONE);
    }
    pause_unlock();
    summon_unlock();
    if (!error)
        snprintf(r->pause.reason, r->pause.reason_size, "resumed: %zu bytes restored in %ld us, %ld us in all",
                 store_bytes(r->store), r->contents / 1000, (clock_ns() - r->pause.began) / 1000);
    return error;
}
