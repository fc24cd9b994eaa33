/*
 * Reads ahead what a store is to hold. A memory object counts as written after a command that writes it
 * (coherence_watch()), after the program's own writes to memory that it shares with the node, and while such memory is
 * mapped.
 */
#include <errno.h>

#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/survive/store.h"

static bool can_go_early(const struct store_ahead *s, const struct _cl_mem *memory)
{
    return !memory->parent && !memory->svm_remote && memory->made && memory->type != CL_MEM_OBJECT_PIPE &&
           (!memory->arena || (s->shared && memory->direct)) && may_go_ahead(memory);
}

static void collect(struct object *object, void *argument)
{
    struct store_ahead *s = argument;
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    if (can_go_early(s, memory) && (atomic_load(&memory->written) & WRITTEN_STORE || !store_has(s->store, memory)))
        held_add(&s->held, object);
}

static int plan_one(struct store_ahead *s, struct object *object)
{
    cl_mem memory = (cl_mem)object;
    int error = 0;

    if (!can_go_early(s, memory)) /* it has been mapped meanwhile */
        return 0;
    if (memory->arena)
        error = store_plan_shared(s->store, memory);
    for (unsigned i = 0; !memory->arena && !error && i < session_node_count(s->session); i++) {
        const struct node *node = session_node(s->session, i);

        if ((s->shared || !node->in_process) && handle_is_on(object, node))
            error = store_plan(s->store, node, &object, 1);
    }
    atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_STORE);
    return error;
}

/* Whether a worker is missing, and how many have been lost so far: until a replay is over, a successor's contents are
 * not those that the lost worker had. */
static bool any_missing(struct session *session, unsigned *losses)
{
    bool any = false;

    *losses = 0;
    session_lock(session);
    for (unsigned i = 0; i < session_node_count(session); i++) {
        const struct node *node = session_node(session, i);

        any |= !node->alive || node->failing_over;
        *losses += node->losses;
    }
    session_unlock(session);
    return any;
}

/* Plans what is not in the store yet, or was written since it was read. Returns its bytes. */
static size_t find(void *argument)
{
    struct store_ahead *s = argument;
    unsigned losses;

    if (any_missing(s->session, &losses))
        return 0;
    if (!s->began)
        s->losses = losses;
    s->began = true;
    store_plan_begin(s->store);
    session_lock(s->session);
    handle_each(WIRE_MEMORY, collect, s);
    session_unlock(s->session);
    for (unsigned i = 0; !s->error && i < s->held.count; i++)
        s->error = plan_one(s, s->held.objects[i]);
    if (s->held.failed)
        s->error = -ENOMEM;
    return store_missing(s->store);
}

/* Takes what is planned. On failure everything is left for the pause. */
static int take(void *argument, bool go)
{
    struct store_ahead *s = argument;
    char why[300];

    if (go && !s->error)
        s->error = store_take(s->store, why, sizeof(why));
    held_drop(&s->held, s->session); /* what is released meanwhile is destroyed before the pause */
    return 0;
}

struct ahead store_ahead(struct store_ahead *s)
{
    return (struct ahead){s, find, take, true};
}

void store_ahead_end(struct store_ahead *s)
{
    unsigned losses;

    if (any_missing(s->session, &losses) || s->losses != losses || s->error)
        store_drop(s->store);
    store_plan_begin(s->store);
}
