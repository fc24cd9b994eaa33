/* Events when nodes move: what the node is still to tell of them, and which go along. */
#include "client/core/event.h"
#include "client/core/observer.h"

static void ask_one(struct object *object, void *argument)
{
    cl_event event = (cl_event)object;
    unsigned *count = argument;

    if (atomic_load(&event->status) <= CL_COMPLETE || !event->queue || atomic_load(&object->uses) == USES_RELEASED)
        return;
    (*count)++;
    event_ask(event);
}

unsigned event_ask_all(void)
{
    unsigned count = 0;

    handle_each(WIRE_EVENT, ask_one, &count);
    return count;
}

static void find_open(struct object *object, void *argument)
{
    cl_event event = (cl_event)object;

    *(bool *)argument |= atomic_load(&event->status) > CL_COMPLETE && !event->queue && atomic_load(&event->waited);
}

bool event_any_open(void)
{
    bool any = false;

    handle_each(WIRE_EVENT, find_open, &any);
    return any;
}

struct going {
    struct node *node, *target;
};

static void event_go(struct object *object, void *argument)
{
    const struct going *going = argument;
    cl_event event = (cl_event)object;
    struct wire_create_user_event m = {.event = object->id};

    if (!node_set_has(&event->known, going->node->index) || atomic_load(&object->uses) == USES_RELEASED)
        return;
    if (event->queue || event->ended) { /* who waits for it later is told how it ended */
        node_set_remove(&event->known, going->node->index);
        if (going->node->observer)
            going->node->observer->forgotten(going->node, WIRE_EVENT, object->id);
        return;
    }
    if (going->node->observer) /* the node has it already, and gets this, too */
        going->node->observer->forgotten(going->node, WIRE_EVENT, object->id);
    m.context = event->context->object.id;
    wire_put_create_user_event(&going->target->batch, &m);
}

void event_move(struct node *node, struct node *target)
{
    struct going going = {node, target};

    handle_each(WIRE_EVENT, event_go, &going);
}
