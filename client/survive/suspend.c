/*
 * Suspends a session: its contents are saved here (store.c), and its workers end. The program's objects refer to the
 * nodes, which stay, with no member behind them. A call that needs a node waits at the halt between calls, and a thread
 * that exists as long as the session is suspended gets workers and lets the calls continue (resume.c).
 *
 * Until the workers end everything of the program stays as it was: if anything fails before, it continues. If workers
 * cannot be had again, the calls that waited find their devices lost; the session is still suspended, and the next call
 * tries again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/core/halt.h"
#include "client/core/per_process.h"
#include "client/data/coherence.h"
#include "client/memory/arena.h"
#include "client/survive/recover.h"
#include "client/survive/suspension.h"
#include "client/survive/store.h"
#include "client/trace/timeline.h"

#define MOST_TRIES 10

/* Shared by the threads that ask and the thread of the suspension. */
static PER_PROCESS struct {
    struct mutex lock;
    pthread_cond_t news;
    struct move_watch *watch; /* of whoever waits for the next result, or NULL */
    bool on, busy;            /* busy: it is being suspended, or, if on, resumed */
    unsigned turns;           /* number of results of suspending and resuming so far */
    int error;                /* of the last result, and its reason */
    char reason[300];
} state = {.lock = MUTEX(RANK_SUSPEND), .news = PTHREAD_COND_INITIALIZER};

/* Waits until no suspension or resumption is under way, so that a request is not answered by the state before.
 * state.lock held, released meanwhile. */
static int wait_for_still(char *reason, size_t size)
{
    const long until = clock_ns() + PATIENCE_NS;

    while (state.busy && clock_ns() < until) {
        mutex_unlock(&state.lock);
        session_look_later();
        mutex_lock(&state.lock);
    }
    if (!state.busy)
        return 0;
    snprintf(reason, size, state.on ? "the session is being resumed" : "the session is being suspended");
    return -EBUSY;
}

int suspend_settle(char *reason, size_t size)
{
    int error;

    mutex_lock(&state.lock);
    error = wait_for_still(reason, size);
    if (!error && state.on) {
        snprintf(reason, size, "it is suspended");
        error = -EBUSY;
    }
    mutex_unlock(&state.lock);
    return error;
}

bool suspend_is_on(void)
{
    bool on;

    mutex_lock(&state.lock);
    on = state.on;
    mutex_unlock(&state.lock);
    return on;
}

static void goes_on(struct suspension *r)
{
    mutex_lock(&state.lock);
    state.busy = true;
    r->pause.watch = state.watch;
    mutex_unlock(&state.lock);
}

static void come_out(struct suspension *r, bool on, int error)
{
    mutex_lock(&state.lock);
    state.on = on;
    state.busy = false;
    state.turns++;
    state.watch = r->pause.watch = NULL;
    state.error = error;
    snprintf(state.reason, sizeof(state.reason), "%s", r->pause.reason);
    pthread_cond_broadcast(&state.news);
    mutex_unlock(&state.lock);
}

static void describe(struct suspension *r, const char *what)
{
    session_lock(r->pause.session);
    transport_describe(session_transport(r->pause.session), what);
    session_unlock(r->pause.session);
}

int suspended_each(struct suspension *r, int (*what)(struct suspension *r, struct suspended_node *node))
{
    int error = 0;

    for (unsigned i = 0; !error && i < r->count; i++)
        error = what(r, &r->nodes[i]);
    return error;
}

void suspended_drop(struct suspension *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct move *m = &r->nodes[i].move;

        make_drop(m);
        free(m->objects);
        m->objects = NULL;
        m->room = 0;
        free(m->svm);
        m->svm = NULL;
        m->svm_count = 0;
    }
    ends_free(&r->pause.ends);
}

static void suspend_free(struct suspension *r)
{
    suspended_drop(r);
    for (unsigned i = 0; i < r->count; i++)
        free(r->nodes[i].move.failed_here);
    store_free(r->store);
    free(r->nodes);
    free(r);
}

/* ---- suspending ---- */

static int find_nodes(struct suspension *r)
{
    struct session *session = r->pause.session;

    for (unsigned i = 0; i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->in_process) /* its devices are in the program's own process */
            continue;
        r->nodes[r->count++].move = (struct move){.pause = &r->pause, .node = node};
    }
    r->pause.node = r->nodes[0].move.node;
    return r->count ? 0 : pause_refuse(&r->pause, -ENOTSUP, "devices of the program's own process are not suspended");
}

/* Whether the session could be resumed. */
static int check(struct suspension *r, struct suspended_node *node)
{
    struct transport *transport = session_transport(r->pause.session);
    int error;

    if (!node->move.node->alive)
        return pause_refuse(&r->pause, -ECONNRESET, "a worker is lost");
    if (!halt_can())
        return pause_refuse(&r->pause, -ENOSYS, "this system has no membarrier");
    if (node->move.node->memory == NODE_MEMORY_SHARED && !arena_can_be_shared())
        return pause_refuse(&r->pause, -EXDEV, "another worker cannot map the memory that the program shares with it");
    session_lock(r->pause.session);
    transport_place(transport, node->move.node->peer, node->host, sizeof(node->host));
    error = transport_may_add_member(transport, node->host, r->pause.reason, r->pause.reason_size);
    session_unlock(r->pause.session);
    return error;
}

static int list_svm(struct suspension *r, struct suspended_node *node)
{
    const int error = store_plan_svm(r->store, node->move.node);

    if (error == -ENOTSUP)
        return pause_refuse(&r->pause, error, "shared virtual memory of a context that has been released");
    return error ? pause_refuse(&r->pause, error, "no memory") : 0;
}

static int list_objects(struct suspension *r, struct suspended_node *node)
{
    int error = make_list(&node->move);

    if (!error && store_plan(r->store, node->move.node, node->move.objects, node->move.count))
        error = pause_refuse(&r->pause, -ENOMEM, "no memory");
    return error ? error : list_svm(r, node);
}

/* Takes a snapshot, from which another worker is restored if the one that resumes is lost. */
static int save(struct suspension *r, struct suspended_node *node)
{
    struct move *m = &node->move;

    if (recover_will(m->node) && snapshot_quiet(m->node, false, r->pause.halted, true))
        return pause_refuse(&r->pause, -ECONNRESET, "the snapshot for recovery failed");
    return 0;
}

static int save_not(struct suspension *r, struct suspended_node *node)
{
    (void)r;
    snapshot_drop_early(node->move.node);
    return 0;
}

/* Whether the workers may end: nothing has arrived, been asked or been released since the pause. Lock held. */
static bool can_go(const struct suspension *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct node *node = r->nodes[i].move.node;

        stream_push(node);
        if (!node->alive || node->failing_over || node->batch.length || !move_is_settled(&r->nodes[i].move))
            return false;
    }
    return true;
}

static bool any_lost(const struct suspension *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (!r->nodes[i].move.node->alive)
            return true;
    }
    return false;
}

static int send_away(struct suspension *r)
{
    const long since = clock_ns();
    bool done = false;

    while (!done) {
        session_lock(r->pause.session);
        done = can_go(r);
        for (unsigned i = 0; done && i < r->count; i++)
            session_suspend(r->nodes[i].move.node);
        session_need_progress(r->pause.session);
        session_unlock(r->pause.session);
        if (!done && any_lost(r))
            return pause_refuse(&r->pause, -ECONNRESET, "a worker was lost");
        if (!done && clock_ns() - since > PATIENCE_NS)
            return pause_refuse(&r->pause, -EBUSY, "objects that are being released");
        if (!done)
            session_look_later();
    }
    return 0;
}

static void read_ahead(struct suspension *r, struct store_ahead *store)
{
    struct savings *savings = NULL;
    struct ahead all[2];

    for (unsigned i = 0; i < r->count; i++)
        savings = snapshot_ahead(savings, r->nodes[i].move.node, false, true);
    all[0] = store_ahead(store);
    all[1] = savings_ahead(savings);
    copy_ahead(&r->pause, all, savings ? 2 : 1);
    savings_free(savings);
}

static int begin(struct suspension *r)
{
    struct store_ahead store = {.store = r->store, .session = r->pause.session};
    size_t taken;
    int error = find_nodes(r);

    if (!error)
        error = suspended_each(r, check);
    if (error)
        return error;
    coherence_watch(true);
    pause_phase(&r->pause, "ahead");
    read_ahead(r, &store);
    error = pause_begin(&r->pause);
    pause_phase(&r->pause, "list");
    store_ahead_end(&store);
    if (!error)
        error = suspended_each(r, list_objects);
    taken = store_missing(r->store);
    pause_phase(&r->pause, "take");
    pause_expect(&r->pause, taken);
    r->contents = -clock_ns();
    if (!error)
        error = store_take(r->store, r->pause.reason, r->pause.reason_size);
    r->contents += clock_ns();
    if (!error)
        error = suspended_each(r, save);
    pause_phase(&r->pause, "go");
    if (!error)
        error = send_away(r);
    coherence_watch(false);
    store_close(r->store);
    suspended_drop(r);
    if (error)
        suspended_each(r, save_not);
    else
        snprintf(r->pause.reason, r->pause.reason_size,
                 "it is suspended: %zu bytes are kept, %zu of them taken in the pause, %ld us for them, %ld us",
                 store_bytes(r->store), taken, r->contents / 1000, (clock_ns() - r->pause.began) / 1000);
    halt_set(error ? HALT_NONE : HALT_SUSPENDED);
    return error;
}

/* ---- resuming ---- */

/* Resumes the session. Where lost workers are replaced, tries again if one is lost during that. */
static int end_or_again(struct suspension *r)
{
    int error = -ECONNRESET;

    r->lost = true;
    for (unsigned tries = 0; error && r->lost && tries < MOST_TRIES && !program_ends(r->pause.session); tries++) {
        error = suspension_resume(r);
        if (!recover_will(r->nodes[0].move.node))
            break;
    }
    return error;
}

/* ---- the thread of a suspension ---- */

static void *suspend_thread(void *argument)
{
    struct suspension *r = argument;
    int error;

    summon_lock();
    pause_lock();
    error = begin(r);
    pause_unlock();
    summon_unlock();
    vocl_log(LOG_INFO, "%s%s", error ? "the session is not suspended: " : "", r->pause.reason);
    if (!error)
        describe(r, "suspended");
    r->suspended_since = timeline_now();
    come_out(r, !error, error);
    while (!error && halt_wait_wanted()) {
        goes_on(r);
        error = end_or_again(r);
        vocl_log(error ? LOG_ERROR : LOG_INFO, "%s%s", error ? "the session is still suspended: " : "",
                 r->pause.reason);
        if (error)
            halt_let_through();
        else
            describe(r, "");
        come_out(r, error, error);
        if (!error)
            break;
        error = 0;
    }
    if (!program_ends(r->pause.session)) /* else the program's memory may be in use */
        suspend_free(r);
    return NULL;
}

static struct suspension *suspend_new(struct session *session, struct move_watch *watch)
{
    struct suspension *r = calloc(1, sizeof(*r) + sizeof(state.reason));

    if (!r)
        return NULL;
    r->pause.session = session;
    r->pause.watch = watch;
    r->pause.reason = (char *)(r + 1);
    r->pause.reason_size = sizeof(state.reason);
    r->pause.began = clock_ns();
    r->nodes = calloc(session_node_count(session), sizeof(*r->nodes));
    r->store = store_new(settings_string(SETTING_SUSPEND_DIR), &r->pause);
    if (r->nodes && r->store)
        return r;
    store_free(r->store);
    free(r->nodes);
    free(r);
    return NULL;
}

/* Waits for the next result. state.lock held, released meanwhile. */
static int wait_for_turn(unsigned turns, char *reason, size_t size)
{
    while (state.turns == turns)
        mutex_wait(&state.news, &state.lock);
    snprintf(reason, size, "%s", state.reason);
    return state.error;
}

/* state.lock held. */
static int start(struct session *session, struct move_watch *watch, char *reason, size_t size)
{
    struct suspension *r = suspend_new(session, watch);
    pthread_t thread;

    if (!r || thread_start(&thread, suspend_thread, r)) {
        if (r)
            suspend_free(r);
        snprintf(reason, size, "no memory");
        return -ENOMEM;
    }
    pthread_detach(thread);
    state.busy = true;
    return wait_for_turn(state.turns, reason, size);
}

int suspend_begin(struct session *session, struct move_watch *watch, char *reason, size_t size)
{
    int error;

    mutex_lock(&state.lock);
    error = wait_for_still(reason, size);
    if (!error && state.on)
        snprintf(reason, size, "it is suspended");
    else if (!error)
        error = start(session, watch, reason, size);
    mutex_unlock(&state.lock);
    return error;
}

int suspend_end(struct session *session, struct move_watch *watch, char *reason, size_t size)
{
    int error;

    (void)session;
    mutex_lock(&state.lock);
    error = state.on ? 0 : wait_for_still(reason, size);
    if (!error && state.on) {
        state.watch = watch;
        halt_want();
        error = wait_for_turn(state.turns, reason, size);
    } else if (!error) {
        snprintf(reason, size, "it is not suspended");
    }
    mutex_unlock(&state.lock);
    return error;
}

/* ---- VOCL_SUSPEND_EVERY ---- */

static void *every_thread(void *argument)
{
    struct session *session = argument;
    const long every = settings_number(SETTING_SUSPEND_EVERY);
    unsigned seed = (unsigned)clock_ns();
    char reason[300];

    for (;;) {
        const long us = (long)((double)rand_r(&seed) / RAND_MAX * 2000 * (double)every);
        const struct timespec pause = {us / 1000000, us % 1000000 * 1000};

        nanosleep(&pause, NULL);
        if (program_ends(session))
            return NULL;
        if (!suspend_is_on()) /* else the program would have no time to run */
            suspend_begin(session, NULL, reason, sizeof(reason));
    }
}

void suspend_start(struct session *session)
{
    pthread_t thread;

    if (settings_number(SETTING_SUSPEND_EVERY) && !thread_start(&thread, every_thread, session))
        pthread_detach(thread);
}
