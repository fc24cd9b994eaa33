/*
 * What a store is to hold is read ahead, while the program goes on, and again what it writes meanwhile, until that is
 * little. A memory object counts as written by a command (coherence_watch()), by the program's own writes to memory
 * that it shares with the node, and as long as such memory is mapped; in the pause those are read that were.
 */
#include <errno.h>

#include "base/clock.h"
#include "client/core/halt.h"
#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/survive/moving.h"
#include "client/survive/store.h"

struct early {
    struct store *store;
    struct move *move;
    struct held held;
    bool shared;
};

/* Whether all that writes it marks it, and nobody minds that it ends later. */
static bool can_go_early(const struct early *s, const struct _cl_mem *memory)
{
    if (memory->parent || memory->hosted || memory->destructors || memory->svm_remote || !memory->made ||
        memory->type == CL_MEM_OBJECT_PIPE)
        return false;
    return !memory->arena || (s->shared && memory->direct && !atomic_load(&memory->in_place));
}

static void collect(struct object *object, void *argument)
{
    struct early *s = argument;
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    if (can_go_early(s, memory) &&
        (atomic_load(&memory->written) & WRITTEN_STORE || !store_has_ahead(s->store, memory)))
        held_add(&s->held, object);
}

static int plan_one(struct early *s, struct object *object)
{
    struct session *session = s->move->session;
    cl_mem memory = (cl_mem)object;
    int error = 0;

    atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_STORE);
    if (!can_go_early(s, memory)) { /* it is mapped just now */
        atomic_fetch_or(&memory->written, WRITTEN_STORE);
        return 0;
    }
    if (memory->arena)
        return store_plan_shared(s->store, memory);
    for (unsigned i = 0; !error && i < session_node_count(session); i++) {
        const struct node *node = session_node(session, i);

        if ((s->shared || !node->in_process) && handle_is_on(object, node))
            error = store_plan(s->store, node, &object, 1);
    }
    return error;
}

/* While calls are halted: what has no place in the store yet, or was written since it was read. */
static int plan(struct early *s, size_t *bytes)
{
    int error = 0;

    session_lock(s->move->session);
    handle_each(WIRE_MEMORY, collect, s);
    session_unlock(s->move->session);
    store_plan_ahead(s->store, true);
    for (unsigned i = 0; !error && i < s->held.count; i++)
        error = plan_one(s, s->held.objects[i]);
    *bytes = store_missing(s->store);
    store_plan_ahead(s->store, false);
    return error || s->held.failed ? -ENOMEM : 0;
}

/* What a worker that was replaced has done again was for a while not what it had been. */
static unsigned losses(struct session *session)
{
    unsigned count = 0;

    session_lock(session);
    for (unsigned i = 0; i < session_node_count(session); i++)
        count += session_node(session, i)->losses;
    session_unlock(session);
    return count;
}

static bool any_missing(struct session *session)
{
    bool any = false;

    session_lock(session);
    for (unsigned i = 0; i < session_node_count(session); i++)
        any |= !session_node(session, i)->alive || session_node(session, i)->mending;
    session_unlock(session);
    return any;
}

void store_early(struct store *store, struct move *m, bool shared)
{
    struct early s = {.store = store, .move = m, .shared = shared};
    size_t before = SIZE_MAX, bytes;
    char why[300];
    bool go = true;
    int error = 0;

    m->losses = losses(m->session);
    for (unsigned round = 0;
         go && !error && round < EARLY_ROUNDS && !any_missing(m->session) && quiesce_calls(m, clock_ns() + QUICK_NS);
         round++) {
        error = plan(&s, &bytes);
        ends_put(&m->ends, m->session);
        halt_set(HALT_NONE);
        go = ends_wait(&m->ends, m->node, ENDS_NS) && worth_early(bytes, before);
        if (go && !error)
            error = store_take_ahead(store, why, sizeof(why));
        held_drop(&s.held, m->session); /* what is released meanwhile goes before the pause */
        before = bytes;
    }
    if (error)
        store_drop_ahead(store);
}

void store_early_end(struct store *store, const struct move *m)
{
    if (any_missing(m->session) || m->losses != losses(m->session))
        store_drop_ahead(store);
}
