/*
 * A node goes to another process of the session, a spare member. The node stays what the program's objects hang on;
 * what changes is the member behind it:
 *
 *  - calls are halted (halt.c), and all that was enqueued ends;
 *  - every object of the node is made again at the target, under its number, by its kind's create_on();
 *  - contents go from member to member;
 *  - the node and the spare node change their members, in one moment under the session's lock;
 *  - the member that is spare now forgets all its objects.
 *
 * Up to the change nothing that the program has is touched: if anything fails the target forgets what it was given, and
 * the program goes on where it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/core/halt.h"
#include "client/data/coherence.h"
#include "client/memory/svm.h"
#include "client/survive/journal.h"
#include "client/survive/keep.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"
#include "client/trace/timeline.h"

#define TELL_NS 300000000 /* between words on how much has been copied */
#define HOLD_LOOK_NS 20000000
#define HOLD_LOOKS 50
#define MOST_HANDING 3 /* times that what the old member keeps is handed over, if the new one is lost */

static void tell(struct move *m)
{
    m->told = clock_ns();
    if (m->watch)
        m->watch->told(m->watch->argument, m->phase, m->bytes);
}

void move_watched(struct move *m)
{
    if (clock_ns() - m->told > TELL_NS)
        tell(m);
}

static bool make_file(const char *name)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A test that removes FILE.reached while the move waits gets it again within a second; if its folder is gone, the test
 * is over. */
static void hold(struct move *m, const char *file)
{
    const struct timespec pause = {0, HOLD_LOOK_NS};
    char reached[PATH_MAX];

    snprintf(reached, sizeof(reached), "%s.reached", file);
    for (unsigned looks = 0;; looks++) {
        if (looks % HOLD_LOOKS == 0 && !make_file(reached))
            return;
        if (!access(file, F_OK) || move_ended(m->session))
            return;
        nanosleep(&pause, NULL);
    }
}

static pid_t process_of(const struct move *m, const struct node *node)
{
    return node && node->alive ? transport_peer_process(session_transport(m->session), node->peer) : 0;
}

void move_phase(struct move *m, const char *name)
{
    const char *held = settings_string(SETTING_MOVE_HOLD);
    const size_t length = strlen(name);

    timeline_span(timeline_now(), m->node, "%s", name);
    vocl_log(LOG_DEBUG, "move: %s, after %ld us", name, (clock_ns() - m->began) / 1000);
    m->phase = name;
    tell(m);
    if (!strncmp(held, name, length) && held[length] == ':')
        hold(m, held + length + 1);
    if (fault_wanted)
        fault_reach_phase(process_of(m, m->node), process_of(m, m->target));
}

int move_refuse(struct move *m, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(m->reason, m->reason_size, format, arguments);
    va_end(arguments);
    return error;
}

/* ---- the change ---- */

struct ending {
    const struct node *node;
    bool any;
};

/* It is no more the program's, and its nodes have not been told: they will be in a moment. */
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
    return !quiesce_missing(m) && !any_ending(m->node);
}

/* Under the lock: nothing was heard, asked or released since that the target does not know. And the target was told of
 * who is being replaced as of one that is lost: what waits for that one would fail there, not be told again. */
static bool can_change(struct move *m)
{
    stream_push(m->node);
    stream_push(m->target); /* or what made its objects is taken for what the node was told */
    return !move_was_lost(m) && !recover_any_mending(m->session) && !m->node->batch.length &&
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
        session_lock(m->session);
        done = can_change(m);
        if (done) {
            move_members(m);
            unshare_told(m);
        }
        session_need_progress(m->session);
        session_unlock(m->session);
        if (!done && move_was_lost(m))
            return move_refuse(m, -ECONNRESET, "a worker was lost");
        if (!done && clock_ns() - since > PATIENCE_NS)
            return move_refuse(m, -EBUSY, "objects that are being released, or a worker that is being replaced");
        if (!done)
            session_look_later();
    }
    return 0;
}

/* The member behind the spare node has nothing of the program's any more. */
static void forget(struct move *m)
{
    struct wire_forget ask = {0};
    struct wire_forget_reply reply;
    struct call call;

    session_lock(m->session);
    keep_lost(m->target->peer);
    session_unlock(m->session);
    if (m->target->alive && !call_forget(m->target, &ask, &reply, &call))
        call_free(&call);
}

/* Under the lock, which is let go: the node may be lost just now, and get another member. */
static unsigned hand_over(struct move *m)
{
    unsigned keep = 0;

    for (unsigned tries = 0; tries < MOST_HANDING && keep < 2 && !session_stops(m->session); tries++) {
        session_wait(m->session, mend_is_over, m->node);
        keep = keep_hand_over(&(struct leaving){&m->target->peer, 1}, &m->node, 1);
    }
    return keep;
}

/* What the old member keeps is kept elsewhere before it forgets that: by the new one, else as a checkpoint has it. */
static void leave(struct move *m)
{
    char why[300];
    unsigned keep;

    session_lock(m->session);
    keep = hand_over(m);
    keep_leave(m->target->peer);
    session_unlock(m->session);
    for (unsigned i = 0; keep < 2 && i < session_node_count(m->session); i++) {
        struct node *node = session_node(m->session, i);

        *why = 0;
        if (recover_will(node) && checkpoint_again(node, why, sizeof(why)))
            vocl_log(LOG_WARN, "contents of worker %u may be kept once only: %s", node->peer, why);
    }
    session_lock(m->session);
    keep_leave(0);
    session_unlock(m->session);
}

static int check(struct move *m)
{
    if (m->node->in_process)
        return move_refuse(m, -ENOTSUP, "devices of the program's own process do not move");
    if (m->node->rests)
        return move_refuse(m, -EBUSY, "it rests");
    if (!m->target)
        return move_refuse(m, -ENODEV, "there is no such spare worker");
    if (move_was_lost(m))
        return move_refuse(m, -ECONNRESET, "a worker is lost");
    if (!halt_can())
        return move_refuse(m, -ENOSYS, "this system has no membarrier");
    return session_front(m->session)->fits(m->node, m->target, m->reason, m->reason_size);
}

static int copy_early(struct move *m)
{
    struct objects_ahead objects = {.move = m};
    struct svm_ahead svm = {.move = m};
    struct savings *savings = checkpoint_ahead(NULL, m, false);
    const struct ahead all[] = {objects_ahead(&objects), svm_ahead(&svm), savings_ahead(savings)};
    int error;

    move_phase(m, "copy");
    error = copy_ahead(m, all, savings ? 3 : 2);
    savings_free(savings);
    if (!error && move_was_lost(m))
        error = move_refuse(m, -ECONNRESET, "a worker was lost");
    return error;
}

/* While the program goes on; what cannot be done so is left for the pause. */
static int begin(struct move *m)
{
    int error;

    error = unshare_check(m);
    if (error)
        return error;
    move_phase(m, "early");
    if (!quiesce_calls(m, clock_ns() + QUICK_NS))
        return 0;
    error = unshare_check(m); /* meanwhile the program may have made its first buffer, in memory that it shares */
    if (!error)
        error = make_early(m);
    halt_set(HALT_NONE);
    if (error)
        return error;
    error = make_programs_early(m);
    return error ? error : copy_early(m);
}

/* The calls of the program wait. */
static int pause_and_change(struct move *m)
{
    int error = quiesce(m);

    move_phase(m, "objects");
    if (!error)
        error = unshare_check(m);
    if (!error)
        error = make_all(m);
    move_phase(m, "contents");
    if (!error)
        error = copy_all(m);
    if (!error)
        error = unshare_contents(m);
    if (!error)
        error = svm_copy(m);
    if (!error && recover_will(m->node) && checkpoint_quiet(m->node, m->unshares, m->halted, false))
        error = move_refuse(m, -ECONNRESET, "what replaces a lost worker cannot be kept");
    move_phase(m, "change");
    if (!error)
        error = change(m);
    if (!error)
        unshare_change(m);
    return error;
}

/* What waits for a user event has not begun. Where what the node was told is kept, the target is told it. */
static int move_gated(struct move *m, int error)
{
    const unsigned to = m->target->peer;
    const char *why;

    if (!m->node->journal || m->unshares) /* which it was told to use */
        return error;
    forget(m);
    error = recover_move(m->node, m->target, m->watch, &why);
    if (error)
        return move_refuse(m, error, "commands wait for a user event: %s", why ? why : "a worker was lost");
    snprintf(m->reason, m->reason_size, "worker %u is worker %u now: it was told all again, %ld us", m->from, to,
             (clock_ns() - m->began) / 1000);
    return 0;
}

static int move_now(struct move *m)
{
    const unsigned from = m->node->peer, to = m->target->peer;
    unsigned objects;
    int error;

    m->began = clock_ns();
    coherence_watch(true);
    error = begin(m);
    if (!error)
        error = pause_and_change(m);
    coherence_watch(false);
    if (error)
        checkpoint_drop_early(m->node);
    objects = m->count;
    make_drop(m);
    halt_set(HALT_NONE);
    if (!error)
        snprintf(m->reason, m->reason_size,
                 "worker %u is worker %u now: %u objects, %llu bytes, %llu of them in %ld us of pause, %ld us", from,
                 to, objects, (unsigned long long)m->bytes, (unsigned long long)m->bytes_paused,
                 m->halted ? (clock_ns() - m->halted) / 1000 : 0, (clock_ns() - m->began) / 1000);
    if (m->watch) {
        m->watch->bytes = m->bytes;
        m->watch->pause_us = m->halted ? (clock_ns() - m->halted) / 1000 : 0;
    }
    if (error && m->gated)
        error = move_gated(m, error);
    vocl_log(LOG_INFO, "%s%s", error ? "the session stays where it is: " : "", m->reason);
    if (m->target->peer) {
        move_phase(m, "forget");
        if (!error)
            leave(m);
        forget(m);
    }
    unshare_end(m);
    free(m->objects);
    free(m->early);
    ends_free(&m->ends);
    free(m->svm);
    return error;
}

/* It is nobody else's until the move is over. */
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

/* From here on what contents the member sends to the target is no part of what it was told. */
static void begin_sending(struct move *m, unsigned target)
{
    session_lock(m->session);
    if (m->node->journal)
        m->node->journal->mover = target;
    session_unlock(m->session);
}

int session_move(struct node *node, unsigned member, struct move_watch *watch, char *reason, size_t size)
{
    struct move m = {.session = node->session, .node = node, .watch = watch, .reason = reason, .reason_size = size};
    const uint64_t since = timeline_now();
    int error;

    *reason = '\0';
    quiesce_lock();
    m.from = node->peer;
    m.target = take_spare(m.session, member);
    error = check(&m);
    begin_sending(&m, member);
    if (!error)
        error = move_now(&m);
    begin_sending(&m, 0);
    session_lock(m.session);
    if (m.target)
        m.target->promised = false;
    session_unlock(m.session);
    timeline_span(since, node, error ? "move, in vain: %s" : "move", reason);
    quiesce_unlock();
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
        const long us = drawn > took ? drawn : took; /* or a program far away would hardly come to anything */
        const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
        struct node *node = session_node(session, (unsigned)rand_r(&seed) % session_node_count(session));
        long began;

        nanosleep(&pause, NULL);
        began = clock_ns();
        if (move_ended(session))
            return NULL;
        summon_lock();
        if (!node->rests && !node->in_process && summon_move(node, "spare", false, reason, sizeof(reason)) == -ENODEV)
            summon_move(node, "here", false, reason, sizeof(reason));
        summon_unlock();
        took = (clock_ns() - began) / 1000;
    }
}

void move_start(struct session *session)
{
    pthread_t thread;

    summon_start(session);
    rest_start(session);
    if (settings_number(SETTING_MOVE_EVERY) && !thread_start(&thread, move_thread, session))
        pthread_detach(thread);
}
