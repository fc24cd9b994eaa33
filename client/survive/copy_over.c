/*
 * Copies the contents of a node that moves to its target, from member to member, in pieces of which several are under
 * way at once, by one queue at the target. With a queue for each piece one of twenty runs of parity/buffer_ops between
 * two hosts read wrong data; whether the queues were the reason is not known.
 */
#include <errno.h>

#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/data/contents.h"
#include "client/memory/memory.h"
#include "client/survive/moving.h"

struct copying {
    struct move *move;
    cl_context context;
    cl_command_queue queue; /* of that context, at the target */
    cl_event events[CONTENTS_UNDER_WAY];
    size_t sizes[CONTENTS_UNDER_WAY];
    unsigned next;
};

static int refuse_lost(struct move *m)
{
    return pause_refuse(m->pause, -ECONNRESET, "a worker was lost while contents were on their way");
}

static cl_command_queue new_queue(const struct move *m, cl_context context)
{
    cl_command_queue queue = handle_begin(WIRE_QUEUE);

    if (!queue)
        return NULL;
    queue->context = context;
    queue->node = m->target;
    for (cl_uint i = 0; i < context->device_count && !queue->device; i++) {
        if (context->devices[i]->node == m->node)
            queue->device = context->devices[i];
    }
    handle_use(context);
    handle_show(queue);
    if (!handle_create_on(&queue->object, m->target))
        return queue;
    handle_release(queue, WIRE_QUEUE, 0);
    return NULL;
}

static int wait_for_slot(struct copying *c, unsigned slot)
{
    cl_event event = c->events[slot];
    cl_int status;

    if (!event)
        return 0;
    c->events[slot] = NULL;
    status = event_wait(event);
    handle_release(event, WIRE_EVENT, 0);
    if (status >= 0) {
        pause_copied(c->move->pause, c->sizes[slot]);
        return 0;
    }
    return pause_is_broken(c->move->pause)
               ? refuse_lost(c->move)
               : pause_refuse(c->move->pause, -ENOMEM, "contents cannot be moved: error %d", status);
}

/* Waits for all pieces under way, since they use memory of both sides. */
static int copying_end(struct copying *c, int error)
{
    for (unsigned i = 0; i < CONTENTS_UNDER_WAY; i++) {
        const int one = wait_for_slot(c, c->next++ % CONTENTS_UNDER_WAY);

        error = error ? error : one;
    }
    if (c->queue)
        handle_release(c->queue, WIRE_QUEUE, 0);
    c->queue = NULL;
    return error;
}

/* Waits until another piece may begin: *slot is the place of its event. */
static int next_slot(struct copying *c, cl_context context, unsigned *slot)
{
    int error = c->context == context ? 0 : copying_end(c, 0);

    *slot = c->next++ % CONTENTS_UNDER_WAY;
    if (!error)
        error = wait_for_slot(c, *slot);
    if (error)
        return error;
    c->context = context;
    if (!c->queue)
        c->queue = new_queue(c->move, context);
    if (c->queue)
        return 0;
    return pause_is_broken(c->move->pause) ? refuse_lost(c->move)
                                           : pause_refuse(c->move->pause, -ENOMEM, "no queue for contents");
}

static int copy_region(struct copying *c, cl_mem whole, const struct wire_region *part)
{
    struct move *m = c->move;
    unsigned slot;
    int error = next_slot(c, whole->context, &slot);
    cl_event event = error ? NULL : event_new(whole->context, c->queue, CL_COMMAND_MIGRATE_MEM_OBJECTS);
    struct wire_migrate_out out = {.memory = whole->object.id, .peer = m->target->peer, .part = *part};
    struct wire_migrate_in in = {
        .memory = whole->object.id, .peer = m->node->peer, .subscribe = SUBSCRIBE_COMPLETE, .part = *part};
    bool lost;

    if (error)
        return error;
    if (!event)
        return pause_refuse(m->pause, -ENOMEM, "no memory");
    event->subscribed = in.subscribe;
    in.queue = c->queue->object.id;
    out.event = in.event = event->object.id;
    session_lock(m->node->session);
    lost = pause_is_broken(m->pause); /* the node may have another worker, which would send nothing */
    if (!lost) {
        wire_put_migrate_out(&m->node->batch, &out);
        stream_finish(m->node, STREAM_NOW);
        wire_put_migrate_in(&m->target->batch, &in);
        stream_finish(m->target, STREAM_NOW);
    }
    session_unlock(m->node->session);
    if (lost) {
        event_unsent(event);
        handle_release(event, WIRE_EVENT, 0);
        return refuse_lost(m);
    }
    c->events[slot] = event;
    c->sizes[slot] = part->size;
    return 0;
}

static int copy_range(void *argument, cl_mem whole, size_t start, size_t end)
{
    const struct extent extent = extent_of(whole, start, end);
    struct wire_region part;
    int error = 0;

    for (size_t at = 0; !error && at < extent.part.size; at += part.size) {
        part = region_piece(&extent.part, at);
        error = copy_region(argument, whole, &part);
    }
    return error;
}

/* Memory that the members share need not be copied; pipes move empty, or not at all. */
bool has_contents(const struct object *object)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    return atomic_load(&object->kind) == WIRE_MEMORY && !memory->parent && !memory->arena && !memory->svm_remote &&
           memory->type != CL_MEM_OBJECT_PIPE;
}

static bool goes(const struct move *m, const struct object *object)
{
    return has_contents(object) || unshare_goes(m, object);
}

/* In a context of several nodes another node may have newer contents. */
static bool can_go_early(const struct _cl_mem *memory)
{
    return !memory->coherence && may_go_ahead(memory);
}

static bool is_missing(const struct move *m, const struct object *object)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    return goes(m, object) &&
           !(made_early(m, object) && can_go_early(memory) && !(atomic_load(&memory->written) & WRITTEN_MOVE));
}

static int add_range(void *argument, cl_mem whole, size_t start, size_t end)
{
    *(size_t *)argument += extent_of(whole, start, end).part.size;
    return 0;
}

size_t copy_missing(const struct move *m)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < m->count; i++) {
        if (is_missing(m, m->objects[i]))
            coherence_each((cl_mem)m->objects[i], m->node, add_range, &bytes);
    }
    return bytes;
}

int copy_all(struct move *m)
{
    struct copying c = {.move = m};
    int error = 0;

    for (unsigned i = 0; !error && i < m->count; i++) {
        if (is_missing(m, m->objects[i]))
            error = coherence_each((cl_mem)m->objects[i], m->node, copy_range, &c);
    }
    return copying_end(&c, error);
}

/* ---- copying ahead, while the program runs ---- */

/* Returns the memory object, held, or NULL if it has been released or must wait for the pause. */
static cl_mem early_use(struct move *m, const struct made *made)
{
    struct object *object = NULL;

    session_lock(m->node->session);
    if (made->kind == WIRE_MEMORY)
        object = handle_find(WIRE_MEMORY, made->id);
    if (object && !(goes(m, object) && can_go_early((cl_mem)object) && handle_hold(object)))
        object = NULL;
    session_unlock(m->node->session);
    return (cl_mem)object;
}

/* Finds the objects that were written since they were last copied. */
static size_t find_written(void *argument)
{
    struct objects_ahead *o = argument;
    struct move *m = o->move;
    size_t bytes = 0;

    o->count = 0;
    o->list = malloc((m->early_count + 1) * sizeof(*o->list));
    for (unsigned i = 0; o->list && i < m->early_count; i++) {
        cl_mem memory = early_use(m, &m->early[i]);

        if (!memory)
            continue;
        if (atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_MOVE) & WRITTEN_MOVE) {
            o->list[o->count++] = i;
            bytes += memory->coherence ? memory->size : written_bytes(memory);
        }
        handle_unhold(m->node->session, &memory->object);
    }
    return bytes;
}

/* Objects of which pieces may be under way, held. An object is released when as many others have begun since, as its
 * pieces have ended then. */
struct going {
    cl_mem memories[CONTENTS_UNDER_WAY];
    unsigned next;
};

static void going_add(struct move *m, struct going *g, cl_mem memory)
{
    cl_mem *place = &g->memories[g->next++ % CONTENTS_UNDER_WAY];

    if (*place)
        handle_unhold(m->node->session, &(*place)->object);
    *place = memory;
}

static void going_end(struct move *m, struct going *g)
{
    for (unsigned i = 0; i < CONTENTS_UNDER_WAY; i++)
        going_add(m, g, NULL);
}

static int copy_written(void *argument, bool go)
{
    struct objects_ahead *o = argument;
    struct copying c = {.move = o->move};
    struct going going = {0};
    int error = o->list ? 0 : pause_refuse(o->move->pause, -ENOMEM, "no memory");

    for (unsigned i = 0; i < o->count; i++) {
        cl_mem memory = early_use(o->move, &o->move->early[o->list[i]]);
        const unsigned before = c.next;

        if (!memory)
            continue;
        if (go && !error)
            error = coherence_each(memory, o->move->node, copy_range, &c);
        else
            atomic_fetch_or(&memory->written, WRITTEN_MOVE);
        if (c.next == before)
            handle_unhold(o->move->node->session, &memory->object);
        else
            going_add(o->move, &going, memory);
    }
    error = copying_end(&c, error);
    going_end(o->move, &going);
    free(o->list);
    return error;
}

struct ahead objects_ahead(struct objects_ahead *o)
{
    return (struct ahead){o, find_written, copy_written, true};
}
