/* Pauses a session: no call is half-way, and what was enqueued has ended. */
#include "client/survive/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/core/halt.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/enqueue.h"
#include "client/memory/arena.h"
#include "client/survive/move.h"
#include "client/trace/timeline.h"

#define CALLS_NS 100000000 /* longest wait for calls under way, in pause_calls() */
#define TELL_NS 300000000  /* between progress reports */
#define HOLD_LOOK_NS 20000000
#define HOLD_LOOKS 50

static PER_PROCESS struct mutex pausing = MUTEX(RANK_PAUSE);

void pause_lock(void)
{
    mutex_lock(&pausing);
}

void pause_unlock(void)
{
    mutex_unlock(&pausing);
}

bool program_ends(struct session *session)
{
    bool ended;

    session_lock(session);
    ended = session_stops(session);
    session_unlock(session);
    return ended;
}

const char *pause_missing(const struct pause *p)
{
    const struct under_way *under_way = session_under_way(p->session);

    if (event_ask_all())
        return "a command that does not end";
    if (!ends_reached(&p->ends))
        return "a command that does not end";
    if (!TAILQ_EMPTY(&under_way->transfers.all))
        return "data that are on their way";
    if (host_command_any())
        return "a native command that runs in the program";
    if (under_way->calls)
        return "a question that is not answered yet";
    if (block_any_leaving() || destructor_any())
        return "a memory object whose release is not confirmed yet";
    return NULL;
}

static const char *look(struct pause *p)
{
    const char *missing;

    session_lock(p->session);
    missing = pause_missing(p);
    for (unsigned i = 0; i < session_node_count(p->session); i++)
        stream_push(session_node(p->session, i));
    session_need_progress(p->session);
    session_unlock(p->session);
    return missing;
}

bool pause_is_broken(const struct pause *p)
{
    return !p->node->alive || (p->other && !p->other->alive) ||
           (p->from && (p->node->failing_over || p->node->peer != p->from));
}

/* Waits until nothing is under way; new calls do not begin. */
static int wait_quiet(struct pause *p, long since)
{
    const char *missing = "a call that does not end";
    bool may_be_gated, over;

    for (;;) {
        if (pause_is_broken(p))
            return pause_refuse(p, -ECONNRESET, "a worker was lost");
        if (!halt_any_inside() && !(missing = look(p)))
            return 0;
        if (program_ends(p->session))
            return pause_refuse(p, -EBUSY, "the program ends");
        may_be_gated = ends_may_be_gated();
        over = clock_ns() - since > (may_be_gated ? GATED_NS : PATIENCE_NS);
        p->gated = over && may_be_gated;
        if (over)
            return pause_refuse(p, -EBUSY, "%s%s", missing,
                                may_be_gated ? ", perhaps for a user event that the program has yet to set" : "");
        session_look_later();
    }
}

bool pause_calls(struct pause *p)
{
    const long until = clock_ns() + CALLS_NS;

    halt_set(HALT_ALL);
    while (halt_any_inside()) {
        if (clock_ns() > until || program_ends(p->session)) {
            halt_set(HALT_NONE);
            return false;
        }
        session_lock(p->session);
        session_need_progress(p->session);
        session_unlock(p->session);
        session_look_later();
    }
    return true;
}

/* Waits for round trips that are under way while the program still runs: builds take long. */
static void wait_for_calls(struct pause *p)
{
    const long until = clock_ns() + PATIENCE_NS;
    bool any = true;

    while (any && clock_ns() < until && !program_ends(p->session)) {
        session_lock(p->session);
        any = session_under_way(p->session)->calls != NULL;
        session_unlock(p->session);
        if (any)
            session_look_later();
    }
}

int pause_begin(struct pause *p)
{
    long since;
    int error;

    wait_for_calls(p);
    since = p->halted = clock_ns();
    do {
        halt_set(HALT_PROGRAM);
        while (halt_any_inside() && clock_ns() - since < PATIENCE_NS && !program_ends(p->session)) {
            session_lock(p->session);
            session_need_progress(p->session);
            session_unlock(p->session);
            session_look_later();
        }
        ends_put(&p->ends, p->session);
        error = wait_quiet(p, since);
        ends_drop(&p->ends);
        if (!error && p->ends.failed)
            error = pause_refuse(p, -ENOMEM, "no memory");
        if (!error)
            halt_set(HALT_ALL); /* a callback may have enqueued something meanwhile */
    } while (!error && (halt_any_inside() || look(p) || ends_find(&p->ends, p->session)) &&
             (ends_drop(&p->ends), true));
    return error;
}

/* ---- phases ---- */

static void tell(struct pause *p)
{
    p->told = clock_ns();
    p->told_bytes = p->bytes;
    if (p->watch)
        p->watch->told(p->watch->argument, p->phase, p->bytes, p->total);
}

void pause_count_anew(struct pause *p)
{
    p->bytes = p->told_bytes = 0;
}

void pause_expect(struct pause *p, size_t bytes)
{
    p->total = p->bytes + bytes;
    tell(p);
}

void pause_copied(struct pause *p, size_t bytes)
{
    p->bytes += bytes;
    if (clock_ns() - p->told > TELL_NS || p->bytes == p->total)
        tell(p);
}

static bool make_file(const char *name)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Waits until FILE exists. If a test removes FILE.reached meanwhile, it is created again within a second; if that fails
 * as the folder is gone, the test is over. */
static void hold(struct pause *p, const char *file)
{
    const struct timespec pause = {0, HOLD_LOOK_NS};
    char reached[PATH_MAX];

    snprintf(reached, sizeof(reached), "%s.reached", file);
    for (unsigned looks = 0;; looks++) {
        if (looks % HOLD_LOOKS == 0 && !make_file(reached))
            return;
        if (!access(file, F_OK) || program_ends(p->session))
            return;
        nanosleep(&pause, NULL);
    }
}

static pid_t process_of(const struct pause *p, const struct node *node)
{
    return node && node->alive ? transport_peer_process(session_transport(p->session), node->peer) : 0;
}

void pause_phase(struct pause *p, const char *name)
{
    const char *held = settings_string(SETTING_MOVE_HOLD);
    const size_t length = strlen(name);

    timeline_span(timeline_now(), p->node, "%s", name);
    vocl_log(LOG_DEBUG, "move: %s, after %ld us", name, (clock_ns() - p->began) / 1000);
    if (p->phase && p->told_bytes != p->bytes)
        tell(p);
    p->phase = name;
    p->total = 0;
    tell(p);
    if (!strncmp(held, name, length) && held[length] == ':')
        hold(p, held + length + 1);
    if (fault_wanted)
        fault_reach_phase(process_of(p, p->node), process_of(p, p->other));
}

int pause_refuse(struct pause *p, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(p->reason, p->reason_size, format, arguments);
    va_end(arguments);
    return error;
}
