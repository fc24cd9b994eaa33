/* Recreates the objects of a node that moves at its target. */
#include <errno.h>
#include <string.h>

#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/memory/memory.h"
#include "client/survive/moving.h"

#define ASKED 64 /* outcomes asked for at a time */

/* Directs what this thread creates on the node to the target. */
static void aim(struct move *m, bool at_target)
{
    session_lock(m->node->session);
    m->node->aim = at_target ? m->target : NULL;
    m->node->aimer = pthread_self();
    session_unlock(m->node->session);
}

/* SVM of which program and node each have a copy exists at the target only in the pause. */
static bool is_over_svm(const struct object *object)
{
    return atomic_load(&object->kind) == WIRE_MEMORY && memory_root((cl_mem)(uintptr_t)object)->svm_remote;
}

static void collect(struct object *object, void *argument)
{
    struct move *m = argument;
    struct object **more;

    if (!handle_is_on(object, m->node) || (m->is_early && is_over_svm(object)))
        return;
    if (m->count + 1 >= m->room) {
        more = realloc(m->objects, (m->room * 2 + 64) * sizeof(*more));
        m->failed += !more;
        if (!more)
            return;
        m->objects = more;
        m->room = m->room * 2 + 64;
    }
    if (handle_hold(object))
        m->objects[m->count++] = object, m->objects[m->count] = NULL;
}

/* Returns how many objects this one is made from: those are created first. */
static unsigned depth_of(const struct object *object)
{
    unsigned depth = 0;

    if (atomic_load(&object->kind) == WIRE_MEMORY) {
        for (cl_mem memory = ((const struct _cl_mem *)object)->parent; memory; memory = memory->parent)
            depth++;
    } else if (atomic_load(&object->kind) == WIRE_DEVICE) {
        for (cl_device_id device = ((const struct _cl_device_id *)object)->parent; device; device = device->parent)
            depth++;
    }
    return depth;
}

static const char *name_of(const struct object *object)
{
    static const char *const names[] = {
        [WIRE_DEVICE] = "a sub-device",    [WIRE_CONTEXT] = "a context", [WIRE_QUEUE] = "a queue",
        [WIRE_MEMORY] = "a memory object", [WIRE_SAMPLER] = "a sampler", [WIRE_PROGRAM] = "a program",
        [WIRE_KERNEL] = "a kernel",        [WIRE_EVENT] = "an event",    [WIRE_COMMAND_BUFFER] = "a command buffer"};

    return names[atomic_load(&object->kind)];
}

static int check_bound(struct move *m, const struct object *object)
{
    const struct kind *kind = handle_kind(object);
    const char *bound = kind->bound ? kind->bound(object, m->node) : NULL;

    bound = bound ? bound : unshare_bound(m, object);
    return bound ? pause_refuse(m->pause, -ENOTSUP, "%s", bound) : 0;
}

/* why: a negative errno, or native OpenCL's error (call_verdict()). */
static int cannot(struct move *m, const struct object *object, int error, int why)
{
    return pause_refuse(m->pause, error, "%s cannot be created there: %s %d", name_of(object),
                        why < 0 ? "errno" : "OpenCL's error", -why);
}

static int make_one(struct move *m, struct object *object)
{
    int error = handle_create_on(object, m->node);

    if (!m->target->alive)
        return pause_refuse(m->pause, -ECONNRESET, "the target was lost");
    if (error)
        return cannot(m, object, error, error);
    return 0;
}

/* Asks a member for native OpenCL's result of creating so many objects. */
static void ask_outcomes(struct node *member, struct object *const *objects, unsigned count, int outcomes[ASKED])
{
    struct call calls[ASKED];

    for (unsigned i = 0; i < count; i++) {
        struct wire_outcome ask = {.kind = atomic_load(&objects[i]->kind), .object = objects[i]->id};

        call_send_outcome(member, &ask, &calls[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        struct wire_outcome_reply reply;

        outcomes[i] = call_wait_outcome(&calls[i], &reply);
        if (outcomes[i])
            continue;
        outcomes[i] = call_verdict(reply.error);
        call_free(&calls[i]);
    }
}

/* Returns native OpenCL's result at the node; for a suspended node it was noted before. */
static int outcome_here(const struct move *m, const struct object *object)
{
    if (!m->node->suspended)
        return native_outcome(m->node, object);
    for (unsigned i = 0; i < m->failed_here_count; i++) {
        if (m->failed_here[i].kind == atomic_load(&object->kind) && m->failed_here[i].id == object->id)
            return m->failed_here[i].error;
    }
    return 0;
}

/* Checks that native OpenCL refuses at the target only what it refused here, with the same error. */
static int check_outcomes(struct move *m, unsigned first)
{
    int error = 0;

    for (unsigned at = first; !error && at < m->count; at += ASKED) {
        const unsigned count = m->count - at < ASKED ? m->count - at : ASKED;
        int there[ASKED];

        ask_outcomes(m->target, m->objects + at, count, there);
        for (unsigned i = 0; !error && i < count; i++) {
            if (there[i] && there[i] != outcome_here(m, m->objects[at + i]))
                error = cannot(m, m->objects[at + i], m->target->alive ? -ENOMEM : -ECONNRESET, there[i]);
        }
    }
    return error;
}

/* Does what kinds have to do with their objects before others can be created, in an order that satisfies their
 * dependencies. */
static int settle(struct move *m, unsigned first)
{
    const struct kind *kind = first < m->count ? handle_kind(m->objects[first]) : NULL;
    unsigned left = m->count - first, before = left + 1;
    bool *done = kind && kind->settle_on ? calloc(left, sizeof(*done)) : NULL;
    int error = kind && kind->settle_on && !done ? -ENOMEM : 0;

    for (unsigned i = first; done && i < m->count; i++) {
        done[i - first] = made_early(m, m->objects[i]);
        left -= done[i - first];
    }
    while (done && !error && left && left < before) {
        before = left;
        for (unsigned i = first; !error && i < m->count; i++) {
            if (done[i - first])
                continue;
            error = kind->settle_on(m->objects[i], m->node, m->objects + first, done);
            done[i - first] = !error;
            left -= !error;
            error = error == -EAGAIN ? 0 : error;
        }
    }
    free(done);
    if (error)
        return pause_refuse(m->pause, error, "%s differs there: error %d", kind ? name_of(m->objects[first]) : "",
                            error);
    if (kind && kind->settle_on && left)
        return pause_refuse(m->pause, -ENOTSUP, "%s depends on an object that has changed since",
                            name_of(m->objects[first]));
    return 0;
}

static int by_id(const void *one, const void *other)
{
    const struct made *a = one, *b = other;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

bool made_early(const struct move *m, const struct object *object)
{
    const struct made wanted = {.kind = atomic_load(&object->kind), .id = object->id};
    const struct made *made = m->early_count ? bsearch(&wanted, m->early, m->early_count, sizeof(wanted), by_id) : NULL;

    return made && !made->gone;
}

static int collect_kind(struct move *m, unsigned kind)
{
    session_lock(m->node->session);
    handle_each(kind, collect, m);
    session_unlock(m->node->session);
    return m->failed ? pause_refuse(m->pause, -ENOMEM, "no memory") : 0;
}

/* Creates the objects from that one on, which are of one kind. */
static int make_collected(struct move *m, unsigned first)
{
    unsigned made = 0;
    int error = 0;

    aim(m, true);
    for (unsigned depth = 0; !error && made < m->count - first; depth++) {
        for (unsigned i = first; !error && i < m->count; i++) {
            if (depth_of(m->objects[i]) != depth)
                continue;
            made++;
            error = check_bound(m, m->objects[i]); /* what was created early may be mapped since */
            if (!error && !made_early(m, m->objects[i]))
                error = make_one(m, m->objects[i]);
        }
    }
    if (!error)
        error = settle(m, first);
    aim(m, false);
    return error ? error : check_outcomes(m, first);
}

static int make_kind(struct move *m, unsigned kind)
{
    const unsigned first = m->count;
    int error = collect_kind(m, kind);

    return error ? error : make_collected(m, first);
}

static uint32_t state_of(const struct object *object)
{
    const struct kind *kind = handle_kind(object);

    return kind->state ? kind->state(object) : 0;
}

/* Notes what was created early. */
static int keep_early(struct move *m)
{
    struct made *more = realloc(m->early, (m->early_count + m->count + 1) * sizeof(*more));

    if (!more)
        return pause_refuse(m->pause, -ENOMEM, "no memory");
    m->early = more;
    for (unsigned i = 0; i < m->count; i++) {
        const struct object *object = m->objects[i];

        if (atomic_load(&object->kind) == WIRE_MEMORY)
            atomic_fetch_or(&((cl_mem)m->objects[i])->written, WRITTEN_MOVE); /* as the target has no contents yet */
        more[m->early_count++] = (struct made){.kind = atomic_load(&object->kind), .id = object->id};
    }
    return 0;
}

static void sort_early(struct move *m)
{
    make_drop(m);
    if (m->early_count)
        qsort(m->early, m->early_count, sizeof(*m->early), by_id);
}

int make_early(struct move *m)
{
    int error;

    m->is_early = true;
    error = make_kind(m, WIRE_DEVICE);
    if (!error)
        error = make_kind(m, WIRE_CONTEXT);
    if (!error)
        error = make_kind(m, WIRE_MEMORY);
    if (!error)
        error = keep_early(m);
    sort_early(m);
    m->is_early = false;
    if (!error)
        error = collect_kind(m, WIRE_PROGRAM);
    return error;
}

int make_programs_early(struct move *m)
{
    uint32_t *states = malloc((m->count + 1) * sizeof(*states));
    const unsigned before = m->early_count;
    int error = states ? 0 : pause_refuse(m->pause, -ENOMEM, "no memory");

    for (unsigned i = 0; !error && i < m->count; i++)
        states[i] = state_of(m->objects[i]); /* a program that changes from now on is recreated */
    if (!error)
        error = make_collected(m, 0);
    if (!error)
        error = keep_early(m);
    for (unsigned i = 0; !error && i < m->count; i++)
        m->early[before + i].state = states[i];
    sort_early(m);
    free(states);
    return error;
}

void make_drop(struct move *m)
{
    while (m->count)
        handle_unhold(m->node->session, m->objects[--m->count]);
}

/* Releases at the target what the program has released or changed since, as numbers may have been reused. */
static void release_early(struct move *m, unsigned kind)
{
    session_lock(m->node->session);
    for (unsigned i = 0; i < m->early_count; i++) {
        struct made *made = &m->early[i];
        const struct wire_release release = {.kind = kind, .object = made->id};
        const struct object *object = made->kind == kind ? handle_find(kind, made->id) : NULL;

        if (made->kind != kind || (object && atomic_load(&object->uses) >= 0 && state_of(object) == made->state))
            continue;
        made->gone = true;
        wire_put_release(&m->target->batch, &release);
    }
    stream_finish(m->target, STREAM_SOON);
    session_unlock(m->node->session);
}

static const unsigned kinds[] = {WIRE_DEVICE,  WIRE_CONTEXT, WIRE_QUEUE,  WIRE_MEMORY,
                                 WIRE_SAMPLER, WIRE_PROGRAM, WIRE_KERNEL, WIRE_COMMAND_BUFFER};

static int keep_outcome(struct move *m, const struct object *object, int error)
{
    struct outcome *more = realloc(m->failed_here, (m->failed_here_count + 1) * sizeof(*more));

    if (!more)
        return pause_refuse(m->pause, -ENOMEM, "no memory");
    m->failed_here = more;
    more[m->failed_here_count++] =
        (struct outcome){.kind = atomic_load(&object->kind), .id = object->id, .error = error};
    return 0;
}

int make_list(struct move *m)
{
    int error = 0;

    for (unsigned i = 0; !error && i < sizeof(kinds) / sizeof(*kinds); i++)
        error = collect_kind(m, kinds[i]);
    for (unsigned i = 0; !error && i < m->count; i++) {
        error = check_bound(m, m->objects[i]);
        if (!error && !handle_kind(m->objects[i])->create_on)
            error = pause_refuse(m->pause, -ENOTSUP, "%s cannot be made again", name_of(m->objects[i]));
    }
    for (unsigned at = 0; !error && at < m->count; at += ASKED) {
        const unsigned count = m->count - at < ASKED ? m->count - at : ASKED;
        int outcomes[ASKED];

        ask_outcomes(m->node, m->objects + at, count, outcomes);
        for (unsigned i = 0; !error && i < count; i++)
            error = outcomes[i] ? keep_outcome(m, m->objects[at + i], outcomes[i]) : 0;
    }
    return error;
}

/* Creates the objects of a kind, and SVM after contexts, as memory objects and kernel arguments may refer to it. */
static int make_next(struct move *m, unsigned kind)
{
    const int error = make_kind(m, kind);

    return !error && kind == WIRE_CONTEXT ? svm_make(m) : error;
}

int make_all(struct move *m)
{
    int error = 0;

    release_early(m, WIRE_PROGRAM);
    release_early(m, WIRE_MEMORY);
    release_early(m, WIRE_CONTEXT);
    release_early(m, WIRE_DEVICE);
    for (unsigned i = 0; !error && i < sizeof(kinds) / sizeof(*kinds); i++)
        error = make_next(m, kinds[i]);
    return error;
}
