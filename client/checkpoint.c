/*
 * A checkpoint of a node: calls wait until all that was enqueued is over, what was written since the last one is read
 * from it, and what it is told from then on begins with all that it needs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/journal.h"
#include "client/moving.h"
#include "client/recover.h"

#define SHARE ((size_t)16 << 20) /* goes at a time */
#define UNDER_WAY 4              /* so many */

struct saving {
    struct node *node;
    struct held held;
    size_t bytes, before; /* of contents; of what they are instead of */
};

static void collect(struct object *object, void *argument)
{
    struct saving *s = argument;
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    if (memory->parent || memory->direct || memory->type == CL_MEM_OBJECT_PIPE || /* window.c's need none */
        !handle_is_on(object, s->node))
        return;
    held_add(&s->held, object);
}

static struct wire_region whole_of(cl_mem memory)
{
    struct wire_region whole = {.kind = WIRE_PIECE, .size = memory->size};
    size_t extent[3];

    if (memory->type == CL_MEM_OBJECT_BUFFER)
        return whole;
    image_extent(&memory->desc, extent);
    whole.kind = WIRE_IMAGE;
    for (int i = 0; i < 3; i++)
        whole.region[i] = extent[i];
    whole.size = extent[0] * extent[1] * extent[2] * memory->element_size;
    return whole;
}

static int begin_take(struct node *node, cl_mem memory, const struct wire_region *part, void *to,
                      struct transfer **transfer)
{
    const struct layout layout = layout_linear(to, part->size);
    struct wire_take m = {.memory = memory->object.id, .part = *part};
    int error = transfer_take(node, &layout, transfer, &m.tag);

    if (error)
        return error;
    wire_put_take(stream_begin(node), &m);
    error = stream_end(node, STREAM_NOW);
    if (error)
        transfer_cancel(*transfer);
    return error;
}

static int take_all(struct node *node, cl_mem memory, const struct wire_region *whole, uint8_t *bytes)
{
    struct transfer *under_way[UNDER_WAY] = {NULL};
    unsigned next = 0;
    int error = 0, one;

    for (size_t at = 0; !error && at < whole->size; next++) {
        const size_t left = whole->size - at;
        struct wire_region part = *whole;

        if (part.kind == WIRE_PIECE) {
            part.origin[0] = at;
            part.size = left < SHARE ? left : SHARE;
        }
        if (under_way[next % UNDER_WAY])
            error = transfer_wait(under_way[next % UNDER_WAY]);
        under_way[next % UNDER_WAY] = NULL;
        if (!error)
            error = begin_take(node, memory, &part, bytes + at, &under_way[next % UNDER_WAY]);
        if (error)
            under_way[next % UNDER_WAY] = NULL;
        at += part.size;
    }
    for (unsigned i = 0; i < UNDER_WAY; i++) {
        one = under_way[i] ? transfer_wait(under_way[i]) : 0;
        error = error ? error : one;
    }
    return error;
}

/* An object that has failed to come into being has none. */
static int save_one(struct saving *s, cl_mem memory, uint8_t **bytes)
{
    const struct wire_region whole = whole_of(memory);
    int error;

    *bytes = malloc(whole.size);
    if (!*bytes)
        return -ENOMEM;
    error = take_all(s->node, memory, &whole, *bytes);
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    s->bytes += error ? 0 : whole.size;
    return error > 0 ? 0 : error;
}

static bool has_changed(const struct journal *j, cl_mem memory)
{
    struct session *session = j->node->session;
    bool saved;

    session_lock(session);
    saved = journal_find_saved(j, memory->object.id);
    session_unlock(session);
    return atomic_load(&memory->written) & WRITTEN_SAVE || memory->hosted || !saved;
}

/* ---- the journal begins anew ---- */

/* The worker need not know any more how it ended: who waits for it later is told. */
static void forget_event(struct object *object, void *argument)
{
    struct node *node = argument;
    cl_event event = (cl_event)object;
    const struct wire_release m = {.kind = WIRE_EVENT, .object = object->id};

    if (!event->context || !node_set_has(&event->known, node->index) || atomic_load(&object->uses) == USES_RELEASED ||
        !(event->queue || event->ended))
        return;
    node_set_remove(&event->known, node->index);
    wire_put_release(&node->batch, &m);
}

static void renew(struct object *object, void *argument)
{
    const struct kind *kind = handle_kind(object);

    if (kind->renew && handle_is_on(object, argument))
        kind->renew(object, argument);
}

static bool settled(void *argument)
{
    struct node *node = argument;

    stream_push(node);
    return !node->alive || (!node->mending && !node->batch.length && !node->journal->giving);
}

/* Under the lock: all that the node was told has been sent, and it is told no more. */
static int begin_anew(struct saving *s, uint8_t **bytes)
{
    struct node *node = s->node;
    struct journal *j = node->journal;
    int error = 0;

    handle_each(WIRE_EVENT, forget_event, node);
    session_wait(node->session, settled, node);
    if (!node->alive || session_stops(node->session) || j->off)
        return -ECONNRESET;
    for (unsigned i = 0; i < s->held.count && !error; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];
        const struct wire_region whole = whole_of(memory);

        if (!bytes[i])
            continue;
        error = journal_save(j, memory->object.id, &whole, bytes[i]) ? 0 : -ENOMEM;
        if (!error)
            bytes[i] = NULL;
    }
    if (!error)
        error = journal_compact(j);
    if (error) {
        vocl_log(LOG_ERROR, "no memory for a checkpoint of worker %u: its loss would be one", node->peer);
        journal_off(j);
        return error;
    }
    for (unsigned kind = WIRE_DEVICE; kind <= WIRE_KIND_LAST; kind++)
        handle_each(kind, renew, node);
    node->last_length = 0;
    node->repeats = 0;
    return 0;
}

static int save(struct saving *s)
{
    struct session *session = s->node->session;
    struct journal *j = s->node->journal;
    uint8_t **bytes;
    int error = 0;

    session_lock(session);
    handle_each(WIRE_MEMORY, collect, s);
    s->before = j->log.length + j->kept_bytes;
    session_unlock(session);
    bytes = calloc(s->held.count + 1, sizeof(*bytes));
    if (!bytes || s->held.failed)
        error = -ENOMEM;
    for (unsigned i = 0; i < s->held.count && !error; i++) {
        if (has_changed(j, (cl_mem)s->held.objects[i]))
            error = save_one(s, (cl_mem)s->held.objects[i], &bytes[i]);
    }
    session_lock(session);
    if (!error)
        error = begin_anew(s, bytes);
    for (unsigned i = 0; i < s->held.count && !error; i++)
        atomic_fetch_and(&((cl_mem)s->held.objects[i])->written, (unsigned char)~WRITTEN_SAVE);
    session_unlock(session);
    for (unsigned i = 0; bytes && i < s->held.count; i++)
        free(bytes[i]);
    free(bytes);
    held_drop(&s->held, session);
    return error;
}

int checkpoint_quiet(struct node *node, long halted)
{
    struct saving s = {.node = node};
    int error = save(&s);

    if (!error)
        vocl_log(LOG_INFO, "checkpoint of worker %u: %zu bytes of contents instead of %zu of commands, %ld us of pause",
                 node->peer, s.bytes, s.before, (clock_ns() - halted) / 1000);
    return error;
}

int checkpoint(struct node *node, char *why, size_t size)
{
    struct move m = {.session = node->session, .node = node, .target = node, .reason = why, .reason_size = size};
    int error = -EBUSY;

    quiesce_lock();
    if (!node->rests)
        error = quiesce(&m);
    if (!error)
        error = checkpoint_quiet(node, m.halted);
    if (!node->rests)
        halt_set(HALT_NONE);
    ends_drop(&m);
    free(m.ends);
    quiesce_unlock();
    return error;
}
