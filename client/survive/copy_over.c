/* The contents of a node that moves go to its target, from member to member. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "client/core/halt.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/memory/memory.h"
#include "client/survive/moving.h"

#define SHARE ((size_t)16 << 20) /* goes at a time */

struct copying {
    struct move *move;
    struct carriers carriers; /* at the target */
};

static struct copying copying_begin(struct move *m)
{
    return (struct copying){.move = m, .carriers = {.node = m->node, .member = m->target}};
}

static int explain(struct copying *c, int error)
{
    struct move *m = c->move;

    if (move_was_lost(m))
        return move_refuse(m, -ECONNRESET, "a worker was lost while contents were on their way");
    if (error == -EIO)
        return move_refuse(m, -ENOMEM, "contents cannot be moved: error %d", c->carriers.status);
    return move_refuse(m, -ENOMEM, "no queue for contents");
}

static int copying_end(struct copying *c, int error)
{
    const int end = carriers_end(&c->carriers, 0);

    return !error && end ? explain(c, end) : error;
}

static int copy_part(struct copying *c, const struct part *part)
{
    struct move *m = c->move;
    const int slot = carriers_next(&c->carriers, part->memory->context);
    cl_command_queue queue = slot < 0 ? NULL : c->carriers.queue;
    cl_event event = queue ? event_new(queue->context, queue, CL_COMMAND_MIGRATE_MEM_OBJECTS) : NULL;
    struct wire_migrate_out out = {
        .memory = part->memory->object.id, .peer = m->target->peer, .part = part_region(part)};
    struct wire_migrate_in in = {.memory = part->memory->object.id,
                                 .peer = m->node->peer,
                                 .subscribe = SUBSCRIBE_COMPLETE,
                                 .part = part_region(part)};
    bool lost;

    if (slot < 0)
        return explain(c, slot);
    if (!event)
        return move_refuse(m, -ENOMEM, "no memory");
    event->subscribed = in.subscribe;
    in.queue = queue->object.id;
    out.event = in.event = event->object.id;
    session_lock(m->session);
    lost = move_was_lost(m); /* the node may have another worker, from which nothing would come */
    if (!lost) {
        wire_put_migrate_out(&m->node->batch, &out);
        stream_finish(m->node, STREAM_NOW);
        wire_put_migrate_in(&m->target->batch, &in);
        stream_finish(m->target, STREAM_NOW);
    }
    session_unlock(m->session);
    if (lost) {
        event_unsent(event);
        handle_release(event, WIRE_EVENT, 0);
        return explain(c, -ECONNRESET);
    }
    c->carriers.events[slot] = event;
    m->bytes += part->bytes;
    move_watched(m);
    return 0;
}

static int copy_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    struct copying *c = argument;
    struct part part = part_of(root, start, end);
    int error = 0;

    if (root->type != CL_MEM_OBJECT_BUFFER)
        return copy_part(c, &part);
    for (size_t at = start; !error && at < end; at += SHARE) {
        part = part_piece(root, at, end - at < SHARE ? end - at : SHARE);
        error = copy_part(c, &part);
    }
    return error;
}

/* What the members share is where it was; pipes go empty, or not at all. */
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

/* Whether all that writes it is known by coherence_watch(), and nobody minds when it goes a little later. */
static bool can_go_early(const struct _cl_mem *memory)
{
    return !memory->coherence && !memory->hosted && !memory->destructors;
}

int copy_all(struct move *m)
{
    struct copying c = copying_begin(m);
    const uint64_t before = m->bytes;
    int error = 0;

    for (unsigned i = 0; !error && i < m->count; i++) {
        cl_mem memory = (cl_mem)m->objects[i];

        if (goes(m, m->objects[i]) &&
            !(made_early(m, m->objects[i]) && can_go_early(memory) && !(atomic_load(&memory->written) & WRITTEN_MOVE)))
            error = coherence_each(memory, m->node, copy_piece, &c);
    }
    error = copying_end(&c, error);
    m->bytes_paused = m->bytes - before;
    return error;
}

/* ---- while the program goes on ---- */

/* The memory object, used; NULL: it is no more. */
static cl_mem early_use(struct move *m, const struct made *made)
{
    struct object *object = NULL;

    session_lock(m->session);
    if (made->kind == WIRE_MEMORY)
        object = handle_find(WIRE_MEMORY, made->id);
    if (object && !(goes(m, object) && can_go_early((cl_mem)object) && handle_hold(object)))
        object = NULL;
    session_unlock(m->session);
    return (cl_mem)object;
}

/* Those that were written since the last time, each with its place among m->early, while calls are halted; and how many
 * bytes they have. What is enqueued by now ends with m->ends. */
static size_t find_written(struct move *m, unsigned *list, unsigned *count)
{
    size_t bytes = 0;

    *count = 0;
    for (unsigned i = 0; i < m->early_count; i++) {
        cl_mem memory = early_use(m, &m->early[i]);

        if (!memory)
            continue;
        if (atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_MOVE) & WRITTEN_MOVE) {
            list[(*count)++] = i;
            bytes += memory->coherence ? memory->size : written_bytes(memory);
        }
        handle_unhold(m->session, &memory->object);
    }
    ends_put(&m->ends, m->session);
    return bytes;
}

/* Those of which pieces may be under way, in use: when as many others have begun since, one's are over. */
struct going {
    cl_mem memories[CARRIERS];
    unsigned next;
};

static void going_add(struct move *m, struct going *g, cl_mem memory)
{
    cl_mem *place = &g->memories[g->next++ % CARRIERS];

    if (*place)
        handle_unhold(m->session, &(*place)->object);
    *place = memory;
}

static void going_end(struct move *m, struct going *g)
{
    for (unsigned i = 0; i < CARRIERS; i++)
        going_add(m, g, NULL);
}

/* What is not copied after all is copied in the pause. */
static int copy_list(struct move *m, const unsigned *list, unsigned count, bool go)
{
    struct copying c = copying_begin(m);
    struct going going = {0};
    int error = 0;

    for (unsigned i = 0; i < count; i++) {
        cl_mem memory = early_use(m, &m->early[list[i]]);
        const unsigned before = c.carriers.next;

        if (!memory)
            continue;
        if (go && !error)
            error = coherence_each(memory, m->node, copy_piece, &c);
        else
            atomic_fetch_or(&memory->written, WRITTEN_MOVE);
        if (c.carriers.next == before)
            handle_unhold(m->session, &memory->object);
        else
            going_add(m, &going, memory);
    }
    error = copying_end(&c, error);
    going_end(m, &going);
    return error;
}

int copy_early(struct move *m)
{
    unsigned *list = malloc((m->early_count + 1) * sizeof(*list)), count;
    size_t before = SIZE_MAX, bytes;
    bool go = list != NULL;
    int error = 0;

    while (go && !error && m->rounds < EARLY_ROUNDS && quiesce_calls(m, clock_ns() + QUICK_NS)) {
        bytes = find_written(m, list, &count);
        halt_set(HALT_NONE);
        go = ends_wait(&m->ends, m->node, ENDS_NS) && worth_early(bytes, before);
        error = copy_list(m, list, count, go);
        before = bytes;
        m->rounds += go;
    }
    free(list);
    return error;
}
