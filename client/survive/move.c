/*
 * Moves a node to another process of the session, a spare member. The program's objects refer to the node, which stays;
 * what changes is the member behind it:
 *
 *  - calls are halted (halt.c), and all that was enqueued ends;
 *  - every object of the node is recreated at the target, under its number, by its kind's create_on();
 *  - contents go from member to member;
 *  - the node and the spare node swap their members, in one moment under the session's lock;
 *  - the member that is spare now forgets all its objects.
 *
 * Until the swap everything of the program stays as it was: if anything fails, the target forgets what it was given,
 * and the program continues where it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/core/halt.h"
#include "client/data/coherence.h"
#include "client/memory/svm.h"
#include "client/survive/journal.h"
#include "client/survive/replicas.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"
#include "client/trace/timeline.h"

#define MOST_HANDING 3 /* attempts to hand over what the old member keeps, if the new one is lost */

/* ---- the change ---- */

struct ending {
    const struct node *node;
    bool any;
};

/* Finds objects that the program has released, and whose release the nodes have not been sent yet. */
static void find_ending(struct object *object, void *argument)
{
    struct ending *ending = argument;
    const int uses = atomic_load(&object->uses);

    ending->any |= uses < 0 && uses != USES_RELEASED && handle_is_on(object, ending->node);
}

static bool any_ending(const struct node *node)
{
    struct ending ending = {.node = node};

    for (unsigned kind = WIRE_DEVICE; kind <= WIRE_KIND_LAST; kind++)
        handle_each(kind, find_ending, &ending);
    return ending.any;
}

bool move_is_settled(const struct move *m)
{
    return !pause_missing(m->pause) && !any_ending(m->node);
}

/* Whether the members can be swapped: since the pause nothing has arrived, been asked or been released that the target
 * does not know. And no worker may be being replaced, since the target takes it for lost: what waits for it would fail
 * there, not be replayed. Lock held. */
static bool can_change(struct move *m)
{
    stream_push(m->node);
    stream_push(m->target); /* or what created its objects would get into the node's journal */
    return !pause_is_broken(m->pause) && !recover_any_failover(m->node->session) && !m->node->batch.length &&
           !m->target->batch.length && move_is_settled(m) &&
           (m->unshares || m->node->memory != NODE_MEMORY_SHARED || m->target->memory == NODE_MEMORY_SHARED);
}

void move_members(struct move *m)
{
    event_move(m->node, m->target);
    session_swap(m->node, m->target, m->node->unshared && !svm_remote_any(m->node));
}

static int change(struct move *m)
{
    const long since = clock_ns();
    bool done = false;

    while (!done) {
        session_lock(m->node->session);
        done = can_change(m);
        if (done) {
            move_members(m);
            unshare_told(m);
        }
        session_need_progress(m->node->session);
        session_unlock(m->node->session);
        if (!done && pause_is_broken(m->pause))
            return pause_refuse(m->pause, -ECONNRESET, "a worker was lost");
        if (!done && clock_ns() - since > PATIENCE_NS)
            return pause_refuse(m->pause, -EBUSY,
                                "objects that are being released, or a worker that is being replaced");
        if (!done)
            session_look_later();
    }
    return 0;
}

/* Makes the member behind the spare node forget all objects of the program. */
static void forget(struct move *m)
{
    struct wire_forget ask = {0};
    struct wire_forget_reply reply;
    struct call call;

    session_lock(m->node->session);
    replicas_lost(m->target->peer);
    session_unlock(m->node->session);
    if (m->target->alive && !call_forget(m->target, &ask, &reply, &call))
        call_free(&call);
}

/* Hands over what the old member keeps to the new one. Lock held, released meanwhile: the node may be lost just then,
 * and get another member. */
static unsigned hand_over(struct move *m)
{
    unsigned keep = 0;

    for (unsigned tries = 0; tries < MOST_HANDING && keep < 2 && !session_stops(m->node->session); tries++) {
        session_wait(m->node->session, failover_is_over, m->node);
        keep = replicas_hand_over(&(struct leaving){&m->target->peer, 1}, &m->node, 1);
    }
    return keep;
}

/* Replicates what the old member keeps elsewhere before it forgets that: at the new one, or else by a snapshot. */
static void leave(struct move *m)
{
    char why[300];
    unsigned keep;

    session_lock(m->node->session);
    keep = hand_over(m);
    replicas_leave(m->target->peer);
    session_unlock(m->node->session);
    for (unsigned i = 0; keep < 2 && i < session_node_count(m->node->session); i++) {
        struct node *node = session_node(m->node->session, i);

        *why = 0;
        if (recover_will(node) && snapshot_again(node, why, sizeof(why)))
            vocl_log(LOG_WARN, "contents of worker %u may have only one copy: %s", node->peer, why);
    }
    session_lock(m->node->session);
    replicas_leave(0);
    session_unlock(m->node->session);
}

static int check(struct move *m)
{
    if (m->node->in_process)
        return pause_refuse(m->pause, -ENOTSUP, "devices of the program's own process do not move");
    if (m->node->suspended)
        return pause_refuse(m->pause, -EBUSY, "it is suspended");
    if (!m->target)
        return pause_refuse(m->pause, -ENODEV, "there is no such spare worker");
    if (pause_is_broken(m->pause))
        return pause_refuse(m->pause, -ECONNRESET, "a worker is lost");
    if (!halt_can())
        return pause_refuse(m->pause, -ENOSYS, "this system has no membarrier");
    return session_front(m->node->session)->fits(m->node, m->target, m->pause->reason, m->pause->reason_size);
}

static int copy_early(struct move *m)
{
    struct objects_ahead objects = {.move = m};
    struct svm_ahead svm = {.move = m};
    struct savings *savings = snapshot_ahead(NULL, m->node, m->unshares, false);
    const struct ahead all[] = {objects_ahead(&objects), svm_ahead(&svm), savings_ahead(savings)};
    int error;

    pause_phase(m->pause, "copy");
    error = copy_ahead(m->pause, all, savings ? 3 : 2);
    savings_free(savings);
    if (!error && pause_is_broken(m->pause))
        error = pause_refuse(m->pause, -ECONNRESET, "a worker was lost");
    return error;
}

/* Does, while the program runs, what can be done ahead of the pause. */
static int begin(struct move *m)
{
    int error;

    error = unshare_check(m);
    if (error)
        return error;
    pause_phase(m->pause, "early");
    if (!pause_calls(m->pause))
        return 0;
    error = unshare_check(m); /* meanwhile the program may have created its first buffer in shared memory */
    if (!error)
        error = make_early(m);
    halt_set(HALT_NONE);
    if (error)
        return error;
    error = make_programs_early(m);
    return error ? error : copy_early(m);
}

/* Calls of the program wait from here on. */
static int pause_and_change(struct move *m)
{
    int error = pause_begin(m->pause);

    pause_phase(m->pause, "objects");
    if (!error)
        error = unshare_check(m);
    if (!error)
        error = make_all(m);
    pause_phase(m->pause, "contents");
    if (!error) {
        pause_expect(m->pause, copy_missing(m));
        error = copy_all(m);
    }
    if (!error)
        error = unshare_contents(m);
    if (!error)
        error = svm_copy(m);
    if (!error && recover_will(m->node) && snapshot_quiet(m->node, m->unshares, m->pause->halted, false))
        error = pause_refuse(m->pause, -ECONNRESET, "the snapshot for recovery failed");
    pause_phase(m->pause, "change");
    if (!error)
        error = change(m);
    if (!error)
        unshare_change(m);
    return error;
}

/* Moves a node whose commands wait for a user event, and so have not begun: if the node has a journal, it is replayed
 * to the target. */
static int move_gated(struct move *m, int error)
{
    struct pause *p = m->pause;
    const unsigned to = m->target->peer;
    const char *why;

    if (!m->node->journal || m->unshares) /* the journal refers to memory that the target cannot share */
        return error;
    forget(m);
    error = recover_move(m->node, m->target, p->watch, &why);
    if (error)
        return pause_refuse(p, error, "commands wait for a user event: %s", why ? why : "a worker was lost");
    snprintf(p->reason, p->reason_size, "worker %u is worker %u now: all commands were sent again, %ld us", p->from, to,
             (clock_ns() - p->began) / 1000);
    return 0;
}

/* to: the target's member before the swap; objects: how many the node had. */
static void say_moved(const struct move *m, unsigned to, unsigned objects, uint64_t before)
{
    const struct pause *p = m->pause;
    const long now = clock_ns(), paused = p->halted ? (now - p->halted) / 1000 : 0;

    snprintf(p->reason, p->reason_size,
             "worker %u is worker %u now: %u objects, %llu bytes, %llu of them in %ld us of pause, %ld us", p->from, to,
             objects, (unsigned long long)p->bytes, (unsigned long long)(p->bytes - before), paused,
             (now - p->began) / 1000);
}

static void move_free(struct move *m)
{
    unshare_end(m);
    free(m->objects);
    free(m->early);
    free(m->svm);
    ends_free(&m->pause->ends);
}

static int move_now(struct move *m)
{
    struct pause *p = m->pause;
    const unsigned to = m->target->peer;
    uint64_t before;
    unsigned objects;
    int error;

    p->began = clock_ns();
    coherence_watch(true);
    error = begin(m);
    before = p->bytes;
    if (!error)
        error = pause_and_change(m);
    coherence_watch(false);
    if (error)
        snapshot_drop_early(m->node);
    objects = m->count;
    make_drop(m);
    halt_set(HALT_NONE);
    if (!error)
        say_moved(m, to, objects, before);
    if (p->watch) {
        p->watch->bytes = p->bytes;
        p->watch->pause_us = p->halted ? (clock_ns() - p->halted) / 1000 : 0;
    }
    if (error && p->gated)
        error = move_gated(m, error);
    vocl_log(LOG_INFO, "%s%s", error ? "the session stays where it is: " : "", p->reason);
    if (m->target->peer) {
        pause_phase(p, "forget");
        if (!error)
            leave(m);
        forget(m);
    }
    move_free(m);
    return error;
}

/* Reserves a spare worker until the move is over. */
static struct node *take_spare(struct session *session, unsigned member)
{
    struct node *found = NULL;

    session_lock(session);
    for (unsigned i = 0; i < session_spare_count(session) && !found; i++) {
        struct node *spare = session_spare(session, i);

        if (member && spare->peer == member && !spare->promised)
            found = spare;
    }
    if (found)
        found->promised = true;
    session_unlock(session);
    return found;
}

/* From here on, commands that send contents to the target are not recorded; target 0: they are again. */
static void begin_sending(struct move *m, unsigned target)
{
    session_lock(m->node->session);
    if (m->node->journal)
        m->node->journal->mover = target;
    session_unlock(m->node->session);
}

int session_move(struct node *node, unsigned member, struct move_watch *watch, char *reason, size_t size)
{
    struct pause p = {.session = node->session, .node = node, .watch = watch, .reason = reason, .reason_size = size};
    struct move m = {.pause = &p, .node = node};
    const uint64_t since = timeline_now();
    int error;

    *reason = '\0';
    pause_lock();
    p.from = node->peer;
    p.other = m.target = take_spare(p.session, member);
    error = check(&m);
    begin_sending(&m, member);
    if (!error)
        error = move_now(&m);
    begin_sending(&m, 0);
    session_lock(p.session);
    if (m.target)
        m.target->promised = false;
    session_unlock(p.session);
    timeline_span(since, node, error ? "move, in vain: %s" : "move", reason);
    pause_unlock();
    return error;
}

/* ---- VOCL_MOVE_EVERY ---- */

static void *move_thread(void *argument)
{
    struct session *session = argument;
    const long every = settings_number(SETTING_MOVE_EVERY);
    unsigned seed = (unsigned)clock_ns();
    char reason[256];
    long took = 0;

    for (;;) {
        const long drawn = (long)((double)rand_r(&seed) / RAND_MAX * 2000 * (double)every);
        const long us = drawn > took ? drawn : took; /* or a program far away would hardly make progress */
        const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
        struct node *node = session_node(session, (unsigned)rand_r(&seed) % session_node_count(session));
        long began;

        nanosleep(&pause, NULL);
        began = clock_ns();
        if (program_ends(session))
            return NULL;
        summon_lock();
        if (!node->suspended && !node->in_process &&
            summon_move(node, "spare", false, NULL, reason, sizeof(reason)) == -ENODEV)
            summon_move(node, "here", false, NULL, reason, sizeof(reason));
        summon_unlock();
        took = (clock_ns() - began) / 1000;
    }
}

void move_start(struct session *session)
{
    pthread_t thread;

    summon_start(session);
    suspend_start(session);
    if (settings_number(SETTING_MOVE_EVERY) && !thread_start(&thread, move_thread, session))
        pthread_detach(thread);
}
